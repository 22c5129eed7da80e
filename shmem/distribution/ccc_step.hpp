// ccc_step.hpp: the steps of ccc::Domain in which virtual processors see others' members: get, put, reduce, exchange. Include ccc.hpp.
//
// A pattern is a list of runs (ccc_pattern.hpp). A get copies along them, from others' memory on the node and by gets elsewhere. A put and
// an exchange tell the others which runs name them; what goes from PE to PE is packed, run after run. A reduction folds what a PE has
// into nodes of the tree, and these go up a tree over PEs.
#ifndef CCC_STEP_HPP
#define CCC_STEP_HPP

#include "ccc_domain.hpp"

namespace ccc {

template <class M, size_t R>
std::vector<Run> Fetched<M, R>::expect(const Runs& runs, size_t rooms, size_t all) {
  if (known_distinct(runs.all())) {
    values_ = std::make_unique_for_overwrite<Value[]>(rooms);
    size_t named = 0;
    for (const Run& run : runs.all()) named += static_cast<size_t>(run.count);
    if (named < all) {
      named_.assign(rooms, false);
      for (const Run& run : runs.all()) std::fill_n(named_.begin() + run.first, run.count, true);
    }
    return runs.all();
  }
  // Several may name one: a value for each that is named, in the order of PEs and places.
  struct Wanted {
    int pe;
    index_t offset, first, count;
  };
  std::vector<Wanted> wanted;
  for (const Run& run : runs.all())
    if (run.step == 0) wanted.push_back({run.pe, run.offset, run.first, run.count});
    else
      for (index_t k = 0; k < run.count; ++k) wanted.push_back({run.pe, run.offset + k * run.step, run.first + k, 1});
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.pe != b.pe ? a.pe < b.pe : a.offset < b.offset; });
  place_.assign(rooms, -1);
  Runs fetched;
  index_t values = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& one = wanted[i];
    if (i == 0 || one.pe != wanted[i - 1].pe || one.offset != wanted[i - 1].offset) fetched.add(values++, 1, one.pe, one.offset, 1);
    std::fill_n(place_.begin() + one.first, one.count, values - 1);
  }
  values_ = std::make_unique_for_overwrite<Value[]>(static_cast<size_t>(values));
  return fetched.all();
}

template <class State, size_t R>
template <class M>
void Domain<State, R>::fetch(const Run& run, M* to, M State::*member) {
  const void* const there = run.pe == shmem_my_pe() ? states_.get() : shmem_ptr(states_.get(), run.pe);
  if (there) return copy_members(to, static_cast<const State*>(there), run, member);
  const auto distance = static_cast<size_t>(std::abs(run.step)) * sizeof(State);
  if (run.count < 4 || distance > 8 * sizeof(M) + 256) {
    for (index_t k = 0; k < run.count; ++k)
      shmem_getmem_nbi(to + k, &(states_.get()[run.offset + k * run.step].*member), sizeof(M), run.pe);
    return;
  }
  // Whole states, what lies between included, some at a time.
  const index_t most = std::max<index_t>(1, static_cast<index_t>((size_t{1} << 20) / distance));
  for (index_t k = 0; k < run.count; k += most) {
    Run part = run;
    part.count = std::min(most, run.count - k);
    part.offset = run.offset + k * run.step;
    const index_t low = part.low(), states = part.high() - low + 1;
    const std::unique_ptr<std::byte[]> bytes(new std::byte[static_cast<size_t>(states) * sizeof(State)]);
    shmem_getmem(bytes.get(), states_.get() + low, static_cast<size_t>(states) * sizeof(State), run.pe);
    part.offset -= low;
    copy_members(to + k, reinterpret_cast<const State*>(bytes.get()), part, member);
  }
}

template <class State, size_t R>
template <class M, class F>
Fetched<M, R> Domain<State, R>::get(M State::*member, const F& index) {
  Fetched<M, R> fetched;
  if (checks_) same_everywhere(index);
  const std::vector<Run> runs = fetched.expect(places_.pattern(index), static_cast<size_t>(layout_.rooms()), places_.count());
  shmem_barrier_all();
  const int me = shmem_my_pe();
  const auto fetch_all = [&](bool own) {
    for (const Run& run : runs)
      if ((run.pe == me) == own) fetch(run, &fetched.values_[static_cast<size_t>(run.first)].value, member);
  };
  fetch_all(false);
  shmem_quiet();
  shmem_barrier_all();
  fetch_all(true);  // nobody waits for what a PE copies of its own
  return fetched;
}

