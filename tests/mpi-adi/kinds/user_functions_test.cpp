// Functions of the user are called with nothing held: each calls MPI, at every level of threads, on the thread that has called MPI.
// Source: MPI-5.0, 6.9.5, 7.7, 9.3, 11.2.4, 14.5.3.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "../ranks.hpp"

namespace user_functions_test {
namespace {

std::atomic<int> runs{0}, elsewhere{0};
std::thread::id caller;
thread_local bool inside = false;

// Whatever takes a lock somewhere, and something that goes through the engine.
void call_much() {
  ++runs;
  if (std::this_thread::get_id() != caller) ++elsewhere;
  if (inside) return;
  inside = true;
  int out = 7, in = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, 0, 77, &in, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  EXPECT_EQ(in, 7);
  MPI_Barrier(MPI_COMM_SELF);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_finalize(&session);
  MPI_Datatype type;
  MPI_Type_create_f90_real(6, 30, &type);
  MPI_Info info;
  MPI_Abi_get_fortran_info(&info);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  int added, keyval;
  MPI_Add_error_class(&added);
  MPI_Remove_error_class(added);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_free_keyval(&keyval);
  inside = false;
}

// How often functions ran in what `call` does: all on this thread.
int runs_of(const std::function<void()>& call) {
  runs = elsewhere = 0;
  caller = std::this_thread::get_id();
  call();
  EXPECT_EQ(elsewhere, 0);
  return runs;
}

void on_comm(MPI_Comm*, int*, ...) { call_much(); }
void on_win(MPI_Win*, int*, ...) { call_much(); }
void on_file(MPI_File*, int*, ...) { call_much(); }
void on_session(MPI_Session*, int*, ...) { call_much(); }

TEST(UserFunctions, OfErrorsMayCallMPI) {
  MPI_Errhandler comm_handler, win_handler, file_handler, session_handler;
  MPI_Comm_create_errhandler(on_comm, &comm_handler);
  MPI_Win_create_errhandler(on_win, &win_handler);
  MPI_File_create_errhandler(on_file, &file_handler);
  MPI_Session_create_errhandler(on_session, &session_handler);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, comm_handler);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_real_size", "4");
  MPI_Abi_set_fortran_info(info);
  EXPECT_EQ(runs_of([&] { MPI_Abi_set_fortran_info(info); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Info_delete(info, "nothing"); }), 1);
  MPI_Info_free(&info);
  EXPECT_EQ(runs_of([] { MPI_Remove_error_string(-5); }), 1);
  EXPECT_EQ(runs_of([] { MPI_Remove_error_class(MPI_ERR_LASTCODE + 5000); }), 1);
  int flag, room[2], two[2] = {1, 2};
  EXPECT_EQ(runs_of([&] {  // an error of a request
              MPI_Request request;
              MPI_Irecv(room, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
              MPI_Send(two, 2, MPI_INT, 0, 5, MPI_COMM_SELF);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
            }),
            1);
  EXPECT_EQ(runs_of([&] {
              MPI_Request request;
              MPI_Irecv(room, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
              MPI_Send(two, 2, MPI_INT, 0, 5, MPI_COMM_SELF);
              for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            }),
            1);
  MPI_Win win;
  MPI_Win_create(room, sizeof room, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, win_handler);
  EXPECT_EQ(runs_of([&] { MPI_Win_unlock(0, win); }), 1);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  EXPECT_EQ(runs_of([&] { MPI_Put(room, 1, MPI_INT, 0, 1 << 20, 1, MPI_INT, win), MPI_Win_flush(0, win); }), 1);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, session_handler, &session);
  EXPECT_EQ(runs_of([&] { MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &flag, nullptr); }), 1);
  MPI_Session_finalize(&session);
  MPI_File file;
  const std::string name = "/tmp/portunus-functions-" + std::to_string(getpid());
  MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, file_handler);
  EXPECT_EQ(runs_of([&] { MPI_File_seek(file, -5, MPI_SEEK_SET); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_File_read_at(file, -5, room, 1, MPI_INT, MPI_STATUS_IGNORE); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_File_read_at_all(file, -5, room, 1, MPI_INT, MPI_STATUS_IGNORE); }), 1);
  MPI_File_set_atomicity(file, 1);
  EXPECT_EQ(runs_of([&] { MPI_File_write_at(file, 0, room, -1, MPI_INT, MPI_STATUS_IGNORE); }), 1);
  MPI_File_close(&file);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  for (MPI_Errhandler* each : {&comm_handler, &win_handler, &file_handler, &session_handler}) MPI_Errhandler_free(each);
}

