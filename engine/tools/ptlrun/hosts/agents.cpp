// Starting ptlruns on other hosts.
//
// Thread: ptlrun's main thread; between fork and exec only system calls.
#include "engine/tools/ptlrun/hosts/agents.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgets to say this itself
}

#include "engine/tools/ptlrun/places.hpp"

extern char** environ;

namespace portunus::launch {
namespace {

constexpr std::chrono::seconds kLastOutput{10};

// The variables that steer our libraries, and the one by which they are found, go along; others do by -x.
constexpr const char* kCarried[] = {"PTL_", "SHMEM_", "SMA_", "MPIADI_", "VDC_", "PEACE_", "LD_LIBRARY_PATH="};

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

std::string text_of(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

// Our address on the way to that host; the first of this host's if its name is known to the agent alone.
std::string address_towards(const std::string& host) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  sockaddr_in own{};
  const std::string name = host.substr(host.find('@') == std::string::npos ? 0 : host.find('@') + 1);
  if (getaddrinfo(name.c_str(), "9", &wanted, &found) == 0) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof own;
    const bool known =
        fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 && getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    if (fd >= 0) close(fd);
    freeaddrinfo(found);
    if (known) return text_of(own);
  }
  std::string address = "127.0.0.1";
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return address;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0) continue;
    std::memcpy(&own, each->ifa_addr, sizeof own);
    if ((each->ifa_flags & IFF_LOOPBACK) == 0) {
      address = text_of(own);
      break;
    }
  }
  freeifaddrs(list);
  return address;
}

// The command that a shell on the other host executes.
std::string command_for(const Options& options, size_t index, int port) {
  const App& app = options.apps[0];
  const HostSlots& place = options.remote[index];
  std::error_code none;
  std::ostringstream line;
  line << "cd " << quoted(app.folder.empty() ? std::filesystem::current_path(none).string() : app.folder) << " && exec "
       << quoted(std::filesystem::read_symlink("/proc/self/exe", none).string()) << " --hosts " << options.remote.size() + 1
       << " --host-id " << index + 1 << " --rendezvous " << address_towards(place.name) << ":" << port << " -n " << place.slots
       << " --grace " << options.grace_s;
  if (options.timeout_s > 0) line << " --timeout " << options.timeout_s;
  if (options.binding != Binding::share) line << (options.binding == Binding::core ? " --bind core" : " --bind none");
  if (!app.path.empty()) line << " -path " << quoted(app.path);
  if (options.universe > 0) line << " --universe " << options.universe;
  if (options.tag_output) line << " --tag-output";
  if (options.keep_going) line << " --keep-going";
  if (!options.record.empty()) line << " --record " << quoted(options.record);
  for (char** item = environ; *item != nullptr; ++item)
    for (const char* prefix : kCarried)
      if (std::strncmp(*item, prefix, std::strlen(prefix)) == 0) line << " -x " << quoted(*item);
  for (const std::string& item : app.environment) line << " -x " << quoted(item);
  line << " --";
  for (const std::string& word : app.command) line << " " << quoted(word);
  return line.str();
}

[[noreturn]] void become_agent(char** words, pid_t launcher, bool takes_input) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(1);
  signal(SIGPIPE, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDONLY); !takes_input && nothing >= 0) dup2(nothing, 0);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvp(words[0], words);
  _exit(kNotFound);
}

}  // namespace

Agents::~Agents() {
  for (const Agent& agent : agents_) {
    pidfd_send_signal(agent.handle, SIGKILL, nullptr, 0);
    close(agent.handle);
    while (waitpid(agent.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void Agents::start(const Options& options, int port) {
  for (size_t i = 0; i < options.remote.size(); ++i) {
    const std::string& host = options.remote[i].name;
    const std::string command = command_for(options, i, port);
    std::vector<std::string> words;
    if (is_this_host(host)) {
      words = {"/bin/sh", "-c", command};
    } else {
      std::istringstream agent(options.agent);
      for (std::string word; agent >> word;) words.push_back(word);
      words.insert(words.end(), {host, command});
    }
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const pid_t launcher = getpid(), pid = fork();
    if (pid == 0) become_agent(pointers.data(), launcher, i == 0 && options.ranks == 0);
    if (pid < 0)
      throw Refusal(1, std::string("no process can be started (") + std::strerror(errno) + "); raise the limit of processes (ulimit -u)");
    setpgid(pid, pid);
    agents_.push_back({host, pid, pidfd_open(pid, 0)});
  }
}

void Agents::watch(std::vector<pollfd>& list) const {
  for (const Agent& agent : agents_) list.push_back({agent.handle, POLLIN, 0});
}

void Agents::must_all_run() const {
  for (const Agent& agent : agents_) {
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(agent.pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == agent.pid)
      throw Refusal(1,
                    "ptlrun could not be started on '" + agent.host + "' (its agent ended with " + std::to_string(end.si_status) +
                        "); check that ssh, or what --agent names, reaches that host without a password, and that ptlrun lies there at the "
                        "same path");
  }
}

void Agents::await_end() {
  const auto until = std::chrono::steady_clock::now() + kLastOutput;
  for (const Agent& agent : agents_) {
    pollfd ended{agent.handle, POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    while (left > 0 && poll(&ended, 1, static_cast<int>(left)) < 0 && errno == EINTR) {
    }
  }
}

std::vector<pid_t> Agents::pids() const {
  std::vector<pid_t> list;
  for (const Agent& agent : agents_) list.push_back(agent.pid);
  return list;
}

}  // namespace portunus::launch