template <class State, size_t R>
template <class Pack>
auto Domain<State, R>::ask(const Runs& runs, size_t element, Pack pack) -> Asked {
  Asked asked;
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  if (pes == 1) return asked;
  for (const Run& run : runs.all())
    if (run.pe != me) asked.mine.push_back(run);
  std::stable_sort(asked.mine.begin(), asked.mine.end(), [](const Run& a, const Run& b) { return a.pe < b.pe; });
  index_t elements = 0;
  for (Run& run : asked.mine) run.base = elements, elements += run.count;
  uint64_t* const agreed = words_.get() + kReduced;
  agreed[0] = asked.mine.size();
  agreed[1] = static_cast<uint64_t>(elements);
  shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, agreed + 2, agreed, 2);
  if (agreed[2] == 0) return asked;
  // All have come here, so nobody reads the room any more that was used before.
  const size_t described = static_cast<size_t>(agreed[2]) * sizeof(Run);
  room_.grow(described + static_cast<size_t>(agreed[3]) * element);
  auto* const published = reinterpret_cast<Run*>(room_.get());
  asked.outbox = room_.get() + described;
  uint64_t* const table = words_.get() + kTable;  // of PE p: table[p] .. table[p + 1]
  size_t next = 0;
  for (int pe = 0; pe < pes; ++pe) {
    table[pe] = next;
    while (next < asked.mine.size() && asked.mine[next].pe == pe) published[next] = asked.mine[next], ++next;
  }
  table[pes] = next;
  pack(asked);
  shmem_barrier_all();
  std::vector<std::array<uint64_t, 2>> bounds(static_cast<size_t>(pes));
  for (int pe = 0; pe < pes; ++pe)
    if (pe != me) shmem_getmem_nbi(&bounds[static_cast<size_t>(pe)], table + me, 2 * sizeof(uint64_t), pe);
  shmem_quiet();
  for (int pe = 0; pe < pes; ++pe) {
    const auto [begin, end] = bounds[static_cast<size_t>(pe)];
    if (pe == me || begin == end) continue;
    const size_t before = asked.runs.size();
    asked.runs.resize(before + (end - begin));
    shmem_getmem(&asked.runs[before], published + begin, (end - begin) * sizeof(Run), pe);
    for (size_t i = before; i < asked.runs.size(); ++i) asked.runs[i].pe = pe;
  }
  return asked;
}

template <class State, size_t R>
template <class F>
void Domain<State, R>::along(const Run& run, bool onward, F f) {
  State* const states = states_.get();
  if (onward) {
    for (index_t k = 0; k < run.count;) {
      const auto stretch = places_.from(run.first + k);
      const index_t count = std::min(stretch.count, run.count - k);
      for (index_t i = 0; i < count; ++i) f(states[stretch.place + i], stretch[i], k + i);
      k += count;
    }
  } else {
    for (index_t k = run.count; k > 0;) {
      const auto stretch = places_.up_to(run.first + k - 1);
      const index_t count = std::min(stretch.count, k);
      for (index_t i = 1; i <= count; ++i) f(states[stretch.place + stretch.count - i], stretch[stretch.count - i], k - i);
      k -= count;
    }
  }
}

template <class State, size_t R>
std::vector<index_t> Domain<State, R>::winners(const std::vector<Run>& own, const std::vector<Run>& others) {
  std::vector<Run> all = own;
  all.insert(all.end(), others.begin(), others.end());
  for (Run& run : all) run.pe = 0;
  std::vector<index_t> winner;
  index_t conflict = size();
  if (!known_distinct(all)) {
    winner.assign(static_cast<size_t>(layout_.rooms()), -1);
    for (const auto* runs : {&own, &others})
      for (const Run& run : *runs)
        for (index_t k = 0; k < run.count; ++k) {
          const index_t place = run.offset + k * run.step, number = places_.number_at(run.pe, run.first + k);
          index_t& highest = winner[static_cast<size_t>(place)];
          if (highest >= 0) conflict = std::min(conflict, places_.number_at(shmem_my_pe(), place));
          highest = std::max(highest, number);
        }
  }
  if (checks_) {
    uint64_t* const agreed = words_.get() + kReduced;
    agreed[0] = static_cast<uint64_t>(size() - conflict);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, agreed + 2, agreed, 1);
    if (agreed[2] != 0)
      throw Error(CCC_ERR_ARG, "two virtual processors put to number " + std::to_string(size() - static_cast<index_t>(agreed[2])));
  }
  return winner;
}

