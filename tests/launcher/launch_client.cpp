// The rank that the launcher's tests start: says who it is, exchanges values, and misbehaves on request.
//
// Thread: the main thread only.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "engine/host/bootstrap.hpp"
#include "engine/host/launchers.hpp"
#include "engine/host/topology.hpp"

namespace {

using portunus::Bootstrap;

std::string value_of(int rank, int round) {
  return std::string(static_cast<size_t>(rank) * 100 + 1, static_cast<char>('a' + rank % 26)) + std::to_string(round);
}

void put_value(Bootstrap& job, int round) {
  const std::string value = value_of(job.rank(), round);
  job.put("round" + std::to_string(round), std::as_bytes(std::span(value.data(), value.size())));
}

bool check_value(Bootstrap& job, int rank, int round) {
  const auto bytes = job.get(rank, "round" + std::to_string(round));
  const std::string want = value_of(rank, round);
  if (bytes.size() == want.size() && std::memcmp(bytes.data(), want.data(), want.size()) == 0) return true;
  std::cerr << "rank " << job.rank() << " got a wrong value of rank " << rank << '\n';
  return false;
}

// All ranks hear what each shares, in their order.
bool share(Bootstrap& job) {
  const auto value = [](int rank) { return static_cast<uint32_t>(rank) * 2654435761u; };
  const uint32_t mine = value(job.rank());
  const std::vector<std::byte> all = job.share("shared", std::as_bytes(std::span(&mine, 1)));
  bool good = all.size() == static_cast<size_t>(job.size()) * sizeof mine;
  for (int rank = 0; good && rank < job.size(); ++rank) {
    const uint32_t want = value(rank);
    good = std::memcmp(&all[static_cast<size_t>(rank) * sizeof want], &want, sizeof want) == 0;
  }
  if (!good) std::cerr << "rank " << job.rank() << " got wrong values of what is shared\n";
  return good;
}

// The last rank shares two bytes, and the others one: all ranks are told.
int share_unevenly(Bootstrap& job) {
  const std::array<std::byte, 2> mine{};
  try {
    job.share("uneven", std::span(mine).first(job.rank() + 1 == job.size() ? 2 : 1));
  } catch (const std::runtime_error& error) {
    std::cerr << std::string(error.what()) + "\n";
    return 0;
  }
  return 1;
}

// That, and two collecting fences, after which all ranks know all values.
bool exchange_at_fences(Bootstrap& job) {
  bool good = share(job);
  for (int round = 0; round < 2; ++round) {
    put_value(job, round);
    job.fence(true);
    for (int rank = 0; rank < job.size(); ++rank) good = check_value(job, rank, round) && good;
  }
  return good;
}

// The same, a bare fence, and a fetch from the next rank without any.
int exchange(Bootstrap& job) {
  bool good = exchange_at_fences(job);
  job.fence(false);
  put_value(job, 2);
  job.commit();
  good = check_value(job, (job.rank() + 1) % job.size(), 2) && good;
  job.fence(false);
  return good ? 0 : 1;
}

void tell(const Bootstrap& job) {
  std::string line = "rank " + std::to_string(job.rank()) + " size " + std::to_string(job.size()) + " local " +
                     std::to_string(job.local_rank()) + "/" + std::to_string(job.local_size()) + " peers";
  for (const int rank : job.local_ranks()) line += " " + std::to_string(rank);
  line += " job " + job.job_id() + "\n";
  std::cout << line << std::flush;
}

[[noreturn]] void wait_for_ever() {
  for (;;) pause();
}

// `what` is done by rank `who` only; the others wait in a way that only the launcher ends.
int misbehave(Bootstrap& job, const std::string& what, int who, int value) {
  job.fence(false);
  if (job.rank() != who) wait_for_ever();
  if (what == "exit") std::_Exit(value);
  if (what == "signal") raise(value);
  if (what == "abort") job.abort(value, "the test asked for it");
  return 99;
}

// All but the last rank wait in a fence that the last one never enters: it ends with `status`, or waits too if that is 0.
int stay_away(Bootstrap& job, int status) {
  job.fence(false);
  if (job.rank() < job.size() - 1) {
    std::cout << "ready" << std::endl;
    job.fence(true);
    wait_for_ever();  // libpmix may open the fence for those who are left
  }
  if (status == 0) wait_for_ever();
  std::_Exit(status);
}

int ask_missing(Bootstrap& job) {
  job.fence(true);
  int refused = 0;
  for (const int rank : {0, job.size()}) {
    try {
      job.get(rank, "never-put");
    } catch (const std::exception& error) {
      ++refused;
      std::cout << error.what() << '\n';
    }
  }
  job.fence(false);
  return refused == 2 ? 0 : 1;
}

// Takes the given signal this many times and tells of each; every other one that can be kept out is.
int await(int number, int times) {
  sigset_t all, one;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  sigemptyset(&one);
  sigaddset(&one, number);
  std::cout << "ready" << std::endl;
  for (int taken = 0; taken < times; ++taken) {
    sigwait(&one, &number);
    std::cout << "got " << number << std::endl;
  }
  std::_Exit(0);  // LeakSanitizer, which would look now, may wait for ever for a signal that is kept out
}

// Leaves the job and joins it again; then what was put before is gone, and may be put anew.
int join_twice() {
  bool good = true;
  for (int time = 0; time < 2; ++time) {
    const auto job = Bootstrap::start();
    good = exchange_at_fences(*job) && good;
    job->finish();
  }
  return good ? 0 : 1;
}

// Lines that are still in this process when it goes on.
void speak(int rank, int lines) {
  for (int line = 0; line < lines; ++line) std::printf("rank %d line %d\n", rank, line);
}

[[noreturn]] void end_by(Bootstrap& job, int status) {
  if (status == 200) job.abort(7, "the test asked for it");
  if (status < 128) std::exit(status);
  std::fflush(stdout);
  raise(status - 128);
  std::abort();
}

// All leave the job and then end alike, with lines to write.
[[noreturn]] void leave_together(int status, int lines) {
  const auto job = Bootstrap::start();
  job->fence(false);
  speak(job->rank(), lines);
  job->finish();
  end_by(*job, status);
}

// All but rank 0 leave the job; then it ends, without leaving, and only when the launcher has seen that do the others write and end.
[[noreturn]] void outlive(int status, int lines) {
  const auto job = Bootstrap::start();
  sigset_t left;
  sigemptyset(&left);
  sigaddset(&left, SIGRTMIN);  // of these one for each comes
  sigprocmask(SIG_BLOCK, &left, nullptr);
  pid_t first = getpid();
  job->put("pid", std::as_bytes(std::span(&first, 1)));
  job->fence(true);
  std::memcpy(&first, job->get(0, "pid").data(), sizeof first);
  if (job->rank() == 0) {
    for (int others = job->size() - 1, number = 0; others > 0; --others) sigwait(&left, &number);
    end_by(*job, status);
  }
  job->finish();
  sigqueue(first, SIGRTMIN, {});
  while (kill(first, 0) == 0) sched_yield();
  speak(job->rank(), lines);
  std::exit(0);
}

// Rank 0 ends while the others wait for it; what they have written, they have written.
[[noreturn]] void speak_and_wait(int status, int lines) {
  const auto job = Bootstrap::start();
  speak(job->rank(), lines);
  std::fflush(stdout);
  job->fence(false);
  if (job->rank() == 0) end_by(*job, status);
  wait_for_ever();
}

void tell_place() {
  const auto place = portunus::exported_place();
  if (place) std::cout << place->local_rank << '/' << place->local_size << std::endl;
  else std::cout << "unknown" << std::endl;
}

int act(Bootstrap& job, int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "tell";
  if (what == "tell") return tell(job), 0;
  if (what == "exchange") return tell(job), exchange(job);
  if (what == "exchange-at-fences") return tell(job), exchange_at_fences(job) ? 0 : 1;
  if (what == "missing") return ask_missing(job);
  if (what == "share-unevenly") return share_unevenly(job);
  if (what == "processors") {
    std::cout << portunus::place_engine(job.local_rank(), job.local_size(), {}, true).usable << std::endl;
    return 0;
  }
  if (what == "stay-away") return stay_away(job, std::atoi(argv[2]));
  return misbehave(job, what, std::atoi(argv[2]), std::atoi(argv[3]));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "await") return await(std::atoi(argv[2]), std::atoi(argv[3]));
  if (argc == 2 && std::string(argv[1]) == "place") return tell_place(), 0;
  try {
    if (argc == 2 && std::string(argv[1]) == "twice") return join_twice();
    const std::string what = argc == 4 ? argv[1] : "";
    if (what == "leave-together") leave_together(std::atoi(argv[2]), std::atoi(argv[3]));
    if (what == "outlive") outlive(std::atoi(argv[2]), std::atoi(argv[3]));
    if (what == "speak-and-wait") speak_and_wait(std::atoi(argv[2]), std::atoi(argv[3]));
    const auto job = Bootstrap::start();
    const int status = act(*job, argc, argv);
    job->finish();
    return status;
  } catch (const std::exception& error) {
    std::cerr << "launch_client: " + std::string(error.what()) + "\n";  // at once: ranks share the stream
    return 98;
  }
}
