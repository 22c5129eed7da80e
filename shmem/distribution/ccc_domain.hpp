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
#include <memory>
#include <tuple>
#include <vector>

#include "ccc_array.hpp"
#include "ccc_pattern.hpp"
#include "ccc_tree.hpp"
#include "goal.h"
#include "portals4_ext.h"

namespace ccc {

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
  // Whether its index named one.
  bool has(const Vp<R>& vp) const {
    return place_.empty() ? named_.empty() || named_[static_cast<size_t>(vp.local)] : place_[static_cast<size_t>(vp.local)] >= 0;
  }
  const M& operator[](const Vp<R>& vp) const {
    return values_[static_cast<size_t>(place_.empty() ? vp.local : place_[static_cast<size_t>(vp.local)])].value;
  }

 private:
  template <class, size_t>
  friend class Domain;
  template <class, class, size_t>
  friend class Exchange;
  struct Value {
    M value;
  };
  // Makes room for the values of a pattern; the runs that bring them, from others' places to places in values_.
  std::vector<Run> expect(const Runs& runs, size_t rooms, size_t all);
  std::unique_ptr<Value[]> values_;
  std::vector<bool> named_;     // of each local place; empty: all
  std::vector<index_t> place_;  // of each local place in values_; empty: the same place
};

template <class State, size_t R = 1>
class Domain;

// Copies the members at the places that a run names, one behind the other.
template <class State, class M>
void copy_members(M* to, const State* states, const Run& run, M State::*member) {
  const State* const from = states + run.offset;
  const auto copy = [=, count = run.count](index_t step) {
    for (index_t k = 0; k < count; ++k) memcpy(static_cast<void*>(to + k), &(from[k * step].*member), sizeof(M));
  };
  run.step == 1 ? copy(1) : copy(run.step);
}

// A fixed pattern of gets as a schedule that is run again and again: no barrier. The members that are read stay as they are
// from start to wait; the result is valid until the next start.
template <class State, class M, size_t R>
class Exchange {
 public:
  Exchange(Exchange&& other) noexcept
      : fetched_(std::move(other.fetched_)),
        here_(std::move(other.here_)),
        sent_(std::move(other.sent_)),
        outbox_(std::move(other.outbox_)),
        states_(other.states_),
        member_(other.member_),
        schedule_(std::exchange(other.schedule_, nullptr)) {}
  Exchange(const Exchange&) = delete;
  ~Exchange() {
    if (request_ != GOAL_REQUEST_NULL) GOAL_Wait(&request_);
    if (schedule_) GOAL_Free(&schedule_);
  }
  void start() {
    for (const Run& run : sent_) copy_members(&outbox_[static_cast<size_t>(run.base)].value, states_, run, member_);
    check(GOAL_Run(schedule_, &request_));
    for (const Run& run : here_) copy_members(&fetched_->values_[static_cast<size_t>(run.first)].value, states_, run, member_);
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
  std::vector<Run> here_, sent_;
  std::unique_ptr<typename Fetched<M, R>::Value[]> outbox_;
  const State* states_ = nullptr;
  M State::*member_ = nullptr;
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
  explicit Domain(Index vps, Index blocks = {})
      : layout_(dealt(vps, blocks)),
        places_(layout_, shmem_my_pe()),
        states_(static_cast<size_t>(layout_.rooms())),
        words_(static_cast<size_t>(shmem_n_pes()) + kWords),
        vps_(vps) {
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
  State& state(const Vp<R>& vp) { return states_.get()[vp.local]; }

  // f(State&, Vp) for every virtual processor, also those without data.
  template <class F>
  void each(F f) {
    State* const states = states_.get();
    places_.each([&](const auto& stretch) {
      for (index_t k = 0; k < stretch.count; ++k) f(states[stretch.place + k], stretch[k]);
    });
  }

  // Every virtual processor reads `member` of virtual processor index(vp): an Index, a number, or -1 for none. Or `index` is a closed form:
  // shift, circular_shift, strided.
  template <class M, class F>
  Fetched<M, R> get(M State::*member, const F& index);

  // Every virtual processor writes value(State, vp) to `member` of virtual processor index(vp). Two writers of one: the one
  // with the higher number, or with PTL_DEBUG=domains an Error.
  template <class M, class F, class V>
  void put(M State::*member, const F& index, V value);

  // op(a, b) over the members of all, as a binary tree over their numbers: the same bits wherever they are. On all PEs.
  template <class M, class F>
  M reduce(M State::*member, F op);

  // The gets of a fixed pattern, kept. Both sides compute it from `index`. The domain outlives it; freed by all PEs.
  template <class M, class F>
  Exchange<State, M, R> exchange(M State::*member, const F& index);

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
  Layout<R> in_rows() const;
  // The runs and the room of a step that goes from PE to PE.
  struct Asked {
    std::vector<Run> runs;        // of others, that name places here; pe: whose
    std::vector<Run> mine;        // of this PE, that name others' places, by PE
    std::byte* outbox = nullptr;  // where a PE packs its elements; symmetric
  };
  // Tells every PE which of the runs name its places. pack(Asked) fills the outbox before. Collective.
  template <class Pack>
  Asked ask(const Runs& runs, size_t element, Pack pack);
  template <class M>
  void fetch(const Run& run, M* to, M State::*member);
  // f(State, Vp, k) for the local places of a run, k = 0 .. or back from the last.
  template <class F>
  void along(const Run& run, bool onward, F f);
  // Which writer has each local place, if two may want one: the highest number. An Error on all PEs with PTL_DEBUG=domains.
  std::vector<index_t> winners(const std::vector<Run>& own, const std::vector<Run>& others);
  template <class F>
  void same_everywhere(const F& index);
  static constexpr const char* kDiffers = "`index` names other virtual processors on some PEs than on others";
  // An Error on all PEs unless the hashes of those that count are the same.
  void same_hash(uint64_t hash, bool counts, const char* otherwise);
  void same_everywhere(const Affine<R>& affine);
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
  Places<R> places_;
  Shared<State> states_;
  enum { kSignals = 0, kReduced = 64, kTable = 68, kWords = 70 };
  Shared<uint64_t> words_;  // signals of reductions; what is agreed upon; where the runs for each PE begin
  uint64_t reductions_ = 0;
  Growing room_, boxes_;  // for what others read, and for nodes of reductions
  Index vps_;
  bool checks_ = false;
};

}  // namespace ccc

#include "ccc_call.hpp"
#include "ccc_step.hpp"

#endif
