// processes.cpp: see processes.hpp.
#include "tests/simulation/mpi/processes.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace portunus::simulation {
namespace {

// Each look of a rank that waits is a turn, and ranks look without a pause while a peer takes no messages.
constexpr uint64_t kMostTurns = 20'000'000;
constexpr uint64_t kPatience = 60'000 * kMillisecond;  // without an act of any program

int copy_of(const std::string& object) {
  const int from = open(object.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) throw std::runtime_error("there is no " + object);
  const int to = memfd_create("simulated-rank", MFD_CLOEXEC);
  struct stat status {};
  bool well = to >= 0 && fstat(from, &status) == 0;
  for (off_t done = 0; well && done < status.st_size;) well = sendfile(to, from, &done, static_cast<size_t>(status.st_size - done)) > 0;
  close(from);
  if (!well) throw std::runtime_error("no memory for a copy of " + object);
  return to;
}

}  // namespace

Copies::Copies(const std::string& object, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    const int file = copy_of(object);
    void* const library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    ranks_.push_back(reinterpret_cast<SimulatedRank*>(dlsym(library, "simulated_rank")));
    if (!ranks_.back()) throw std::runtime_error(dlerror());
  }
}

struct Processes::Thread {
  Thread(Process& process, uint64_t now, std::function<void()> body) : process(process), wake_at(now), fiber(std::move(body)) {}
  Process& process;
  uint64_t wake_at;
  const uint32_t* word = nullptr;
  bool for_arrivals = false;
  Fiber fiber;
};

// The job as one process sees it. Its server is this process, and always there.
class Processes::Job final : public Bootstrap {
 public:
  Job(Processes& all, int rank, int size)
      : Bootstrap({.id = "simulated", .rank = rank, .size = size, .local_rank = 0, .local_ranks = {rank}}), all_(all) {}
  void put(const std::string& key, std::span<const std::byte> value) override {
    all_.published_[{rank(), key}].assign(value.begin(), value.end());
  }
  void commit() override {}
  void fence(bool) override { all_.fence(); }
  std::vector<std::byte> get(int rank, const std::string& key) override {
    const auto found = all_.published_.find({rank, key});
    if (found == all_.published_.end()) throw std::runtime_error("rank " + std::to_string(rank) + " has not published " + key);
    return found->second;
  }
  void abort(int status, std::string_view message) override {
    all_.net.violated("rank " + std::to_string(rank()) + " ends the job with status " + std::to_string(status) + ' ' +
                      std::string(message));
    for (;;) all_.give_way(kNever);
  }
  void finish() override {}

 private:
  Processes& all_;
};

class Processes::Process final : public TestMachine {
 public:
  Process(Processes& all, uint32_t rank) : rank(rank), all_(all) {}

