// The grammar of GOAL texts: see parse.hpp.
//
// Thread: any; pure.
// Invariants: token_ is the first token that is not consumed yet. Between statements pending_ holds those
// dependencies of the open block that name a label which was not defined yet; they are resolved at its "}".
#include "engine/goal/schedules/parse.hpp"

#include <charconv>
#include <unordered_map>
#include <utility>

#include "engine/goal/schedules/scan.hpp"

namespace portunus::goal {

namespace {

constexpr uint64_t kMaxU8 = 0xff;
constexpr uint64_t kMaxU32 = 0xfffffffe;  // one less than the type holds: that one means "any"
constexpr uint64_t kMaxU64 = 0xffffffffffffffff;

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text), token_(scanner_.next()) {}
  GoalFile file();

 private:
  struct Dependency {
    std::string_view dependent, prerequisite;
    Position dependent_at, prerequisite_at;
    After after;
  };
  struct Block {
    uint32_t rank;
    Position where;
    Schedule schedule;
  };

  [[noreturn]] static void fail(Position where, const std::string& sentence) { throw ParseError(where, sentence); }
  [[nodiscard]] bool at_word(std::string_view word) const { return token_.sort == Sort::word && token_.text == word; }
  void advance() { token_ = scanner_.next(); }
  void expect(Sort sort, const char* wanted);
  void expect_word(std::string_view word, const char* where);
  uint64_t number(const char* meaning, uint64_t max);
  uint32_t number_or_any(const char* meaning);

  void skip_separators();
  void note_annotations(uint32_t rank);
  void num_ranks();
  void block();
  void statement(Block& block);
  void end_of_statement();
  void dependency(Schedule& schedule, const Token& dependent, After after);
  void operation(Block& block, Position where, std::string_view label, const Token& keyword);
  void attributes(Vertex& vertex);
  void resolve(Block& block);
  void collect(GoalFile& file);

  Scanner scanner_;
  Token token_;
  uint64_t num_ranks_ = 0;  // 0: not said yet
  Position num_ranks_at_;
  std::vector<Block> blocks_;
  std::unordered_map<uint32_t, Position> block_of_rank_;
  std::vector<Dependency> pending_;
  std::vector<Annotation> annotations_;
};

void Parser::expect(Sort sort, const char* wanted) {
  if (token_.sort != sort) fail(token_.where, std::string("expected ") + wanted + " instead of " + quote(token_));
  advance();
}

void Parser::expect_word(std::string_view word, const char* where) {
  if (!at_word(word)) {
    fail(token_.where, "expected \"" + std::string(word) + "\" " + where + " instead of " + quote(token_));
  }
  advance();
}

uint64_t Parser::number(const char* meaning, uint64_t max) {
  uint64_t value = 0;
  const char* const end = token_.text.data() + token_.text.size();
  if (token_.sort != Sort::number) {
    fail(token_.where, std::string("expected ") + meaning + " instead of " + quote(token_));
  }
  const auto [stop, error] = std::from_chars(token_.text.data(), end, value);
  if (error != std::errc() || stop != end || value > max) {
    fail(token_.where, quote(token_) + " cannot be " + meaning + "; write a number from 0 to " + std::to_string(max));
  }
  advance();
  return value;
}

uint32_t Parser::number_or_any(const char* meaning) {
  static_assert(kAnySource == kAnyTag);
  if (token_.sort == Sort::number && token_.text == "-1") {
    advance();
    return kAnyTag;
  }
  return static_cast<uint32_t>(number(meaning, kMaxU32));
}

void Parser::skip_separators() {
  while (token_.sort == Sort::line || token_.sort == Sort::semicolon) advance();
}

// Files the annotations met so far under the block they stand in.
void Parser::note_annotations(uint32_t rank) {
  if (!scanner_.has_annotations()) return;
  for (Annotation& a : scanner_.take_annotations()) {
    a.rank = rank;
    annotations_.push_back(std::move(a));
  }
}

