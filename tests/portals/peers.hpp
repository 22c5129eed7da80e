// peers.hpp: how a program of the tests finds its peers: by the job it was started in, or by itself, as programs do that know
// nothing of PMIx: over PMI-1, the wire protocol of MPICH's launchers, or by files in a folder.
//
// Thread: one.
// Source: PMI-1 as MPICH's mpiexec.hydra speaks it: lines of words "name=value" over the descriptor PMI_FD.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portals_test {

[[noreturn]] inline void give_up(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::_Exit(1);
}

class Peers {
 public:
  virtual ~Peers() = default;
  // The values that each rank gave under this name, which is used once; values without spaces.
  virtual std::vector<std::string> exchange(const std::string& name, const std::string& value) = 0;
  void meet(const std::string& name) { exchange(name, "here"); }

  int rank = 0, size = 1;
};

// In a folder that all see: one file for each rank and name, complete as soon as it is there.
class FilePeers final : public Peers {
 public:
  FilePeers(std::string folder, int of_rank, int of_size) : folder_(std::move(folder)) {
    rank = of_rank;
    size = of_size;
  }
  std::vector<std::string> exchange(const std::string& name, const std::string& value) override {
    std::ofstream(path(name, rank) + ".new") << value;
    if (std::rename((path(name, rank) + ".new").c_str(), path(name, rank).c_str()) != 0) give_up("cannot write to " + folder_);
    std::vector<std::string> all;
    for (int peer = 0; peer < size; ++peer) {
      while (access(path(name, peer).c_str(), R_OK) != 0) sched_yield();
      std::ifstream file(path(name, peer));
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return all;
  }

 private:
  std::string path(const std::string& name, int of_rank) const { return folder_ + "/" + name + "." + std::to_string(of_rank); }
  std::string folder_;
};

class PmiPeers final : public Peers {
 public:
  PmiPeers() {
    const char* fd = std::getenv("PMI_FD");
    const char* of_rank = std::getenv("PMI_RANK");
    const char* of_size = std::getenv("PMI_SIZE");
    if (!fd || !of_rank || !of_size) give_up("PMI_FD, PMI_RANK and PMI_SIZE are not set: start this with mpiexec.hydra");
    fd_ = std::atoi(fd);
    rank = std::atoi(of_rank);
    size = std::atoi(of_size);
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    space_ = word(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
  }
  ~PmiPeers() override { ask("cmd=finalize", "finalize_ack"); }
  std::vector<std::string> exchange(const std::string& name, const std::string& value) override {
    ask("cmd=put kvsname=" + space_ + " key=" + name + "." + std::to_string(rank) + " value=" + value, "put_result");
    ask("cmd=barrier_in", "barrier_out");
    std::vector<std::string> all;
    for (int peer = 0; peer < size; ++peer)
      all.push_back(word(ask("cmd=get kvsname=" + space_ + " key=" + name + "." + std::to_string(peer), "get_result"), "value"));
    return all;
  }

 private:
  static std::string word(const std::string& line, const std::string& name) {
    const size_t at = (" " + line).find(" " + name + "=");
    if (at == std::string::npos) give_up("PMI answered without " + name + ": " + line);
    const size_t from = at + name.size() + 1;
    return line.substr(from, line.find(' ', from) - from);
  }
  std::string ask(std::string line, const std::string& answer) {
    line += '\n';
    for (size_t sent = 0; sent < line.size();) {
      const ssize_t n = write(fd_, line.data() + sent, line.size() - sent);
      if (n <= 0) give_up("PMI does not listen any more");
      sent += static_cast<size_t>(n);
    }
    std::string said;
    for (char c; read(fd_, &c, 1) == 1 && c != '\n';) said += c;
    if (word(said, "cmd") != answer || (said.find(" rc=") != std::string::npos && word(said, "rc") != "0"))
      give_up("PMI was asked '" + line + "' and said '" + said + "'");
    return said;
  }
  int fd_ = -1;
  std::string space_;
};

class JobPeers final : public Peers {
 public:
  JobPeers() {
    ptlx_job_t job;
    if (PtlxJobInit(&job) != PTL_OK) give_up("the job cannot be joined");
    rank = job.rank;
    size = job.size;
  }
  ~JobPeers() override { PtlxJobFini(); }
  std::vector<std::string> exchange(const std::string& name, const std::string& value) override {
    if (PtlxJobPut(name.c_str(), value.data(), value.size()) != PTL_OK || PtlxJobFence() != PTL_OK) give_up("the job cannot meet");
    std::vector<std::string> all;
    for (int peer = 0; peer < size; ++peer) {
      char text[256];
      size_t length = sizeof text;
      if (PtlxJobGet(peer, name.c_str(), text, &length) != PTL_OK) give_up("rank " + std::to_string(peer) + " said nothing");
      all.emplace_back(text, length);
    }
    return all;
  }
};

// "job", "pmi" or "files FOLDER RANK SIZE", from argv[next] on.
inline std::unique_ptr<Peers> find_peers(int argc, char** argv, int next) {
  const std::string way = argc > next ? argv[next] : "";
  if (way == "job") return std::make_unique<JobPeers>();
  if (way == "pmi") return std::make_unique<PmiPeers>();
  if (way == "files" && argc == next + 4)
    return std::make_unique<FilePeers>(argv[next + 1], std::atoi(argv[next + 2]), std::atoi(argv[next + 3]));
  give_up("say how the peers are found: job, pmi, or files FOLDER RANK SIZE");
}

// The physical addresses of all ranks.
inline std::vector<ptl_process_t> addresses(Peers& peers, ptl_handle_ni_t ni, const std::string& name) {
  ptl_process_t self;
  if (PtlGetPhysId(ni, &self) != PTL_OK) give_up("PtlGetPhysId failed");
  std::vector<ptl_process_t> all;
  for (const std::string& text : peers.exchange(name, std::to_string(self.phys.nid) + ":" + std::to_string(self.phys.pid))) {
    ptl_process_t id;
    id.phys = {static_cast<ptl_nid_t>(std::stoul(text)), static_cast<ptl_pid_t>(std::stoul(text.substr(text.find(':') + 1)))};
    all.push_back(id);
  }
  return all;
}

}  // namespace portals_test
