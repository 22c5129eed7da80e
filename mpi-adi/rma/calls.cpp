// calls.cpp: the calls that access windows, with counts of both kinds.
// Source: MPI-5.0, 12.3.
#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/rma/report.hpp"
#include "mpi-adi/rma/transfer.hpp"

using namespace portunus::mpi;
using namespace portunus::mpi::rma;

#define RMA_CALLS(suffix, Count)                                                                                                           \
  extern "C" int PMPI_Put##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,              \
                                  MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Win win) try {               \
    Access access;                                                                                                                         \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    return put("MPI_Put" #suffix, origin, target_rank, target_disp, target, win, access);                                                  \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Put##suffix)                                                                                                               \
  extern "C" int PMPI_Get##suffix(void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,                    \
                                  MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Win win) try {               \
    Access access;                                                                                                                         \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    return get("MPI_Get" #suffix, origin, target_rank, target_disp, target, win, access);                                                  \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Get##suffix)                                                                                                               \
  extern "C" int PMPI_Accumulate##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,       \
                                         MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Op op,                \
                                         MPI_Win win) try {                                                                                \
    Access access;                                                                                                                         \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    return accumulate("MPI_Accumulate" #suffix, origin, nullptr, target_rank, target_disp, target, op, win, access);                       \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Accumulate##suffix)                                                                                                        \
  extern "C" int PMPI_Get_accumulate##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, void* result_addr, \
                                             Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,      \
                                             Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) try {               \
    Access access;                                                                                                                         \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    const Buffer result{result_addr, result_count, result_datatype};                                                                       \
    return accumulate("MPI_Get_accumulate" #suffix, origin, &result, target_rank, target_disp, target, op, win, access);                   \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Get_accumulate##suffix)                                                                                                    \
  extern "C" int PMPI_Rput##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,             \
                                   MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Win win,                    \
                                   MPI_Request* request) try {                                                                             \
    Access access;                                                                                                                         \
    if (int error = open_request("MPI_Rput" #suffix, win, target_rank, request, access)) return error;                                     \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    const int error = put("MPI_Rput" #suffix, origin, target_rank, target_disp, target, win, access);                                      \
    return close_request(access, error, request);                                                                                          \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Rput##suffix)                                                                                                              \
  extern "C" int PMPI_Rget##suffix(void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,                   \
                                   MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Win win,                    \
                                   MPI_Request* request) try {                                                                             \
    Access access;                                                                                                                         \
    if (int error = open_request("MPI_Rget" #suffix, win, target_rank, request, access)) return error;                                     \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    const int error = get("MPI_Rget" #suffix, origin, target_rank, target_disp, target, win, access);                                      \
    return close_request(access, error, request);                                                                                          \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Rget##suffix)                                                                                                              \
  extern "C" int PMPI_Raccumulate##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype, int target_rank,      \
                                          MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,  \
                                          MPI_Request* request) try {                                                                      \
    Access access;                                                                                                                         \
    if (int error = open_request("MPI_Raccumulate" #suffix, win, target_rank, request, access)) return error;                              \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    const int error = accumulate("MPI_Raccumulate" #suffix, origin, nullptr, target_rank, target_disp, target, op, win, access);           \
    return close_request(access, error, request);                                                                                          \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Raccumulate##suffix)                                                                                                       \
  extern "C" int PMPI_Rget_accumulate##suffix(const void* origin_addr, Count origin_count, MPI_Datatype origin_datatype,                   \
                                              void* result_addr, Count result_count, MPI_Datatype result_datatype, int target_rank,        \
                                              MPI_Aint target_disp, Count target_count, MPI_Datatype target_datatype, MPI_Op op,           \
                                              MPI_Win win, MPI_Request* request) try {                                                     \
    Access access;                                                                                                                         \
    if (int error = open_request("MPI_Rget_accumulate" #suffix, win, target_rank, request, access)) return error;                          \
    const Buffer origin{origin_addr, origin_count, origin_datatype};                                                                       \
    const Buffer target{nullptr, target_count, target_datatype};                                                                           \
    const Buffer result{result_addr, result_count, result_datatype};                                                                       \
    const int error = accumulate("MPI_Rget_accumulate" #suffix, origin, &result, target_rank, target_disp, target, op, win, access);       \
    return close_request(access, error, request);                                                                                          \
  }                                                                                                                                        \
  MPI_WEAK_NAME(Rget_accumulate##suffix)

RMA_CALLS(, int)
RMA_CALLS(_c, MPI_Count)

extern "C" int PMPI_Fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                                 MPI_Op op, MPI_Win win) try {
  Access access;
  const Buffer result{result_addr, 1, datatype};
  return accumulate("MPI_Fetch_and_op", {origin_addr, 1, datatype}, &result, target_rank, target_disp, {nullptr, 1, datatype}, op, win,
                    access);
}
MPI_WEAK_NAME(Fetch_and_op)

extern "C" int PMPI_Compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr, MPI_Datatype datatype,
                                     int target_rank, MPI_Aint target_disp, MPI_Win win) try {
  return compare_and_swap("MPI_Compare_and_swap", origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win);
}
MPI_WEAK_NAME(Compare_and_swap)
