// A file of rules is understood or refused with a sentence that names a line; what is understood names algorithms that there are, and is
// the same when it is written and read again.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/goal/collectives/rules.hpp"
#include "tests/fuzz/replay.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace portunus::goal::collectives;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Rule> rules;
  try {
    rules = parse_rules(text);
  } catch (const std::invalid_argument& error) {
    require(std::string_view(error.what()).starts_with("line "), "who is refused learns which line it was");
    return 0;
  }
  std::string again;
  for (const Rule& rule : rules) {
    require(offers(rule.collective, rule.algorithm), "a rule names an algorithm of its collective");
    require(rule.up_to_ranks >= 1, "there is a number of ranks for which a rule holds");
    again += line_of(rule) + "\n";
  }
  require(parse_rules(again) == rules, "what is written is understood again");
  return 0;
}
