// measure.cpp: the loops. A point ends by the clock, but never before kLeastSamples.
#include "bench/pairs/measure.hpp"

#include <algorithm>

#include "engine/host/clock.hpp"

namespace portunus::bench {
namespace {

constexpr size_t kLeastSamples = 20;
constexpr size_t kMostSamples = 1 << 20;
constexpr double kWarmUp = 0.1;  // of the point's time, before the samples

constexpr size_t kLatencySizes[] = {8, 1024, 65536, 1 << 20};
constexpr size_t kBandwidthSizes[] = {4096, 65536, 1 << 20, 4 << 20};
constexpr size_t kRateSize = 8;

size_t window_of(size_t bytes) { return std::min(kMaxWindow, kMaxBytes / bytes); }

// Runs `once` for the point's time; the nanoseconds of each run, those of the warm-up left out. The clock is read once
// per run: where one ends, the next begins.
std::vector<double> timed(const std::function<void()>& once, double seconds) {
  std::vector<double> samples;
  samples.reserve(kMostSamples);
  const uint64_t begin = now_ns();
  const uint64_t warm = begin + static_cast<uint64_t>(seconds * kWarmUp * 1e9);
  const uint64_t end = begin + static_cast<uint64_t>(seconds * 1e9);
  do once();
  while (now_ns() < warm);
  for (uint64_t before = now_ns(); samples.size() < kMostSamples;) {
    once();
    const uint64_t now = now_ns();
    samples.push_back(static_cast<double>(now - before));
    before = now;
    if (now >= end && samples.size() >= kLeastSamples) break;
  }
  return samples;
}

void add_latency(std::vector<double> nanoseconds, double per_sample, size_t bytes, Report& report, const char* bench) {
  for (double& sample : nanoseconds) sample *= 1e-3 / per_sample;
  report.add({bench, bytes, "latency", std::move(nanoseconds)});
}

void add_throughput(std::vector<double> nanoseconds, size_t bytes, size_t count, Report& report, const char* bench, const char* metric) {
  const bool rate = metric == std::string("rate");
  const double per_window = rate ? static_cast<double>(count) * 1e9 : static_cast<double>(count * bytes);  // GB/s = B/ns
  double total = 0;
  for (double& sample : nanoseconds) {
    total += sample;
    sample = per_window / sample;
  }
  const double value = per_window * static_cast<double>(nanoseconds.size()) / total;
  report.add({bench, bytes, metric, std::move(nanoseconds), value});
}

void ping_pong(Link& link, int me, size_t bytes, Report& report, const char* bench) {
  if (me != 0) {
    for (bool last = false; !last;) {
      last = link.receive(bytes);
      link.send(bytes, last);
    }
    return;
  }
  const auto exchange = [&](bool last) {
    link.send(bytes, last);
    link.receive(bytes);
  };
  report.begin();
  std::vector<double> samples = timed([&] { exchange(false); }, report.options().seconds);
  add_latency(std::move(samples), 2, bytes, report, bench);
  exchange(true);
}

// Rank 1 answers each window with one small message.
void stream(Link& link, int me, size_t bytes, Report& report, const char* bench, const char* metric) {
  const size_t count = window_of(bytes);
  if (me != 0) {
    for (bool last = false; !last;) {
      last = link.receive_window(bytes, count);
      link.send(kRateSize, last);
    }
    return;
  }
  const auto window = [&](bool last) {
    link.send_window(bytes, count, last);
    link.receive(kRateSize);
  };
  measure_throughput([&] { window(false); }, bytes, count, report, bench, metric);
  window(true);
}

}  // namespace

void measure_latency(const std::function<void()>& call, size_t bytes, Report& report, const char* bench) {
  report.begin();
  add_latency(timed(call, report.options().seconds), 1, bytes, report, bench);
}

void measure_throughput(const std::function<void()>& window, size_t bytes, size_t count, Report& report, const char* bench,
                        const char* metric) {
  report.begin();
  add_throughput(timed(window, report.options().seconds), bytes, count, report, bench, metric);
}

void measure_link(Link& link, int me, Report& report, const char* bench) {
  for (const size_t bytes : kLatencySizes) ping_pong(link, me, bytes, report, bench);
  stream(link, me, kRateSize, report, bench, "rate");
  for (const size_t bytes : kBandwidthSizes) stream(link, me, bytes, report, bench, "bandwidth");
}

}  // namespace portunus::bench
