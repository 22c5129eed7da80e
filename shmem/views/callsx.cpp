// callsx.cpp: the calls beyond the paper: the interface where a refusal becomes a code, and its sentence is kept.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "shmem/views/arena/allocator.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/session.hpp"
#include "shmem/views/handover/acquire.hpp"
#include "shmem/views/job/distribute.hpp"
#include "shmem/views/stream/stream.hpp"
#include "shmem/views/watch/recover.hpp"

using namespace portunus::views;

// The object that a request handle names.
struct Vdcx_ahead {
  View* view;
};

namespace {

std::string sentence = "nothing has failed";

template <class Work>
int code_of(Work&& work) {
  try {
    if (!library.up) refuse(VDCX_ERR_STATE, "Vdc_startup has not been called");
    work();
    return VDCX_SUCCESS;
  } catch (const Refusal& refusal) {
    sentence = "process " + std::to_string(library.me) + ": " + refusal.sentence;
    return refusal.code;
  } catch (const std::bad_alloc&) {
    sentence = "there is no memory left";
    return VDCX_ERR_NO_SPACE;
  }
}

void need(const void* pointer, const char* what) {
  if (!pointer) refuse(VDCX_ERR_ARG, "%s is NULL", what);
}

std::vector<Range> ranges_of(int viewid, const Vdcx_piece* pieces, unsigned n) {
  std::vector<Range> ranges;
  for (unsigned i = 0; i < n; ++i) {
    const Vdcx_piece& piece = pieces[i];
    if (piece.count == 0 || piece.bytes == 0) continue;
    size_t last = 0, span = 0;
    const bool fits = piece.count == 1 || (piece.stride >= piece.bytes && !__builtin_mul_overflow(piece.count - 1, piece.stride, &last));
    if (!fits || __builtin_add_overflow(last, piece.bytes, &span) || !window.holds(piece.start, span))
      refuse(VDCX_ERR_ARG, "view %d: piece %u, %zu times %zu bytes at %p, does not lie in the shared pages without overlap", viewid, i,
             piece.count, piece.bytes, piece.start);
    for (size_t k = 0; k < piece.count; ++k) ranges.push_back({window.offset(piece.start) + k * piece.stride, piece.bytes});
  }
  if (ranges.empty()) refuse(VDCX_ERR_ARG, "view %d: no bytes are declared", viewid);
  return ranges;
}

void declare(int viewid, const Vdcx_piece* pieces, unsigned n, Vdcx_finding how) {
  View& view = library.view(viewid);
  need(pieces, "pieces");
  if (how < VDCX_AUTO || how > VDCX_TOLD)
    refuse(VDCX_ERR_ARG, "view %d: %d is no way of finding what was written", viewid, static_cast<int>(how));
  const uint64_t generation = library.net.load(view.manager, library.layout.slot(viewid) + offsetof(Slot, destroyed));
  library.net.clear();
  if ((view.used || view.declared) && generation > own(library.slot(viewid).generation).load(std::memory_order_relaxed) && !view.held &&
      !view.reads && !view.pending) {
    // It was destroyed by another process: free for a new meaning.
    forget_index(view);
    renew(view);
    own(library.slot(viewid).generation).store(generation, std::memory_order_relaxed);
  }
  if (view.used || view.declared) refuse(VDCX_ERR_STATE, "view %d has been %s here already", viewid, view.declared ? "declared" : "used");
  std::vector<Range> ranges = ranges_of(viewid, pieces, n);
  if (!normalize(ranges)) refuse(VDCX_ERR_OVERLAP, "view %d: its pieces overlap", viewid);
  for (const auto& other : library.views)
    if (other && other->declared && overlap(other->pieces, ranges)) refuse(VDCX_ERR_OVERLAP, "view %d overlaps view %d", viewid, other->id);
  std::vector<Range> blocks = blocks_of(ranges);
  if (blocks.size() > kMostBlocks)
    refuse(VDCX_ERR_NO_SPACE, "view %d consists of %zu pieces; the most are %zu", viewid, blocks.size(), kMostBlocks);
  view.bytes = bytes_of(ranges);
  view.meaning = meaning_of(ranges);
  view.pieces = std::move(ranges);
  view.blocks = std::move(blocks);
  view.finding = how;
  view.declared = true;
  declared_index(view);
  hide_unheld(view);
}

View& of_request(Vdcx_request* request) {
  need(request, "the request");
  need(*request, "the request");
  return *(*request)->view;
}

void drop(Vdcx_request* request) {
  delete *request;
  *request = nullptr;
}

}  // namespace

const char* Vdcx_explain(void) { return sentence.c_str(); }

void* Vdcx_malloc(size_t size) {
  void* block = nullptr;
  code_of([&] {
    const size_t at = allocate(size, library.writers.empty() ? -1 : library.writers.back()->id);
    if (at == SIZE_MAX)
      refuse(VDCX_ERR_NO_SPACE, "there are no %zu bytes of shared memory left; set VDC_PAGES (now %zu) to more", size,
             library.layout.arena_bytes / kPage);
    block = window.start() + at;
  });
  return block;
}

