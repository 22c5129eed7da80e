// ccc_domain.hpp: the part of ccc.hpp about domains: virtual processors that compute in lock-step. Include ccc.hpp.
//
// A domain has a grid of virtual processors, each with a State; a PE has those of its part of the grid in symmetric memory,
// in the order of their numbers. A program is steps: `each` lets every virtual processor compute on its own State; get, put,
// reduce and exchange let them see others' members as they were before that step. Nothing depends on how many virtual
// processors or PEs there are but who computes what: results have the same bits for any number of PEs.
//
// All members are collective, and all PEs give functions that say the same: an `index` that differs between PEs is undefined
// (with PTL_DEBUG=domains an Error). Source: Lin, sections 2, 5 and 6; agglomeration happens here, at run time.
#ifndef CCC_DOMAIN_HPP
#define CCC_DOMAIN_HPP

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "ccc_array.hpp"
#include "goal.h"
#include "portals4_ext.h"

namespace ccc {

// A virtual processor: its place in the grid, and its row-major number.
template <size_t R>
struct Vp {
  std::array<index_t, R> at;
  index_t number;
  index_t local;  // its place among those of this PE
  operator index_t() const { return number; }
};

// ---- Arguments of a call -----------------------------------------------------------------------------------------

// A whole array on PE 0, row by row; the pointer matters there alone.
template <class T, size_t K>
struct Front {
  T* data;
  std::array<index_t, K> n;
};
template <class T, size_t K>
Front<T, K> front(T* data, const index_t (&n)[K]) {
  Front<T, K> whole_array{data, {}};
  std::copy(n, n + K, whole_array.n.begin());
  return whole_array;
}

enum class Way { kIn = 1, kOut = 2, kInOut = 3 };
template <class Source, size_t K>
struct Argument {
  Way way;
  Source* source;
  std::array<Function, K> functions;
};
template <class T, size_t K, class... F>
Argument<Array<T, K>, K> argument(Way way, Array<T, K>& array, F... functions) {
  static_assert(sizeof...(F) == K, "one function for each dimension");
  return {way, &array, {functions...}};
}
template <class T, size_t K>
struct FrontArgument {
  Way way;
  Front<T, K> source;
  std::array<Function, K> functions;
};
template <class T, size_t K, class... F>
FrontArgument<T, K> argument(Way way, Front<T, K> array, F... functions) {
  static_assert(sizeof...(F) == K, "one function for each dimension");
  return {way, array, {functions...}};
}
template <class A, class... F>
auto in(A&& a, F... functions) {
  return argument(Way::kIn, a, functions...);
}
template <class A, class... F>
auto out(A&& a, F... functions) {
  return argument(Way::kOut, a, functions...);
}
template <class A, class... F>
auto inout(A&& a, F... functions) {
  return argument(Way::kInOut, a, functions...);
}

// The part of an argument that one virtual processor has: its own array, of local indices.
template <class T, size_t K>
struct Part {
  T* base;
  std::array<index_t, K> extent, stride;
  T& operator()(std::integral auto... i) const {
    static_assert(sizeof...(i) == K);
    const std::array<index_t, K> at{static_cast<index_t>(i)...};
    index_t offset = 0;
    for (size_t k = 0; k < K; ++k) offset += at[k] * stride[k];
    return base[offset];
  }
};

// An argument within a call. `of(vp)` is the virtual processor's part; `global` says which index a local one is, -1: none.
template <class T, size_t K, size_t R>
class View {
 public:
  Part<T, K> of(const Vp<R>& vp) const {
    Part<T, K> part{data_, extent_, stride_};
    for (size_t k = 0; k < K; ++k)
      if (along_[k] >= 0) part.base += local_of_(vp, static_cast<size_t>(along_[k])) * extent_[k] * stride_[k];
    return part;
  }
  index_t global(const Vp<R>& vp, size_t k, index_t i) const {
    return along_[k] < 0 ? i : ccc_global(&first_[k], vp.at[static_cast<size_t>(along_[k])], i);
  }
  index_t count(const Vp<R>& vp, size_t k) const {
    return along_[k] < 0 ? extent_[k] : ccc_count(&first_[k], vp.at[static_cast<size_t>(along_[k])]);
  }

