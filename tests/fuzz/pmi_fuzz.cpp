// Whatever a PMI server answers, a process that joins, meets and asks ends up with a place that makes sense or with a sentence.
// The first two bytes are the process's rank and the job's size, as its environment gives them; the rest is what the server says.
#include <fcntl.h>

#include "engine/host/pmi.cpp"  // what is asked and understood has no header of its own
#include "tests/fuzz/replay.hpp"

namespace {

void join(int fd, int rank, int size) {
  portunus::Server server(fd, rank, size);
  portunus::PmiJob job(server, 0);
  require(job.rank() == rank && job.size() == size, "a process is who it was told");
  require(job.local_rank() >= 0 && job.local_rank() < job.local_size(), "a process is among those of its node");
  require(job.local_ranks()[static_cast<size_t>(job.local_rank())] == rank, "and knows which it is");
  job.put("key", {});
  job.fence(true);
  (void)job.get((rank + 1) % size, "key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const int ranks = 1 + data[1] % 9;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
  (void)!send(ends[1], data + 2, size - 2, MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(ends[1], SHUT_WR);
  try {
    join(ends[0], data[0] % ranks, ranks);
  } catch (const std::runtime_error& e) {
    require(e.what()[0] != '\0', "errors have a sentence");
  }
  close(ends[0]);
  close(ends[1]);
  return 0;
}