GoalFile Parser::file() {
  for (skip_separators(); token_.sort != Sort::end; skip_separators()) {
    if (at_word("num_ranks")) {
      num_ranks();
    } else if (at_word("rank")) {
      block();
    } else if (token_.sort == Sort::close) {
      fail(token_.where, "this \"}\" closes nothing; remove it, or open a block with \"rank R {\" before");
    } else {
      fail(token_.where, "expected \"rank R {\" or \"num_ranks N\" instead of " + quote(token_) +
                             "; operations and dependencies stand inside the block of their rank");
    }
  }
  note_annotations(Annotation::kNoRank);
  GoalFile file;
  collect(file);
  return file;
}

void Parser::num_ranks() {
  if (num_ranks_ != 0) {
    fail(token_.where, "num_ranks was said in line " + std::to_string(num_ranks_at_.line) + " already; remove one of the two");
  }
  num_ranks_at_ = token_.where;
  advance();
  const Position at = token_.where;
  num_ranks_ = number("the number of ranks", kMaxU32);
  if (num_ranks_ == 0) fail(at, "num_ranks is 0; a job has at least one rank");
}

void Parser::block() {
  if (num_ranks_ == 0) fail(token_.where, "num_ranks is not known yet; write \"num_ranks N\" before the first rank");
  Block block{0, token_.where, {}};
  advance();
  const Position at = token_.where;
  block.rank = static_cast<uint32_t>(number("the number of the rank", kMaxU32));
  if (block.rank >= num_ranks_) {
    fail(at, "there is no rank " + std::to_string(block.rank) + ": ranks go from 0 to " + std::to_string(num_ranks_ - 1) +
                 "; correct it or raise num_ranks in line " + std::to_string(num_ranks_at_.line));
  }
  const auto [first, is_new] = block_of_rank_.try_emplace(block.rank, block.where);
  if (!is_new) {
    fail(at,
         "rank " + std::to_string(block.rank) + " has a block in line " + std::to_string(first->second.line) + " already; join the two");
  }
  while (token_.sort == Sort::line) advance();
  note_annotations(Annotation::kNoRank);
  expect(Sort::open, "\"{\" after the number of the rank");
  for (skip_separators(); token_.sort != Sort::close; skip_separators()) statement(block);
  note_annotations(block.rank);
  advance();
  resolve(block);
  block.schedule.finish();
  blocks_.push_back(std::move(block));
}

void Parser::statement(Block& block) {
  const Token first = token_;
  if (first.sort == Sort::end) {
    fail(first.where, "the block of rank " + std::to_string(block.rank) + " opened in line " + std::to_string(block.where.line) +
                          " is not closed; add \"}\"");
  }
  if (first.sort != Sort::word) fail(first.where, "expected an operation or a label instead of " + quote(first));
  advance();
  if (at_word("requires") || at_word("irequires")) {
    const After after = token_.text == "requires" ? After::finish : After::start;
    advance();
    dependency(block.schedule, first, after);
  } else if (token_.sort == Sort::colon) {
    advance();
    const Token keyword = token_;
    advance();
    operation(block, first.where, first.text, keyword);
  } else if (first.text == "rank" || first.text == "num_ranks") {
    fail(first.where, "the block of rank " + std::to_string(block.rank) + " opened in line " + std::to_string(block.where.line) +
                          " is still open; add \"}\" before " + quote(first));
  } else {
    operation(block, first.where, {}, first);
  }
  end_of_statement();
}

void Parser::end_of_statement() {
  if (token_.sort == Sort::line || token_.sort == Sort::semicolon || token_.sort == Sort::close || token_.sort == Sort::end) {
    return;
  }
  fail(token_.where, quote(token_) + " does not belong to this statement; begin the next one on a new line or after \";\"");
}

