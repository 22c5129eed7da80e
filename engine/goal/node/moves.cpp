// Collectives that only move data through buffers, all of whose sizes every rank knows: see collectives.hpp.
//
// Thread: as collectives.hpp says.
#include "engine/goal/node/exchange.hpp"

namespace portunus::goal::node {

Collectives::End Collectives::bcast(const GOAL_Call& call, uint64_t what) {
  const auto root = static_cast<size_t>(call.root);
  auto* data = static_cast<std::byte*>(call.out);
  End end = End::well;
  for (size_t at = 0; at < call.bytes && end != End::never; at += buffers_.room()) {
    const size_t bytes = std::min(buffers_.room(), call.bytes - at);
    Exchange exchange(*this, what);
    if (rank_ == root) exchange.contribute(data + at, bytes);
    else if (exchange.meet(root, bytes)) exchange.read(root, {0, bytes}, data + at);
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::spread(const GOAL_Call& call, uint64_t what, bool to_all) {
  const bool gets = to_all || rank_ == static_cast<size_t>(call.root);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  if (gets) copy(out + rank_ * call.bytes, in, call.bytes);
  End end = End::well;
  for (size_t at = 0; at < call.bytes && end != End::never; at += buffers_.room()) {
    const size_t bytes = std::min(buffers_.room(), call.bytes - at);
    Exchange exchange(*this, what);
    if (to_all && exchange.choose(to_all_, bytes)) exchange.offer(in + at, bytes);
    else if (to_all || !gets) exchange.contribute(in + at, bytes);
    for (size_t i = 0; gets && i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (exchange.meet(from, bytes)) exchange.read(from, {0, bytes}, out + from * call.bytes + at, 0);
    }
    exchange.finish();
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::allgather_uneven(const GOAL_Call& call, uint64_t what) {
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t own = call.out_sizes[rank_], most = *std::max_element(call.out_sizes, call.out_sizes + size_);
  if (own > 0) copy(out + call.out_places[rank_], in, own);
  End end = End::well;
  for (size_t at = 0; at < most && end != End::never; at += buffers_.room()) {
    const auto now = [&](size_t rank) { return std::min(buffers_.room(), call.out_sizes[rank] - std::min(at, call.out_sizes[rank])); };
    Exchange exchange(*this, what);
    exchange.contribute(in ? in + at : nullptr, now(rank_));
    for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (exchange.meet(from, now(from))) exchange.read(from, {0, now(from)}, out ? out + call.out_places[from] + at : nullptr);
    }
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::scatter(const GOAL_Call& call, uint64_t what) {
  const auto root = static_cast<size_t>(call.root);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  if (rank_ == root && out) copy(out, in + root * call.bytes, call.bytes);
  const size_t step = part_buffer();
  End end = End::well;
  for (size_t at = 0; at < call.bytes && end != End::never; at += step) {
    const size_t bytes = std::min(step, call.bytes - at), all = bytes * (size_ - 1);
    Exchange exchange(*this, what);
    if (rank_ == root) {
      if (exchange.announce(all))
        for (size_t i = 0; i + 1 < size_; ++i) exchange.give(in + other(i) * call.bytes + at, bytes);
    } else if (exchange.meet(root, all)) {
      exchange.read(root, {(rank_ < root ? rank_ : rank_ - 1) * bytes, bytes}, out + at);
    }
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::alltoall(const GOAL_Call& call, uint64_t what) {
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  copy(out + rank_ * call.bytes, in + rank_ * call.bytes, call.bytes);
  const size_t step = part_buffer();
  End end = End::well;
  for (size_t at = 0; at < call.bytes && end != End::never; at += step) {
    const size_t bytes = std::min(step, call.bytes - at), all = bytes * (size_ - 1);
    Exchange exchange(*this, what);
    if (exchange.choose(to_each_, bytes)) exchange.offer(in + at, all);
    else if (exchange.announce(all))
      for (size_t i = 0; i + 1 < size_; ++i) exchange.give(in + other(i) * call.bytes + at, bytes);
    for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (!exchange.meet(from, all)) continue;
      exchange.read(from, {(rank_ < from ? rank_ : rank_ - 1) * bytes, bytes}, out + from * call.bytes + at, rank_ * call.bytes);
    }
    exchange.finish();
    end = exchange.result(end);
  }
  return end;
}

}  // namespace portunus::goal::node
