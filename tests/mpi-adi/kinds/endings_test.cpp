// Whatever ends a request, calls that wait for one of many find it: a message that the engine records, an event, a collective through
// memory, a thread of the program. Source: MPI-5.0, 3.7.5.
#include <functional>
#include <string>
#include <thread>

#include "../ranks.hpp"

namespace endings_test {
namespace {

// Begins something with a neighbour, which ends when `end` is called on all ranks; `after` completes what else was begun.
struct Kind {
  std::string name;
  std::function<MPI_Request()> begin;
  std::function<void()> end;
  std::function<void()> after = [] {};
  bool needs_threads = false;
};

Bytes room(200'000), data(200'000);
MPI_Request other, made;
MPI_Comm apart;  // of collectives that other ranks have begun before a barrier
std::thread thread;

int none(void*) { return MPI_SUCCESS; }
int query(void*, MPI_Status* status) { return MPI_Status_set_elements(status, MPI_BYTE, 0); }
int cancelled(void*, int) { return MPI_SUCCESS; }

Kind message_of(const char* name, size_t size) {
  return {name,
          [size] {
            MPI_Irecv(room.data(), static_cast<int>(size), MPI_BYTE, left(), 1, MPI_COMM_WORLD, &made);
            return made;
          },
          [size] { MPI_Isend(data.data(), static_cast<int>(size), MPI_BYTE, right(), 1, MPI_COMM_WORLD, &other); },
          [] { MPI_Wait(&other, MPI_STATUS_IGNORE); }};
}
Kind send_of(const char* name, decltype(MPI_Isend)* call, size_t size) {
  return {name,
          [call, size] {
            call(data.data(), static_cast<int>(size), MPI_BYTE, right(), 1, MPI_COMM_WORLD, &made);
            return made;
          },
          [size] { MPI_Irecv(room.data(), static_cast<int>(size), MPI_BYTE, left(), 1, MPI_COMM_WORLD, &other); },
          [] { MPI_Wait(&other, MPI_STATUS_IGNORE); }};
}

std::vector<Kind> kinds() {
  return {
      message_of("a short message", 8),
      message_of("a long message", room.size()),
      send_of("a long send", MPI_Isend, room.size()),
      send_of("a synchronous send", MPI_Issend, 8),
      {"a persistent receive",
       [] {
         MPI_Recv_init(room.data(), 8, MPI_BYTE, left(), 1, MPI_COMM_WORLD, &made);
         MPI_Start(&made);
         return made;
       },
       [] { MPI_Send(data.data(), 8, MPI_BYTE, right(), 1, MPI_COMM_WORLD); }, [] { MPI_Request_free(&made); }},
      {"a partitioned receive",
       [] {
         MPI_Precv_init(room.data(), 2, 4, MPI_BYTE, left(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &made);
         MPI_Psend_init(data.data(), 2, 4, MPI_BYTE, right(), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &other);
         MPI_Start(&made);
         MPI_Start(&other);
         return made;
       },
       [] { MPI_Pready_range(0, 1, other); },
       [] {
         MPI_Wait(&other, MPI_STATUS_IGNORE);
         MPI_Request_free(&other);
         MPI_Request_free(&made);
       }},
      {"a barrier",
       [] {
         if (rank() != 0) MPI_Ibarrier(apart, &made);
         else MPI_Irecv(room.data(), 8, MPI_BYTE, rank(), 1, MPI_COMM_WORLD, &made);
         return made;
       },
       [] {
         if (rank() == 0) MPI_Ibarrier(apart, &other);
         if (rank() == 0) MPI_Send(data.data(), 8, MPI_BYTE, rank(), 1, MPI_COMM_WORLD);
       },
       [] {
         if (rank() == 0) MPI_Wait(&other, MPI_STATUS_IGNORE);
       }},
      {"a sum",
       [] {
         static int in = 1, out;
         if (rank() != 0) MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, apart, &made);
         else MPI_Irecv(room.data(), 8, MPI_BYTE, rank(), 1, MPI_COMM_WORLD, &made);
         return made;
       },
       [] {
         static int in = 1, out;
         if (rank() == 0) MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, apart, &other);
         if (rank() == 0) MPI_Send(data.data(), 8, MPI_BYTE, rank(), 1, MPI_COMM_WORLD);
       },
       [] {
         if (rank() == 0) MPI_Wait(&other, MPI_STATUS_IGNORE);
       }},
      {"a request of the user",
       [] {
         MPI_Grequest_start(query, none, cancelled, nullptr, &made);
         return made;
       },
       [] { thread = std::thread([] { MPI_Grequest_complete(made); }); }, [] { thread.join(); }, true},
      {"a receive that another thread cancels",
       [] {
         MPI_Irecv(room.data(), 8, MPI_BYTE, left(), 2, MPI_COMM_WORLD, &made);
         return made;
       },
       [] { thread = std::thread([request = made]() mutable { MPI_Cancel(&request); }); }, [] { thread.join(); }, true},
  };
}

TEST(Endings, AreFoundByCallsThatWaitForOneOfMany) {
  int level;
  MPI_Query_thread(&level);
  MPI_Comm_dup(MPI_COMM_WORLD, &apart);
  constexpr int kMany = 70, kPlace = 40;
  const std::vector<std::pair<const char*, std::function<int(MPI_Request*)>>> calls = {
      {"MPI_Waitany",
       [](MPI_Request* all) {
         int index = -1;
         MPI_Waitany(kMany, all, &index, MPI_STATUS_IGNORE);
         return index;
       }},
      {"MPI_Waitsome",
       [](MPI_Request* all) {
         int count = 0, indices[kMany];
         MPI_Waitsome(kMany, all, &count, indices, MPI_STATUSES_IGNORE);
         return count == 1 ? indices[0] : -1;
       }},
      {"MPI_Testany",
       [](MPI_Request* all) {
         int index = -1, flag = 0;
         while (!flag) MPI_Testany(kMany, all, &index, &flag, MPI_STATUS_IGNORE);
         return index;
       }},
      {"MPI_Testsome", [](MPI_Request* all) {
         int count = 0, indices[kMany];
         while (count == 0) MPI_Testsome(kMany, all, &count, indices, MPI_STATUSES_IGNORE);
         return count == 1 ? indices[0] : -1;
       }}};
  std::vector<MPI_Request> all(kMany, MPI_REQUEST_NULL);
  std::vector<long> rooms(kMany);
  for (size_t i = 0; i < kMany; ++i)
    if (i != kPlace && i % 9 != 0) MPI_Irecv(&rooms[i], 1, MPI_LONG, left(), static_cast<int>(1000 + i), MPI_COMM_WORLD, &all[i]);
  for (const Kind& kind : kinds()) {
    if (kind.needs_threads && level != MPI_THREAD_MULTIPLE) continue;
    for (const auto& [name, call] : calls)
      for (int round = 0; round < 5; ++round) {
        all[kPlace] = kind.begin();
        barrier();
        kind.end();
        EXPECT_EQ(call(all.data()), kPlace) << name << " for " << kind.name;
        kind.after();
        barrier();
      }
  }
  all[kPlace] = MPI_REQUEST_NULL;
  for (size_t i = 0; i < kMany; ++i)
    if (all[i] != MPI_REQUEST_NULL) MPI_Send(&rooms[i], 1, MPI_LONG, right(), static_cast<int>(1000 + i), MPI_COMM_WORLD);
  MPI_Waitall(kMany, all.data(), MPI_STATUSES_IGNORE);
  MPI_Comm_free(&apart);
}

}  // namespace
}  // namespace endings_test