template <class Handle>
int on_copy(Handle, int, void*, void* value, void* result, int* flag) {
  call_much();
  *static_cast<void**>(result) = value;
  *flag = 1;
  return MPI_SUCCESS;
}
template <class Handle>
int on_delete(Handle, int, void*, void*) {
  call_much();
  return MPI_SUCCESS;
}

// Ends the process with an error unless MPI_Finalize has called both delete functions.
int undeleted = 0;
struct CheckAtExit {
  ~CheckAtExit() {
    if (undeleted != 0) std::_Exit(86);
  }
} check_at_exit;
int on_end(MPI_Comm, int, void*, void*) {
  inside = false;
  call_much();
  --undeleted;
  return MPI_SUCCESS;
}

TEST(UserFunctions, OfAttributesMayCallMPI) {
  int keyval, some = 0;
  MPI_Comm_create_keyval(on_copy<MPI_Comm>, on_delete<MPI_Comm>, &keyval, nullptr);
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_attr(comm, keyval, &some);
  EXPECT_EQ(runs_of([&] { MPI_Comm_set_attr(comm, keyval, &some); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Comm_dup(comm, &copy); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Comm_free(&copy); }), 1);
  EXPECT_EQ(runs_of([&] {
              MPI_Request request;
              MPI_Comm_idup(comm, &copy, &request);
              MPI_Wait(&request, MPI_STATUS_IGNORE);
            }),
            1);
  EXPECT_EQ(runs_of([&] { MPI_Comm_disconnect(&copy); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Comm_delete_attr(comm, keyval); }), 1);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&keyval);

  MPI_Type_create_keyval(on_copy<MPI_Datatype>, on_delete<MPI_Datatype>, &keyval, nullptr);
  MPI_Datatype type, same;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_set_attr(type, keyval, &some);
  EXPECT_EQ(runs_of([&] { MPI_Type_dup(type, &same); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Type_free(&same); }), 1);
  EXPECT_EQ(runs_of([&] { MPI_Type_delete_attr(type, keyval); }), 1);
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&keyval);

  MPI_Win_create_keyval(on_copy<MPI_Win>, on_delete<MPI_Win>, &keyval, nullptr);
  MPI_Win win;
  MPI_Win_create(&some, sizeof some, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_attr(win, keyval, &some);
  EXPECT_EQ(runs_of([&] { MPI_Win_free(&win); }), 1);
  MPI_Win_free_keyval(&keyval);

  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &keyval, nullptr);
    MPI_Comm_set_attr(each, keyval, &some);
    MPI_Comm_free_keyval(&keyval);
    ++undeleted;
  }
}

