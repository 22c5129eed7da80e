// far_copy.cpp: slot, index and data of a process on another node, each got as soon as it is known where it lies.
#include "shmem/views/diff/far_copy.hpp"

#include <algorithm>

#include "shmem/views/diff/index.hpp"

namespace portunus::views {
namespace {

constexpr size_t kAtOnce = 64 * 1024;  // declared views up to here come whole, with their index, in one round trip

void add_run(std::vector<Range>& runs, size_t offset, size_t bytes) {
  if (!runs.empty() && runs.back().end() == offset) runs.back().bytes += bytes;
  else runs.push_back({offset, bytes});
}

void ask_for_index(View& view, FarCopy& far, int q, size_t at) {
  if (view.declared) {
    far.versions.resize(view.blocks.size());
    library.net.get(far.batch, q, at, far.versions.data(), far.versions.size() * 8);
  } else {
    far.entries.resize(far.slot.index_length);
    if (!far.entries.empty()) library.net.get(far.batch, q, at, far.entries.data(), far.entries.size() * sizeof(PageEntry));
  }
  far.index_came = true;
}

void ask_for_declared(View& view, FarCopy& far, int q) {
  for (const Range& run : far.runs)
    library.net.get(far.batch, q, library.layout.arena + run.offset, library.arena() + run.offset, run.bytes);
  far.data_came = true;
  (void)view;
}

void start(View& view, FarCopy& far, int q) {
  far.index_came = far.data_came = false;
  far.runs.clear();
  own(library.slot(view.id).whole).store(0, std::memory_order_release);
  library.net.begin(far.batch);
  library.net.get(far.batch, q, library.layout.slot(view.id), &far.slot, sizeof far.slot);
  const auto known = view.far_index.find(q);
  if (view.declared && known != view.far_index.end() && view.bytes <= kAtOnce) {
    ask_for_index(view, far, q, known->second);
    if (view.mode != VDCX_OVERWRITE) {
      far.runs = view.pieces;
      ask_for_declared(view, far, q);
    }
  }
  far.step = FarCopy::Step::slot;
}

// Where the data of `entry` begins in what was staged, and its length: from the first byte that was written to the last.
Range span_of(const PageEntry& entry) {
  size_t begin = kPage, end = 0;
  runs_of(entry.map, [&](size_t at, size_t bytes) {
    if (begin == kPage) begin = at;
    end = at + bytes;
  });
  return end ? Range{begin, end - begin} : Range{0, 0};
}

void choose_and_ask(View& view, FarCopy& far, int q) {
  const uint64_t have = own(library.slot(view.id).version).load(std::memory_order_relaxed);
  far.runs.clear();
  if (view.declared) {
    for (size_t i = 0; i < view.blocks.size(); ++i)
      if (far.versions[i] > have) add_run(far.runs, view.blocks[i].offset, view.blocks[i].bytes);
    if (view.mode == VDCX_OVERWRITE) far.runs.clear();
    ask_for_declared(view, far, q);
    return;
  }
  const size_t pages = library.layout.arena_bytes / kPage;
  std::erase_if(far.entries, [&](const PageEntry& entry) { return entry.version <= have || entry.page >= pages; });
  size_t total = 0;
  for (const PageEntry& entry : far.entries) {
    far.runs.push_back(span_of(entry));
    total += far.runs.back().bytes;
  }
  far.staged.resize(total);
  size_t at = 0;
  for (size_t i = 0; i < far.entries.size(); ++i) {
    library.net.get(far.batch, q, library.layout.arena + far.entries[i].page * kPage + far.runs[i].offset, far.staged.data() + at,
                    far.runs[i].bytes);
    at += far.runs[i].bytes;
  }
  far.data_came = true;
}

// Everything is here.
void apply(View& view, FarCopy& far, int q) {
  Slot& mine = library.slot(view.id);
  if (view.declared) {
    const uint64_t have = own(mine.version).load(std::memory_order_relaxed);
    uint64_t* const versions = declared_index(view);
    for (size_t i = 0; i < view.blocks.size(); ++i)
      if (far.versions[i] > have) versions[i] = far.versions[i];
    for (const Range& run : far.runs) {
      window.patch_twins(run.offset, run.bytes);
      library.counters.copied_bytes += run.bytes;
    }
  } else {
    std::vector<std::vector<char>> pages(far.entries.size(), std::vector<char>(kPage));
    size_t at = 0, next = 0;
    for (size_t i = 0; i < far.entries.size(); ++i) {
      memcpy(pages[i].data() + far.runs[i].offset, far.staged.data() + at, far.runs[i].bytes);
      at += far.runs[i].bytes;
    }
    if (!apply_detected(view, q, far.entries, [&](size_t) { return pages[next++].data(); })) return;
  }
  own(mine.version).store(far.slot.version, std::memory_order_relaxed);
  own(mine.whole).store(1, std::memory_order_release);
}

}  // namespace

void abandon_copy(View& view) {
  if (view.far.step == FarCopy::Step::none) return;
  while (library.net.arrived(view.far.batch) == Arrival::under_way) PtlxProgress();
  library.net.end(view.far.batch);
  view.far.step = FarCopy::Step::none;
}

Copied copy_from_far(View& view, int q) {
  FarCopy& far = view.far;
  if (far.step == FarCopy::Step::none) start(view, far, q);
  for (;;) {
    const Arrival now = library.net.arrived(far.batch);
    if (now == Arrival::under_way && !library.net.dead(q)) return Copied::not_yet;
    if (now != Arrival::all) {
      library.net.declare_dead(q);
      if (now == Arrival::under_way) return Copied::lost;  // what still comes goes where it was to go
      library.net.end(far.batch);
      far.step = FarCopy::Step::none;
      return Copied::lost;
    }
    if (far.step == FarCopy::Step::slot) {
      struct Ended {
        FarCopy& far;
        bool on = true;
        ~Ended() {
          if (on) library.net.end(far.batch), far.step = FarCopy::Step::none;
        }
      } ended{far};
      same_view(view, q, far.slot);
      if (far.slot.version <= own(library.slot(view.id).version).load(std::memory_order_relaxed)) {
        own(library.slot(view.id).whole).store(1, std::memory_order_release);
        return Copied::yes;
      }
      const size_t pool_end = library.layout.pool + library.layout.pool_bytes;
      const size_t entry = view.declared ? 8 : sizeof(PageEntry);
      if (far.slot.index_at < library.layout.pool || far.slot.index_length > library.layout.pool_bytes / entry ||
          far.slot.index_at + far.slot.index_length * entry > pool_end)
        return Copied::yes;  // it is being changed: At::check finds another epoch
      ended.on = false;
      if (far.index_came && view.far_index[q] != far.slot.index_at) far.index_came = false, far.data_came = false;
      if (view.declared) view.far_index[q] = far.slot.index_at;
      if (!far.index_came) ask_for_index(view, far, q, far.slot.index_at);
      far.step = FarCopy::Step::index;
    } else if (far.step == FarCopy::Step::index) {
      if (!far.data_came && !(view.declared && view.mode == VDCX_OVERWRITE)) choose_and_ask(view, far, q);
      far.step = FarCopy::Step::data;
    } else {
      apply(view, far, q);
      library.net.end(far.batch);
      far.step = FarCopy::Step::none;
      return Copied::yes;
    }
  }
}

bool bring_far(View& view, int p, bool reader) {
  Net& net = library.net;
  Slot theirs{};
  if (!net.get(p, library.layout.slot(view.id), &theirs, sizeof theirs)) {
    net.clear();
    if (reader) {
      auto served = own(*reinterpret_cast<uint64_t*>(library.board + library.layout.bit_word(view.id, static_cast<unsigned>(p))));
      served.fetch_and(~(uint64_t{1} << (32 + p % 32)), std::memory_order_seq_cst);
    }
    return true;  // it died: nothing is left to be done
  }
  const Slot& mine = library.slot(view.id);
  if (theirs.meaning != view.meaning || theirs.generation != mine.generation) return false;
  const uint64_t* const versions = declared_index(view);
  auto delivery = std::make_unique<Net::Delivery>();
  net.begin(*delivery);
  std::vector<Range> runs;
  for (size_t i = 0; i < view.blocks.size(); ++i)
    if (versions[i] > theirs.version) add_run(runs, view.blocks[i].offset, view.blocks[i].bytes);
  for (const Range& run : runs) {
    net.put(*delivery, p, library.layout.arena + run.offset, library.arena() + run.offset, run.bytes);
    library.counters.brought_bytes += run.bytes;
  }
  net.put(*delivery, p, theirs.index_at, versions, view.blocks.size() * 8);
  net.put(*delivery, p, library.layout.slot(view.id) + offsetof(Slot, version), &mine.version, 8);
  net.finish(*delivery, p, library.layout.slot(view.id) + offsetof(Slot, told), static_cast<uint64_t>(Told::brought));
  library.deliveries.push_back({std::move(delivery), view.id, p, reader});
  return true;
}

bool delivery_is_over() {
  return std::any_of(library.deliveries.begin(), library.deliveries.end(),
                     [](const Delivery& delivery) { return library.net.is_over(*delivery.puts); });
}

void poll_deliveries() {
  std::erase_if(library.deliveries, [](Delivery& delivery) {
    if (!library.net.finished(*delivery.puts)) return false;
    if (delivery.reader) {
      auto served =
          own(*reinterpret_cast<uint64_t*>(library.board + library.layout.bit_word(delivery.view, static_cast<unsigned>(delivery.to))));
      served.fetch_and(~(uint64_t{1} << (32 + delivery.to % 32)), std::memory_order_seq_cst);
    }
    return true;
  });
}

}  // namespace portunus::views