 private:
  template <class, size_t>
  friend class Domain;
  index_t local_of_(const Vp<R>& vp, size_t d) const { return ccc_offset(&grid_[d], vp.at[d]); }

  T* data_ = nullptr;
  std::array<index_t, K> extent_{}, stride_{};
  std::array<int, K> along_{};       // the domain's dimension, or -1: not distributed
  std::array<ccc_axis, K> first_{};  // data to virtual processors
  std::array<ccc_axis, R> grid_{};   // virtual processors to PEs
};

// ---- What get and exchange return ----------------------------------------------------------------------------------

// One value for each virtual processor of this PE; each of another PE's was fetched once, however many asked.
template <class M, size_t R>
class Fetched {
 public:
  bool has(const Vp<R>& vp) const { return place_[static_cast<size_t>(vp.local)] >= 0; }  // its index named one
  const M& operator[](const Vp<R>& vp) const { return values_[static_cast<size_t>(place_[static_cast<size_t>(vp.local)])].value; }

 private:
  template <class, size_t>
  friend class Domain;
  template <class, class, size_t>
  friend class Exchange;
  struct Value {
    M value;
  };
  std::vector<Value> values_;
  std::vector<ptrdiff_t> place_;  // of each local virtual processor
};

template <class State, size_t R = 1>
class Domain;

// A fixed pattern of gets as a schedule that is run again and again: no barrier. The members that are read stay as they are
// from start to wait; the result is valid until the next start.
template <class State, class M, size_t R>
class Exchange {
 public:
  Exchange(Exchange&& other) noexcept
      : fetched_(std::move(other.fetched_)), local_(std::move(other.local_)), schedule_(std::exchange(other.schedule_, nullptr)) {}
  Exchange(const Exchange&) = delete;
  ~Exchange() {
    if (request_ != GOAL_REQUEST_NULL) GOAL_Wait(&request_);
    if (schedule_) GOAL_Free(&schedule_);
  }
  void start() {
    check(GOAL_Run(schedule_, &request_));
    for (const auto& [to, from] : local_) memcpy(&fetched_->values_[to].value, from, sizeof(M));
  }
  const Fetched<M, R>& wait() {
    check(GOAL_Wait(&request_));
    return *fetched_;
  }

 private:
  friend class Domain<State, R>;
  static void check(int code) {
    if (code != GOAL_SUCCESS) throw Error(code == GOAL_ERR_FAILED ? CCC_ERR_FAILED : CCC_ERR_NO_SPACE, GOAL_Explain());
  }
  Exchange() : fetched_(std::make_unique<Fetched<M, R>>()) {}

  std::unique_ptr<Fetched<M, R>> fetched_;
  std::vector<std::pair<size_t, const M*>> local_;
  GOAL_Schedule schedule_ = nullptr;
  GOAL_Request request_ = GOAL_REQUEST_NULL;
};

// ---- The domain ------------------------------------------------------------------------------------------------------

template <class State, size_t R>
class Domain {
  static_assert(std::is_trivially_copyable_v<State>);

 public:
  using Index = std::array<index_t, R>;

  // Virtual processors in each dimension, and how many in a row a PE takes at a time; 0: one block for each PE.
  explicit Domain(Index vps, Index blocks = {}) : layout_(dealt(vps, blocks)), states_(static_cast<size_t>(layout_.rooms())), vps_(vps) {
    layout_.each(shmem_my_pe(), [&](const Index& at, index_t offset) { mine_.push_back({at, number_of(at), offset}); });
    for (size_t i = 0; i < mine_.size(); ++i)
      place_of_.push_back(static_cast<size_t>(mine_[i].local)), mine_[i].local = static_cast<index_t>(i);
    checks_ = PtlxDebug("domains") != 0;
  }
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  index_t size() const {
    index_t all = 1;
    for (const index_t n : vps_) all *= n;
    return all;
  }
  const Layout<R>& layout() const { return layout_; }
  State& state(const Vp<R>& vp) { return states_.get()[place_of_[static_cast<size_t>(vp.local)]]; }

