// library.hpp: what this process knows while views are up: its place in the job, its views, and what is held.
//
// Thread: the one that calls; the handler of faults reads `writers` and extents of views that are held.
#pragma once

#include <atomic>
#include <bit>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shmem/views/diff/compare.hpp"
#include "shmem/views/diff/expected.hpp"
#include "shmem/views/diff/extents.hpp"
#include "shmem/views/handover/protocol.hpp"
#include "shmem/views/job/layout.hpp"
#include "shmem/views/job/net.hpp"
#include "shmem/views/refusal.hpp"
#include "shmem/views/vdc.h"

namespace portunus::views {

class Stream;

// The state of one page of a detected view: which bytes were ever changed, and in which version last.
struct PageEntry {
  uint64_t page, version, map[kMapWords];
};

// A page that is opened at the beginning of sessions of a detected view: it was written lately, or faulted though it did not change.
struct Predicted {
  uint32_t page;
  uint32_t sessions_left;  // in which it may stay unchanged
};

// Bytes that are got together from a process that is not on this node, and the place where they are put until it is known to be good.
struct Fetched {
  size_t offset, bytes;  // in the arena
  size_t at;             // in FarCopy::staged
  size_t end() const { return offset + bytes; }
};

// Bytes that are about to be written to: neither cleared nor carried over when they become more. Each copy of a view needs a little more
// or less, so there is more room than was asked for: new memory costs more than what is copied into it.
class Room {
 public:
  // May be read, too, and means nothing: so much before and behind.
  static constexpr size_t kAround = 64;

  char* of(size_t bytes) {
    if (bytes > size_) bytes_ = std::make_unique_for_overwrite<char[]>((size_ = std::bit_ceil(bytes)) + 2 * kAround);
    return data();
  }
  char* data() const { return bytes_ ? bytes_.get() + kAround : nullptr; }
  void free() { bytes_.reset(), size_ = 0; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
};

// A copy from a process that is not on this node, under way.
struct FarCopy {
  enum class Step : uint8_t { none, first, index, data } step = Step::none;
  Operations batch;
  int from = -1;
  bool unused = false;  // asked for together with a look; copy_from has not come yet
  bool looks = false;   // words[0] was asked for before all else, words[1] behind it
  bool late = false;    // something was asked for after words[1]
  uint64_t words[2] = {0, 0};
  Slot slot;
  size_t index_at = 0, index_length = 0;  // of what `first` asked for; 0: the index was not
  std::vector<uint64_t> versions;         // declared
  std::vector<PageEntry> entries;         // detected
  std::vector<Fetched> fetched;           // what `first` asked for without knowing whether it is new
  std::vector<Fetched> requested;         // what is asked for then
  Room staged, staged_too;                // of `fetched` and of `requested`
  bool in_place = false;                  // `requested` arrives where it belongs; staged_too has what was there before
  bool saved = false;                     // it has that already
  uint64_t was_whole = 0;                 // what it has was of one version
  bool lately_in_place = false;           // the last copy arrived so
  uint8_t in_vain = 0;                    // copies in a row to write, which brought nothing new
};

// A view as this process knows it.
struct View {
  int id = 0;
  int manager = 0;
  bool used = false;  // no declaration any more
  // Declared.
  bool declared = false;
  Vdcx_finding finding = VDCX_AUTO;
  std::vector<Range> pieces, blocks;
  size_t bytes = 0;
  uint64_t meaning = 0;
  size_t first_page = 0, end_page = 0;
  uint64_t opened_at = ~uint64_t{0};  // Window::closings then: if it is the same, the pages are open still
  double changed = 0.5;               // share of blocks that changed lately
  unsigned sessions = 0;
  // Index: in the pool; Slot::index_at and index_length tell others.
  size_t index_room = 0;                           // entries
  std::unordered_map<uint64_t, uint32_t> by_page;  // detected
  std::vector<Predicted> predicted;                // in ascending order
  // Now.
  Request request;
  bool pending = false;  // the request is in the queue, and nobody waits for it
  bool ahead = false;    // by Vdcx_begin
  bool asked_push = false;
  ReleaseNotice release_notice;  // by whom this request waited for
  uint64_t looked = 0;           // the word of the process that was asked, behind the asking
  unsigned hint = 0;             // 1 + the process that was copied from last
  Vdcx_mode mode = VDCX_READ;
  bool held = false;  // for writing
  unsigned reads = 0;
  Vdcx_finding how = VDCX_TWIN;  // in this session
  std::vector<char> twin;        // TWIN: the pieces, one behind the other
  std::vector<Range> reported;
  FarCopy far;
  std::unordered_map<int, std::pair<size_t, size_t>> far_index;  // where others keep their index, and how long it was
  Expected far_expected;                                         // detected: what the next copy from far away may consist of
  std::shared_ptr<Stream> stream;
};

// As it was before its first use.
inline void renew(View& view) {
  const int id = view.id, manager = view.manager;
  std::destroy_at(&view);
  std::construct_at(&view);
  view.id = id, view.manager = manager;
}

struct Delivery {
  std::unique_ptr<client::SignalledPuts> puts;
  int view, to;
  bool reader;
};

// A number that ptlstat shows; one thread counts.
class Count {
 public:
  void show(const char* name, const char* text) {
    uint64_t* shown = nullptr;
    if (PtlxCountAdd(name, text, &shown) == PTL_OK) at_ = shown;  // else it is counted all the same
  }
  void operator+=(uint64_t n) { word().store(value() + n, std::memory_order_relaxed); }
  void operator++() { *this += 1; }
  uint64_t value() const { return word().load(std::memory_order_relaxed); }

