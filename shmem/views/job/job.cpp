// job.cpp: start and end, the image of process 0, barriers.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shmem/include/shmem.h"
#include "shmem/views/arena/allocator.hpp"
#include "shmem/views/arena/window.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/session.hpp"
#include "shmem/views/handover/acquire.hpp"
#include "shmem/views/stream/stream.hpp"
#include "shmem/views/watch/recover.hpp"
#include "shmem/views/watch/trace.hpp"

namespace portunus::views {

client::Undestroyed<Library> library_storage;

void Net::issued(int code, const char* call) {
  check(code, call);
  library.counters.messages += 1;
}

void Net::waits_for_round() { library.counters.rounds += !library.probes; }

void refuse(int code, const char* sentence, ...) {
  char text[512];
  va_list args;
  va_start(args, sentence);
  vsnprintf(text, sizeof text, sentence, args);
  va_end(args);
  throw Refusal{code, text};
}

void end_job(const char* sentence, ...) {
  char text[640];
  int used = library.up ? snprintf(text, sizeof text, "vdc: process %d: ", library.me) : snprintf(text, sizeof text, "vdc: ");
  va_list args;
  va_start(args, sentence);
  vsnprintf(text + used, sizeof text - static_cast<size_t>(used), sentence, args);
  va_end(args);
  fflush(nullptr);
  PtlxJobAbort(1, text);
  abort();
}

// Called by the handler of faults; the process ends by the fault, so that debuggers and cores see where.
void report_null(const void* address) {
  char text[320];
  const int length = snprintf(text, sizeof text,
                              "vdc: process %d: %p was read or written: a pointer that is NULL here; memory that one process allocates by "
                              "Vdc_malloc has to be told to all others by Vdcx_distribute\n",
                              library.me, address);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, static_cast<size_t>(length));
}

// Called by the handler of faults: the write is undone by ending the job here.
void report_stray_access(const void* address, size_t offset) {
  if (window.is_hidden(offset / kPage))
    for (const auto& view : library.views)
      if (view && view->declared && overlap(view->pieces, {{offset, 1}}))
        end_job("%p was read or written, which belongs to view %d: that is not held; acquire it first, else what is read may be stale",
                address, view->id);
  const View* reads = nullptr;
  for (const auto& view : library.views)
    if (view && view->reads && view->declared && overlap(view->pieces, {{offset, 1}})) reads = view.get();
  if (reads) end_job("%p was written, which belongs to view %d: that is held for reading only", address, reads->id);
  if (library.writers.empty()) end_job("%p (byte %zu of the shared pages) was written, but no view is held for writing", address, offset);
  end_job("%p (byte %zu of the shared pages) was written, which belongs to no view that is held for writing; view %d is", address, offset,
          library.writers.back()->id);
}

Layout::Layout(size_t pages, unsigned processes) {
  const auto aligned = [](size_t n) { return (n + kPage - 1) & ~(kPage - 1); };
  bit_words = (processes + 31) / 32;
  turns = aligned(sizeof(Header));
  stage = turns + aligned(processes * 8);
  owners = stage + kStage;
  sizes = owners + aligned(pages * 2);
  slots = sizes + aligned(pages * (kPage / kBlock) * 8);
  bits = slots + aligned(VDC_NVIEWS * sizeof(Slot));
  pushes = bits + aligned(VDC_NVIEWS * bit_words * 8);
  request_notices = pushes + aligned(VDC_NVIEWS * bit_words * 8);
  released_data = request_notices + aligned(processes * sizeof(RequestNotice));
  pool = released_data + aligned(processes * sizeof(ReleasedData));
  pool_bytes = aligned(pages * kPage / 4 + (size_t{1} << 20));
  arena = pool + pool_bytes;
  arena_bytes = pages * kPage;
  total = arena + arena_bytes;
}

View& Library::view(int id) {
  if (!up) refuse(VDCX_ERR_STATE, "Vdc_startup has not been called");
  if (id < 0 || id >= VDC_NVIEWS) refuse(VDCX_ERR_ARG, "there is no view %d; views are 0 .. %d", id, VDC_NVIEWS - 1);
  auto& view = views[static_cast<size_t>(id)];
  if (!view) {
    view = std::make_unique<View>();
    view->id = id;
    view->manager = id % n;
  }
  return *view;
}

namespace {

size_t pages_wanted() {
  const char* text = getenv("VDC_PAGES");
  if (!text) return 16384;
  char* end = nullptr;
  const long pages = strtol(text, &end, 10);
  if (end == text || *end || pages < 1 || pages > VDC_NPAGES)
    end_job("VDC_PAGES is \"%s\"; it must be a number of pages, 1 .. %d", text, VDC_NPAGES);
  return static_cast<size_t>(pages);
}

uint64_t barriers = 0;
bool started = false;  // views have been up before

}  // namespace