void Parser::dependency(Schedule& schedule, const Token& dependent, After after) {
  const VertexId waits = schedule.find(dependent.text);
  do {
    if (token_.sort == Sort::comma) advance();
    if (token_.sort != Sort::word) {
      fail(token_.where, "expected the label of an operation to wait for instead of " + quote(token_));
    }
    const VertexId prerequisite = waits == kNoVertex ? kNoVertex : schedule.find(token_.text);
    if (prerequisite != kNoVertex) schedule.add_dependency(waits, prerequisite, after);
    else pending_.push_back({dependent.text, token_.text, dependent.where, token_.where, after});
    advance();
  } while (token_.sort == Sort::comma || token_.sort == Sort::word);
}

void Parser::operation(Block& block, Position where, std::string_view label, const Token& keyword) {
  Vertex vertex;
  vertex.where = where;
  if (keyword.text == "calc") {
    vertex.kind = Kind::calc;
    vertex.size = number("a duration in nanoseconds", kMaxU64);
  } else if (keyword.text == "send") {
    vertex.kind = Kind::send;
    vertex.size = number("a size in bytes", kMaxU64);
    expect_word("b", "after the size");
    expect_word("to", "before the destination");
    vertex.peer = static_cast<uint32_t>(number("the rank of the destination", kMaxU32));
  } else if (keyword.text == "recv") {
    vertex.kind = Kind::recv;
    vertex.size = number("a size in bytes", kMaxU64);
    expect_word("b", "after the size");
    expect_word("from", "before the source");
    vertex.peer = number_or_any("the rank of the source");
  } else {
    fail(keyword.where, quote(keyword) + " is no operation; write send, recv or calc");
  }
  attributes(vertex);
  block.schedule.add(vertex, label);
}

void Parser::attributes(Vertex& vertex) {
  bool tag = false, cpu = false, nic = false;
  while (token_.sort == Sort::word) {
    const Token keyword = token_;
    bool& seen = keyword.text == "tag" ? tag : keyword.text == "cpu" ? cpu : nic;
    if (keyword.text != "tag" && keyword.text != "cpu" && keyword.text != "nic") return;
    if (seen) fail(keyword.where, quote(keyword) + " is said twice for one operation; remove one of the two");
    seen = true;
    advance();
    if (&seen == &tag) {
      if (vertex.kind == Kind::calc) fail(keyword.where, "calc has no tag; only send and recv have");
      vertex.tag = number_or_any("a tag");
    } else {
      (&seen == &cpu ? vertex.cpu : vertex.nic) = static_cast<uint8_t>(number(&seen == &cpu ? "a cpu" : "a nic", kMaxU8));
    }
  }
}

void Parser::resolve(Block& block) {
  const auto find = [&](std::string_view label, Position where) {
    const VertexId v = block.schedule.find(label);
    if (v == kNoVertex) {
      fail(where, "rank " + std::to_string(block.rank) + " has no operation with the label " + quote(Token{Sort::word, label, where}) +
                      "; labels are known only in the block that defines them");
    }
    return v;
  };
  for (const Dependency& d : pending_) {
    const VertexId dependent = find(d.dependent, d.dependent_at);
    block.schedule.add_dependency(dependent, find(d.prerequisite, d.prerequisite_at), d.after);
  }
  pending_.clear();
}

// Puts the blocks in the order of their ranks.
void Parser::collect(GoalFile& file) {
  if (num_ranks_ == 0) fail(token_.where, "the file does not say how many ranks there are; begin it with \"num_ranks N\"");
  if (blocks_.size() < num_ranks_) {
    uint32_t missing = 0;
    while (block_of_rank_.contains(missing)) ++missing;
    fail(num_ranks_at_, "num_ranks is " + std::to_string(num_ranks_) + " but rank " + std::to_string(missing) +
                            " has no block; add \"rank " + std::to_string(missing) +
                            " { }\" if it has nothing to do, or correct num_ranks");
  }
  file.num_ranks = static_cast<uint32_t>(num_ranks_);
  file.annotations = std::move(annotations_);
  file.ranks.resize(num_ranks_);
  for (Block& block : blocks_) file.ranks[block.rank] = std::move(block.schedule);
}

}  // namespace

GoalFile parse_goal(std::string_view text) { return Parser(text).file(); }

}  // namespace portunus::goal
