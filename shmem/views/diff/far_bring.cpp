// far_bring.cpp: data put to a process on another node by who releases them: because it acquires ahead, or as they are few.
#include <algorithm>
#include <cstring>

#include "shmem/views/diff/far_copy.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/pieces.hpp"

namespace portunus::views {
namespace {

constexpr uint64_t kNotWhole = 0;

void add_run(std::vector<Range>& runs, size_t offset, size_t bytes) {
  if (!runs.empty() && runs.back().end() == offset) runs.back().bytes += bytes;
  else runs.push_back({offset, bytes});
}

// The notice that it put here before it asked, unless another request of its own has taken the place.
bool said_what_is_there(const View& view, int p, Slot& theirs) {
  RequestNotice request;
  auto* const words = reinterpret_cast<uint64_t*>(&request);
  auto* const there = reinterpret_cast<uint64_t*>(library.own_block + library.layout.request_notice_of(static_cast<unsigned>(p)));
  // The engine may be writing: what is torn has another sum.
  for (size_t i = 0; i < sizeof request / sizeof *words; ++i) words[i] = own(there[i]).load(std::memory_order_relaxed);
  if (!request.is_for(static_cast<uint64_t>(view.id))) return false;
  theirs.version = request.version;
  theirs.whole = 1;  // or it has said 0
  theirs.index_at = request.index_at;
  theirs.meaning = request.meaning;
  theirs.generation = request.generation;
  return true;
}

}  // namespace

bool bring_far(View& view, int p, bool reader) {
  Net& net = library.net;
  Slot theirs{};
  if (!said_what_is_there(view, p, theirs) && !net.get(p, library.layout.slot(view.id), &theirs, sizeof theirs)) {
    net.clear();
    if (reader) {
      auto served = own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(view.id, static_cast<unsigned>(p))));
      served.fetch_and(~(uint64_t{1} << (32 + p % 32)), std::memory_order_seq_cst);
    }
    return true;  // it died: nothing is left to be done
  }
  if (!theirs.whole) theirs.version = 0;
  const Slot& mine = library.slot(view.id);
  if (theirs.meaning != view.meaning || theirs.generation != mine.generation) return false;
  const uint64_t* const versions = declared_index(view);
  auto delivery = std::make_unique<client::SignalledPuts>();
  net.open(*delivery);
  // Arrives first: until took_delivery() the copy there is of no one version.
  net.put(*delivery, p, library.layout.slot(view.id) + offsetof(Slot, whole), &kNotWhole, sizeof kNotWhole);
  std::vector<Range> runs;
  for (size_t i = 0; i < view.blocks.size(); ++i)
    if (versions[i] > theirs.version) add_run(runs, view.blocks[i].offset, view.blocks[i].bytes);
  for (const Range& run : runs) {
    net.put(*delivery, p, library.layout.arena + run.offset, library.arena() + run.offset, run.bytes);
    library.counters.brought_bytes += run.bytes;
  }
  static_assert(offsetof(Slot, uniform) == offsetof(Slot, version) + sizeof(uint64_t));
  if (mine.uniform != mine.version) net.put(*delivery, p, theirs.index_at, versions, view.blocks.size() * 8);
  net.put(*delivery, p, library.layout.slot(view.id) + offsetof(Slot, version), &mine.version, 2 * sizeof(uint64_t));
  net.finish(*delivery, p, library.layout.slot(view.id) + offsetof(Slot, notice), static_cast<uint64_t>(Notice::brought));
  library.deliveries.push_back({std::move(delivery), view.id, p, reader});
  return true;
}

void send_released(const View& view, int p) {
  if (view.bytes > ReleasedData::kMostBytes) return;
  const Slot& mine = library.slot(view.id);
  ReleasedData data;
  data.view = static_cast<uint64_t>(view.id) + 1;
  data.version = mine.version;
  data.generation = mine.generation;
  data.meaning = view.meaning;
  data.index_at = mine.index_at;
  data.bytes = view.bytes;
  if (data.words() > 0) data.data[data.words() - 1] = 0;
  pack(view, reinterpret_cast<char*>(data.data));
  data.sum = data.right_sum();
  library.net.put_small(p, library.layout.released_data_of(static_cast<unsigned>(library.me)), &data, data.size());
}

bool take_released(const View& view, int q, const ReleaseNotice& notice, FarCopy& far) {
  if (view.bytes > ReleasedData::kMostBytes) return false;
  ReleasedData data;
  auto* const words = reinterpret_cast<uint64_t*>(&data);
  auto* const there = reinterpret_cast<uint64_t*>(library.own_block + library.layout.released_data_of(static_cast<unsigned>(q)));
  // The engine may be writing: what is torn has another sum.
  const auto load = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) words[i] = own(there[i]).load(std::memory_order_relaxed);
  };
  constexpr size_t kHeaderWords = ReleasedData::kHeader / sizeof(uint64_t);
  load(0, kHeaderWords);
  if (data.view != static_cast<uint64_t>(view.id) + 1 || data.version != notice.version() || data.bytes != view.bytes ||
      data.generation != notice.generation() || data.meaning != view.meaning)
    return false;
  load(kHeaderWords, kHeaderWords + data.words());
  if (!data.is_right()) return false;
  memcpy(far.staged.of(view.bytes), data.data, view.bytes);
  size_t at = 0;
  for (const Range& piece : view.pieces) {
    far.fetched.push_back({piece.offset, piece.bytes, at});
    at += piece.bytes;
  }
  far.slot.index_at = data.index_at, far.slot.index_length = view.blocks.size();
  return true;
}

bool delivery_is_over() {
  return std::any_of(library.deliveries.begin(), library.deliveries.end(),
                     [](const Delivery& delivery) { return delivery.puts->is_over(); });
}

void poll_deliveries() {
  std::erase_if(library.deliveries, [](Delivery& delivery) {
    if (library.net.waiting() || !delivery.puts->is_over()) return false;
    if (delivery.reader) {
      auto served =
          own(*reinterpret_cast<uint64_t*>(library.own_block + library.layout.bit_word(delivery.view, static_cast<unsigned>(delivery.to))));
      served.fetch_and(~(uint64_t{1} << (32 + delivery.to % 32)), std::memory_order_seq_cst);
    }
    return true;
  });
}

}  // namespace portunus::views
