// debug.cpp: see debug.hpp.
#include "engine/host/debug.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>

namespace portunus {
namespace {

constexpr char kBytes[] = "BYTES";
constexpr DebugKey kKeys[] = {
    {"arguments", nullptr, "explains each PTL_ARG_INVALID: function, argument, why"},
    {"buffers", nullptr,
     "MPI: finds data to be sent that cannot be read to their end, and memory of messages under way that is used or changed"},
    {"calls", nullptr,
     "MPI: finds collectives whose operations, roots, datatypes or order differ between ranks, and messages whose datatypes are not those "
     "of their receives"},
    {"leaks", nullptr, "MPI: tells what each rank has left at MPI_Finalize"},
    {"stack", nullptr, "MPI: an error that ends the job prints the stack of its call"},
    {"core", nullptr, "MPI: the same, and the rank ends by SIGABRT, so that it leaves a core where limits allow one"},
    {"waits", nullptr, "PEACE: tells which requests have waited for a second, and for whom"},
    {"views", nullptr, "VODCA: finds ids of barriers that differ, detected views that overlap, reads of a declared view that is not held"},
    {"domains", nullptr, "CCC: finds two writers of one place, and indices and results that differ between PEs"},
    {"no-cma", nullptr, "bulk data on the node go through memory that both sides map, not by the kernel's cross-memory attach"},
    {"no-fabric", nullptr, "libfabric is never opened"},
    {"no-node-collectives", nullptr, "MPI: blocking collectives go by messages also where all ranks share a node"},
    {"very-short", kBytes, "MPI: sends of up to so many bytes are copied and complete at once; the most, and usual, is 8192"},
    {"ccc-schedule", nullptr, "CCC: messages of plans go by schedules, whatever their size; on all PEs"},
    {"ccc-laid-out", nullptr, "CCC: messages of plans go by puts that are laid out, whatever their size; on all PEs"},
    {"wire", "LATENCY:WIDTH",
     "messages on the node take as long as on such a wire (us, bytes per us), and no processor time meanwhile; on all ranks; what SHMEM "
     "does by loads and stores is not delayed"},
};
// The keys that "1" stands for.
constexpr std::string_view kUsual[] = {"arguments", "buffers", "waits"};

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

struct Word {
  std::string_view key, value;
  bool has_value = false;
};

// Takes the first word off a list.
Word next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(','));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  const size_t equals = word.find('=');
  if (equals == word.npos) return {.key = word, .value = {}};
  return {.key = word.substr(0, equals), .value = word.substr(equals + 1), .has_value = true};
}

bool is_group(const Word& word) { return !word.has_value && (word.key == "0" || word.key == "1"); }

bool is_known(const Word& word) {
  if (is_group(word)) return true;
  const auto key = std::ranges::find(kKeys, word.key, &DebugKey::name);
  if (key == std::end(kKeys) || (key->value != nullptr) != word.has_value) return false;
  int number = 0;
  return key->value == kBytes ? parse_number(word.value, number) && number >= 1 : !word.has_value || !word.value.empty();
}

bool is_for(const Word& word, std::string_view key) {
  if (is_group(word)) return word.key == "1" && std::ranges::find(kUsual, key) != std::end(kUsual);
  return word.key == key && is_known(word);
}

std::string_view text_of_variable() {
  const char* text = std::getenv("PTL_DEBUG");
  return text ? text : "";
}

}  // namespace

std::span<const DebugKey> debug_keys() { return kKeys; }

std::string debug_complaint(std::string_view text) {
  while (!text.empty()) {
    const std::string_view rest = text;
    if (is_known(next_word(text))) continue;
    std::string keys;
    for (const DebugKey& key : kKeys) keys += std::string(", ") + key.name + (key.value ? std::string("=") + key.value : "");
    return "PTL_DEBUG=" + std::string(rest.substr(0, rest.find(','))) + " is not understood; use 0, 1, or some of" + keys.substr(1) +
           ", with commas between them, or unset it";
  }
  return "";
}

std::optional<std::string> debug_value(std::string_view key) {
  std::optional<std::string> value;
  for (std::string_view text = text_of_variable(); !text.empty();)
    if (const Word word = next_word(text); is_for(word, key)) value = word.value;
  return value;
}

int debug_wanted(std::string_view key) {
  int wanted = 0;
  for (std::string_view text = text_of_variable(); !text.empty();) {
    const Word word = next_word(text);
    if (!is_known(word)) return 1;
    int number = 1;
    if (is_for(word, key)) wanted = word.has_value && parse_number(word.value, number) ? number : 1;
  }
  return wanted;
}

}  // namespace portunus