template <class State, size_t R>
template <class M, class F, class V>
void Domain<State, R>::put(M State::*member, const F& index, V value) {
  using Value = typename Fetched<M, R>::Value;
  if (checks_) same_everywhere(index);
  const int me = shmem_my_pe();
  const Runs runs = places_.pattern(index);
  std::vector<Run> own;
  for (const Run& run : runs.all())
    if (run.pe == me) own.push_back(run);
  const auto into = [&](Value* to) {
    return [=, &value](const State& state, const Vp<R>& vp, index_t k) { to[k].value = value(state, vp); };
  };
  const Asked asked = ask(runs, sizeof(Value), [&](const Asked& packed) {
    for (const Run& run : packed.mine) along(run, true, into(reinterpret_cast<Value*>(packed.outbox) + run.base));
  });
  const std::vector<index_t> winner = winners(own, asked.runs);

  // All values are those of before, so they are kept until all have been asked for; but for the longest move by places within this PE,
  // which goes over itself from its far end on.
  const Run* longest = nullptr;
  if (winner.empty())
    for (const Run& run : own)
      if (run.step == 1 && (!longest || run.count > longest->count)) longest = &run;
  index_t kept_values = 0;
  for (Run& run : own)
    if (&run != longest) run.base = kept_values, kept_values += run.count;
  const auto kept = std::make_unique_for_overwrite<Value[]>(static_cast<size_t>(kept_values));
  for (const Run& run : own)
    if (&run != longest) along(run, true, into(kept.get() + run.base));
  State* const states = states_.get();
  if (longest) {
    State* const to = states + longest->offset;
    along(*longest, longest->offset <= longest->first,
          [&](const State& state, const Vp<R>& vp, index_t k) { to[k].*member = value(state, vp); });
  }
  const auto store = [&](const Run& run, const Value* values) {
    for (index_t k = 0; k < run.count; ++k) {
      const index_t place = run.offset + k * run.step;
      if (winner.empty() || winner[static_cast<size_t>(place)] == places_.number_at(run.pe, run.first + k))
        memcpy(static_cast<void*>(&(states[place].*member)), &values[k].value, sizeof(M));
    }
  };
  for (const Run& run : own)
    if (&run != longest) store(run, kept.get() + run.base);
  for (const Run& run : asked.runs) {
    const Value* const there = reinterpret_cast<const Value*>(asked.outbox) + run.base;
    if (const auto* const values = static_cast<const Value*>(shmem_ptr(there, run.pe))) {
      store(run, values);
      continue;
    }
    const auto fetched = std::make_unique_for_overwrite<Value[]>(static_cast<size_t>(run.count));
    shmem_getmem(fetched.get(), there, static_cast<size_t>(run.count) * sizeof(Value), run.pe);
    store(run, fetched.get());
  }
}

template <class State, size_t R>
template <class M, class F>
M Domain<State, R>::reduce(M State::*member, F op) {
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  // The numbers of a PE must follow each other; where they do not, the members are dealt out once more so that they do.
  const State* const states = states_.get();
  Places<R> places = places_;
  std::unique_ptr<M[]> moved;
  if (!places_.in_order()) {
    Layout<R> rows = in_rows();
    Shared<M> from(static_cast<size_t>(layout_.rooms()), false);
    each([&](State& state, const Vp<R>& vp) { from.get()[vp.local] = state.*member; });
    moved = std::make_unique_for_overwrite<M[]>(static_cast<size_t>(rows.rooms()));
    Plan(layout_.c(), rows.c(), sizeof(M)).run(from.get(), moved.get());
    places = Places<R>(rows, me);
  }
  const Tree tree(size());
  std::vector<std::pair<index_t, M>> nodes;  // of the PEs from this one on: where each ends, its value
  auto [begin, end] = places.numbers_of(me);
  tree.nodes(begin, end, [&, first = begin](index_t from, index_t to) {
    if (moved)
      nodes.emplace_back(to, Tree::fold<M>(
                                 from, to, [&](index_t number) -> M { return moved[static_cast<size_t>(number - first)]; }, op));
    else
      nodes.emplace_back(to, Tree::fold<M>(
                                 from, to, [&](index_t number) -> M { return states[number - first].*member; }, op));
  });
  if (pes == 1) return nodes[0].second;

  // Up a binomial tree over PEs: what a PE and those behind it have becomes a list of its own. Then all get the root's.
  const size_t most = tree.most_nodes();
  const int rounds = std::bit_width(static_cast<unsigned>(pes - 1));
  boxes_.grow((most * static_cast<size_t>(rounds) + 2) * sizeof(M));
  M* const boxes = reinterpret_cast<M*>(boxes_.get());
  uint64_t* const signals = words_.get() + kSignals;
  ++reductions_;
  for (int round = 0; round < rounds; ++round) {
    M* const box = boxes + most * static_cast<size_t>(round) + 2;
    const int other = me ^ (1 << round);
    if (other < me) {
      std::vector<M> values;
      for (const auto& node : nodes) values.push_back(node.second);
      shmem_putmem_signal(box, values.data(), values.size() * sizeof(M), signals + round, reductions_, SHMEM_SIGNAL_SET, other);
      break;
    }
    if (other >= pes) continue;
    shmem_signal_wait_until(signals + round, SHMEM_CMP_GE, reductions_);
    const index_t further = places.numbers_of(std::min(pes, other + (1 << round)) - 1).second;
    size_t next = 0;
    tree.nodes(end, further, [&](index_t, index_t to) { nodes.emplace_back(to, box[next++]); });
    end = further;
    std::vector<std::pair<index_t, M>> joined;
    const auto* known = nodes.data();
    tree.nodes(begin, end, [&](index_t from, index_t to) {
      M value = Tree::join(from, to, known, op);
      joined.emplace_back(to, value);
    });
    nodes.swap(joined);
  }
  if (me == 0) boxes[0] = nodes[0].second;
  shmem_broadcastmem(SHMEM_TEAM_WORLD, boxes + 1, boxes, sizeof(M), 0);
  return boxes[1];
}

