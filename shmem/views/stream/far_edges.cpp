// far_edges.cpp: counters, entries and triggered operations of a stream's tree.
#include <algorithm>

#include "shmem/views/stream/stream.hpp"

namespace portunus::views {
namespace {

enum : ptl_match_bits_t { kData, kCredit };
// `slot` depth is the view itself.
ptl_match_bits_t bits_of(const View& view, size_t slot, ptl_match_bits_t kind) {
  return static_cast<ptl_match_bits_t>(view.id) << 32 | slot << 1 | kind;
}

bool came_into_view(const Stream& stream) {
  return stream.came_into_view != PTL_CT_NONE && library.net.counted(stream.came_into_view) >= stream.taken[stream.depth] + 1;
}

}  // namespace

bool branch_lives(const Stream& stream, size_t position) {
  const std::vector<size_t> all = stream.tree.branch(position);
  return std::none_of(all.begin(), all.end(), [&](size_t i) { return library.net.dead(stream.tree.process(i)); });
}

void open_far_edges(View& view) {
  Stream& stream = *view.stream;
  Net& net = library.net;
  stream.branch = stream.tree.branch(stream.place);
  stream.children = stream.tree.children(stream.place);
  const int parent = stream.tree.process(stream.tree.parent(stream.place));
  for (size_t s = 0; s < stream.depth; ++s) {
    const size_t at = library.layout.arena + stream.ring + s * stream.slot;
    stream.came.push_back(net.count_puts(bits_of(view, s, kData), at, view.bytes));
    if (stream.children.empty()) continue;
    net.repeat(stream.came[s], 1);
    for (const size_t child : stream.children)
      net.put_counted(stream.tree.process(child), bits_of(view, s, kData), at, view.bytes, {stream.came[s], 1});
    stream.read.push_back(net.count_puts(bits_of(view, s, kCredit), at, 0));
    net.repeat(stream.read[s], stream.children.size() + 1);
    const client::When all_read{stream.read[s], stream.children.size() + 1};
    if (parent == stream.writer) net.add_when(all_read, parent, library.layout.arena + stream.credit_of(library.me, s));
    else net.put_counted(parent, bits_of(view, s, kCredit), at, 0, all_read);
  }
  stream.taken.assign(stream.depth + 1, 0);
  if (put_into_view(view, stream, stream.place)) {
    stream.came_into_view = net.count_puts(bits_of(view, stream.depth, kData), library.layout.arena + view.pieces[0].offset, view.bytes);
    library.written_by_others.push_back(&view);
  }
  net.store(stream.writer, library.layout.arena + stream.credit_of(library.me, stream.depth), 1);
}

bool far_version_came(const Stream& stream, uint64_t k) {
  const size_t s = stream.slot_number(k);
  return came_into_view(stream) || library.net.counted(stream.came[s]) >= stream.taken[s] + 1;
}

bool take_far(Stream& stream, uint64_t k) {
  const bool in_view = came_into_view(stream);
  ++stream.taken[in_view ? stream.depth : stream.slot_number(k)];
  return in_view;
}

void far_release(View& view, uint64_t k) {
  const Stream& stream = *view.stream;
  const size_t s = stream.slot_number(k);
  const int parent = stream.tree.process(stream.tree.parent(stream.place));
  if (!stream.children.empty()) library.net.count_one(stream.read[s]);
  else if (parent == stream.writer) library.net.tell(parent, library.layout.arena + stream.credit_of(library.me, s), PTL_SUM, 1);
  else library.net.put_counted(parent, bits_of(view, s, kCredit), 0, 0);
}

void send_far(View& view, uint64_t k) {
  Stream& stream = *view.stream;
  const size_t from = library.layout.arena + (stream.in_view ? view.pieces[0].offset : stream.slot_of(k));
  for (const size_t child : stream.children)
    if (branch_lives(stream, child)) {
      const int reader = stream.tree.process(child);
      const bool into_view = put_into_view(view, stream, child) && read_by(stream, reader, k - 1);
      library.net.put_counted(reader, bits_of(view, into_view ? stream.depth : stream.slot_number(k), kData), from, view.bytes, {},
                              stream.in_view ? &stream.leaving : nullptr);
      library.counters.brought_bytes += view.bytes;
    }
}

}  // namespace portunus::views
