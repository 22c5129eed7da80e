// options.cpp: environment variables to Options, each checked.
#include "engine/host/options.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace portunus {
namespace {

[[noreturn]] void refuse(const char* name, const std::string& value, const char* allowed) {
  throw std::invalid_argument(std::string(name) + "=" + value + " is not understood; use " + allowed + " or unset it");
}

bool read_switch(const char* name, bool otherwise) {
  const char* text = std::getenv(name);
  if (!text || !*text) return otherwise;
  std::string value = text;
  if (value == "1" || value == "on" || value == "yes" || value == "true") return true;
  if (value == "0" || value == "off" || value == "no" || value == "false") return false;
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

Progress read_progress() {
  const char* text = std::getenv("PTL_PROGRESS");
  if (!text || !*text) return Progress::automatic;
  std::string value = text;
  if (value == "auto") return Progress::automatic;
  if (value == "spin") return Progress::spin;
  if (value == "park") return Progress::park;
  if (value == "offload") return Progress::offload;
  if (value == "caller") return Progress::caller;
  refuse("PTL_PROGRESS", value, "auto, spin, park, offload or caller");
}

// "LATENCY,WIDTH": microseconds, and bytes per microsecond.
WireOptions read_wire(const char* name) {
  const char* text = std::getenv(name);
  if (!text || !*text) return {};
  constexpr uint64_t kMost = 1'000'000;
  WireOptions wire;
  const char* const end = text + std::strlen(text);
  uint64_t latency_us = 0;
  auto [at, error] = std::from_chars(text, end, latency_us);
  if (error == std::errc() && at != end && *at == ',') {
    const auto [last, wrong] = std::from_chars(at + 1, end, wire.bytes_per_us);
    if (wrong == std::errc() && last == end && latency_us <= kMost && wire.bytes_per_us >= 1 && wire.bytes_per_us <= kMost) {
      wire.latency_ns = latency_us * 1000;
      return wire;
    }
  }
  refuse(name, text, "LATENCY,WIDTH: microseconds, 0 to 1000000, and bytes per microsecond, 1 to 1000000, as 5,10000,");
}

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

}  // namespace

Options Options::from_environment() {
  Options options;
  options.progress = read_progress();
  options.engine_core = static_cast<int>(read_number("PTL_ENGINE_CORE", -1, 0, 1 << 20, "the number of a logical processor"));
  options.node = read_switch("PTL_NODE", true);
  options.fabric = read_switch("PTL_FABRIC", true);
  options.provider = text_of("PTL_FABRIC_PROVIDER");
  options.interface = text_of("PTL_FABRIC_INTERFACE");
  long ring = read_number("PTL_NODE_RING", 512, 64, 1 << 20, "the ring's size in KiB, 64 to 1048576");
  options.ring_bytes = std::bit_ceil(static_cast<size_t>(ring)) * 1024;
  options.node_wire = read_wire("PTL_NODE_WIRE");
  options.cma = read_switch("PTL_NODE_CMA", true);
  options.peer_timeout_s = static_cast<unsigned>(read_number("PTL_PEER_TIMEOUT", options.peer_timeout_s, 1, 86'400, "seconds, 1 to 86400"));
  options.debug = read_switch("PTL_DEBUG", false);
  return options;
}

std::span<const Variable> environment_variables() {
  static constexpr Variable kVariables[] = {
      {"PTL_PROGRESS", "auto, spin, park, offload, caller", "auto", "who steps the engine"},
      {"PTL_ENGINE_CORE", "number of a logical processor", "chosen by hwloc", "where the engine's thread runs"},
      {"PTL_NODE", "1, 0", "1", "0: nothing goes through shared memory"},
      {"PTL_NODE_RING", "KiB, 64 to 1048576", "512", "size of the ring through which a process receives on its node"},
      {"PTL_NODE_CMA", "1, 0", "1", "0: bulk data on the node goes through the rings"},
      {"PTL_NODE_WIRE", "LATENCY,WIDTH: us, bytes per us", "no wire", "delays messages on the node as a network would, for measurements"},
      {"PTL_FABRIC", "1, 0", "1", "0: libfabric is never opened"},
      {"PTL_FABRIC_PROVIDER", "tcp, shm, verbs ...", "the best there is", "the libfabric provider"},
      {"PTL_FABRIC_INTERFACE", "name of a network interface", "the first that is up", "whose address names this process"},
      {"PTL_PEER_TIMEOUT", "seconds, 1 to 86400", "30", "a peer whose host or network is silent for that long is lost"},
      {"PTL_DEBUG", "1, 0", "0", "1: each PTL_ARG_INVALID is explained by one line on stderr"},
      {"PTL_CC", "a command", "cc", "the compiler behind mpicc and oshcc"},
      {"PTL_CXX", "a command", "c++", "the compiler behind mpicxx and oshcxx"},
      {"PTL_TRACE", "name of a file", "no trace", "when each vertex of GOAL schedules began and ended, for Perfetto; one file per rank"},
      {"PTL_COLLECTIVES", "as allreduce=ring,bcast=pipeline,nodes=off", "chosen by size and ranks", "algorithms of the GOAL collectives"},
      {"MPIADI_EAGER_LIMIT", "bytes, with k, m, g", "the transport's", "longer MPI messages send their header alone first"},
      {"MPIADI_VERY_SHORT_LIMIT", "bytes, with k, m, g", "8k", "MPI sends up to this size are copied and complete at once"},
      {"MPIADI_UNEXPECTED_BUFFER", "bytes, with k, m, g", "64m", "beyond it, senders of messages without a receive send headers alone"},
      {"MPIADI_UNEXPECTED_LIMIT", "bytes, with k, m, g", "256m", "beyond it, they wait"},
      {"MPIADI_BOARD", "1, 0", "1", "0: small blocking collectives of MPI go by messages also where all ranks share a node"},
      {"MPIADI_INFO", "1, 0", "0", "1: MPI_Init prints on rank 0 what of these is in force"},
      {"SHMEM_SYMMETRIC_SIZE", "bytes, with k, m, g, t", "64m", "size of the symmetric heap of each PE"},
      {"SHMEM_INFO", "any value", "not set", "prints version, variables in force, transports and where symmetric memory lies"},
      {"SHMEM_VERSION", "any value", "not set", "prints the version"},
      {"SHMEM_DEBUG", "any value", "not set", "checks arguments further, and explains the first wrong one"},
      {"SHMEM_HUGE_PAGES", "1, 0", "0", "1: the symmetric heap lies in pages of 2 MiB"},
  };
  return kVariables;
}

bool debug_wanted() {
  try {
    return read_switch("PTL_DEBUG", false);
  } catch (const std::invalid_argument&) {
    return true;  // whatever it is set to, somebody wants to know; the engine's start refuses the value
  }
}

}  // namespace portunus
