// op.cpp: what the predefined operations do to each type, and the calls about operations.
#include "mpi-adi/op.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "mpi-adi/datatype.hpp"
#include "mpi-adi/errors.hpp"
#include "mpi-adi/profiling.hpp"

namespace portunus::mpi {
namespace {

template <class V, class I>
struct Located {
  V value;
  I index;
};

// What a type's values are: they decide which operations it has.
enum class Class : uint8_t { none, integer, real, complex, truth, byte, located };

template <class T>
struct Is {
  using type = T;
};

constexpr uintptr_t value_of(uint16_t handle) { return handle; }

// Calls f(Is<T>(), class) for the type's values; f(Is<void>(), Class::none) if it has no operations.
template <class F>
auto with_type(MPI_Datatype type, F&& f) {
  const auto is = [&](auto tag, Class kind) { return f(tag, kind); };
  static_assert(sizeof(long) == 8 && sizeof(int) == 4 && sizeof(short) == 2);
  switch (reinterpret_cast<uintptr_t>(type)) {
    case value_of(0x244):  // SIGNED_CHAR
    case value_of(0x240):  // INT8_T
    case value_of(0x2c1):  // INTEGER1
      return is(Is<int8_t>(), Class::integer);
    case value_of(0x245):  // UNSIGNED_CHAR
    case value_of(0x241):  // UINT8_T
      return is(Is<uint8_t>(), Class::integer);
    case value_of(0x208):  // SHORT
    case value_of(0x248):  // INT16_T
    case value_of(0x2c9):  // INTEGER2
      return is(Is<int16_t>(), Class::integer);
    case value_of(0x20c):  // UNSIGNED_SHORT
    case value_of(0x249):  // UINT16_T
      return is(Is<uint16_t>(), Class::integer);
    case value_of(0x209):  // INT
    case value_of(0x250):  // INT32_T
    case value_of(0x219):  // INTEGER
    case value_of(0x2d1):  // INTEGER4
      return is(Is<int32_t>(), Class::integer);
    case value_of(0x20d):  // UNSIGNED
    case value_of(0x251):  // UINT32_T
      return is(Is<uint32_t>(), Class::integer);
    case value_of(0x201):  // AINT
    case value_of(0x202):  // COUNT
    case value_of(0x203):  // OFFSET
    case value_of(0x20a):  // LONG
    case value_of(0x20b):  // LONG_LONG
    case value_of(0x258):  // INT64_T
    case value_of(0x2d9):  // INTEGER8
      return is(Is<int64_t>(), Class::integer);
    case value_of(0x20e):  // UNSIGNED_LONG
    case value_of(0x20f):  // UNSIGNED_LONG_LONG
    case value_of(0x259):  // UINT64_T
      return is(Is<uint64_t>(), Class::integer);
    case value_of(0x210):  // FLOAT
    case value_of(0x21a):  // REAL
    case value_of(0x2d2):  // REAL4
      return is(Is<float>(), Class::real);
    case value_of(0x214):  // DOUBLE
    case value_of(0x21c):  // DOUBLE_PRECISION
    case value_of(0x2da):  // REAL8
      return is(Is<double>(), Class::real);
    case value_of(0x220):  // LONG_DOUBLE
      return is(Is<long double>(), Class::real);
    case value_of(0x212):  // C_FLOAT_COMPLEX
    case value_of(0x213):  // CXX_FLOAT_COMPLEX
    case value_of(0x21b):  // COMPLEX
    case value_of(0x2db):  // COMPLEX8
      return is(Is<std::complex<float>>(), Class::complex);
    case value_of(0x216):  // C_DOUBLE_COMPLEX
    case value_of(0x217):  // CXX_DOUBLE_COMPLEX
    case value_of(0x21d):  // DOUBLE_COMPLEX
    case value_of(0x2e3):  // COMPLEX16
      return is(Is<std::complex<double>>(), Class::complex);
    case value_of(0x224):  // C_LONG_DOUBLE_COMPLEX
    case value_of(0x225):  // CXX_LONG_DOUBLE_COMPLEX
      return is(Is<std::complex<long double>>(), Class::complex);
    case value_of(0x238):  // C_BOOL
    case value_of(0x239):  // CXX_BOOL
    case value_of(0x2c0):  // LOGICAL1
      return is(Is<uint8_t>(), Class::truth);
    case value_of(0x2c8):  // LOGICAL2
      return is(Is<uint16_t>(), Class::truth);
    case value_of(0x218):  // LOGICAL
    case value_of(0x2d0):  // LOGICAL4
      return is(Is<uint32_t>(), Class::truth);
    case value_of(0x2d8):  // LOGICAL8
      return is(Is<uint64_t>(), Class::truth);
    case value_of(0x247):  // BYTE
      return is(Is<uint8_t>(), Class::byte);
    case value_of(0x228):  // FLOAT_INT
      return is(Is<Located<float, int>>(), Class::located);
    case value_of(0x229):  // DOUBLE_INT
      return is(Is<Located<double, int>>(), Class::located);
    case value_of(0x22a):  // LONG_INT
      return is(Is<Located<long, int>>(), Class::located);
    case value_of(0x22b):  // 2INT
    case value_of(0x232):  // 2INTEGER
      return is(Is<Located<int, int>>(), Class::located);
    case value_of(0x22c):  // SHORT_INT
      return is(Is<Located<short, int>>(), Class::located);
    case value_of(0x22d):  // LONG_DOUBLE_INT
      return is(Is<Located<long double, int>>(), Class::located);
    case value_of(0x230):  // 2REAL
      return is(Is<Located<float, float>>(), Class::located);
    case value_of(0x231):  // 2DOUBLE_PRECISION
      return is(Is<Located<double, double>>(), Class::located);
    default:
      return is(Is<void>(), Class::none);
  }
}

enum class Operation : uint8_t { sum, min, max, prod, band, bor, bxor, land, lor, lxor, minloc, maxloc, replace, none };

Operation operation_of(MPI_Op op) {
  switch (reinterpret_cast<uintptr_t>(op)) {
    case 0x21:
      return Operation::sum;
    case 0x22:
      return Operation::min;
    case 0x23:
      return Operation::max;
    case 0x24:
      return Operation::prod;
    case 0x28:
      return Operation::band;
    case 0x29:
      return Operation::bor;
    case 0x2a:
      return Operation::bxor;
    case 0x30:
      return Operation::land;
    case 0x31:
      return Operation::lor;
    case 0x32:
      return Operation::lxor;
    case 0x38:
      return Operation::minloc;
    case 0x39:
      return Operation::maxloc;
    case 0x3c:
      return Operation::replace;
    default:
      return Operation::none;
  }
}

bool fits(Operation op, Class kind) {
  switch (op) {
    case Operation::sum:
    case Operation::prod:
      return kind == Class::integer || kind == Class::real || kind == Class::complex;
    case Operation::min:
    case Operation::max:
      return kind == Class::integer || kind == Class::real;
    case Operation::band:
    case Operation::bor:
    case Operation::bxor:
      return kind == Class::integer || kind == Class::byte;
    case Operation::land:
    case Operation::lor:
    case Operation::lxor:
      return kind == Class::integer || kind == Class::truth;
    case Operation::minloc:
    case Operation::maxloc:
      return kind == Class::located;
    case Operation::replace:
    case Operation::none:
      return false;  // of accumulations only
  }
  return false;
}

template <class T, class Combine>
void each(const void* in, void* inout, size_t count, Combine&& combine) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(inout);
  for (size_t i = 0; i < count; ++i) to[i] = combine(from[i], to[i]);
}

// Integers wrap around, as they do in the engine.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, Is<T>>::type;

template <class T>
void apply_numbers(Operation op, const void* in, void* inout, size_t count) {
  using U = Wrapping<T>;
  if (op == Operation::sum) return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(a + b); });
  if (op == Operation::prod) {
    if constexpr (std::is_same_v<U, uint16_t>)  // whose product as int may overflow
      return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(uint32_t{a} * b); });
    else
      return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(a * b); });
  }
  if constexpr (std::is_arithmetic_v<T>) {
    if (op == Operation::min) return each<T>(in, inout, count, [](T a, T b) { return b < a ? b : a; });
    if (op == Operation::max) return each<T>(in, inout, count, [](T a, T b) { return a < b ? b : a; });
  }
}

