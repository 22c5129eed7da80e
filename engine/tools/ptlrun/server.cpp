// Talks with the process that serves PMIx.
//
// Thread: ptlrun's main thread.
#include "engine/tools/ptlrun/server.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgets to say this itself
}

#include "engine/tools/ptlrun/options.hpp"
#include "engine/tools/ptlrun/pmix.hpp"

namespace portunus::launch {
namespace {

constexpr int kStartTime_ms = 60000;

// The new process changes this before it serves: it outlives nobody, keeps nothing open, and no signal of ours ends it.
[[noreturn]] void become_server(int socket, pid_t launcher, const JobPlan& plan, const std::string& folder) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);
  setsid();
  prctl(PR_SET_NAME, "ptlrun-pmix");
  dup2(socket, 0);
  dup2(2, 1);  // libpmix's complaints may be seen, but never among the output of the ranks
  close_range(3, ~0U, 0);
  serve_pmix(0, plan, folder);
}

}  // namespace

void must_have_descriptors(int ranks) {
  const auto needed = static_cast<rlim_t>(12 + 2 * ranks);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == needed) return;
  throw Refusal(1, std::to_string(ranks) + " ranks need " + std::to_string(needed) + " open files of ptlrun, and " +
                       std::to_string(limit.rlim_max) + " are allowed; raise the limit (ulimit -n)");
}

PmixServer::PmixServer(const JobPlan& plan, const std::string& folder, ServerHandlers handlers)
    : plan_(plan), handlers_(std::move(handlers)) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Refusal(1, std::string("no socket can be made (") + std::strerror(errno) + "); raise the limit of open files (ulimit -n)");
  const pid_t launcher = getpid();
  pid_ = fork();
  if (pid_ == 0) become_server(ends[1], launcher, plan, folder);
  const int cause = errno;
  close(ends[1]);
  channel_ = Channel(ends[0]);
  if (pid_ < 0) {
    channel_.shut();
    throw Refusal(1, std::string("no process can be started (") + std::strerror(cause) + "); raise the limit of processes (ulimit -u)");
  }
  handle_ = pidfd_open(pid_, 0);
  try {
    await_ready();
  } catch (...) {
    end();
    throw;
  }
}

PmixServer::~PmixServer() { end(); }

// Killed, not asked: libpmix may hang when it shuts down, and what it leaves in the folder goes with the folder.
void PmixServer::end() {
  if (handle_ >= 0) {
    pidfd_send_signal(handle_, SIGKILL, nullptr, 0);
    close(handle_);
  }
  channel_.shut();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void PmixServer::await_ready() {
  Message message{};
  for (bool alive = true; !channel_.next(message); alive = alive && channel_.receive()) {
    pollfd ready{channel_.fd(), POLLIN, 0};
    if (!alive || poll(&ready, 1, kStartTime_ms) == 0)
      throw Refusal(1,
                    "the PMIx server did not start; check that the loopback interface is up and TMPDIR has space, and unset "
                    "PMIX_MCA_* variables");
  }
  Reader reader(message.body);
  if (message.word == Word::broken) throw Refusal(1, reader.text());
  const HostShare& here = plan_.here();
  for (int i = 0; i < here.ranks; ++i) {
    std::vector<std::string>& environment = environments_[here.first_rank + i];
    const auto count = reader.number();
    for (uint32_t item = 0; item < count && reader.good(); ++item) environment.push_back(reader.text());
  }
}

void PmixServer::serve_modex(int rank, Answer answer) {
  const uint32_t id = next_fetch_++;
  fetches_[id] = std::move(answer);
  std::string body;
  put_number(body, id);
  put_number(body, static_cast<uint32_t>(rank));
  channel_.send({Word::fetch, 0, 0, std::move(body)});
}

void PmixServer::watch(std::vector<pollfd>& list) const {
  if (channel_.open()) list.push_back({channel_.fd(), static_cast<short>(channel_.sending() ? POLLIN | POLLOUT : POLLIN), 0});
}

void PmixServer::service() {
  bool alive = channel_.open();
  size_t before = 0;
  do {
    before = channel_.unread();
    alive = alive && channel_.receive();
  } while (alive && channel_.unread() > before);
  Message message{};
  while (channel_.next(message)) take(message);
  alive = alive && (!channel_.sending() || channel_.push());
  if (!alive) channel_.shut();
}

void PmixServer::take(const Message& message) {
  Reader reader(message.body);
  const uint32_t first = reader.number();
  if (message.word == Word::aborted) {
    handlers_.aborted(static_cast<int>(first), static_cast<int>(reader.number()));
  } else if (message.word == Word::left) {
    handlers_.left(static_cast<int>(first), reader.number() != 0);
  } else if (message.word == Word::absent) {
    handlers_.absent(static_cast<int>(first));
  } else if (message.word == Word::gather) {
    FenceRequest request;
    request.key = reader.text();
    for (auto left = reader.number(); left > 0 && reader.good(); --left) request.hosts.push_back(static_cast<int>(reader.number()));
    request.data = reader.text();
    request.done = [this, first](bool good, const std::string& bytes) { send_answer(first, good, bytes); };
    handlers_.fence(std::move(request));
  } else if (message.word == Word::seek) {
    ModexRequest request;
    request.rank = static_cast<int>(reader.number());
    request.key = reader.text();
    request.done = [this, first](bool good, const std::string& bytes) { send_answer(first, good, bytes); };
    handlers_.modex(std::move(request));
  } else if (message.word == Word::spawn) {
    SpawnRequest request;
    request.rank = static_cast<int>(reader.number());
    request.note = reader.text();
    for (auto left = reader.number(); left > 0 && reader.good(); --left) {
      SpawnRequest::Program& program = request.programs.emplace_back();
      program.ranks = static_cast<int>(reader.number());
      for (std::string* text : {&program.folder, &program.path, &program.hosts}) *text = reader.text();
      for (auto words = reader.number(); words > 0 && reader.good(); --words) program.command.push_back(reader.text());
    }
    request.done = [this, first](bool good, const std::string& bytes) { send_answer(first, good, bytes); };
    handlers_.spawn(std::move(request));
  } else if (message.word == Word::fetched) {
    const bool good = reader.number() != 0;
    const auto waiting = fetches_.find(first);
    if (waiting == fetches_.end()) return;
    const Answer answer = std::move(waiting->second);
    fetches_.erase(waiting);
    answer(good, reader.text());
  }
}

void PmixServer::job_over(const std::string& name) {
  std::string body;
  put_text(body, name);
  channel_.send({Word::over, 0, 0, std::move(body)});
}

void PmixServer::tell_rank(Word word, int rank) {
  std::string body;
  put_number(body, static_cast<uint32_t>(rank));
  channel_.send({word, 0, 0, std::move(body)});
}

void PmixServer::send_answer(uint32_t id, bool good, const std::string& bytes) {
  std::string body;
  put_number(body, id);
  put_number(body, good ? 1 : 0);
  put_text(body, bytes);
  channel_.send({Word::answer, 0, 0, std::move(body)});
}

}  // namespace portunus::launch
