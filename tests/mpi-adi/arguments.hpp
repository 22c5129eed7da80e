// arguments.hpp: tables of calls with one wrong argument each, and the class of the error that each must return.
#pragma once

#include "ranks.hpp"

struct Wrong {
  int line;
  const char* call;
  int expected;
  int (*run)();
};
constexpr int MPI_ERR_SUCCESS = MPI_SUCCESS;  // for what lies between
#define WRONG(expected, call)                                \
  {                                                          \
    __LINE__, #call, MPI_ERR_##expected, [] { return call; } \
  }

// What the calls are made with: valid unless it is said not to be.
namespace args {
inline int buffer[64], other[64], ints[64], flag, index_;
inline MPI_Aint addresses[8], address;
inline MPI_Count count;
inline MPI_Datatype types[8], type;
inline MPI_Status status;
inline MPI_Request request, requests[2];
inline MPI_Comm comm;
inline MPI_Group group;
inline MPI_Win win;
inline MPI_Info info;
inline MPI_Errhandler errhandler;
inline MPI_Op op;
inline MPI_Message message_handle;
inline char text[MPI_MAX_ERROR_STRING];

inline const MPI_Comm W = MPI_COMM_WORLD, no_comm = reinterpret_cast<MPI_Comm>(buffer);
inline const MPI_Datatype I = MPI_INT, no_type = reinterpret_cast<MPI_Datatype>(buffer);
inline const MPI_Op no_op = reinterpret_cast<MPI_Op>(buffer);
inline const MPI_Group no_group = reinterpret_cast<MPI_Group>(buffer);
inline const MPI_Win no_win = reinterpret_cast<MPI_Win>(buffer);
inline const MPI_Info no_info = reinterpret_cast<MPI_Info>(buffer);
inline const MPI_Errhandler no_errhandler = reinterpret_cast<MPI_Errhandler>(buffer);
inline const MPI_Request no_request = reinterpret_cast<MPI_Request>(buffer);
inline MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
inline MPI_Request bad_request;
}  // namespace args

template <size_t n>
void expect_errors(const Wrong (&table)[n]) {
  ReturnErrors guard;
  MPI_Type_vector(2, 1, 2, MPI_INT, &args::uncommitted);
  for (const Wrong& wrong : table) {
    args::bad_request = args::no_request;
    EXPECT_EQ(class_of(wrong.run()), wrong.expected) << "line " << wrong.line << ": " << wrong.call;
  }
  MPI_Type_free(&args::uncommitted);
}
