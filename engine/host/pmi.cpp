// The job as a PMI-1 server tells it: MPICH's mpiexec (hydra), and Slurm's srun --mpi=pmi2, which speaks PMI-1 on the same descriptor.
//
// Requests and answers are lines of NAME=VALUE over the socket PMI_FD. Values are short and written once, so all that a rank puts
// between two fences leaves at the second of them, as text in as many values as it takes: <start>.<fence>.<rank>.<part>.
//
// Thread: as bootstrap.hpp says.
// Invariants: one connection per process, kept until it exits, because servers take no process back once it has left. The text
// of part 0 begins with the number of parts.
// Source: "PMI: A Scalable Parallel Process-Management Interface for Extreme-Scale Systems" (EuroMPI 2010); mpiexec(1) of MPICH.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "engine/host/bootstrap.hpp"
#include "engine/host/launchers.hpp"

namespace portunus {
namespace {

constexpr int kMostNodes = 1 << 20;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + "; check that the launcher still runs, or start the program with ptlrun");
}

std::string text_of(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes;
  const auto digit = [](char letter) { return static_cast<unsigned>(letter <= '9' ? letter - '0' : letter - 'a' + 10); };
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

// The connection to the server.
class Server {
 public:
  Server(int fd, int rank, int size) : rank(rank), size(size), fd_(fd) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    const std::string most = field(ask("cmd=get_maxes", "maxes"), "vallen_max");
    most_ = std::clamp<size_t>(std::strtoul(most.c_str(), nullptr, 10), 64, 1 << 16) - 32;  // less: servers count keys or ends, too
    name = field(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
    if (name.empty()) fail("the PMI server gives this job no name");
  }

  void put(const std::string& key, const std::string& value) {
    if (field(ask("cmd=put kvsname=" + name + " key=" + key + " value=" + value, "put_result"), "rc") != "0")
      fail("the PMI server does not take the value '" + key + "'");
  }

  // False when nobody has put it.
  bool get(const std::string& key, std::string& value) {
    const std::string line = ask("cmd=get kvsname=" + name + " key=" + key, "get_result");
    value = field(line, "value");
    return field(line, "rc") == "0";
  }

  void barrier() { ask("cmd=barrier_in", "barrier_out"); }
  void leave() { ask("cmd=finalize", "finalize_ack"); }
  void abort(int status) { write_line("cmd=abort exitcode=" + std::to_string(status)); }
  size_t most() const { return most_; }

  std::string name;
  int rank, size;

 private:
  std::string ask(const std::string& question, const char* kind) {
    write_line(question);
    std::string line = read_line();
    if (field(line, "cmd") != kind) fail("the PMI server answered '" + line + "' to '" + question.substr(0, 80) + "'");
    return line;
  }

  static std::string field(const std::string& line, const std::string& wanted) {
    const std::string sought = wanted + "=";
    for (size_t from = 0; from < line.size();) {
      const size_t to = std::min(line.find(' ', from), line.size());
      if (line.compare(from, sought.size(), sought) == 0) return line.substr(from + sought.size(), to - from - sought.size());
      from = to + 1;
    }
    return "";
  }

  void write_line(std::string line) {
    line += '\n';
    for (size_t done = 0; done < line.size();) {
      const ssize_t put = send(fd_, line.data() + done, line.size() - done, MSG_NOSIGNAL);
      if (put < 0 && errno != EINTR) fail(std::string("the PMI server cannot be reached (") + std::strerror(errno) + ")");
      if (put > 0) done += static_cast<size_t>(put);
    }
  }

  std::string read_line() {
    size_t end;
    while ((end = unread_.find('\n')) == std::string::npos) {
      char bytes[4096];
      const ssize_t got = read(fd_, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) fail("the PMI server has gone");
      unread_.append(bytes, static_cast<size_t>(got));
    }
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
  }

  int fd_;
  size_t most_ = 0;
  std::string unread_;
};

int number_in_environment(const char* name) { return std::atoi(std::getenv(name)); }

Server* connected = nullptr;
pid_t connected_by = 0;
int starts = 0;  // of jobs in this process

// A process that ends without taking its leave has failed, for the launcher.
void leave_at_exit() {
  if (connected == nullptr || connected_by != getpid()) return;
  try {
    connected->leave();
  } catch (const std::exception&) {  // the launcher has gone before
  }
}

Server& connect() {
  if (connected == nullptr) {
    connected = new Server(number_in_environment("PMI_FD"), number_in_environment("PMI_RANK"), number_in_environment("PMI_SIZE"));
    connected_by = getpid();
    std::atexit(leave_at_exit);
  }
  return *connected;
}

// Which node each rank is on, from "(vector,(0,2,4))": from node 0 on, 2 nodes of 4 ranks each, again until all ranks have one.
std::vector<int> nodes_in(const std::string& mapping, int size) {
  std::vector<int> nodes;
  constexpr char kHead[] = "(vector,";
  if (mapping.compare(0, sizeof kHead - 1, kHead) != 0) return {};
  while (static_cast<int>(nodes.size()) < size) {
    const size_t before = nodes.size();
    for (size_t at = mapping.find('(', 1); at != std::string::npos; at = mapping.find('(', at + 1)) {
      int first = 0, count = 0, ranks = 0;
      if (std::sscanf(mapping.c_str() + at, "(%d,%d,%d)", &first, &count, &ranks) != 3) return {};
      if (first < 0 || first > kMostNodes || count < 0 || count > kMostNodes || ranks < 0) return {};
      for (int node = first; node < first + count; ++node)
        for (int i = 0; i < ranks && static_cast<int>(nodes.size()) < size; ++i) nodes.push_back(node);
    }
    if (nodes.size() == before) return {};
  }
  return nodes;
}

std::string own_node() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) name[0] = '\0';
  return text_of(std::as_bytes(std::span(name, std::strlen(name))));
}

