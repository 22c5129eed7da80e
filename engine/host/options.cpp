// options.cpp: environment variables to Options, each checked.
#include "engine/host/options.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "engine/host/debug.hpp"
#include "engine/host/variables.hpp"

namespace portunus {
namespace {

[[noreturn]] void refuse(const char* name, const std::string& value, const char* allowed) {
  throw std::invalid_argument(std::string(name) + "=" + value + " is not understood; use " + allowed + " or unset it");
}

bool read_switch(const char* name, bool otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  std::string value = text;
  if (value == "1") return true;
  if (value == "0") return false;
  refuse(name, value, "0 or 1");
}

long read_number(const char* name, long otherwise, long least, long most, const char* allowed) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < least || value > most) refuse(name, text, allowed);
  return value;
}

ProgressMode read_progress() {
  const char* text = std::getenv("PTL_PROGRESS");
  if (!text || !*text) return ProgressMode::automatic;
  std::string value = text;
  if (value == "auto") return ProgressMode::automatic;
  if (value == "spin") return ProgressMode::spin;
  if (value == "park") return ProgressMode::park;
  if (value == "offload") return ProgressMode::offload;
  if (value == "caller") return ProgressMode::caller;
  refuse("PTL_PROGRESS", value, "auto, spin, park, offload or caller");
}

// "0", "1", or a list of logical processors, as 2,3,8-9; a list of one is 3-3.
EngineCores read_engine_cores() {
  constexpr const char* kName = "PTL_ENGINE_CORES";
  constexpr const char* kAllowed = "0, 1 (one for each rank), or a list of logical processors by local rank, as 2,3,8-9 or 3-3,";
  constexpr int kMost = 1 << 16;
  const char* text = std::getenv(kName);
  EngineCores cores;
  if (!text || !*text || std::strcmp(text, "0") == 0) return cores;
  cores.each = std::strcmp(text, "1") == 0;
  if (cores.each) return cores;
  const char* const end = text + std::strlen(text);
  bool is_list = false;
  for (const char* at = text;; ++at) {
    int first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    int last = first;
    if (error == std::errc() && next != end && *next == '-') {
      is_list = true;
      const auto range = std::from_chars(next + 1, end, last);
      next = range.ptr;
      error = range.ec;
    }
    const bool goes_on = next != end && *next == ',';
    is_list = is_list || goes_on || !cores.processors.empty();
    if (error != std::errc() || first < 0 || last < first || last >= kMost || (next != end && !goes_on) || !is_list)
      refuse(kName, text, kAllowed);
    for (int processor = first; processor <= last; ++processor) cores.processors.push_back(processor);
    if (!goes_on) return cores;
    at = next;
  }
}

// PTL_DEBUG=wire=LATENCY:WIDTH: microseconds, and bytes per microsecond.
WireOptions read_wire(const std::string& text) {
  if (text.empty()) return {};
  constexpr uint64_t kMost = 1'000'000;
  WireOptions wire;
  const char* const end = text.data() + text.size();
  uint64_t latency_us = 0;
  auto [at, error] = std::from_chars(text.data(), end, latency_us);
  if (error == std::errc() && at != end && *at == ':') {
    const auto [last, wrong] = std::from_chars(at + 1, end, wire.bytes_per_us);
    if (wrong == std::errc() && last == end && latency_us <= kMost && wire.bytes_per_us >= 1 && wire.bytes_per_us <= kMost) {
      wire.latency_ns = latency_us * 1000;
      return wire;
    }
  }
  refuse("PTL_DEBUG=wire", text, "LATENCY:WIDTH: microseconds, 0 to 1000000, and bytes per microsecond, 1 to 1000000, as wire=5:10000,");
}

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

}  // namespace

Options Options::from_environment() {
  Options options;
  options.progress = read_progress();
  options.engine_cores = read_engine_cores();
  options.node = read_switch("PTL_NODE", true);
  options.provider = text_of("PTL_FABRIC_PROVIDER");
  options.interface = text_of("PTL_FABRIC_INTERFACE");
  long ring = read_number("PTL_NODE_RING", 512, 64, 1 << 20, "the ring's size in KiB, 64 to 1048576");
  options.ring_bytes = std::bit_ceil(static_cast<size_t>(ring)) * 1024;
  options.peer_timeout_s = static_cast<unsigned>(read_number("PTL_PEER_TIMEOUT", options.peer_timeout_s, 1, 86'400, "seconds, 1 to 86400"));
  const std::string debug = debug_complaint(text_of("PTL_DEBUG"));
  if (!debug.empty()) throw std::invalid_argument(debug);
  options.fabric = !debug_wanted("no-fabric");
  options.cma = !debug_wanted("no-cma");
  options.node_wire = read_wire(debug_value("wire").value_or(""));
  if (read_switch("PTL_INFO", false)) tell_replaced_variables();
  return options;
}

}  // namespace portunus
