// With PTL_DEBUG=buffers, data that cannot be read to their end are told before they are touched, whatever call they are for.
#include <sys/mman.h>
#include <unistd.h>

#include "arguments.hpp"

namespace unreadable_test {
namespace {

// `bad` begins so many bytes before the end of what is mapped that the last of kInts integers is beyond it.
constexpr int kInts = 2048;
int* bad;
int room[64 * kInts];
MPI_Request request;
MPI_Datatype gaps;

void* half_a_page_and_nothing() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), size = kInts * sizeof(int);
  const size_t mapped = (size / page + 1) * page;
  auto* memory = static_cast<unsigned char*>(mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + mapped, page, PROT_NONE);  // not unmapped: another allocation could take its place
  return memory + mapped - size + sizeof(int);
}

TEST(Unreadable, DataAreErrorsInEachCallThatSendsThem) {
  bad = static_cast<int*>(half_a_page_and_nothing());
  MPI_Type_vector(kInts / 2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  static const MPI_Comm W = MPI_COMM_WORLD;
  static const MPI_Datatype I = MPI_INT;
  static int counts[64], places[64];
  counts[rank()] = kInts;
  static MPI_Win win;
  int* memory = nullptr;
  MPI_Win_allocate(kInts * 4, 4, MPI_INFO_NULL, W, &memory, &win);
  MPI_Win_lock_all(0, win);
  const Wrong table[] = {
      WRONG(BUFFER, MPI_Send(bad, kInts, I, right(), 0, W)),
      WRONG(BUFFER, MPI_Send(bad + 1, 1, gaps, right(), 0, W)),
      WRONG(BUFFER, MPI_Ssend(bad, kInts, I, right(), 0, W)),
      WRONG(BUFFER, MPI_Bsend(bad, kInts, I, right(), 0, W)),
      WRONG(BUFFER, MPI_Rsend(bad, kInts, I, right(), 0, W)),
      WRONG(BUFFER, MPI_Isend(bad, kInts, I, right(), 0, W, &request)),
      WRONG(BUFFER, MPI_Issend(bad, kInts, I, right(), 0, W, &request)),
      WRONG(BUFFER, MPI_Send_init(bad, kInts, I, right(), 0, W, &request)),
      WRONG(BUFFER, MPI_Sendrecv(bad, kInts, I, right(), 0, room, kInts, I, left(), 0, W, MPI_STATUS_IGNORE)),
      WRONG(BUFFER, MPI_Bcast(bad, kInts, I, 0, W)),
      WRONG(BUFFER, MPI_Gather(bad, kInts, I, room, kInts, I, 0, W)),
      WRONG(BUFFER, MPI_Allgather(bad, kInts, I, room, kInts, I, W)),
      WRONG(BUFFER, MPI_Iallgather(bad, kInts, I, room, kInts, I, W, &request)),
      WRONG(BUFFER, MPI_Alltoall(bad, kInts / ranks(), I, room, kInts / ranks(), I, W)),
      WRONG(BUFFER, MPI_Alltoallv(bad, counts, places, I, room, counts, places, I, W)),
      WRONG(BUFFER, MPI_Gatherv(bad, kInts, I, room, counts, places, I, 0, W)),
      WRONG(BUFFER, MPI_Allgatherv(bad, kInts, I, room, counts, places, I, W)),
      WRONG(BUFFER, MPI_Reduce(bad, room, kInts, I, MPI_SUM, 0, W)),
      WRONG(BUFFER, MPI_Allreduce(bad, room, kInts, I, MPI_SUM, W)),
      WRONG(BUFFER, MPI_Scan(bad, room, kInts, I, MPI_SUM, W)),
      WRONG(BUFFER, MPI_Reduce_scatter_block(bad, room, kInts / ranks(), I, MPI_SUM, W)),
      WRONG(BUFFER, MPI_Put(bad, kInts, I, right(), 0, kInts, I, win)),
      WRONG(BUFFER, MPI_Accumulate(bad, kInts, I, right(), 0, kInts, I, MPI_SUM, win)),
      WRONG(BUFFER, MPI_Rput(bad, kInts, I, right(), 0, kInts, I, win, &request)),
      // These do not read it.
      WRONG(SUCCESS, MPI_Send(bad, kInts, I, MPI_PROC_NULL, 0, W)),
      WRONG(SUCCESS, MPI_Send(bad + kInts, 0, I, rank(), 0, W)),
      WRONG(SUCCESS, MPI_Recv(room, 0, I, rank(), 0, W, MPI_STATUS_IGNORE)),
  };
  expect_errors(table, win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Type_free(&gaps);
}

}  // namespace
}  // namespace unreadable_test