  // f(State&, Vp) for every virtual processor, also those without data.
  template <class F>
  void each(F f) {
    for (const Vp<R>& vp : mine_) f(state(vp), vp);
  }

  // Every virtual processor reads `member` of virtual processor index(vp): an Index, a number, or -1 for none.
  template <class M, class F>
  Fetched<M, R> get(M State::*member, F index) {
    Fetched<M, R> fetched;
    if (checks_) same_everywhere(index);
    shmem_barrier_all();
    std::map<index_t, ptrdiff_t> known;
    for (const Vp<R>& vp : mine_) {
      const index_t wanted = number_of(index(vp));
      fetched.place_.push_back(wanted < 0 ? -1 : known.try_emplace(wanted, static_cast<ptrdiff_t>(known.size())).first->second);
    }
    fetched.values_.resize(known.size());
    for (const auto& [number, place] : known) fetch(number, &fetched.values_[static_cast<size_t>(place)].value, member);
    shmem_quiet();
    shmem_barrier_all();
    return fetched;
  }

  // Every virtual processor writes value(State, vp) to `member` of virtual processor index(vp). Two writers of one: the one
  // with the higher number, or with PTL_DEBUG=domains an Error. Evaluates `index` for all virtual processors.
  template <class M, class F, class V>
  void put(M State::*member, F index, V value) {
    if (checks_) same_everywhere(index);
    Shared<M> outbox(static_cast<size_t>(layout_.rooms()));
    for (const Vp<R>& vp : mine_) outbox.get()[place_of_[static_cast<size_t>(vp.local)]] = value(std::as_const(state(vp)), vp);
    std::map<index_t, Index> writer;  // of each that is written: the highest comes last
    for (index_t number = 0; number < size(); ++number) {
      const Index at = at_of(number);
      const index_t written = number_of(index(Vp<R>{at, number, -1}));
      if (written < 0) continue;
      if (!writer.insert_or_assign(written, at).second && checks_)
        throw Error(CCC_ERR_ARG, "two virtual processors put to number " + std::to_string(written));
    }
    shmem_barrier_all();
    for (const Vp<R>& vp : mine_)
      if (const auto found = writer.find(vp.number); found != writer.end())
        shmem_getmem(&(state(vp).*member), outbox.get() + layout_.offset_of(found->second), sizeof(M), layout_.pe_of(found->second));
    shmem_barrier_all();
  }

  // op(a, b) over the members of all, as a binary tree over their numbers: the same bits wherever they are. On all PEs.
  template <class M, class F>
  M reduce(M State::*member, F op) {
    const auto room = static_cast<size_t>(layout_.rooms());
    Shared<M> outbox(room);
    for (const Vp<R>& vp : mine_) outbox.get()[place_of_[static_cast<size_t>(vp.local)]] = state(vp).*member;
    shmem_barrier_all();
    std::vector<M> all(static_cast<size_t>(size())), theirs(room);
    for (int pe = 0; pe < shmem_n_pes(); ++pe) {
      shmem_getmem(theirs.data(), outbox.get(), room * sizeof(M), pe);
      layout_.each(pe,
                   [&](const Index& at, index_t offset) { all[static_cast<size_t>(number_of(at))] = theirs[static_cast<size_t>(offset)]; });
    }
    shmem_barrier_all();
    for (size_t width = 1; width < all.size(); width *= 2)
      for (size_t i = 0; i + width < all.size(); i += 2 * width) all[i] = op(all[i], all[i + width]);
    return all.at(0);
  }