template <class T>
void apply_bits(Operation op, const void* in, void* inout, size_t count) {
  const auto run = [&](auto combine) {
    each<T>(in, inout, count, [&](T a, T b) { return static_cast<T>(combine(a, b)); });
  };
  switch (op) {
    case Operation::band:
      return run([](T a, T b) { return a & b; });
    case Operation::bor:
      return run([](T a, T b) { return a | b; });
    case Operation::bxor:
      return run([](T a, T b) { return a ^ b; });
    case Operation::land:
      return run([](T a, T b) { return a != 0 && b != 0; });
    case Operation::lor:
      return run([](T a, T b) { return a != 0 || b != 0; });
    case Operation::lxor:
      return run([](T a, T b) { return (a != 0) != (b != 0); });
    default:
      return;
  }
}

// Of equal values the smaller index wins.
template <class P>
void apply_located(Operation op, const void* in, void* inout, size_t count) {
  const auto* from = static_cast<const P*>(in);
  auto* to = static_cast<P*>(inout);
  for (size_t i = 0; i < count; ++i) {
    const bool better = op == Operation::minloc ? from[i].value < to[i].value : to[i].value < from[i].value;
    if (better) {
      to[i].value = from[i].value;
      to[i].index = from[i].index;
    } else if (from[i].value == to[i].value) {
      to[i].index = std::min(to[i].index, from[i].index);
    }
  }
}

}  // namespace

