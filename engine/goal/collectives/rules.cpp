// Reading and writing rules: see rules.hpp.
//
// Thread: any.
#include "engine/goal/collectives/rules.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace portunus::goal::collectives {

namespace {

constexpr char kSpaces[] = " \t\r";
constexpr std::string_view kUnits = "kmg";

struct Words {
  RankPlacement::Fact fact;
  std::string_view no, yes;
};
constexpr Words kFacts[] = {{RankPlacement::kNetwork, "node", "network"},
                            {RankPlacement::kSeveral, "single", "several"},
                            {RankPlacement::kCrowded, "uncrowded", "crowded"},
                            {RankPlacement::kSlow, "fast", "slow"}};

// A line as it can be shown: a file that was named by mistake may hold anything.
std::string shown(std::string_view line) {
  constexpr size_t kMost = 60;
  std::string text(line.substr(0, kMost));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line.size() > kMost ? text + "..." : text;
}

[[noreturn]] void refuse_line(size_t number, std::string_view line, const std::string& why) {
  throw std::invalid_argument("line " + std::to_string(number) + ", \"" + shown(line) + "\": " + why);
}

[[noreturn]] void refuse_file(const std::string& why) {
  throw std::invalid_argument(why + "; name a file of rules, as goaltune writes them");
}

std::optional<uint64_t> number(std::string_view word) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> size(std::string_view word) {
  if (word == "any") return kAnySize;
  unsigned shift = 0;
  if (const size_t unit = word.empty() ? kUnits.npos : kUnits.find(word.back()); unit != kUnits.npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    word.remove_suffix(1);
  }
  const std::optional<uint64_t> value = number(word);
  if (!value || *value > kAnySize >> shift) return std::nullopt;
  return *value << shift;
}

std::optional<uint32_t> ranks(std::string_view word) {
  if (word == "any") return kAnyRanks;
  const std::optional<uint64_t> value = number(word);
  if (!value || *value == 0 || *value >= kAnyRanks) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  while (true) {
    const size_t begin = line.find_first_not_of(kSpaces);
    if (begin == line.npos) return words;
    line.remove_prefix(begin);
    const size_t length = std::min(line.find_first_of(kSpaces), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

// Adds what a word asks for. False: it is none, or there was one on the same.
bool ask(Where& where, std::string_view word) {
  const auto* const fact = std::ranges::find_if(kFacts, [&](const Words& words) { return word == words.no || word == words.yes; });
  if (fact == std::end(kFacts) || (where.asked & fact->fact) != 0) return false;
  where.asked |= fact->fact;
  if (word == fact->yes) where.there |= fact->fact;
  return true;
}

Rule rule_of(const std::vector<std::string_view>& words, size_t line_number, std::string_view line) {
  const auto refuse = [&](const std::string& why) { refuse_line(line_number, line, why); };
  if (words.size() < 4) refuse("write COLLECTIVE UP-TO-BYTES UP-TO-RANKS ALGORITHM, as in 'allreduce 8k any doubling'");
  const std::optional<Collective> collective = collective_named(words[0]);
  if (!collective) refuse("the collectives with a choice are " + names_of_collectives());
  const std::optional<uint64_t> bytes = size(words[1]);
  if (!bytes) refuse("up to how many bytes is a number, as 4096, 4k, 1m or 2g, or any");
  const std::optional<uint32_t> most = ranks(words[2]);
  if (!most) refuse("up to how many ranks is a number from 1 on, or any");
  const std::optional<Algorithm> algorithm = algorithm_named(words[3]);
  if (!algorithm || !offers(*collective, *algorithm))
    refuse("the algorithms of " + std::string(words[0]) + " are " + names_offered(*collective));
  Where where;
  for (size_t i = 4; i < words.size(); ++i) {
    if (!ask(where, words[i]))
      refuse(
          "behind the algorithm stands where it is used: node or network, single or several, uncrowded or crowded, fast or slow, each "
          "once");
  }
  return {*collective, *bytes, *most, *algorithm, where};
}

// A file that is open once.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) ::close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

std::vector<Rule> parse_rules(std::string_view text) {
  std::vector<Rule> rules;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::vector<std::string_view> words = words_of(line);
    if (!words.empty()) rules.push_back(rule_of(words, line_number, line));
  }
  return rules;
}

std::string size_text(uint64_t bytes) {
  if (bytes == kAnySize) return "any";
  size_t unit = 0;
  while (unit < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + (unit == 0 ? "" : std::string(1, kUnits[unit - 1]));
}

std::string line_of(const Rule& rule) {
  const std::string ranks_text = rule.up_to_ranks == kAnyRanks ? "any" : std::to_string(rule.up_to_ranks);
  std::array<char, 96> line{};
  std::snprintf(line.data(), line.size(), "%-15s %6s %5s  %s", name_of(rule.collective).data(), size_text(rule.up_to_bytes).c_str(),
                ranks_text.c_str(), name_of(rule.algorithm).data());
  std::string text = line.data();
  for (const Words& words : kFacts) {
    if ((rule.where.asked & words.fact) != 0) text.append(" ").append((rule.where.there & words.fact) != 0 ? words.yes : words.no);
  }
  return text;
}

// A pipe or a device might have no end, or not even a beginning.
std::string read_rules(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0)
    refuse_file(std::string("the file cannot be read (") + std::strerror(errno) + ")");
  if (!S_ISREG(status.st_mode)) refuse_file("this is no regular file");
  std::string text(kMostRuleBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_file(std::string("the file cannot be read (") + std::strerror(errno) + ")");
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  if (length > kMostRuleBytes) refuse_file("the file has more than " + std::to_string(kMostRuleBytes) + " bytes");
  text.resize(length);
  return text;
}

}  // namespace portunus::goal::collectives
