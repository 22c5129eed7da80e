// op_engine.cpp: which operations the engine carries out, and how.
#include <type_traits>

#include "mpi-adi/op/op.hpp"
#include "mpi-adi/op/op_types.hpp"

namespace portunus::mpi {

using namespace ops;

namespace {

// How the engine knows pairs of a value and a place, which are packed one behind the other.
template <class P>
constexpr int located_type() {
  using V = decltype(P::value);
  if constexpr (!std::is_same_v<decltype(P::index), int>) return -1;
  else if constexpr (std::is_same_v<V, short>) return GOAL_INT16_LOC;
  else if constexpr (std::is_same_v<V, int>) return GOAL_INT32_LOC;
  else if constexpr (std::is_same_v<V, long>) return GOAL_INT64_LOC;
  else if constexpr (std::is_same_v<V, float>) return GOAL_FLOAT_LOC;
  else if constexpr (std::is_same_v<V, double>) return GOAL_DOUBLE_LOC;
  else return GOAL_LONG_DOUBLE_LOC;
}

}  // namespace

EngineOp engine_op(MPI_Op op, MPI_Datatype type) {
  EngineOp found;
  if (!is_predefined(op)) return found;
  const Operation what = operation_of(op);
  found.possible = with_type(type, [&](auto tag, Class kind) {
    using T = typename decltype(tag)::type;
    if (!fits(what, kind)) return false;
    if constexpr (std::is_integral_v<T>) {
      constexpr GOAL_Type kSigned[] = {GOAL_INT8, GOAL_INT16, GOAL_INT32, GOAL_INT64};
      constexpr GOAL_Type kUnsigned[] = {GOAL_UINT8, GOAL_UINT16, GOAL_UINT32, GOAL_UINT64};
      constexpr int kWidth = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      found.type = std::is_signed_v<T> ? kSigned[kWidth] : kUnsigned[kWidth];
      return true;
    } else if constexpr (std::is_same_v<T, float>) {
      found.type = GOAL_FLOAT;
    } else if constexpr (std::is_same_v<T, double>) {
      found.type = GOAL_DOUBLE;
    } else if constexpr (std::is_same_v<T, long double>) {
      found.type = GOAL_LONG_DOUBLE;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      found.type = GOAL_FLOAT_COMPLEX;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      found.type = GOAL_DOUBLE_COMPLEX;
    } else if constexpr (std::is_same_v<T, std::complex<long double>>) {  // added as pairs
      found.type = GOAL_LONG_DOUBLE;
      found.parts = 2;
      return what == Operation::sum;
    } else if constexpr (is_located<T>) {
      found.type = static_cast<GOAL_Type>(located_type<T>());
      return located_type<T>() >= 0;
    } else {
      return false;
    }
    return true;
  });
  switch (what) {
    case Operation::sum: found.op = GOAL_ADD; break;
    case Operation::prod: found.op = GOAL_MULT; break;
    case Operation::min:
    case Operation::minloc: found.op = GOAL_MIN; break;
    case Operation::max:
    case Operation::maxloc: found.op = GOAL_MAX; break;
    case Operation::band:
    case Operation::land: found.op = GOAL_AND; break;
    case Operation::bor:
    case Operation::lor: found.op = GOAL_OR; break;
    case Operation::bxor:
    case Operation::lxor: found.op = GOAL_XOR; break;
    default: found.possible = false;
  }
  found.truth = what == Operation::land || what == Operation::lor || what == Operation::lxor;
  return found;
}

PortalsOp portals_op(MPI_Op op, MPI_Datatype type) {
  PortalsOp found;
  const Operation what = operation_of(op);
  if (what == Operation::none || what == Operation::minloc || what == Operation::maxloc) return found;
  found.possible = with_type(type, [&](auto tag, Class kind) {
    using T = typename decltype(tag)::type;
    if (kind == Class::none) return what == Operation::replace;  // bytes
    if constexpr (!std::is_void_v<T>) found.width = sizeof(T);
    if constexpr (std::is_integral_v<T>) {
      constexpr int kWidth = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      constexpr ptl_datatype_t kSigned[] = {PTL_INT8_T, PTL_INT16_T, PTL_INT32_T, PTL_INT64_T};
      constexpr ptl_datatype_t kUnsigned[] = {PTL_UINT8_T, PTL_UINT16_T, PTL_UINT32_T, PTL_UINT64_T};
      found.type = std::is_signed_v<T> ? kSigned[kWidth] : kUnsigned[kWidth];
    } else if constexpr (std::is_same_v<T, float>) {
      found.type = PTL_FLOAT;
    } else if constexpr (std::is_same_v<T, double>) {
      found.type = PTL_DOUBLE;
    } else if constexpr (std::is_same_v<T, long double>) {
      found.type = PTL_LONG_DOUBLE;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      found.type = PTL_FLOAT_COMPLEX;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      found.type = PTL_DOUBLE_COMPLEX;
    } else if constexpr (std::is_same_v<T, std::complex<long double>>) {
      found.type = PTL_LONG_DOUBLE_COMPLEX;
    } else {
      return false;
    }
    return true;
  });
  constexpr ptl_op_t kOps[] = {PTL_SUM, PTL_MIN, PTL_MAX, PTL_PROD, PTL_BAND, PTL_BOR, PTL_BXOR, PTL_LAND, PTL_LOR, PTL_LXOR};
  found.op = what == Operation::replace ? ptl_op_t{PTL_SWAP} : kOps[static_cast<size_t>(what)];
  return found;
}

const char* accumulate_refusal(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_REPLACE || op == MPI_NO_OP) return nullptr;
  return is_predefined(op) ? refusal(op, type) : "only predefined operations accumulate";
}

void make_truth(GOAL_Type type, void* values, size_t count) {
  const auto run = [&](auto tag) {
    using T = decltype(tag);
    auto* all = static_cast<T*>(values);
    for (size_t i = 0; i < count; ++i) all[i] = all[i] != 0 ? T{1} : T{0};
  };
  switch (type) {
    case GOAL_INT8:
    case GOAL_UINT8: return run(uint8_t{});
    case GOAL_INT16:
    case GOAL_UINT16: return run(uint16_t{});
    case GOAL_INT32:
    case GOAL_UINT32: return run(uint32_t{});
    default: return run(uint64_t{});
  }
}

}  // namespace portunus::mpi
