// op.cpp: what the predefined operations do to each type, and the user's operations as objects.
#include "mpi-adi/op/op.hpp"

#include <algorithm>
#include <climits>
#include <type_traits>

#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/op/op_types.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

using namespace ops;

namespace {

constinit ObjectPool<UserOp, 1 << 16> user_ops;

template <class T, class Combine>
void each(const void* in, void* inout, size_t count, Combine&& combine) {
  const auto* from = static_cast<const T*>(in);
  auto* to = static_cast<T*>(inout);
  for (size_t i = 0; i < count; ++i) to[i] = combine(from[i], to[i]);
}

// Integers wrap around, as they do in the engine.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::conditional_t<std::is_same_v<T, Int128>, Is<Uint128>, Is<T>>>::type;
template <class T>
constexpr bool is_ordered = is_integer<T> || std::is_floating_point_v<T> || std::is_same_v<T, Float128>;

template <class T>
void apply_numbers(Operation op, const void* in, void* inout, size_t count) {
  using U = Wrapping<T>;
  if (op == Operation::sum) return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(a + b); });
  if (op == Operation::prod) {
    if constexpr (std::is_same_v<U, uint16_t>)  // whose product as int may overflow
      return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(uint32_t{a} * b); });
    else return each<U>(in, inout, count, [](U a, U b) { return static_cast<U>(a * b); });
  }
  if constexpr (is_ordered<T>) {
    if (op == Operation::min) return each<T>(in, inout, count, [](T a, T b) { return b < a ? b : a; });
    if (op == Operation::max) return each<T>(in, inout, count, [](T a, T b) { return a < b ? b : a; });
  }
}

template <class T>
void apply_bits(Operation op, const void* in, void* inout, size_t count) {
  const auto run = [&](auto combine) { each<T>(in, inout, count, [&](T a, T b) { return static_cast<T>(combine(a, b)); }); };
  switch (op) {
    case Operation::band: return run([](T a, T b) { return a & b; });
    case Operation::bor: return run([](T a, T b) { return a | b; });
    case Operation::bxor: return run([](T a, T b) { return a ^ b; });
    case Operation::land: return run([](T a, T b) { return a != 0 && b != 0; });
    case Operation::lor: return run([](T a, T b) { return a != 0 || b != 0; });
    case Operation::lxor: return run([](T a, T b) { return (a != 0) != (b != 0); });
    default: return;
  }
}

// The smaller index wins where values are equal.
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

// A function that takes an int is called for as many elements at a time.
void call(const UserOp& op, const void* in, void* inout, size_t count, MPI_Datatype type) {
  if (op.wide != nullptr) {
    auto length = static_cast<MPI_Count>(count);
    return op.wide(const_cast<void*>(in), inout, &length, &type);
  }
  const ptrdiff_t extent = find_type(type)->extent;
  auto *from = static_cast<char*>(const_cast<void*>(in)), *to = static_cast<char*>(inout);
  for (int length; count > 0; count -= static_cast<size_t>(length), from += length * extent, to += length * extent) {
    length = static_cast<int>(std::min<size_t>(count, INT_MAX));
    int given = length;  // the function's to change
    op.function(from, to, &given, &type);
  }
}

}  // namespace

void for_each_user_op(const std::function<void(const UserOp&)>& action) { user_ops.for_each(action); }
UserOp* find_user_op(MPI_Op op) { return user_ops.find(op); }

MPI_Op make_user_op(UserOp*& made) {
  made = user_ops.claim();
  return made ? reinterpret_cast<MPI_Op>(made) : MPI_OP_NULL;
}
void release(UserOp* op) {
  if (op->references.fetch_sub(1, std::memory_order_acq_rel) == 1) user_ops.release(op);
}

bool commutes(MPI_Op op) {
  const UserOp* user = find_user_op(op);
  return user ? user->commutes : true;
}

OpHold::OpHold(MPI_Op op) : op_(op) {
  if (UserOp* user = find_user_op(op)) user->references.fetch_add(1, std::memory_order_relaxed);
}
OpHold::~OpHold() {
  if (UserOp* user = find_user_op(op_)) release(user);
}

const char* refusal(MPI_Op op, MPI_Datatype type) {
  if (op == MPI_OP_NULL) return "the operation is MPI_OP_NULL";
  if (!is_predefined(op)) return find_user_op(op) ? nullptr : "there is no such operation";
  const Class kind = with_type(type, [](auto, Class found) { return found; });
  return fits(operation_of(op), kind) ? nullptr : "this predefined operation cannot be used with this datatype";
}

void apply(MPI_Op op, const void* in, void* inout, size_t count, MPI_Datatype type) {
  if (const UserOp* user = find_user_op(op)) return call(*user, in, inout, count, type);
  const Operation what = operation_of(op);
  with_type(type, [&](auto tag, Class kind) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_void_v<T>) {
      if constexpr (is_located<T>) {
        apply_located<T>(what, in, inout, count);
      } else {
        if constexpr (is_integer<T>) apply_bits<T>(what, in, inout, count);
        if (kind != Class::truth) apply_numbers<T>(what, in, inout, count);
      }
    }
  });
}

}  // namespace portunus::mpi
