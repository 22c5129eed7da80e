// plan.cpp: lists and peers, made and taken apart.
#include "shmem/distribution/plan/plan.hpp"

#include <shmem.h>

#include <algorithm>

#include "shmem/distribution/explain.hpp"
#include "shmem/distribution/layout/overlaps.hpp"
#include "shmem/distribution/plan/network.hpp"

using namespace portunus::distribution;

void ccc_plan_::copy_layouts(const ccc_layout& from, const ccc_layout& to) {
  from_layout = from;
  to_layout = to;
  if (from.pes) from_pes.assign(from.pes, from.pes + targets_of(from));
  if (to.pes) to_pes.assign(to.pes, to.pes + targets_of(to));
  from_layout.pes = from.pes ? from_pes.data() : nullptr;
  to_layout.pes = to.pes ? to_pes.data() : nullptr;
}

// Lists what this PE sends, or receives: one list for each axis and target of the other layout, and the PEs where none is empty.
void ccc_plan_::list(Side side) {
  const bool out = side == Side::kFrom;
  const ccc_layout &mine = out ? from_layout : to_layout, &other = out ? to_layout : from_layout;
  const int me = shmem_my_pe();
  const auto number = target_on(mine, me);
  if (!number) return;
  auto& lists = out ? send_lists_ : receive_lists_;
  const Coordinates here = coordinates_of(mine, *number);
  const auto axes = static_cast<size_t>(from_layout.axes);
  for (size_t d = 0; d < axes; ++d)
    lists[d] = list_pieces(from_layout.axis[d], to_layout.axis[order[d]], side, here[out ? d : static_cast<size_t>(order[d])]);
  const Move strides = strides_of_move(from_layout, to_layout, order, static_cast<int64_t>(size));
  for (int64_t j = 0; j < targets_of(other); ++j) {
    const Coordinates there = coordinates_of(other, j);
    Peer peer;
    peer.move = strides;
    for (size_t d = 0; d < axes; ++d) peer.move.lists[d] = &lists[d][static_cast<size_t>(there[out ? static_cast<size_t>(order[d]) : d])];
    if (peer.move.empty()) continue;
    peer.pe = pe_of(other, j);
    peer.bytes = peer.move.bytes();
    if (peer.pe != me) (out ? sends_ : receives_).push_back(peer);
    else if (out) own_ = peer;
  }
  // Each PE begins with its neighbour, so that they do not all ask the same one.
  auto& peers = out ? sends_ : receives_;
  const int all = shmem_n_pes();
  std::sort(peers.begin(), peers.end(), [&](const Peer& a, const Peer& b) { return (a.pe - me + all) % all < (b.pe - me + all) % all; });
}

// Finds the peers' slots, and watches those whose end is to be heard of. PTL_* codes.
int ccc_plan_::reach_peers() {
  const size_t more = own_.bytes != 0 ? 1 : 0;
  int code = laid_out_.open(Network::instance().next_plan(), sends_.size() + more, receives_.size() + more);
  for (std::vector<Peer>* peers : {&sends_, &receives_})
    for (Peer& peer : *peers) {
      peer.theirs = static_cast<Slot*>(shmem_ptr(slots_ + shmem_my_pe(), peer.pe));
      if (peer.theirs && PtlxNodeWatch(Network::instance().ni(), process(peer.pe), &peer.watch) != PTL_OK) peer.theirs = nullptr;
      peer.way = way_of(peer.move, peer.on_node());
      if (code == PTL_OK) code = laid_out_.watch(peer.pe);
    }
  return code;
}

// Whether all PEs have what they need, whether any two that exchange something share a node, whether PEs outnumber cores, and the
// largest message that is posted.
int ccc_plan_::agree(int code, int64_t* cell) {
  enum { kCode, kNear, kCrowded, kCell, kWords };
  static_assert(sizeof(Slot) >= 2 * kWords * sizeof(int));
  int* const mine = reinterpret_cast<int*>(slots_ + shmem_n_pes());
  int* const all = mine + kWords;
  mine[kCode] = code != PTL_OK;
  mine[kCrowded] = crowded_;
  for (const auto* peers : {&sends_, &receives_})
    for (const Peer& peer : *peers) {
      if (!peer.on_node()) continue;
      mine[kNear] = 1;
      if (peer.bytes <= kMostPosted) mine[kCell] = std::max(mine[kCell], static_cast<int>(peer.bytes));
    }
  if (shmem_int_max_reduce(SHMEM_TEAM_WORLD, all, mine, kWords) != 0) return CCC_ERR_FAILED;
  any_on_node_ = all[kNear] != 0;
  crowded_ = all[kCrowded] != 0;
  *cell = all[kCell];
  return all[kCode] == 0 ? CCC_SUCCESS : CCC_ERR_NO_SPACE;
}

// Makes the boxes to which small messages are posted. Without room for the boxes readers copy them, too; that is the same on all PEs.
void ccc_plan_::make_boxes(int64_t cell) {
  const int64_t pes = shmem_n_pes();
  cell_ = (cell + int64_t{sizeof(Slot)} - 1) / int64_t{sizeof(Slot)} * int64_t{sizeof(Slot)};
  if (!crowded_ || cell_ == 0 || 2 * pes * cell_ > kMostBoxes) return;
  boxes_ = static_cast<std::byte*>(shmem_align(sizeof(Slot), static_cast<size_t>(2 * pes * cell_)));
  if (!boxes_) return;
  const auto box_of = [&](int pe) { return boxes_ + 2 * pe * cell_; };
  for (Peer& peer : sends_)
    if (peer.on_node() && peer.bytes <= kMostPosted) peer.box = static_cast<std::byte*>(shmem_ptr(box_of(shmem_my_pe()), peer.pe));
  for (Peer& peer : receives_)
    if (peer.on_node() && peer.bytes <= kMostPosted) peer.box = box_of(peer.pe);
  all_posted_ = std::all_of(sends_.begin(), sends_.end(), [](const Peer& peer) { return peer.box != nullptr; });
}

