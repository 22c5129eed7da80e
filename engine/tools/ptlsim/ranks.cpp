// ranks.cpp: see ranks.hpp.
#include "engine/tools/ptlsim/ranks.hpp"

#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "engine/tools/ptlsim/rank.hpp"

namespace portunus::ptlsim {
namespace {

Trace* open_trace = nullptr;

constexpr uint64_t kPatience = 10'000'000'000;  // of virtual time without an act of anybody

std::string seconds(uint64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%lu.%09lu s", ns / 1'000'000'000, ns % 1'000'000'000);
  return text;
}

}  // namespace

Ranks::Ranks(const JobOptions& options)
    : options_(options), net_(options.network, options.ranks, options.seed, [this](uint32_t rank, uint64_t due) { expect(rank, due); }) {
  for (const auto& [rank, factor] : options.slow) net_.slow(rank, factor);
  for (uint32_t r = 0; r < options.ranks; ++r) ranks_.push_back(std::make_unique<Rank>(*this, r));
  live_ = options.ranks;
  if (options.trace.empty()) return;
  traced_ = std::make_unique<Trace>(options.trace, options.ranks);
  net_.trace = open_trace = traced_.get();
}

Ranks::~Ranks() = default;

void Ranks::close_trace() {
  if (open_trace && !open_trace->close()) std::fprintf(own_errors(), "ptlsim: --trace: the file could not be written to its end\n");
  open_trace = nullptr;
}

FILE* Ranks::own_errors() {
  static FILE* const own = fdopen(2, "w");
  if (own) setvbuf(own, nullptr, _IONBF, 0);
  return own ? own : stderr;
}

void Ranks::load(Copies& copies) {
  for (auto& rank : ranks_) {
    rank->enter();
    try {
      rank->loaded = copies.load(rank->number, *rank);
    } catch (const std::runtime_error&) {
      rank->leave();
      throw;
    }
    rank->leave();
    start(*rank, [&each = *rank] { each.run_main(); });
  }
}

void Ranks::start(Rank& rank, std::function<void()> body) {
  threads_.push_back(std::make_unique<Thread>(rank, std::move(body)));
  rank.threads_.push_back(threads_.back().get());
  schedule(*threads_.back(), now_);
}

void Ranks::schedule(Thread& thread, uint64_t due) {
  thread.due = due;
  thread.ticket = ++last_ticket_;
  ++last_order_;
  if (due != kNever) turns_.push({due, net_.varies() ? net_.draw(1u << 30) : last_order_, &thread, thread.ticket});
}

void Ranks::give_way(uint64_t until, bool busy, const uint32_t* word, bool for_arrivals) {
  Thread& mine = *running_;
  mine.word = word;
  mine.for_arrivals = for_arrivals;
  mine.busy = busy;
  busy_ += busy;
  schedule(mine, std::max(until, now_));
  mine.rank.leave();
  const uint64_t since = mine.rank.time();
  mine.fiber.leave();
  if (traced_ && !busy && now_ > since) mine.rank.tell_wait(*traced_, since);
  busy_ -= mine.busy;
  mine.busy = mine.for_arrivals = false;
  mine.word = nullptr;
}

std::optional<Ranks::Turn> Ranks::next_turn() {
  while (!turns_.empty()) {
    const Turn turn = turns_.top();
    const Thread& thread = *turn.thread;
    if (turn.ticket == thread.ticket && thread.rank.alive && !thread.rank.ended) return turn;
    turns_.pop();
  }
  return std::nullopt;
}

uint64_t Ranks::earliest() {
  const std::optional<Turn> turn = next_turn();
  return std::min(turn ? turn->due : kNever, net_.next_event());
}

void Ranks::expect(uint32_t rank, uint64_t due) {
  for (Thread* thread : ranks_[rank]->threads_)
    if (thread->for_arrivals && due < thread->due) schedule(*thread, std::max(due, now_));
  last_act_ = std::max(last_act_, now_);
}

uint64_t Ranks::next_misfortune_at() const {
  return next_misfortune_ < options_.misfortunes.size() ? options_.misfortunes[next_misfortune_].at : kNever;
}

void Ranks::befall() {
  const Misfortune& each = options_.misfortunes[next_misfortune_++];
  now_ = std::max(now_, each.at);
  last_act_ = now_;
  if (each.kind == Misfortune::Kind::cut) {
    net_.cut(now_, each.rank, each.other);
    return;
  }
  Rank& rank = *ranks_[each.rank];
  if (rank.ended || !rank.alive) return;
  std::fprintf(own_errors(), "ptlsim: rank %u is killed at %s\n", each.rank, seconds(now_).c_str());
  rank.alive = false;
  if (traced_) traced_->happens(each.rank, now_, "is killed");
  --live_;
  for (const Thread* thread : rank.threads_) busy_ -= thread->busy;
  if (rank.transport_) net_.under_way -= rank.transport_->moving();
  net_.kill(now_, each.rank);
  pass_fence();
}

void Ranks::run_turn(Thread& thread) {
  running_ = &thread;
  trace_ = (trace_ ^ now_ ^ thread.rank.number) * 0x100000001b3u;
  // A thread that looks in vain, ever more seldom, may wait for what another one of its rank has just done.
  if (std::exchange(thread.rank.last_ran_, &thread) != &thread) thread.rank.nap_ = 0;
  thread.rank.enter();
  errno = thread.error;
  thread.fiber.run();
  thread.error = errno;
  if (thread.fiber.ended()) thread.ticket = 0;
}

bool Ranks::is_stuck() const { return busy_ == 0 && net_.under_way == 0 && now_ > last_act_ + kPatience; }

// By a signal, since a rank may run on without a call. Nothing that it interrupts goes on; a second one, where this cannot be told, ends
// all.
void Ranks::limit(double seconds_left) {
  static Ranks* limited;
  limited = this;
  struct sigaction action {};
  action.sa_handler = [](int) {
    alarm(2);
    std::fprintf(own_errors(), "ptlsim: the time of --timeout is over, at %s of virtual time:\n", seconds(limited->now_).c_str());
    limited->tell_ranks();
    void* frames[30];
    if (Rank::current) backtrace_symbols_fd(frames, backtrace(frames, 30), 2);
    for (auto& rank : limited->ranks_) rank->output.finish();
    close_trace();
    Rank::current = nullptr;  // a rank's own end is simulated
    _Exit(124);
  };
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds_left);
  timer.it_value.tv_usec = std::max<suseconds_t>(1, static_cast<suseconds_t>((seconds_left - std::floor(seconds_left)) * 1e6));
  setitimer(ITIMER_REAL, &timer, nullptr);
}