int Vdcx_unique_view(int* viewid) {
  return code_of([&] {
    need(viewid, "viewid");
    const uint64_t given = library.net.fetch(0, offsetof(Header, next_id), PTL_SUM, 1);
    if (library.net.failed()) {
      library.net.clear();
      refuse(VDCX_ERR_LOST, "process 0, which gives out the numbers of views, has died");
    }
    if (given >= VDC_NVIEWS) refuse(VDCX_ERR_NO_SPACE, "all %d numbers of views have been given out", VDC_NVIEWS);
    *viewid = VDC_NVIEWS - 1 - static_cast<int>(given);
  });
}

int Vdcx_distribute(void* variable, size_t bytes) {
  return code_of([&] {
    if (bytes) need(variable, "variable");
    distribute(variable, bytes);
  });
}

int Vdcx_declare(int viewid, const Vdcx_piece* pieces, unsigned n, Vdcx_finding how) {
  return code_of([&] { declare(viewid, pieces, n, how); });
}

int Vdcx_destroy(int viewid) {
  return code_of([&] {
    destroy(library.view(viewid));
    release_blocks_of(viewid);
  });
}

int Vdcx_acquire(int viewid, Vdcx_mode mode, double seconds) {
  return code_of([&] { acquire(library.view(viewid), mode, seconds); });
}

int Vdcx_acquire_all(const int* viewids, const Vdcx_mode* modes, unsigned n, double seconds) {
  return code_of([&] {
    if (n == 0) return;
    need(viewids, "viewids");
    need(modes, "modes");
    std::vector<unsigned> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return viewids[a] < viewids[b]; });
    for (unsigned i = 1; i < n; ++i)
      if (viewids[order[i]] == viewids[order[i - 1]]) refuse(VDCX_ERR_ARG, "view %d is named twice", viewids[order[i]]);
    std::vector<View*> taken;
    try {
      for (const unsigned i : order) {
        View& view = library.view(viewids[i]);
        acquire(view, modes[i], seconds);
        taken.push_back(&view);
      }
    } catch (const Refusal&) {
      for (auto view = taken.rbegin(); view != taken.rend(); ++view) release(**view);
      throw;
    }
  });
}

int Vdcx_begin(int viewid, Vdcx_mode mode, Vdcx_request* request) {
  return code_of([&] {
    need(request, "request");
    View& view = library.view(viewid);
    begin(view, mode);
    *request = new Vdcx_ahead{&view};
  });
}

int Vdcx_test(Vdcx_request* request, int* done) {
  return code_of([&] {
    View& view = of_request(request);
    need(done, "done");
    bool ended = false;
    try {
      ended = go_on(view);
    } catch (const Refusal&) {
      drop(request);
      throw;
    }
    *done = ended;
    if (ended) drop(request);
  });
}

int Vdcx_wait(Vdcx_request* request, double seconds) {
  return code_of([&] {
    View& view = of_request(request);
    try {
      complete(view, seconds);
    } catch (const Refusal& refusal) {
      if (refusal.code == VDCX_ERR_LOST) drop(request);
      throw;
    }
    drop(request);
  });
}

int Vdcx_release(int viewid) {
  return code_of([&] { release(library.view(viewid)); });
}

int Vdcx_wrote(int viewid, const void* start, size_t bytes) {
  return code_of([&] {
    View& view = library.view(viewid);
    if (!view.held) refuse(VDCX_ERR_STATE, "view %d is not held for writing by this process", viewid);
    if (bytes == 0) return;
    need(start, "start");
    if (!window.holds(start, bytes))
      refuse(VDCX_ERR_ARG, "view %d: the %zu bytes at %p do not lie in the shared pages", viewid, bytes, start);
    wrote(view, window.offset(start), bytes);
  });
}

int Vdcx_version(int viewid, uint64_t* version) {
  return code_of([&] {
    need(version, "version");
    View& view = library.view(viewid);
    if (!view.held && !view.reads) refuse(VDCX_ERR_STATE, "view %d is not held by this process", viewid);
    *version = version_of(view);
  });
}

int Vdcx_stream(int viewid, int writer, const int* readers, unsigned n, unsigned depth) {
  return code_of([&] {
    View& view = library.view(viewid);
    if (depth == 0) refuse(VDCX_ERR_ARG, "view %d: a stream needs a depth of at least 1", viewid);
    if (n) need(readers, "readers");
    make_stream(view, writer, std::vector<int>(readers, readers + n), depth);
  });
}

int Vdcx_recover(int viewid, int* owner, uint64_t* version) {
  return code_of([&] {
    const auto [who, newest] = recover(library.view(viewid));
    if (owner) *owner = who;
    if (version) *version = newest;
  });
}
