// The records that each rank of a recorded job writes: one for each thing that a call did, in the order of the program.
//
// A file is a header, then records, each with some numbers, packed (packed.hpp). It is written through memory that is mapped, so that what
// a rank had written is there when it is killed.
//
// Thread: any; plain values.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace portunus::record {

inline constexpr uint64_t kMagic = 0x33306c616f674c50;
inline constexpr char kVariable[] = "PTL_RECORD_FOLDER";  // ptlrun tells its ranks; each writes the file `rank.N` there

enum class State : uint32_t { running, finished, no_space };
enum class Interface : uint32_t { mpi, shmem, portals };

struct Header {
  uint64_t magic = 0;
  int32_t rank = 0, size = 0;
  std::atomic<State> state{State::running};
  uint32_t threads = 0;                  // 1: several threads may have called at once
  uint64_t begun_ns = 0;                 // CLOCK_MONOTONIC
  std::atomic<uint64_t> used{0};         // bytes of the file that are written, this header included
  Interface interface = Interface::mpi;  // whose calls are recorded
  int64_t ahead_ns = 0;                  // how far the clock of this rank's host is ahead of that of host 0's
};
inline constexpr uint64_t kHeaderBytes = 4096;

enum class What : uint8_t {
  end,           // the program left
  send,          // blocking: what follows waits for it
  start_send,    // `object` is its request
  receive,       // a message has come
  post,          // a receive was started: `object` is its request; in the order of these receives take messages
  done,          // what follows waits for request `object`; of a receive: `peer`, `tag`, `bytes` are those of the message
  void_request,  // request `object` takes or sends no message: it was cancelled
  communicator,  // `comm` is defined: the numbers are a hash that is the same on its ranks, and their ranks in the job
  collective,    // `detail` says which; `object` is its request, or 0 where what follows waits for it
  put,           // `bytes` go into memory of rank `peer`; `object` is its request, or 0, and `comm` the window. The numbers: WordNumbers,
                 // `detail` is of PutDetail
  get,           // `bytes` come from there; a number is how many bytes go there before, others are as of a put
  flush,         // what follows waits until all that was put to rank `peer` lies there (peer < 0: to all ranks)
  fence,         // all ranks of the window meet, and what was put lies there
  open,          // access to rank `peer` is granted (MPI_Win_post); the other side waits for that (start)
  start,
  complete,  // access to rank `peer` ends (MPI_Win_complete); the other side waits for that (await)
  await,
  order,      // puts of `comm` to come arrive behind those before (fence)
  wait_word,  // what was put into memory of this rank has come: the numbers are WaitNumbers
  lock,       // the lock at place `object` was taken
  unlock,     // it is given back
  // Programs of Portals have the following; the numbers are those of the structures below.
  process,     // this rank is process `object` (process_number)
  operation,   // `bytes` go to a portal table entry of another process; `detail`: of OperationDetail
  entry,       // list entry `object` was appended
  entry_gone,  // it was unlinked
  count,       // `bytes` are added to counting event `object`; with `detail` 1 it becomes them
  count_wait,  // counting event `object` was waited for
  event,       // a full event was taken; `detail` 0: something came, 1: an operation of this rank has ended at its target
  note         // messages with processes of other jobs, which a schedule cannot express
};

// Bits of `detail` of puts and gets.
enum PutDetail : uint8_t { kBlocking = 1, kBehind = 2 };  // what follows waits for it; it arrives behind the put before

// A place in memory that is the same number on all ranks, and what an operation makes of an integer there.
enum class Change : uint64_t { unknown, set, add };
struct WordNumbers {
  uint64_t place, value;
  Change change;
};
struct WaitNumbers {
  uint64_t place, bytes;
  uint64_t value, is_known;  // of the word when the wait had ended
};

// An operation's counting events are their handles + 1, 0 is none.
enum OperationDetail : uint8_t { kCountsSend = 1, kCountsReply = 2, kCountsAck = 4, kCountsBytes = 8, kAcknowledged = 16 };
struct OperationNumbers {
  uint64_t process, index, bits;
  uint64_t back;                // bytes that come back
  uint64_t counter, user;       // of the memory descriptor; the pointer that its events have
  uint64_t trigger, threshold;  // of a triggered one
};
struct EntryNumbers {
  uint64_t index, bits, ignored;
  uint64_t counter, flags;  // kOnce, kBytes
};
inline constexpr uint64_t kOnce = 1, kBytes = 2;
struct CountNumbers {
  uint64_t trigger, threshold;
};
struct EventNumbers {
  uint64_t process, index, bits, user;
};
inline uint64_t process_number(uint32_t nid, uint32_t pid) { return uint64_t{nid} << 32 | pid; }

// Collectives; the rows of numbers that follow are sizes in bytes.
enum class Collective : uint8_t {
  barrier,
  bcast,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce,
  allreduce,
  reduce_scatter_block,
  scan,
  exscan,  // bytes of each rank
  gatherv,
  scatterv,  // at the root those of all ranks
  allgatherv,
  reduce_scatter,  // those of all ranks
  collect,         // of this rank alone: an allgatherv
  alltoallv,       // those that go to each rank, those that come from each
  exchange         // messages with neighbours: pairs of rank and bytes, `tag` of them leave, the others come
};

struct Record {
  What what = What::end;
  uint8_t detail = 0;  // a Collective
  int32_t peer = -1;   // rank in the job; of a collective the root in the communicator
  int32_t tag = 0;
  uint32_t comm = 0;
  uint32_t context = 0;
  uint64_t bytes = 0;
  uint64_t compute_ns = 0;  // since the call before
  uint64_t time_ns = 0;     // CLOCK_MONOTONIC: begin of what sends, end of what waits
  uint64_t object = 0;
};

inline std::string file_of(const std::string& folder, int rank) { return folder + "/rank." + std::to_string(rank); }

}  // namespace portunus::record