void start_up() {
  if (library.up) end_job("Vdc_startup was called twice");
  const size_t pages = pages_wanted();
  // The heap is made for what lies in it, unless the user says how large it is.
  const Layout most(pages, VDC_NPROCS);
  const std::string size = std::to_string(most.total + (size_t{8} << 20));
  setenv("SHMEM_SYMMETRIC_SIZE", size.c_str(), 0);
  int used = 0;
  shmem_query_initialized(&used);
  shmem_init();
  library.me = shmem_my_pe();
  library.n = shmem_n_pes();
  if (library.n > VDC_NPROCS) end_job("a job of %d processes is too large; the most are %d", library.n, VDC_NPROCS);
  library.layout = Layout(pages, static_cast<unsigned>(library.n));
  library.own_block = static_cast<char*>(shmem_align(kPage, library.layout.total));
  if (!library.own_block)
    end_job("the symmetric heap has no %zu bytes for %zu shared pages; set SHMEM_SYMMETRIC_SIZE to more, or VDC_PAGES to less",
            library.layout.total, pages);
  library.up = true;
  if (used || started) memset(library.own_block, 0, library.layout.total);  // else it is zero
  started = true;
  library.net.open(library.own_block, library.layout.total, library.me, library.n);
  library.counters.show();
  library.views.resize(VDC_NVIEWS);
  library.image_done = false;
  library.check = PtlxDebug("views") != 0;
  barriers = 0;
  pool_open();
  allocator_open();
  window.open(library.arena(), library.layout.arena_bytes, library.header().scratch, may_write);
  memset(library.header().scratch, 0, sizeof library.header().scratch);
  trace_open(library.me);
  if (library.me == 0) window.open_pages(0, pages);
  shmem_barrier_all();
}

void publish_image() {
  if (library.image_done) return;
  library.image_done = true;
  if (library.me == 0) {
    const uint64_t bytes = std::min(library.net.load(0, offsetof(Header, next_page)) * kPage, library.layout.arena_bytes);
    window.close_all();
    for (int pe = 0; pe < library.n; ++pe) library.net.store(pe, offsetof(Header, image), bytes + 1);
    return;
  }
  auto image = own(library.header().image);
  // acquire: pairs with process 0's store, which comes after what it wrote.
  wait_for([&] { return image.load(std::memory_order_acquire) != 0 || library.net.dead(0); }, kForEver);
  const uint64_t bytes = image.load(std::memory_order_acquire);
  if (bytes == 0) refuse(VDCX_ERR_LOST, "process 0 died before it published what it had initialised");
  if (const char* there = library.net.near(0, library.layout.arena)) memcpy(library.arena(), there, bytes - 1);
  else if (!library.net.get(0, library.layout.arena, library.arena(), bytes - 1)) {
    library.net.clear();
    refuse(VDCX_ERR_LOST, "process 0 died before it published what it had initialised");
  }
}

void barrier(unsigned id) {
  publish_image();
  meet(id);
}

uint64_t version_of(View& view) {
  if (view.stream) return view.stream->version;
  return own(library.slot(view.id).version).load(std::memory_order_relaxed);
}

namespace {

constexpr unsigned kExit = ~0u;  // the barrier in Vdc_exit

std::string name_of(unsigned id) { return id == kExit ? "the end (Vdc_exit)" : "barrier " + std::to_string(id); }

}  // namespace

void meet(unsigned id) {
  ++barriers;
  const uint64_t said = barriers << 32 | id;
  for (int round = 0, step = 1; step < library.n; ++round, step *= 2) {
    const int to = (library.me + step) % library.n;
    const size_t place = static_cast<size_t>(round) * 8;
    if (library.check) library.net.store(to, offsetof(Header, barrier_id) + (barriers & 1) * sizeof(uint64_t[kRounds]) + place, said);
    library.net.store(to, offsetof(Header, arrived) + place, barriers);
    auto arrived = own(library.header().arrived[round]);
    int dead = -1;
    wait_for(
        [&] {
          // acquire: pairs with the store of who arrived.
          if (arrived.load(std::memory_order_acquire) >= barriers) return true;
          for (int pe = 0; pe < library.n && dead < 0; ++pe)
            if (library.net.dead(pe)) dead = pe;
          return dead >= 0;
        },
        kForEver);
    if (arrived.load(std::memory_order_acquire) < barriers) refuse(VDCX_ERR_LOST, "%s: process %d has died", name_of(id).c_str(), dead);
    const uint64_t theirs = own(library.header().barrier_id[barriers & 1][round]).load(std::memory_order_acquire);
    if (library.check && theirs != said && theirs >> 32 == barriers)
      refuse(VDCX_ERR_ARG, "process %d is at %s while process %d is at %s", library.me, name_of(id).c_str(),
             (library.me + library.n - step) % library.n, name_of(static_cast<unsigned>(theirs & 0xffffffffu)).c_str());
  }
}

void shut_down() {
  for (const auto& view : library.views) {
    if (!view) continue;
    if (view->held && !view->stream) end_job("view %d is still held for writing at the exit", view->id);
    if (view->pending) {
      // Those behind in the queue are served, too.
      try {
        if (view->ahead) complete(*view, kForEver);
        else acquire(*view, view->mode, kForEver);
        release(*view);
      } catch (const Refusal&) {
      }
    }
  }
  bool alone = false;
  try {
    barrier(kExit);
  } catch (const Refusal& refusal) {
    if (refusal.code != VDCX_ERR_LOST) throw;
    alone = true;
  }
  wait_for(
      [&] {
        poll_deliveries();
        return library.deliveries.empty();
      },
      kForEver);
  trace_close();
  if (alone) {
    // Somebody died: the job can meet no more, but those who live may still need what this process has.
    meet_the_living();
    fflush(nullptr);
    _Exit(0);
  }
  window.close();
  library.net.close();
  shmem_free(library.own_block);
  std::destroy_at(&library);
  std::construct_at(&library);
  shmem_finalize();
}

}  // namespace portunus::views
