// Collectives in which every rank has a size of its own, through buffers: see collectives.hpp.
//
// A rank that knows how many exchanges there will be tells the others in the announcement of the first one.
//
// Thread: as collectives.hpp says.
#include <cstddef>

#include "engine/goal/node/exchange.hpp"

namespace portunus::goal::node {

namespace {

// The bytes of a part of `bytes` that belong to the exchange that begins at `at`.
size_t piece(size_t bytes, size_t at, size_t step) { return std::min(step, bytes - std::min(at, bytes)); }

// Its address, in memory that need not be there where the part is empty.
template <class Byte>
Byte* place(Byte* base, std::ptrdiff_t offset, size_t at) {
  return base ? base + offset + at : nullptr;
}

}  // namespace

Collectives::End Collectives::allgather_uneven(const GOAL_Call& call, uint64_t what) {
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t own = call.out_sizes[rank_], most = *std::max_element(call.out_sizes, call.out_sizes + size_);
  if (own > 0) copy(out + call.out_places[rank_], in, own);
  End end = End::well;
  for (size_t at = 0; at < most && end != End::never; at += buffers_.room()) {
    const auto now = [&](size_t rank) { return piece(call.out_sizes[rank], at, buffers_.room()); };
    Exchange exchange(*this, what);
    exchange.contribute(place(in, 0, at), now(rank_));
    for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (exchange.meet(from, now(from))) exchange.read(from, {0, now(from)}, place(out, call.out_places[from], at));
    }
    end = exchange.result(end);
  }
  return end;
}

// The root knows all sizes.
Collectives::End Collectives::gather_uneven(const GOAL_Call& call, uint64_t what) {
  const auto root = static_cast<size_t>(call.root);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  size_t most = 0;
  for (size_t i = 0; rank_ == root && i + 1 < size_; ++i) most = std::max(most, call.out_sizes[other(i)]);
  if (rank_ == root && call.out_sizes[root] > 0) copy(out + call.out_places[root], in, call.out_sizes[root]);
  End end = End::well;
  for (size_t at = 0; (at == 0 || at < most) && end != End::never; at += buffers_.room()) {
    const auto now = [&](size_t bytes) { return piece(bytes, at, buffers_.room()); };
    Exchange exchange(*this, what);
    if (rank_ == root) {
      if (at == 0 && exchange.announce(0, most)) exchange.give(nullptr, 0);
      for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) {
        const size_t from = after(i), bytes = now(call.out_sizes[from]);
        if (exchange.meet(from, bytes)) exchange.read(from, {0, bytes}, place(out, call.out_places[from], at));
      }
    } else {
      exchange.contribute(place(in, 0, at), now(call.bytes));
      if (at == 0 && exchange.meet(root)) most = buffers_.announcement(root).most;
    }
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::scatter_uneven(const GOAL_Call& call, uint64_t what) {
  const auto root = static_cast<size_t>(call.root);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t step = part_buffer();
  size_t most = 0;
  for (size_t i = 0; rank_ == root && i + 1 < size_; ++i) most = std::max(most, call.in_sizes[other(i)]);
  if (rank_ == root && out && call.in_sizes[root] > 0) copy(out, in + call.in_places[root], call.in_sizes[root]);
  End end = End::well;
  for (size_t at = 0; (at == 0 || at < most) && end != End::never; at += step) {
    Exchange exchange(*this, what);
    if (rank_ == root) {
      give_uneven(exchange, call, at, most);
    } else if (exchange.meet(root)) {
      most = buffers_.announcement(root).most;
      take_uneven(exchange, root, piece(call.bytes, at, step), place(out, 0, at));
    }
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::alltoall_uneven(const GOAL_Call& call, uint64_t what) {
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t step = part_buffer();
  size_t most = 0, mine = 0;
  for (size_t i = 0; i + 1 < size_; ++i) mine = std::max(mine, call.in_sizes[other(i)]);
  most = mine;
  if (call.out_sizes[rank_] > 0) copy(out + call.out_places[rank_], in + call.in_places[rank_], call.out_sizes[rank_]);
  End end = End::well;
  for (size_t at = 0; (at == 0 || at < most) && end != End::never; at += step) {
    Exchange exchange(*this, what);
    give_uneven(exchange, call, at, mine);
    for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (!exchange.meet(from)) continue;
      most = std::max(most, size_t{buffers_.announcement(from).most});
      take_uneven(exchange, from, piece(call.out_sizes[from], at, step), place(out, call.out_places[from], at));
    }
    end = exchange.result(end);
  }
  return end;
}

// The bytes of each part that belong to this exchange, one behind the other, and where each begins.
void Collectives::give_uneven(Exchange& exchange, const GOAL_Call& call, size_t at, size_t most) {
  const auto* in = static_cast<const std::byte*>(call.in);
  const auto now = [&](size_t rank) { return rank == rank_ ? 0 : piece(call.in_sizes[rank], at, part_buffer()); };
  size_t all = 0;
  for (size_t i = 0; i < size_; ++i) all += now(i);
  if (!exchange.announce(all, most)) return;
  uint64_t* places = buffers_.places();
  places[0] = 0;
  for (size_t i = 0; i < size_; ++i) places[i + 1] = places[i] + now(i);
  exchange.give(nullptr, 0);
  for (size_t i = 0; i < size_; ++i)
    if (now(i) > 0) exchange.give(in + call.in_places[i] + at, now(i));
}

void Collectives::take_uneven(Exchange& exchange, size_t from, size_t bytes, std::byte* to) {
  const size_t first = buffers_.place(from, rank_), given = buffers_.place(from, rank_ + 1) - first;
  if (given == bytes) exchange.read(from, {first, bytes}, to);
  else exchange.note_mismatch();
}

}  // namespace portunus::goal::node