UserOp* find_user_op(MPI_Op op) {
  if (reinterpret_cast<uintptr_t>(op) < 4096 || reinterpret_cast<uintptr_t>(op) % alignof(UserOp) != 0) return nullptr;
  auto* found = reinterpret_cast<UserOp*>(op);
  return found->mark == UserOp::kMark ? found : nullptr;
}

bool commutes(MPI_Op op) {
  const UserOp* user = find_user_op(op);
  return user ? user->commutes : true;
}

OpHold::OpHold(MPI_Op op) : op_(op) {
  if (UserOp* user = find_user_op(op)) user->references.fetch_add(1, std::memory_order_relaxed);
}
OpHold::~OpHold() {
  UserOp* user = find_user_op(op_);
  if (!user || user->references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  user->mark = 0;
  delete user;
}

const char* refusal(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_OP_NULL) return "the operation is MPI_OP_NULL";
  if (!is_predefined(op)) return find_user_op(op) ? nullptr : "there is no such operation";
  const Class kind = with_type(type, [](auto, Class found) { return found; });
  return fits(operation_of(op), kind) ? nullptr : "this predefined operation cannot be used with this datatype";
}

void apply(MPI_Op op, const void* in, void* inout, size_t count, MPI_Datatype type) {
  if (const UserOp* user = find_user_op(op)) {
    int length = static_cast<int>(count);
    user->function(const_cast<void*>(in), inout, &length, &type);
    return;
  }
  const Operation what = operation_of(op);
  with_type(type, [&](auto tag, Class kind) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_void_v<T>) {
      if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::complex<float>> &&
                    !std::is_same_v<T, std::complex<double>> && !std::is_same_v<T, std::complex<long double>>) {
        apply_located<T>(what, in, inout, count);
      } else {
        if constexpr (std::is_integral_v<T>) apply_bits<T>(what, in, inout, count);
        if (kind != Class::truth && kind != Class::byte) apply_numbers<T>(what, in, inout, count);
      }
    }
  });
}

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
    } else {
      return false;
    }
    return true;
  });
  switch (what) {
    case Operation::sum:
      found.op = GOAL_ADD;
      break;
    case Operation::prod:
      found.op = GOAL_MULT;
      break;
    case Operation::min:
      found.op = GOAL_MIN;
      break;
    case Operation::max:
      found.op = GOAL_MAX;
      break;
    case Operation::band:
    case Operation::land:
      found.op = GOAL_AND;
      break;
    case Operation::bor:
    case Operation::lor:
      found.op = GOAL_OR;
      break;
    case Operation::bxor:
    case Operation::lxor:
      found.op = GOAL_XOR;
      break;
    default:
      found.possible = false;
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
    case GOAL_UINT8:
      return run(uint8_t{});
    case GOAL_INT16:
    case GOAL_UINT16:
      return run(uint16_t{});
    case GOAL_INT32:
    case GOAL_UINT32:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Op_create(MPI_User_function* user_fn, int commute, MPI_Op* op) {
  static constexpr char kName[] = "MPI_Op_create";
  if (user_fn == nullptr || op == nullptr)
    return raise(kName, nullptr, MPI_ERR_ARG, "the function or the address for the operation is null");
  auto* made = new UserOp;
  made->function = user_fn;
  made->commutes = commute != 0;
  *op = reinterpret_cast<MPI_Op>(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_create)

extern "C" int PMPI_Op_free(MPI_Op* op) {
  static constexpr char kName[] = "MPI_Op_free";
  if (op == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address of the operation is null");
  UserOp* user = find_user_op(*op);
  if (user == nullptr)
    return raise(kName, nullptr, MPI_ERR_OP, is_predefined(*op) ? "a predefined operation cannot be freed" : "there is no such operation");
  if (user->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    user->mark = 0;
    delete user;
  }
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_free)

extern "C" int PMPI_Op_commutative(MPI_Op op, int* commute) {
  static constexpr char kName[] = "MPI_Op_commutative";
  if (!is_predefined(op) && find_user_op(op) == nullptr)
    return raise(kName, nullptr, MPI_ERR_OP, "there is no such operation");
  if (commute == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the answer is null");
  *commute = commutes(op) ? 1 : 0;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Op_commutative)

extern "C" int PMPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype, MPI_Op op) {
  static constexpr char kName[] = "MPI_Reduce_local";
  if (count < 0) return raise(kName, nullptr, MPI_ERR_COUNT, "the count is negative (%d)", count);
  if (find_type(datatype) == nullptr)
    return raise(kName, nullptr, MPI_ERR_TYPE, "%p is no datatype", static_cast<void*>(datatype));
  if (const char* why = refusal(op, datatype)) return raise(kName, nullptr, MPI_ERR_OP, "%s", why);
  if (count == 0) return MPI_SUCCESS;
  if (inbuf == nullptr || inoutbuf == nullptr) return raise(kName, nullptr, MPI_ERR_BUFFER, "a buffer is null");
  apply(op, inbuf, inoutbuf, static_cast<size_t>(count), datatype);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Reduce_local)
