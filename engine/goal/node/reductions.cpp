// Reductions through buffers: see collectives.hpp.
//
// Thread: as collectives.hpp says.
#include "engine/goal/node/choice.hpp"
#include "engine/goal/node/combine.hpp"
#include "engine/goal/node/exchange.hpp"

namespace portunus::goal::node {

Collectives::End Collectives::reduce(const GOAL_Call& call, uint64_t what, size_t all_bytes, bool to_all) {
  const bool gets = to_all || rank_ == static_cast<size_t>(call.root);
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t width = local_size(type_of(call.type)), step = buffers_.room() / width * width;
  End end = End::well;
  for (size_t at = 0; at < all_bytes && end != End::never; at += step) {
    const size_t bytes = std::min(step, all_bytes - at);
    Exchange exchange(*this, what);
    if (to_all || !gets) exchange.contribute(in + at, bytes);
    for (size_t i = 0; gets && i + 1 < size_ && !exchange.never(); ++i) exchange.await(after(i), bytes);
    if (gets && exchange.well())
      combine(call, size_, out + at, bytes / width, [&](size_t i) { return i == rank_ ? in + at : exchange.data(i); });
    end = exchange.result(end);
  }
  return end;
}

// Every rank combines a part of the vector, and then gives it to those who get the result.
Collectives::End Collectives::partial_reduce(const GOAL_Call& call, uint64_t what, bool to_all) {
  const auto root = static_cast<size_t>(call.root);
  const bool gets = to_all || rank_ == root;
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t width = local_size(type_of(call.type)), step = buffers_.room() / width;
  std::vector<std::byte> scratch;
  End end = End::well;
  for (size_t at = 0; at < call.count && end != End::never; at += step) {
    const size_t count = std::min(step, call.count - at);
    const auto first = [&](size_t rank) { return (count / size_ * rank + std::min(rank, count % size_)) * width; };
    const auto share = [&](size_t rank) { return first(rank + 1) - first(rank); };
    const std::byte* mine = in + at * width;
    const size_t bytes = count * width, own = share(rank_);
    if (!gets) scratch.resize(own);
    std::byte* result = gets ? out + at * width + first(rank_) : scratch.data();
    {
      Exchange exchange(*this, what);
      if (exchange.announce(bytes - own)) {
        exchange.give(mine, first(rank_));
        exchange.give(mine + first(rank_ + 1), bytes - first(rank_ + 1));
      }
      for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) exchange.await(after(i), bytes - share(after(i)));
      if (exchange.well())
        combine(call, size_, result, own / width,
                [&](size_t i) { return i == rank_ ? mine + first(rank_) : exchange.data(i) + first(rank_) - (rank_ > i ? share(i) : 0); });
      end = exchange.result(end);
    }
    if (end == End::never) break;
    Exchange exchange(*this, what);
    if (to_all || !gets) exchange.contribute(result, own);
    for (size_t i = 0; gets && i + 1 < size_ && !exchange.never(); ++i) {
      const size_t from = after(i);
      if (exchange.meet(from, share(from))) exchange.read(from, {0, share(from)}, out + at * width + first(from));
    }
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::reduce_scatter(const GOAL_Call& call, uint64_t what) {
  const size_t width = local_size(type_of(call.type)), step = part_buffer() / width * width;
  const auto size_of = [&](size_t rank) { return (call.counts ? call.counts[rank] : call.count) * width; };
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  std::vector<size_t> first(size_ + 1, 0);
  size_t most = 0;
  for (size_t i = 0; i < size_; ++i) {
    first[i + 1] = first[i] + size_of(i);
    most = std::max(most, size_of(i));
  }
  End end = End::well;
  for (size_t at = 0; at < most && end != End::never; at += step) {
    const auto now = [&](size_t rank) { return std::min(step, size_of(rank) - std::min(at, size_of(rank))); };
    size_t all = 0, below = 0;
    for (size_t i = 0; i < size_; ++i) {
      all += now(i);
      if (i < rank_) below += now(i);
    }
    Exchange exchange(*this, what);
    if (exchange.announce(all - now(rank_)))
      for (size_t i = 0; i + 1 < size_; ++i) exchange.give(in + first[other(i)] + at, now(other(i)));
    for (size_t i = 0; i + 1 < size_ && !exchange.never(); ++i) exchange.await(after(i), all - now(after(i)));
    if (exchange.well() && now(rank_) > 0)
      combine(call, size_, out + at, now(rank_) / width,
              [&](size_t i) { return i == rank_ ? in + first[rank_] + at : exchange.data(i) + below - (i < rank_ ? now(i) : 0); });
    end = exchange.result(end);
  }
  return end;
}

Collectives::End Collectives::prefix(const GOAL_Call& call, uint64_t what, size_t all_bytes) {
  const auto* in = static_cast<const std::byte*>(call.in);
  auto* out = static_cast<std::byte*>(call.out);
  const size_t width = local_size(type_of(call.type)), step = buffers_.room() / width * width;
  End end = End::well;
  for (size_t at = 0; at < all_bytes && end != End::never; at += step) {
    const size_t bytes = std::min(step, all_bytes - at);
    Exchange exchange(*this, what);
    if (rank_ + 1 < size_) exchange.contribute(in + at, bytes);
    for (size_t i = 0; i < rank_ && !exchange.never(); ++i) exchange.await(i, bytes);
    if (exchange.well())
      combine(call, call.kind == GOAL_CALL_SCAN ? rank_ + 1 : rank_, out + at, bytes / width,
              [&](size_t i) { return i == rank_ ? in + at : exchange.data(i); });
    end = exchange.result(end);
  }
  return end;
}

}  // namespace portunus::goal::node