int Ranks::run() {
  if (options_.timeout > 0) limit(options_.timeout);
  uint64_t turns = 0;
  while (live_ > 0 && !status_) {
    const std::optional<Turn> turn = next_turn();
    const uint64_t due = turn ? turn->due : kNever;
    if (const uint64_t event = net_.next_event(); event <= due && event != kNever && event <= next_misfortune_at()) {
      now_ = std::max(now_, event);
      net_.advance(now_);
      continue;
    }
    if (next_misfortune_at() <= due && next_misfortune_at() != kNever) {
      befall();
      continue;
    }
    if (!turn) return tell_hang();
    now_ = std::max(now_, due);
    if (is_stuck()) return tell_hang();
    turns_.pop();
    run_turn(*turn->thread);
    if (options_.progress && (++turns & 0xfff) == 0) show_progress();
  }
  for (auto& rank : ranks_) rank->output.finish();
  close_trace();
  if (failures_ > kTold) std::fprintf(own_errors(), "ptlsim: %u more ranks have ended with a status\n", failures_ - kTold);
  if (options_.progress)
    std::fprintf(own_errors(), "ptlsim: %s of virtual time, %lu messages, trace %016lx\n", seconds(now_).c_str(), net_.messages, trace_);
  return status_ ? *status_ : first_failure_;
}

void Ranks::show_progress() {
  static time_t last = 0;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec == last) return;
  last = now.tv_sec;
  std::fprintf(own_errors(), "ptlsim: %s, %u of %u ranks have ended, %lu messages\n", seconds(now_).c_str(), options_.ranks - live_,
               options_.ranks, net_.messages);
}

int Ranks::tell_hang() {
  close_trace();
  for (auto& rank : ranks_) rank->output.finish();
  std::fprintf(own_errors(), "ptlsim: the ranks wait for one another for ever, since %s:\n", seconds(last_act_).c_str());
  tell_ranks();
  return first_failure_ ? first_failure_ : 124;
}

void Ranks::tell_ranks() {
  for (const auto& rank : ranks_) {
    const char* const state = !rank->alive     ? "was killed"
                              : rank->ended    ? "has ended"
                              : rank->in_fence ? "waits for all ranks to begin or end"
                                               : nullptr;
    if (state) std::fprintf(own_errors(), "  rank %u %s\n", rank->number, state);
    else if (rank.get() == Rank::current) std::fprintf(own_errors(), "  rank %u runs\n", rank->number);
    else if (rank->wait_call.empty()) std::fprintf(own_errors(), "  rank %u waits, or tests, without an end\n", rank->number);
    else std::fprintf(own_errors(), "  rank %u in %s waits for %s\n", rank->number, rank->wait_call.c_str(), rank->wait_what.c_str());
  }
}

void Ranks::end_job(int status, const std::string& why) {
  if (!why.empty()) std::fprintf(own_errors(), "ptlsim: %s\n", why.c_str());
  if (!status_) status_ = status;
}

// All that live and have not ended: a rank that has ended has passed it.
void Ranks::fence(Rank& rank) {
  const uint32_t mine = fences_;
  rank.in_fence = true;
  ++fenced_;
  pass_fence();
  while (fences_ == mine) give_way(kNever, false, &fences_);
}

void Ranks::pass_fence() {
  uint32_t there = 0;
  for (const auto& rank : ranks_) there += rank->in_fence && rank->alive && !rank->ended;
  if (there < live_ || there == 0) return;
  for (auto& rank : ranks_) rank->in_fence = false;
  ++fences_;
  fenced_ = 0;
  last_act_ = now_;
  for (auto& thread : threads_)
    if (thread->word == &fences_) schedule(*thread, now_);
}

}  // namespace portunus::ptlsim