// By the first dimension that has several, in blocks, and by no other.
template <class State, size_t R>
Layout<R> Domain<State, R>::in_rows() const {
  std::array<Dimension, R> dimensions;
  for (size_t d = 0; d < R; ++d) dimensions[d] = {vps_[d], block, d == places_.first_axis() ? shmem_n_pes() : 1};
  return Layout<R>(dimensions);
}

template <class State, size_t R>
template <class M, class F>
Exchange<State, M, R> Domain<State, R>::exchange(M State::*member, const F& index) {
  using Value = typename Fetched<M, R>::Value;
  if (checks_) same_everywhere(index);
  Exchange<State, M, R> made;
  const int me = shmem_my_pe();
  Runs wanted;
  for (const Run& run : made.fetched_->expect(places_.pattern(index), static_cast<size_t>(layout_.rooms()), places_.count()))
    if (run.pe == me) made.here_.push_back(run);
    else wanted.add(run.first, run.count, run.pe, run.offset, run.step);
  const Asked asked = ask(wanted, 0, [](const Asked&) {});
  made.sent_ = asked.runs;
  const auto check = Exchange<State, M, R>::check;
  check(GOAL_Create(&made.schedule_));
  std::vector<GOAL_Piece> pieces;
  for (size_t i = 0; i < asked.mine.size();) {  // each PE's values where they belong
    const int pe = asked.mine[i].pe;
    size_t values = 0;
    for (pieces.clear(); i < asked.mine.size() && asked.mine[i].pe == pe; ++i) {
      const auto count = static_cast<size_t>(asked.mine[i].count);
      pieces.push_back(GOAL_Part(GOAL_User(&made.fetched_->values_[static_cast<size_t>(asked.mine[i].first)]), count * sizeof(Value)));
      values += count;
    }
    const GOAL_Buffer to = GOAL_Pieces(pieces.data(), static_cast<uint32_t>(pieces.size()));
    check(GOAL_Recv(made.schedule_, to, values * sizeof(Value), pe, 0, nullptr));
  }
  index_t values = 0;
  for (Run& run : made.sent_) run.base = values, values += run.count;
  made.outbox_ = std::make_unique_for_overwrite<Value[]>(static_cast<size_t>(values));
  for (size_t i = 0; i < made.sent_.size();) {  // what each PE gets is packed
    const Run& first = made.sent_[i];
    index_t count = 0;
    for (; i < made.sent_.size() && made.sent_[i].pe == first.pe; ++i) count += made.sent_[i].count;
    const GOAL_Buffer from = GOAL_User(&made.outbox_[static_cast<size_t>(first.base)]);
    check(GOAL_Send(made.schedule_, from, static_cast<size_t>(count) * sizeof(Value), first.pe, 0, nullptr));
  }
  check(GOAL_Unbuffered(made.schedule_));
  check(GOAL_Compile(made.schedule_));
  made.states_ = states_.get();
  made.member_ = member;
  return made;
}

}  // namespace ccc

#endif