 private:
  std::atomic_ref<uint64_t> word() const { return std::atomic_ref<uint64_t>(*at_); }
  static inline uint64_t unseen_ = 0;
  uint64_t* at_ = &unseen_;
};

struct Counters {
  Count write_acquires, read_acquires, again, waited, copied_bytes, brought_bytes, twins, messages, rounds;
  void show() {
    write_acquires.show("vdc_write_acquires", "views acquired for writing");
    again.show("vdc_again", "of these, by the owner, whom nobody had asked");
    read_acquires.show("vdc_read_acquires", "views acquired for reading");
    waited.show("vdc_waited", "acquires that had to ask another process");
    copied_bytes.show("vdc_copied_bytes", "bytes of views copied from other processes");
    brought_bytes.show("vdc_brought_bytes", "bytes of views brought to processes that were ahead");
    twins.show("vdc_twins", "pages whose content was kept for comparison");
    messages.show("vdc_messages", "Portals operations on other nodes");
    rounds.show("vdc_rounds", "round trips to other nodes waited for while views were passed on");
  }
};

struct Library {
  bool up = false, image_done = false, check = false;
  int me = 0, n = 1;
  char* own_block = nullptr;  // this process's block
  Layout layout;
  Net net;
  std::vector<std::unique_ptr<View>> views;
  std::vector<View*> writers;  // held for writing, in the order of their acquires
  View* detected = nullptr;    // the one detected view held for writing
  size_t held_reads = 0;
  std::vector<View*> prefetches;         // begun and not complete
  std::vector<View*> written_by_others;  // read streams whose versions arrive in the view
  // The calls of an owner who goes again and again: until it steps the engine, and from step to step; when it did last, in seconds.
  static constexpr unsigned kFewestCalls = 8;
  unsigned calls_to_step = kFewestCalls, calls_per_step = kFewestCalls;
  double stepped_at = 0;
  std::vector<Delivery> deliveries;
  Counters counters;
  bool probes = false;  // looks for a circle now, which is no part of handing over

  uint64_t generation() const { return generation_; }
  Header& header() { return *reinterpret_cast<Header*>(own_block); }
  Slot& slot(int view) { return *reinterpret_cast<Slot*>(own_block + layout.slot(view)); }
  Slot* near_slot(int pe, int view) { return reinterpret_cast<Slot*>(net.near(pe, layout.slot(view))); }
  char* arena() { return own_block + layout.arena; }
  View& view(int id);

 private:
  uint64_t generation_ = 0;
};
extern client::Undestroyed<Library> library_storage [[gnu::visibility("hidden")]];
inline constexpr Library& library = library_storage.it;

inline std::atomic_ref<uint64_t> own(uint64_t& word) { return std::atomic_ref<uint64_t>(word); }

// job.cpp
void start_up();
void publish_image();             // process 0's first act; others wait for it
void barrier(unsigned id);        // and that
void meet(unsigned id);           // a barrier alone
uint64_t version_of(View& view);  // of the copy here
void shut_down();
void poll_deliveries();
bool delivery_is_over();  // there is something to be polled

}  // namespace portunus::views