// Works out direct copies, once. Large arrays go past the caches. Where several sources share the lines of the target,
// all are copied side by side, so that a line is complete when it leaves the caches.
void ccc_plan_::choose_copies(int64_t pes_of_node) {
  constexpr int64_t kLarge = int64_t{256} << 10;
  bool compiled = true, shares = false;
  size_t sources = 0;
  const auto compile = [&](Peer& peer) {
    peer.compiled = peer.move.compile(&peer.program);
    compiled &= peer.compiled;
    shares |= peer.program.shares_lines();
    ++sources;
  };
  for (Peer& peer : receives_) {
    if (peer.box) peer.compiled = peer.move.compile(&peer.program, Ends::kUnpack);
    else if (peer.on_node()) compile(peer);
  }
  for (Peer& peer : sends_)
    if (peer.box) peer.compiled = peer.move.compile(&peer.program, Ends::kPack);
  if (own_.bytes != 0) compile(own_);
  if (exceeds_caches((from_bytes_ + to_bytes_) * pes_of_node)) stores_ = Stores::kStreaming;
  together_ = compiled && sources > 1 && to_bytes_ >= kLarge && shares;
}

int ccc_plan_::create(const ccc_layout& from, const ccc_layout& to, const std::array<int, CCC_MOST_AXES>& axes, size_t bytes) {
  Network& network = Network::instance();
  if (const int code = network.open(); code != CCC_SUCCESS) return code;
  copy_layouts(from, to);
  order = axes;
  size = bytes;
  from_bytes_ = elements_of_room(from) * static_cast<int64_t>(size);
  to_bytes_ = elements_of_room(to) * static_cast<int64_t>(size);
  list(Side::kFrom);
  list(Side::kTo);
  has_from_ = !sends_.empty() || own_.bytes != 0;
  has_to_ = !receives_.empty() || own_.bytes != 0;
  ptlx_engine_info_t engine{};
  crowded_ = PtlxEngineInfo(&engine) == PTL_OK && engine.oversubscribed != 0;

  context_ = network.take_context();
  const auto pes = static_cast<size_t>(shmem_n_pes());
  slots_ = context_ < 0 ? nullptr : static_cast<Slot*>(shmem_align(sizeof(Slot), (pes + 1) * sizeof(Slot)));
  int code = CCC_ERR_NO_SPACE;
  if (slots_) {
    std::fill(slots_, slots_ + pes + 1, Slot{});
    int64_t cell = 0;
    code = agree(reach_peers(), &cell);
    if (code == CCC_SUCCESS) make_boxes(cell);
  }
  if (code != CCC_SUCCESS) {
    const bool full = context_ < 0, heap = !slots_;
    destroy();
    return refuse(code, full   ? "1024 plans exist already; free one"
                        : heap ? "the symmetric heap has no room for the plan's slots, 64 bytes for each PE"
                               : "a PE has no memory, or its network interface no counters or entries, left for the plan");
  }
  choose_copies(shmem_team_n_pes(SHMEM_TEAM_SHARED));
  scheduled_.open(static_cast<unsigned>(context_), sends_, receives_, from_bytes_, to_bytes_);
  return CCC_SUCCESS;
}

void ccc_plan_::destroy() {
  const bool lost = state == State::kBroken;
  scheduled_.close();
  laid_out_.close();
  // With a PE lost nobody may wait for all: slots and context stay taken.
  if (!lost && slots_) shmem_free(slots_);
  if (!lost && boxes_) shmem_free(boxes_);
  if (!lost && context_ >= 0) Network::instance().give_context(context_);
  Network::instance().close(lost);
}

int ccc_plan_::check(const void* from, const void* to) const {
  if (state == State::kBroken) return refuse(CCC_ERR_STATE, "the plan has failed and can only be freed");
  if (state == State::kStarted) return refuse(CCC_ERR_STATE, "the plan runs already; wait for it, or make two");
  if (has_from_ && !from) return refuse(CCC_ERR_ARG, "`from` is NULL, and this PE has elements of it");
  if (has_to_ && !to) return refuse(CCC_ERR_ARG, "`to` is NULL, and this PE gets elements of it");
  const auto a = reinterpret_cast<uintptr_t>(from), b = reinterpret_cast<uintptr_t>(to);
  if (has_from_ && has_to_ && a < b + static_cast<uintptr_t>(to_bytes_) && b < a + static_cast<uintptr_t>(from_bytes_))
    return refuse(CCC_ERR_ARG, "`from` (%lld bytes) and `to` (%lld bytes) overlap", static_cast<long long>(from_bytes_),
                  static_cast<long long>(to_bytes_));
  return CCC_SUCCESS;
}

size_t ccc_plan_::memory() const {
  const auto pes = static_cast<size_t>(shmem_n_pes());
  size_t bytes = sizeof *this + (pes + 1) * sizeof(Slot) + (boxes_ ? 2 * pes * static_cast<size_t>(cell_) : 0) +
                 (sends_.capacity() + receives_.capacity()) * sizeof(Peer) + own_.program.memory();
  for (const auto* peers : {&sends_, &receives_})
    for (const Peer& peer : *peers) bytes += peer.program.memory();
  for (const auto* lists : {&send_lists_, &receive_lists_})
    for (const auto& axis : *lists)
      for (const Pieces& pieces : axis) bytes += sizeof pieces + pieces.memory();
  return bytes;
}
