// options.cpp: environment variables to Options, each checked.
#include "engine/host/options.hpp"

#include <bit>
#include <cstdlib>
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
  options.cma = read_switch("PTL_NODE_CMA", true);
  return options;
}

}  // namespace portunus