void on_reduce(void* in, void* inout, int* count, MPI_Datatype*) {
  call_much();
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Ranks wait for each other: the function may run whenever this thread is in MPI.
void reduce_all_ways(size_t count) {
  MPI_Op op;
  MPI_Op_create(on_reduce, 1, &op);
  const int n = static_cast<int>(count), wanted = ranks() * (ranks() - 1) / 2;
  std::vector<int> mine(count * static_cast<size_t>(ranks()), rank()), sum(count * static_cast<size_t>(ranks()));
  MPI_Request request;
  const auto by = [&](const std::function<void()>& call) {
    sum.assign(sum.size(), -1);
    EXPECT_EQ(runs_of(call) > 0, ranks() > 1);
    EXPECT_EQ(sum[0], wanted);
    EXPECT_EQ(sum[count - 1], wanted);
  };
  by([&] { MPI_Allreduce(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD); });
  by([&] {
    MPI_Iallreduce(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  by([&] {
    MPI_Iallreduce(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD, &request);
    for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  });
  by([&] {  // something else is waited for meanwhile
    MPI_Iallreduce(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD, &request);
    int in = -1, out = rank();
    MPI_Sendrecv(&out, 1, MPI_INT, right(), 3, &in, 1, MPI_INT, left(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(in, left());
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  by([&] {
    MPI_Ireduce_scatter_block(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
  by([&] {
    MPI_Allreduce_init(mine.data(), sum.data(), n, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  });
  MPI_Op_free(&op);
}

TEST(UserFunctions, OfReductionsMayCallMPI) {
  reduce_all_ways(3);
  reduce_all_ways(50000);
}

// Another thread takes events all the time, so that it is often the one that finds out that a step has ended.
TEST(UserFunctions, MayCallMPIWhileThreadsWait) {
  int level;
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_MULTIPLE) return;
  MPI_Op op;
  MPI_Op_create(on_reduce, 1, &op);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::thread waits([&] {
    for (int go_on = 1; go_on;) MPI_Recv(&go_on, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm, MPI_STATUS_IGNORE);
  });
  std::vector<int> mine(50000, rank()), sum(50000);
  for (int round = 0; round < 20; ++round) {
    MPI_Request request;
    MPI_Iallreduce(mine.data(), sum.data(), 50000, MPI_INT, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(sum[49999], ranks() * (ranks() - 1) / 2);
  }
  barrier();
  const int over = 0;
  MPI_Send(&over, 1, MPI_INT, rank(), 9, comm);
  waits.join();
  MPI_Comm_free(&comm);
  MPI_Op_free(&op);
}

// Numbers lie twice in the file.
int double_extent(MPI_Datatype, MPI_Aint* extent, void*) {
  call_much();
  *extent = 2 * sizeof(int);
  return MPI_SUCCESS;
}
int from_file(void* user, MPI_Datatype, int count, void* file, MPI_Offset position, void*) {
  call_much();
  for (int i = 0; i < count; ++i) std::memcpy(static_cast<int*>(user) + position + i, static_cast<int*>(file) + 2 * i, sizeof(int));
  return MPI_SUCCESS;
}
int to_file(void* user, MPI_Datatype, int count, void* file, MPI_Offset position, void*) {
  call_much();
  for (int i = 0; i < 2 * count; ++i) std::memcpy(static_cast<int*>(file) + i, static_cast<int*>(user) + position + i / 2, sizeof(int));
  return MPI_SUCCESS;
}

TEST(UserFunctions, OfDataRepresentationsMayCallMPI) {
  MPI_Register_datarep("portunus-twice", from_file, to_file, double_extent, nullptr);
  constexpr int kCount = 1000;
  std::vector<int> out(kCount), in(kCount);
  for (int i = 0; i < kCount; ++i) out[static_cast<size_t>(i)] = i;
  MPI_File file;
  const std::string name = "/tmp/portunus-twice-" + std::to_string(getpid());
  MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  EXPECT_GE(runs_of([&] { MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "portunus-twice", MPI_INFO_NULL); }), 1);
  MPI_Request request;
  const auto wait = [&] {
    MPI_Status status;
    MPI_Wait(&request, &status);
    EXPECT_EQ(count_of(status, MPI_INT), kCount);
  };
  const std::function<void()> writes[] = {
      [&] { MPI_File_write_at(file, 0, out.data(), kCount, MPI_INT, MPI_STATUS_IGNORE); },
      [&] { MPI_File_write_at_all(file, 0, out.data(), kCount, MPI_INT, MPI_STATUS_IGNORE); },
      [&] { MPI_File_iwrite_at(file, 0, out.data(), kCount, MPI_INT, &request), wait(); },
      [&] { MPI_File_iwrite_at_all(file, 0, out.data(), kCount, MPI_INT, &request), wait(); },
      [&] {
        MPI_File_write_at_all_begin(file, 0, out.data(), kCount, MPI_INT), MPI_File_write_at_all_end(file, out.data(), MPI_STATUS_IGNORE);
      },
  };
  const std::function<void()> reads[] = {
      [&] { MPI_File_read_at(file, 0, in.data(), kCount, MPI_INT, MPI_STATUS_IGNORE); },
      [&] { MPI_File_read_at_all(file, 0, in.data(), kCount, MPI_INT, MPI_STATUS_IGNORE); },
      [&] { MPI_File_iread_at(file, 0, in.data(), kCount, MPI_INT, &request), wait(); },
      [&] { MPI_File_iread_at_all(file, 0, in.data(), kCount, MPI_INT, &request), wait(); },
      [&] {
        MPI_File_read_at_all_begin(file, 0, in.data(), kCount, MPI_INT), MPI_File_read_at_all_end(file, in.data(), MPI_STATUS_IGNORE);
      },
      [&] {
        MPI_File_iread_at(file, 0, in.data(), kCount, MPI_INT, &request);
        for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      },
      [&] { MPI_File_iread_at(file, 0, in.data(), kCount, MPI_INT, &request), MPI_Request_free(&request); },
  };
  for (const int atomic : {0, 1}) {
    MPI_File_set_atomicity(file, atomic);
    for (const auto& write : writes)
      for (const auto& read : reads) {
        in.assign(kCount, -1);
        MPI_File_set_size(file, 0);
        EXPECT_GE(runs_of(write), 2);
        EXPECT_GE(runs_of(read), 2);
        EXPECT_EQ(in, out);
      }
  }
  MPI_File_close(&file);
}

}  // namespace
}  // namespace user_functions_test
