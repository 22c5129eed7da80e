// ranks.hpp: what the tests that run on several ranks share. Every rank runs the same tests in the same order; most tests
// are exchanges, so they check with EXPECT and go on: a rank that left early would keep the others waiting.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/support/payload.hpp"

inline int rank() {
  int value = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}
inline int ranks() {
  int value = -1;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}
inline int right() { return (rank() + 1) % ranks(); }
inline int left() { return (rank() + ranks() - 1) % ranks(); }
inline int class_of(int error) {
  int found = -1;
  MPI_Error_class(error, &found);
  return found;
}

using Bytes = std::vector<unsigned char>;

// The data that `source` sends as its message `number`.
inline Bytes message(int source, int number, size_t size) {
  Bytes bytes(size);
  portunus::test::fill_from(static_cast<uint32_t>(source) * 2654435761u + static_cast<uint32_t>(number) * 40503u + 1, bytes.data(), size);
  return bytes;
}
// Room that differs from the message that is to come.
inline Bytes room_for(const Bytes& expected) {
  Bytes room(expected);
  portunus::test::invert(room.data(), room.size());
  return room;
}

inline int send(const Bytes& bytes, int target, int tag = 0) {
  return MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, target, tag, MPI_COMM_WORLD);
}
inline int receive(Bytes& room, int source, int tag = 0, MPI_Status* status = MPI_STATUS_IGNORE) {
  return MPI_Recv(room.data(), static_cast<int>(room.size()), MPI_BYTE, source, tag, MPI_COMM_WORLD, status);
}
inline MPI_Request isend(const Bytes& bytes, int target, int tag = 0) {
  MPI_Request request;
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, target, tag, MPI_COMM_WORLD, &request);
  return request;
}
inline MPI_Request ireceive(Bytes& room, int source, int tag = 0) {
  MPI_Request request;
  MPI_Irecv(room.data(), static_cast<int>(room.size()), MPI_BYTE, source, tag, MPI_COMM_WORLD, &request);
  return request;
}
inline int count_of(const MPI_Status& status, MPI_Datatype type = MPI_BYTE) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}
inline void barrier() { EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS); }

// The other one of each pair (0,1), (2,3) ..; -1: an odd one out.
inline int partner() {
  const int other = rank() ^ 1;
  return other < ranks() ? other : -1;
}

// The number of messages that this process has handed to a transport, from its start on.
inline unsigned long long sends() {
  int provided, index, count;
  unsigned long long value = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
  EXPECT_EQ(MPI_T_pvar_get_index("engine_sends", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_read(session, handle, &value);
  MPI_T_pvar_handle_free(session, &handle);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
  return value;
}

// Errors are returned while it lives.
class ReturnErrors {
 public:
  ReturnErrors() { set(MPI_ERRORS_RETURN); }
  ~ReturnErrors() { set(MPI_ERRORS_ARE_FATAL); }
  ReturnErrors(const ReturnErrors&) = delete;
  ReturnErrors& operator=(const ReturnErrors&) = delete;

 private:
  static void set(MPI_Errhandler handler) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  }
};