  // The gets of a fixed pattern, kept. Both sides compute it from `index`. The domain outlives it; freed by all PEs.
  template <class M, class F>
  Exchange<State, M, R> exchange(M State::*member, F index);

  // Brings arguments in, calls body(*this, view or value...), brings them out. An argument that is not dealt out is the same for all on
  // the way in, and PE 0's on the way out; with PTL_DEBUG=domains an Error where the bytes of others differ.
  template <class Body, class... A>
  void call(Body body, A&&... arguments) {
    std::tuple<decltype(enter(arguments))...> views{enter(arguments)...};  // in order: entering is collective
    std::apply([&](auto&... view) { body(*this, view.view()...); }, views);
    shmem_barrier_all();
    std::apply([&](auto&... view) { (leave(view), ...); }, views);
  }

 private:
  template <class T, size_t K>
  struct Entered {
    Way way;
    T* outside;  // the caller's array, NULL where it is none of ours
    ccc_layout from, within;
    bool distributed;
    index_t room;  // elements of memory
    Shared<T> memory;
    View<T, K, R> seen;
    View<T, K, R>& view() { return seen; }
  };
  template <class T>
  struct Plain {
    T value;
    T& view() { return value; }
  };

  static Layout<R> dealt(const Index& vps, const Index& blocks);
  index_t number_of(const Index& at) const {
    index_t number = 0;
    for (size_t d = 0; d < R; ++d) {
      if (at[d] < 0 || at[d] >= vps_[d]) return -1;
      number = number * vps_[d] + at[d];
    }
    return number;
  }
  index_t number_of(index_t number) const { return number >= 0 && number < size() ? number : -1; }
  Index at_of(index_t number) const {
    Index at{};
    for (size_t d = R; d-- > 0; number /= vps_[d]) at[d] = number % vps_[d];
    return at;
  }
  template <class M>
  void fetch(index_t number, M* to, M State::*member) {
    const Index at = at_of(number);
    shmem_getmem_nbi(to, &(states_.get()[layout_.offset_of(at)].*member), sizeof(M), layout_.pe_of(at));
  }
  template <class F>
  void same_everywhere(F index);
  // An Error on all PEs unless the hashes of those that count are the same.
  void same_hash(uint64_t hash, bool counts, const char* otherwise);
  struct Hash {
    uint64_t value = 0xcbf29ce484222325u;
    void add(index_t number) { value = (value ^ static_cast<uint64_t>(number)) * 0x100000001b3u; }
  };

  template <class T, size_t K>
  Entered<T, K> enter(const Argument<Array<T, K>, K>& a) {
    return bring(a.way, a.source->data(), a.source->layout().c(), a.functions);
  }
  template <class T, size_t K>
  Entered<T, K> enter(const FrontArgument<T, K>& a) {
    std::array<Dimension, K> dimensions;
    for (size_t k = 0; k < K; ++k) dimensions[k] = {a.source.n[k]};
    return bring(a.way, shmem_my_pe() == 0 ? a.source.data : nullptr, Layout<K>(dimensions).c(), a.functions);
  }
  template <class T>
  Plain<T> enter(const T& value) {
    return {value};
  }
  template <class T, size_t K>
  Entered<T, K> bring(Way way, T* outside, const ccc_layout& from, const std::array<Function, K>& functions);
  template <class T, size_t K>
  void leave(Entered<T, K>& entered);
  template <class T>
  void leave(Plain<T>&) {}

  struct Network {  // exchanges are schedules
    Network() { Exchange<State, State, R>::check(GOAL_Init(nullptr, nullptr)); }
    ~Network() { GOAL_Finalize(); }
  } network_;
  Layout<R> layout_;  // of the virtual processors
  Shared<State> states_;
  Index vps_;
  std::vector<Vp<R>> mine_;
  std::vector<size_t> place_of_;  // in states_, of each of mine_
  bool checks_ = false;
};

}  // namespace ccc

#include "ccc_call.hpp"

#endif
