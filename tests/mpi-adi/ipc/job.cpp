// job.cpp [mpi]: PEACE in a job that a launcher made, on one node or several: each rank finds every other by rank and port
// number, sends to it and is called by it. With `mpi`, MPI runs beside it, in messages between the same ranks. Ends with 0
// if all was well.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "mpi.h"

namespace {

constexpr peace_pattern_t kAny{{0, 0, 0}, 0, ~0u};
constexpr int64_t kPatience = 60'000'000'000;
constexpr uint32_t kPort = 7;

#define CHECK(what)                                                                                      \
  do {                                                                                                   \
    if (!(what)) {                                                                                       \
      std::fprintf(stderr, "line %d: %s is not so; last error: %s\n", __LINE__, #what, peace_explain()); \
      return 1;                                                                                          \
    }                                                                                                    \
  } while (0)

int run(int& size) {
  peace_port_t port;
  CHECK(peace_init() == PEACE_OK);
  CHECK(peace_open(kPort, 0, 0, &port) == PEACE_OK);
  size = 0;
  int rank = -1;
  for (; peace_process(size) != 0; ++size)
    if (peace_process(size) == peace_process(-1)) rank = size;
  CHECK(rank >= 0 && peace_rank() == rank && peace_size() == size);
  std::vector<unsigned char> out(200'000, static_cast<unsigned char>(rank)), in(out.size());
  int failed = 0;
  // One thread serves the calls of the others while this one sends, receives and calls.
  std::thread server([&] {
    for (int i = 0; i < size - 1; ++i) {
      peace_task_t task;
      peace_message_t message;
      std::vector<unsigned char> data(out.size());
      if (peace_accept(port, kAny, kPatience, &task, &message) != PEACE_OK || message.sent != data.size() ||
          peace_movefrom(task, 0, data.data(), data.size()) != PEACE_OK ||
          peace_reply(&task, data[5], data.data(), data.size()) != PEACE_OK)
        failed = 1;
    }
  });
  int code = [&]() -> int {
    for (int step = 1; step < size; ++step) {
      const int to = (rank + step) % size, from = (rank + size - step) % size;
      peace_address_t address;
      CHECK(peace_find(peace_process(to), kPort, kPatience, &address) == PEACE_OK);
      for (const size_t bytes : {size_t{8}, out.size()}) {
        peace_request_t request;
        CHECK(peace_isend(address, 3, out.data(), bytes, 0, &request) == PEACE_OK);
        peace_message_t message;
        CHECK(peace_receive(port, {{peace_process(from), 0, 0}, 3, 0}, in.data(), in.size(), kPatience, &message) == PEACE_OK);
        CHECK(message.sent == bytes && in[bytes - 1] == from);
        CHECK(peace_wait(&request, kPatience, nullptr) == PEACE_OK);
      }
      peace_message_t reply;
      CHECK(peace_call(address, 1, out.data(), out.size(), in.data(), in.size(), kPatience, &reply) == PEACE_OK);
      CHECK(reply.sent == out.size() && reply.type == static_cast<uint32_t>(rank) && in == out);
    }
    return 0;
  }();
  if (code != 0) std::_Exit(1);  // the server would wait for ever
  server.join();
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const bool beside_mpi = argc > 1 && std::strcmp(argv[1], "mpi") == 0;
  int size = 0, ranks = 0, provided;
  if (beside_mpi) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int failed = run(size);
  if (beside_mpi) {
    int one = 1;
    MPI_Allreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    failed |= ranks != size;
  }
  failed |= peace_fini() != PEACE_OK;
  if (beside_mpi) MPI_Finalize();
  return failed;
}