  uint64_t now() override { return all_.net.now += 10; }
  void yield() override { all_.give_way(all_.net.now + 100 + all_.net.draw(1'000)); }
  void sleep_on(const uint32_t* word, uint32_t value, int64_t timeout_ns) override {
    if (*word == value) all_.give_way(end_of(timeout_ns), word);
  }
  void wake(const uint32_t* word) override { all_.wake(word); }
  void sleep_for_arrivals(int64_t timeout_ns) override {
    if (std::exchange(rung_, false)) return;
    all_.give_way(end_of(timeout_ns), nullptr, true);
    rung_ = false;
  }
  void ring() override {
    rung_ = true;
    for (auto& thread : all_.threads_)
      if (&thread->process == this && thread->for_arrivals) thread->wake_at = all_.net.now;
  }
  uint64_t start_thread(void (*body)(void*), void* argument) override {
    all_.threads_.push_back(std::make_unique<Thread>(*this, all_.net.now, [=] { body(argument); }));
    return all_.threads_.size();
  }
  void join_thread(uint64_t number) override {
    while (!all_.threads_[number - 1]->fiber.ended()) yield();
  }
  bool costly() const override { return all_.net.weather.costly; }
  ProcessId id() const override { return Network::id(rank); }
  std::unique_ptr<Transport> open_transport(Sink& sink) override {
    auto opened = std::make_unique<SimulatedTransport>(sink, all_.net, all_.tap_, rank);
    opened->meet(all_.transports_);
    return opened;
  }
  std::unique_ptr<Bootstrap> join_job() override {
    return std::make_unique<Job>(all_, static_cast<int>(rank), static_cast<int>(all_.net.weather.ranks));
  }
  void acts(const char* what, uint64_t number) override {
    if (!std::exchange(in_program_, true)) ++all_.in_program_;
    doing = what;
    doing_number = number;
    notes(what, number);
    ++all_.acts_;
    all_.last_act_ = all_.net.now;
    if (all_.net.one_in(3)) return;
    all_.give_way(all_.net.now + (all_.net.one_in(8) ? all_.net.draw(200'000) : all_.net.draw(2'000)));
  }
  void notes(const char* what, uint64_t number) override {
    if (all_.tells) std::printf("%10lu rank %u: %s %lu\n", all_.net.now, rank, what, number);
  }
  uint32_t draw(uint32_t below) override { return all_.net.draw(below); }
  void violated(const char* what) override { all_.net.violated("rank " + std::to_string(rank) + ": " + what); }

  // A look at the network: now and then somebody else runs first.
  void polls() {
    all_.net.now += 20;
    if (all_.net.one_in(16)) all_.give_way(all_.net.now + all_.net.draw(500));
  }

  const uint32_t rank;
  const char* doing = "nothing yet";
  uint64_t doing_number = 0;
  bool alive = true, ended = false, in_fence = false;
  uint64_t stopped_until = 0;

 private:
  uint64_t end_of(int64_t timeout_ns) const { return timeout_ns < 0 ? kNever : all_.net.now + static_cast<uint64_t>(timeout_ns); }
  Processes& all_;
  bool rung_ = false, in_program_ = false;
};

Processes::Processes(const Weather& weather, uint64_t seed, Mutant mutant, std::vector<Misfortune> misfortunes)
    : net(weather, seed, mutant), transports_(weather.ranks), misfortunes_(std::move(misfortunes)) {
  for (uint32_t r = 0; r < weather.ranks; ++r) processes_.push_back(std::make_unique<Process>(*this, r));
  tap_.polls = [this](uint32_t at) { processes_[at]->polls(); };
}

Processes::~Processes() = default;

bool Processes::alive(uint32_t rank) const { return processes_[rank]->alive; }

void Processes::give_way(uint64_t until, const uint32_t* word, bool for_arrivals) {
  Thread& mine = *running_;
  mine.wake_at = until;
  mine.word = word;
  mine.for_arrivals = for_arrivals;
  mine.fiber.leave();
  while (shows_stacks_) {
    std::printf("rank %u:\n", mine.process.rank);
    std::fflush(stdout);
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), 1);
    mine.fiber.leave();
  }
}

// Prints where each waits: for addr2line and the object.
void Processes::show_stacks() {
  shows_stacks_ = true;
  for (auto& thread : threads_)
    if (thread->process.alive && !thread->fiber.ended()) (running_ = thread.get())->fiber.run();
}

void Processes::wake(const uint32_t* word) {
  for (auto& thread : threads_)
    if (thread->word == word) thread->wake_at = net.now;
}

// A fence of all that live and have not ended: a rank that has ended has passed it.
void Processes::fence() {
  const uint32_t mine = generation_;
  running_->process.in_fence = true;
  const auto over = [&] {
    for (const auto& process : processes_)
      if (process->alive && !process->ended && !process->in_fence) return;
    for (const auto& process : processes_) process->in_fence = false;
    ++generation_;
    wake(&generation_);
  };
  for (over(); generation_ == mine; over()) give_way(net.now + 50 * kMicrosecond, &generation_);
}

uint64_t Processes::ready_at(const Thread& thread) const {
  if (!thread.process.alive || thread.fiber.ended()) return kNever;
  uint64_t due = thread.wake_at;
  if (thread.for_arrivals && transports_[thread.process.rank]) due = std::min(due, transports_[thread.process.rank]->next_due());
  return std::max(due, thread.process.stopped_until);
}

void Processes::befall() {
  if (in_program_ < net.weather.ranks) return;
  if (begun_at_ == 0) begun_at_ = turns_;
  for (const Misfortune& each : misfortunes_) {
    if (turns_ != begun_at_ + each.turns) continue;
    Process& process = *processes_[each.rank];
    if (process.ended || !process.alive) continue;
    switch (each.kind) {
      case Misfortune::Kind::none: break;
      case Misfortune::Kind::stop: process.stopped_until = net.now + each.duration; break;
      case Misfortune::Kind::cut: net.close(each.rank, each.other, each.duration); break;
      case Misfortune::Kind::kill: process.alive = false; net.kill(each.rank, each.at_once);
    }
  }
}

std::string Processes::where() const {
  std::string text;
  for (uint32_t r = 0; r < processes_.size(); ++r)
    text += "; rank " + std::to_string(r) +
            (!processes_[r]->alive  ? " is dead in "
             : processes_[r]->ended ? " has ended after "
                                    : " is in ") +
            processes_[r]->doing + (processes_[r]->doing_number ? ' ' + std::to_string(processes_[r]->doing_number) : "");
  return text;
}

void Processes::run(const Copies& copies, const Plan& plan, History& history) {
  for (uint32_t r = 0; r < net.weather.ranks; ++r)
    threads_.push_back(std::make_unique<Thread>(*processes_[r], 0, [this, &copies, &plan, &history, r] {
      copies.rank(r)(*processes_[r], plan, history, static_cast<int>(r));
      processes_[r]->ended = true;
    }));
  std::vector<Thread*> ready;
  for (;;) {
    if (!net.violation.empty()) return;
    ready.clear();
    uint64_t first = kNever;
    bool all_ended = true;
    for (auto& thread : threads_) {
      Process& process = thread->process;
      all_ended = all_ended && (process.ended || !process.alive);
      if (transports_[process.rank] && transports_[process.rank]->told_of_room()) process.ring();
      const uint64_t due = ready_at(*thread);
      first = std::min(first, due);
      if (due <= net.now) ready.push_back(thread.get());
    }
    if (all_ended) return;
    if (ready.empty()) {
      if (first == kNever) return net.violated("nobody can move" + where());
      if (first > last_act_ + kPatience) {
        if (tells) show_stacks();
        return net.violated("nobody gets on" + where());
      }
      net.now = first;
      continue;
    }
    if (++turns_ > kMostTurns) {
      if (tells) show_stacks();
      return net.violated("they run on and on" + where());
    }
    befall();
    running_ = ready[net.draw(static_cast<uint32_t>(ready.size()))];
    if (!running_->process.alive) continue;
    running_->for_arrivals = false;
    running_->word = nullptr;
    trace_ = (trace_ ^ net.now ^ running_->process.rank) * 0x100000001b3u;
    running_->fiber.run();
    net.now += 10;
  }
}

}  // namespace portunus::simulation