// Servers tell the mapping; of one that does not, all ranks ask each other for their hosts' names.
std::vector<int> local_ranks_of(Server& server, int start) {
  std::string mapping;
  std::vector<int> nodes;
  if (server.get("PMI_process_mapping", mapping)) nodes = nodes_in(mapping, server.size);
  std::vector<int> ranks;
  if (!nodes.empty()) {
    for (int rank = 0; rank < server.size; ++rank)
      if (nodes[static_cast<size_t>(rank)] == nodes[static_cast<size_t>(server.rank)]) ranks.push_back(rank);
    return ranks;
  }
  const std::string key = std::to_string(start) + ".node.";
  server.put(key + std::to_string(server.rank), "n" + own_node());
  server.barrier();
  for (int rank = 0; rank < server.size; ++rank) {
    std::string node;
    if (!server.get(key + std::to_string(rank), node)) fail("rank " + std::to_string(rank) + " does not say which node it is on");
    if (node == "n" + own_node()) ranks.push_back(rank);
  }
  return ranks;
}

JobView view_of(Server& server, int start) {
  JobView view;
  view.id = server.name;
  std::replace_if(
      view.id.begin(), view.id.end(), [](char letter) { return letter == '/' || letter == '.'; }, '_');  // part of file names
  if (start > 0) view.id += "-" + std::to_string(start);
  view.rank = server.rank;
  view.size = server.size;
  view.local_ranks = local_ranks_of(server, start);
  const auto place = std::find(view.local_ranks.begin(), view.local_ranks.end(), view.rank);
  if (place == view.local_ranks.end()) fail("the PMI server leaves this rank out of its node's ranks");
  view.local_rank = static_cast<int>(place - view.local_ranks.begin());
  return view;
}

class PmiJob final : public Bootstrap {
 public:
  PmiJob(Server& server, int start) : Bootstrap(view_of(server, start)), server_(server), start_(start) {
    others_.resize(static_cast<size_t>(size()));
  }

  void put(const std::string& key, std::span<const std::byte> value) override {
    if (key.empty() || key.find_first_of(" =:;\n") != std::string::npos)
      throw std::runtime_error("the key '" + key + "' must have letters, and none of space, '=', ':' and ';'");
    pending_[key] = text_of(value);
    others_[static_cast<size_t>(rank())].values[key] = {value.begin(), value.end()};
  }

  void commit() override {}  // others see values after a fence only: servers hand them on then

  void fence(bool) override {
    std::string text;
    for (const auto& [key, value] : pending_) text += key + ":" + value + ";";
    pending_.clear();
    const size_t parts = text.size() / server_.most() + 1;
    for (size_t part = 0; part < parts; ++part) {
      const std::string head = part == 0 ? std::to_string(parts) + "!" : "!";
      server_.put(name_of(rank(), fences_, part), head + text.substr(part * server_.most(), server_.most()));
    }
    server_.barrier();
    ++fences_;
  }

  std::vector<std::byte> get(int rank, const std::string& key) override {
    if (rank < 0 || rank >= size())
      throw std::runtime_error("rank " + std::to_string(rank) + " does not exist in this job of " + std::to_string(size()) + " ranks");
    Known& known = others_[static_cast<size_t>(rank)];
    if (rank != this->rank())
      for (; known.fences < fences_; ++known.fences) fetch(rank, known);
    const auto found = known.values.find(key);
    if (found == known.values.end())
      throw std::runtime_error("rank " + std::to_string(rank) + " gave no value '" + key +
                               "'; check that all ranks run the same program and library, and put values before a fence");
    return found->second;
  }

  void abort(int status, std::string_view message) override {
    if (!message.empty()) std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
    std::fflush(nullptr);
    try {
      server_.abort(status);
    } catch (const std::exception&) {  // then nobody is left who could end the others
    }
    _exit(status);
  }

  void finish() override { server_.barrier(); }

 private:
  struct Known {
    std::map<std::string, std::vector<std::byte>> values;
    int fences = 0;  // whose values are here
  };

  std::string name_of(int rank, int fence, size_t part) const {
    return std::to_string(start_) + "." + std::to_string(fence) + "." + std::to_string(rank) + "." + std::to_string(part);
  }

  // Gets all that the rank put before one fence.
  void fetch(int rank, Known& known) {
    std::string text;
    size_t parts = 1;
    for (size_t part = 0; part < parts; ++part) {
      std::string value;
      if (!server_.get(name_of(rank, known.fences, part), value))
        fail("the PMI server has lost what rank " + std::to_string(rank) + " put");
      if (part == 0) parts = std::strtoul(value.c_str(), nullptr, 10);
      text += value.substr(std::min(value.find('!'), value.size() - 1) + 1);
    }
    for (size_t from = 0; from < text.size();) {
      const size_t colon = text.find(':', from), end = text.find(';', from);
      if (colon == std::string::npos || end == std::string::npos || colon > end) fail("the PMI server gives values that nobody put");
      known.values[text.substr(from, colon - from)] = bytes_of(std::string_view(text).substr(colon + 1, end - colon - 1));
      from = end + 1;
    }
  }

  Server& server_;
  int start_;
  int fences_ = 0;
  std::map<std::string, std::string> pending_;
  std::vector<Known> others_;
};

}  // namespace

std::unique_ptr<Bootstrap> start_pmi_job() {
  Server& server = connect();
  return std::make_unique<PmiJob>(server, starts++);
}

}  // namespace portunus
