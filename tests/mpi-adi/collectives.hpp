// collectives.hpp: what the tests of collectives share: the three forms of a call, values that tell who they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ranks.hpp"

enum class Form { blocking, nonblocking, persistent };
constexpr Form kForms[] = {Form::blocking, Form::nonblocking, Form::persistent};

// Runs one collective in `form`: MPI_Name(arguments, comm), or with a request; also with large counts.
#define IN_FORM(form, comm, Name, name, ...) IN_FORM_AS(form, comm, Name, name, , __VA_ARGS__)
#define IN_LARGE_FORM(form, comm, Name, name, ...) IN_FORM_AS(form, comm, Name, name, _c, __VA_ARGS__)
#define IN_FORM_AS(form, comm, Name, name, suffix, ...)                                               \
  do {                                                                                                \
    MPI_Request request_ = MPI_REQUEST_NULL;                                                          \
    if ((form) == Form::blocking) {                                                                   \
      EXPECT_EQ(MPI_##Name##suffix(__VA_ARGS__, comm), MPI_SUCCESS);                                  \
    } else if ((form) == Form::nonblocking) {                                                         \
      EXPECT_EQ(MPI_I##name##suffix(__VA_ARGS__, comm, &request_), MPI_SUCCESS);                      \
      EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);                                 \
    } else {                                                                                          \
      EXPECT_EQ(MPI_##Name##_init##suffix(__VA_ARGS__, comm, MPI_INFO_NULL, &request_), MPI_SUCCESS); \
      EXPECT_EQ(MPI_Start(&request_), MPI_SUCCESS);                                                   \
      EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);                                 \
      EXPECT_EQ(MPI_Request_free(&request_), MPI_SUCCESS);                                            \
    }                                                                                                 \
  } while (0)

inline int me(MPI_Comm comm) {
  int value = -1;
  MPI_Comm_rank(comm, &value);
  return value;
}
inline int size_of(MPI_Comm comm) {
  int value = -1;
  MPI_Comm_size(comm, &value);
  return value;
}

// Element i of what rank `from` gives to rank `to`; small, so that sums and products of a few stay exact.
inline int given(int from, size_t i, int to = 0) {
  return static_cast<int>((static_cast<size_t>(from) * 31 + static_cast<size_t>(to) * 17 + i * 7) % 97);
}

template <class T>
std::vector<T> vector_of(int from, size_t count, int to = 0) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(given(from, i, to));
  return values;
}

// Elements per rank: nothing, small ones that become resident, some that do not, bulk.
constexpr size_t kSizes[] = {0, 1, 5, 700, 40'000};

// The same on all ranks, another at each call.
inline int next_root(MPI_Comm comm) {
  static unsigned state = 12345;
  state = state * 1103515245u + 12345u;
  return static_cast<int>((state >> 16) % static_cast<unsigned>(size_of(comm)));
}

// The calls whose counts and displacements are arguments of their own.
inline std::vector<int> each(int count, int ranks) { return std::vector<int>(static_cast<size_t>(ranks), count); }
