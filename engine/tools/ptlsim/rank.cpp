// rank.cpp: see rank.hpp.
#include "engine/tools/ptlsim/rank.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "engine/tools/ptlsim/real.hpp"
#include "engine/tools/ptlsim/start_program.hpp"

namespace portunus::ptlsim {
namespace {

constexpr uint64_t kFirstNap = 500, kLongestNap = 1'000'000;  // of who gives way in vain, ns
constexpr uint64_t kComputes = 2'000;                         // ns: more than a call that finds nothing
constexpr double kClockLook = 20;                             // ns
constexpr uint64_t kAct = 1'000'000;                          // who computes for so long gets on

uint64_t computed() {
  timespec time;
  real::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// The job as one rank sees it: each is alone on its node.
class Job final : public Bootstrap {
 public:
  struct Side {
    std::function<void()> fence;
    std::function<void(int, const std::string&)> abort;
    std::map<std::pair<int, std::string>, std::vector<std::byte>>& published;
  };
  Job(Side side, int rank, int size)
      : Bootstrap({.id = "simulated", .rank = rank, .size = size, .local_rank = 0, .local_ranks = {rank}}), side_(std::move(side)) {}
  void put(const std::string& key, std::span<const std::byte> value) override {
    side_.published[{rank(), key}].assign(value.begin(), value.end());
  }
  void commit() override {}
  void fence(bool) override { side_.fence(); }
  std::vector<std::byte> get(int rank, const std::string& key) override {
    const auto found = side_.published.find({rank, key});
    if (found == side_.published.end()) throw std::runtime_error("rank " + std::to_string(rank) + " has not published " + key);
    return found->second;
  }
  void abort(int status, std::string_view message) override {
    side_.abort(status, "rank " + std::to_string(rank()) + " ends the job with status " + std::to_string(status) +
                            (message.empty() ? "" : ": " + std::string(message)));
    __builtin_unreachable();
  }
  void finish() override {}

 private:
  Side side_;
};

}  // namespace

Rank* Rank::current = nullptr;

Rank::Rank(Ranks& all, uint32_t number) : number(number), output(number, all.options().tagged), all_(all) {
  std::memset(random_state_, 0, sizeof random_state_);
  initstate_r(1, random_state_, sizeof random_state_, &random);
}

void Rank::enter() {
  current = this;
  stdout = output.streams[0];
  stderr = output.streams[1];
  computed_since_ = all_.options().compute > 0 ? computed() : 0;
}

void Rank::leave() {
  charge_computing();
  static FILE* const own[] = {fdopen(1, "w"), fdopen(2, "w")};
  current = nullptr;
  stdout = own[0];
  stderr = own[1];
}

void Rank::charge_computing() {
  if (all_.options().compute <= 0 || computed_since_ == 0) return;
  const uint64_t until = computed();
  const uint64_t begin = time();
  ahead_ += static_cast<double>(until - computed_since_) * all_.options().compute * all_.net_.slowness(number);
  if (all_.traced_) all_.traced_->computes(number, begin, time());
  if (until - computed_since_ > kComputes) nap_ = 0;
  computed_since_ = until;
}

uint64_t Rank::time() const { return all_.now_ + static_cast<uint64_t>(ahead_); }

void Rank::charge(double ns) { ahead_ += ns * all_.net_.slowness(number); }

uint64_t Rank::now() {
  charge_computing();
  charge(kClockLook);
  return time();
}

// Nobody else may have something to do before the time that this rank has come to.
void Rank::synchronize() {
  charge_computing();
  if (ahead_ < 1) return;
  const uint64_t until = time();
  if (until - all_.now_ >= kAct) all_.last_act_ = until;
  ahead_ -= static_cast<double>(until - all_.now_);
  if (all_.earliest() > until && all_.next_misfortune_ == all_.options_.misfortunes.size()) all_.now_ = until;
  else all_.give_way(until, true);
}

void Rank::yield() {
  synchronize();
  nap_ = std::clamp(2 * nap_, kFirstNap, kLongestNap);
  const uint64_t due = transport_ ? transport_->next_due() : kNever;
  if (due <= time() + nap_) nap_ = 0;
  all_.give_way(std::min(due, time() + std::max(nap_, kFirstNap)), false, nullptr, true);
}

void Rank::sleep_on(const uint32_t* word, uint32_t value, int64_t timeout_ns) {
  synchronize();
  if (*word == value) all_.give_way(end_of(timeout_ns), false, word);
}

void Rank::wake(const uint32_t* word) {
  for (Ranks::Thread* thread : threads_)
    if (thread->word == word) all_.schedule(*thread, time());
}

void Rank::sleep_for_arrivals(int64_t timeout_ns) {
  synchronize();
  if (std::exchange(rung_, false)) return;
  const uint64_t due = transport_ ? transport_->next_due() : kNever;
  all_.give_way(std::min(due, end_of(timeout_ns)), false, nullptr, true);
  rung_ = false;
}

void Rank::ring() {
  rung_ = true;
  for (Ranks::Thread* thread : threads_)
    if (thread->for_arrivals) all_.schedule(*thread, time());
}

uint64_t Rank::start_thread(void (*body)(void*), void* argument) {
  all_.start(*this, [=] { body(argument); });
  return threads_.size();
}

void Rank::join_thread(uint64_t thread) {
  while (!threads_[thread - 1]->fiber.ended()) yield();
}

std::unique_ptr<Transport> Rank::open_transport(Sink& sink) {
  auto opened = std::make_unique<ModelTransport>(sink, all_.net_, *this, number);
  transport_ = opened.get();
  return opened;
}

std::unique_ptr<Bootstrap> Rank::join_job() {
  return std::make_unique<Job>(
      Job::Side{[this] { all_.fence(*this); }, [this](int code, const std::string& why) { end_job(code, why); }, all_.published_},
      static_cast<int>(number), static_cast<int>(all_.options_.ranks));
}

void Rank::waits(const char* call, const char* what) {
  wait_call = call;
  wait_what = what;
  wait_is_new = true;
}

void Rank::tell_wait(Trace& trace, uint64_t since) {
  const bool told = std::exchange(wait_is_new, false);
  trace.waits(number, since, all_.now_, told ? wait_call : "", told ? wait_what : "");
}

void Rank::sleep(uint64_t ns) {
  synchronize();
  const uint64_t begin = time();
  all_.give_way(time() + ns, true);
  if (all_.traced_) all_.traced_->sleeps(number, begin, all_.now_);
  all_.last_act_ = all_.now_;
}

void Rank::run_main() {
  start_program(loaded.entry, all_.options_.command);
  std::abort();  // it ends by exit
}

void Rank::end(int code) {
  while (!at_end_.empty()) {
    const auto [function, argument] = at_end_.back();
    at_end_.pop_back();
    function(argument);
  }
  output.finish();
  ended = true;
  status = code;
  all_.net_.end(number);
  if (all_.traced_) all_.traced_->happens(number, time(), "ends");
  if (transport_) all_.net_.under_way -= transport_->moving();
  --all_.live_;
  all_.last_act_ = all_.now_;
  if (code != 0) {
    if (!all_.first_failure_) all_.first_failure_ = code;
    if (++all_.failures_ <= Ranks::kTold) std::fprintf(all_.own_errors(), "ptlsim: rank %u has ended with status %d\n", number, code);
  }
  all_.pass_fence();
  for (;;) all_.give_way(kNever, false);
}

void Rank::end_job(int code, const std::string& why) {
  for (auto& rank : all_.ranks_) rank->output.finish();
  all_.end_job(code, why);
  ended = true;
  for (;;) all_.give_way(kNever, false);
}

}  // namespace portunus::ptlsim
