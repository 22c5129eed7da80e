// acquire.cpp: the protocol, driven: waiting, limits of time, circles, deaths.
#include "shmem/views/handover/acquire.hpp"

#include <algorithm>
#include <utility>

#include "shmem/views/diff/far_copy.hpp"
#include "shmem/views/diff/index.hpp"
#include "shmem/views/diff/pieces.hpp"
#include "shmem/views/diff/session.hpp"
#include "shmem/views/handover/site.hpp"
#include "shmem/views/stream/stream.hpp"
#include "shmem/views/watch/clock.hpp"
#include "shmem/views/watch/deadlock.hpp"
#include "shmem/views/watch/trace.hpp"

namespace portunus::views {
namespace {

// An owner that goes again and again makes no calls that step the engine, which others' announcements need. A step costs as much as many of
// these calls: where they are short, it comes after more of them.
void step_for_others() {
  constexpr unsigned kMost = 128;
  constexpr double kSoon = 20e-6;  // seconds
  unsigned& calls = library.calls_per_step;
  const double before = std::exchange(library.stepped_at, now());
  calls = library.stepped_at - before < kSoon ? std::min(2 * calls, kMost) : std::max(calls / 2, Library::kFewestCalls);
  library.calls_to_step = calls;
  PtlxProgress();
}

// The process by whose death the request is lost: the one that it had to do with, or one that had told that one the same.
int lost_by(View& view) {
  Site site{view};
  const int other = site.mine().lost() ? library.me : view.request.other;
  if (library.net.dead(other)) return other;
  const uint64_t died = library.net.load(other, library.layout.slot(view.id) + offsetof(Slot, died));
  library.net.clear();
  return died ? static_cast<int>(died - 1) : other;
}

// Processes that wait behind this one wait in vain, too.
void pass_on_loss(View& view, int died) {
  Site site{view};
  own(site.slot().died).store(static_cast<uint64_t>(died + 1), std::memory_order_seq_cst);
  const Word old{own(site.slot().word).fetch_or(Word::kLost, std::memory_order_seq_cst)};
  if (old.has_next() && !old.lost()) site.tell_lost(old.next());
  site.take_readers(true);
  library.net.clear();
}

void step_once(View& view) {
  Site site{view};
  for (;;) {
    Request next;
    try {
      next = step(site, view.request);
    } catch (const Refusal&) {
      // The copy there is not of this view: nobody waits for this process because of that.
      if (view.request.at == At::copy_after_notice) site.thank(view.request.other);
      if (view.mode == VDCX_READ) own(site.slot().word).fetch_and(~Word::kChanging, std::memory_order_seq_cst);
      else pass_on_loss(view, -1);
      view.pending = view.ahead = false;
      std::erase(library.prefetches, &view);
      throw;
    }
    library.net.clear();
    if (next == view.request || next.ended()) {
      view.request = next;
      return;
    }
    view.request = next;
  }
}

[[noreturn]] void lost(View& view) {
  const int died = lost_by(view);
  view.pending = view.ahead = false;
  abandon_copy(view);
  // The data that were being brought lie here in part.
  patch_twins(view);
  if (view.mode == VDCX_READ) own(library.slot(view.id).word).fetch_and(~Word::kChanging, std::memory_order_seq_cst);
  else pass_on_loss(view, died);
  refuse(VDCX_ERR_LOST,
         "view %d: process %d, which had it, was before others in its queue or manages that, has died; Vdcx_recover brings back what "
         "the living have",
         view.id, died);
}

void count(View& view, bool waited) {
  if (view.mode == VDCX_READ) ++library.counters.read_acquires;
  else ++library.counters.write_acquires;
  library.counters.waited += waited;
}

// The request has ended well.
void take(View& view) {
  view.pending = view.ahead = false;
  view.used = true;
  show_held(view);
  if (view.mode == VDCX_READ) {
    ++view.reads;
    ++library.held_reads;
  } else {
    view.held = true;
    begin_session(view);
  }
}

void check_mode(const View& view, Vdcx_mode mode) {
  if (mode != VDCX_READ && mode != VDCX_WRITE && mode != VDCX_OVERWRITE)
    refuse(VDCX_ERR_ARG, "view %d: %d is no mode", view.id, static_cast<int>(mode));
  if (view.pending && view.mode != mode) refuse(VDCX_ERR_STATE, "view %d: a request of another mode is still in the queue", view.id);
  if (mode == VDCX_READ) return;
  if (view.held) refuse(VDCX_ERR_STATE, "view %d is held for writing by this process already", view.id);
  if (view.reads)
    refuse(VDCX_ERR_STATE, "view %d is held for reading by this process: release it before acquiring it for writing", view.id);
  if (!view.declared && !library.writers.empty())
    refuse(VDCX_ERR_STATE,
           "view %d cannot be acquired for writing while view %d is: what belongs to it is detected, so writers do not "
           "nest; declare it",
           view.id, library.writers.front()->id);
  if (view.declared && library.detected)
    refuse(VDCX_ERR_STATE, "view %d cannot be acquired for writing while view %d is, whose data are detected", view.id,
           library.detected->id);
}

void prepare(View& view, Vdcx_mode mode, bool ahead) {
  publish_image();
  if (view.declared) declared_index(view);
  view.mode = mode;
  view.asked_push = ahead && view.declared;
  view.ahead = ahead;
  view.far.saved = false;
  view.request = {mode == VDCX_READ ? At::read : At::write, 0, 0};
  view.pending = true;
}

// Something that was begun, or brought to others, can go on.
bool others_wait() {
  return delivery_is_over() || std::any_of(library.prefetches.begin(), library.prefetches.end(),
                                           [](View* view) { return !view->request.ended() && ready(*view); });
}

// Steps until it has ended, as long as there is time.
void advance(View& view, double seconds) {
  step_once(view);
  if (view.request.ended()) return;
  Span span("wait", view.id);
  view_blocks(view);
  struct Blocks {
    ~Blocks() { nobody_blocks(); }
  } blocks;
  if (view.request.at == At::await_write_notice || view.request.at == At::await_read_notice) save_while_waiting(view);
  const double until = seconds < 0 ? 0 : now() + seconds;
  DeadlockProbe probe;
  struct Waiting {
    View& view;
    DeadlockProbe& probe;
    double until;
    bool limited, circle = false, late = false;
  } waiting{view, probe, until, seconds >= 0};
  while (!view.request.ended() && !waiting.circle && !waiting.late) {
    if (library.net.dead(view.request.other)) step_once(view);
    if (view.request.ended()) break;
    library.net.wait(
        [](void* arg) -> int {
          Waiting& w = *static_cast<Waiting*>(arg);
          return ready(w.view) || (w.limited && now() >= w.until) || w.probe.due() || others_wait();
        },
        &waiting);
    step_once(view);
    continue_prefetches();
    if (view.request.ended()) break;
    if (probe.due()) waiting.circle = probe.finds_circle(view);
    waiting.late = waiting.limited && now() >= until;
  }
  if (view.request.ended()) return;
  // Others may come to depend on it: it goes on whenever this process waits for something.
  if (std::find(library.prefetches.begin(), library.prefetches.end(), &view) == library.prefetches.end())
    library.prefetches.push_back(&view);
  if (waiting.circle)
    refuse(VDCX_ERR_DEADLOCK, "view %d: %s wait for each other in a circle; release something and acquire again", view.id,
           probe.circle().c_str());
  refuse(VDCX_ERR_TIMEOUT, "view %d was not handed over by process %u in %g s; the request stays in the queue", view.id, view.request.other,
         seconds);
}

}  // namespace

// Called while waiting, with no locks: looks at own words and counters alone.
bool ready(View& view) {
  Site site{view};
  switch (view.request.at) {
    case At::await_write_notice:
    case At::await_read_notice: return own(site.slot().notice).load(std::memory_order_acquire) != 0 || library.net.dead(view.request.other);
    case At::write:
    case At::served:
    case At::read: return site.served() || delivery_is_over();
    case At::copy_write:
    case At::copy_idle:
    case At::copy_after_notice:
      return view.far.step == FarCopy::Step::none || view.far.batch.state() != Operations::State::pending ||
             library.net.dead(view.request.other);
    default: return true;
  }
}

bool wait_for(const std::function<bool()>& done, double seconds) {
  struct Waiting {
    const std::function<bool()>& done;
    double until;
    bool limited;
  } waiting{done, seconds < 0 ? 0 : now() + seconds, seconds >= 0};
  if (done()) return true;
  for (int pe = 0; pe < library.n; ++pe) library.net.dead(pe);  // from now on they are watched
  while (!done()) {
    if (waiting.limited && now() >= waiting.until) return false;
    library.net.wait(
        [](void* arg) -> int {
          Waiting& w = *static_cast<Waiting*>(arg);
          if (w.done() || (w.limited && now() >= w.until) || others_wait()) return 1;
          return 0;
        },
        &waiting);
    continue_prefetches();
  }
  return true;
}

void continue_prefetches() {
  const std::vector<View*> prefetches = library.prefetches;  // a refusal takes its view out
  for (View* view : prefetches) {
    try {
      if (!view->request.ended() && ready(*view)) step_once(*view);
    } catch (const Refusal&) {
      // Notice to who completes it: the same step is refused again.
    }
  }
  if (!library.deliveries.empty()) poll_deliveries();
}

// The owner of a declared view, asked by nobody and with no reader to tell, has it after the first step.
bool goes_again(View& view, Vdcx_mode mode) {
  if (mode != VDCX_WRITE || !view.used || !view.declared || view.stream || view.pending || view.held || view.reads || library.detected)
    return false;
  Site site{view};
  const Request next = go_again(site, {At::write, 0, 0});
  if (next.at == At::write || next.at == At::queue) return false;
  view.mode = mode;
  view.request = next;
  view.pending = !next.ended();  // a reader came in between: acquire goes on there
  if (view.pending) return false;
  ++library.counters.write_acquires;
  ++library.counters.again;
  take(view);
  if (library.net.any_far() && --library.calls_to_step == 0) step_for_others();
  return true;
}

void acquire(View& view, Vdcx_mode mode, double seconds) {
  if (goes_again(view, mode)) return;
  if (view.ahead) refuse(VDCX_ERR_STATE, "view %d: it was begun; Vdcx_test or Vdcx_wait complete it", view.id);
  if (view.stream) return stream_acquire(view, mode, seconds);
  check_mode(view, mode);
  if (mode == VDCX_READ && (view.reads || view.held)) {
    ++view.reads;
    ++library.held_reads;
    ++library.counters.read_acquires;
    return;
  }
  if (!view.pending) prepare(view, mode, false);
  const bool unasked = mode != VDCX_READ && Site{view}.mine().may_go_again();
  if (unasked && library.net.any_far()) PtlxProgress();
  advance(view, seconds);
  std::erase(library.prefetches, &view);
  if (view.request.at == At::lost) lost(view);
  count(view, view.request.other != 0);
  library.counters.again += unasked;
  take(view);
}

void release(View& view) {
  if (view.stream) return stream_release(view);
  if (view.reads) {
    --view.reads;
    --library.held_reads;
    hide_unheld(view);
    return;
  }
  if (!view.held) refuse(VDCX_ERR_STATE, "view %d is not held by this process", view.id);
  Span span("diff", view.id);
  end_session(view);
  view.held = false;
  hide_unheld(view);
  Site site{view};
  views::release(site);
  library.net.clear();
  if (!library.deliveries.empty()) poll_deliveries();
}

void begin(View& view, Vdcx_mode mode) {
  if (!view.declared) refuse(VDCX_ERR_STATE, "view %d is not declared: only declared views are acquired ahead", view.id);
  if (view.stream) refuse(VDCX_ERR_STATE, "view %d is a stream: its versions come ahead anyway", view.id);
  if (view.held || view.reads) refuse(VDCX_ERR_STATE, "view %d is held by this process", view.id);
  if (view.pending) refuse(VDCX_ERR_STATE, "view %d: a request is in the queue already", view.id);
  check_mode(view, mode);
  prepare(view, mode, true);
  library.prefetches.push_back(&view);
  step_once(view);
}

bool go_on(View& view) {
  if (!view.request.ended()) step_once(view);
  if (!view.request.ended()) return false;
  std::erase(library.prefetches, &view);
  if (view.request.at == At::lost) lost(view);
  count(view, true);
  take(view);
  return true;
}

void complete(View& view, double seconds) {
  check_mode(view, view.mode);
  advance(view, seconds);
  go_on(view);
}

void destroy(View& view) {
  if (view.stream) refuse(VDCX_ERR_STATE, "view %d is a stream: it lasts until the exit", view.id);
  if (!view.held) refuse(VDCX_ERR_STATE, "view %d can be destroyed only by who holds it for writing", view.id);
  end_session(view);
  view.held = false;
  const uint64_t generation = library.net.fetch(view.manager, library.layout.slot(view.id) + offsetof(Slot, destroyed), PTL_SUM, 1) + 1;
  library.net.clear();
  forget_index(view);
  own(library.slot(view.id).generation).store(generation, std::memory_order_release);
  Site site{view};
  views::release(site);
  library.net.clear();
  renew(view);
}

}  // namespace portunus::views
