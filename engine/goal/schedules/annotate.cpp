// Reading and writing annotations: see annotate.hpp.
//
// Thread: any; pure.
#include "engine/goal/schedules/annotate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

namespace portunus::goal {

namespace {

struct OpName {
  std::string_view name;
  ptlx_local_op_t op;
};
constexpr std::array<OpName, 13> kOps{{{"add", PTLX_ADD},
                                       {"sub", PTLX_SUB},
                                       {"mult", PTLX_MULT},
                                       {"div", PTLX_DIV},
                                       {"max", PTLX_MAX},
                                       {"min", PTLX_MIN},
                                       {"and", PTLX_AND},
                                       {"or", PTLX_OR},
                                       {"xor", PTLX_XOR},
                                       {"copy", PTLX_COPY},
                                       {"timestamp", PTLX_TIMESTAMP},
                                       {"sum", PTLX_ADD},
                                       {"prod", PTLX_MULT}}};
struct TypeName {
  std::string_view name;
  ptl_datatype_t type;
};
constexpr std::array<TypeName, 10> kTypes{{{"i8", PTL_INT8_T},
                                           {"i16", PTL_INT16_T},
                                           {"i32", PTL_INT32_T},
                                           {"i64", PTL_INT64_T},
                                           {"u8", PTL_UINT8_T},
                                           {"u16", PTL_UINT16_T},
                                           {"u32", PTL_UINT32_T},
                                           {"u64", PTL_UINT64_T},
                                           {"f32", PTL_FLOAT},
                                           {"f64", PTL_DOUBLE}}};

// Reads one annotation from left to right.
class Line {
 public:
  explicit Line(const Annotation& annotation) : annotation_(&annotation), rest_(annotation.text) {}

  [[nodiscard]] Position here() const {
    const size_t at = annotation_->text.find_first_not_of(" \t", annotation_->text.size() - rest_.size());
    return {annotation_->line, annotation_->column + static_cast<uint32_t>(std::min(at, annotation_->text.size()))};
  }
  [[noreturn]] void fail(const std::string& sentence) const { throw ParseError(here(), sentence); }
  bool ended() {
    skip_blanks();
    return rest_.empty();
  }
  std::string_view word() {
    skip_blanks();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    return take(n);
  }
  bool accept(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    take(1);
    return true;
  }
  void expect_word(std::string_view wanted) {
    const Line before = *this;
    if (word() != wanted) before.fail("expected \"" + std::string(wanted) + "\" here");
  }
  uint64_t number(const char* meaning) {
    const Line before = *this;
    const std::string_view digits = word();
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || stop != digits.data() + digits.size())
      before.fail(std::string("expected ") + meaning + " here");
    return value;
  }
  void end() {
    if (!ended()) fail("this does not belong to the annotation; begin another \"//@\" on a new line");
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  std::string_view take(size_t n) {
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  const Annotation* annotation_;
  std::string_view rest_;
};

// Applies the annotations of one rank to its plan.
class AnnotationReader {
 public:
  explicit AnnotationReader(Plan& plan) : plan_(plan) { plan.works.resize(plan.graph.size()); }
  void apply(const Annotation& annotation);
  void finish();

 private:
  Memory place(Line& line, bool may_be_pieces = true);
  Memory pieces(Line& line);
  void buffer(Line& line, VertexId v);
  void local(Line& line, VertexId v);

  Plan& plan_;
};

Memory AnnotationReader::place(Line& line, bool may_be_pieces) {
  if (may_be_pieces && line.accept('[')) return pieces(line);
  const Line before = line;
  const std::string_view name = line.word();
  Memory m;
  if (name == "scratch") {
    m.space = Space::scratch;
  } else if (name.starts_with("user")) {
    m.space = Space::argument;
    const std::string_view digits = name.substr(4);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), m.number);
    if (!digits.empty() && (error != std::errc() || stop != digits.data() + digits.size()))
      before.fail("expected \"user\" and a number here");
  } else {
    before.fail("expected a place here: scratch+OFFSET, user+OFFSET, or userK+OFFSET");
  }
  if (line.accept('+')) m.place = line.number("an offset in bytes");
  return m;
}

Memory AnnotationReader::pieces(Line& line) {
  const uint64_t first = plan_.pieces.size();
  do {
    Piece piece;
    piece.at = place(line, false);
    if (!line.accept(':')) line.fail("expected \":\" and the bytes of this piece here");
    piece.bytes = line.number("a size in bytes");
    plan_.pieces.push_back(piece);
  } while (line.accept(','));
  if (!line.accept(']')) line.fail("expected \",\" and another piece, or \"]\", here");
  return {Space::pieces, static_cast<uint32_t>(plan_.pieces.size() - first), first};
}

void AnnotationReader::buffer(Line& line, VertexId v) {
  if (!plan_.graph[v].is_message()) line.fail("only messages have a buffer; use \"op\" for local work");
  plan_.works[v].memory = place(line);
  if (line.ended()) return;
  line.expect_word("len");
  const Line before = line;
  if (line.number("a size in bytes") != plan_.graph[v].size) {
    before.fail("the message has " + std::to_string(plan_.graph[v].size) + " bytes; make the two equal");
  }
}

void AnnotationReader::local(Line& line, VertexId v) {
  if (plan_.graph[v].kind != Kind::calc) line.fail("only a calc can be made local work, and only once");
  Work& work = plan_.works[v];
  Line before = line;
  const std::string_view op_name = line.word();
  const auto op = std::ranges::find(kOps, op_name, &OpName::name);
  if (op == kOps.end()) before.fail("expected an operation here: add, sub, mult, div, max, min, and, or, xor, copy or timestamp");
  work.op = op->op;
  work.type = PTL_UINT64_T;
  work.count = 1;
  if (has_a(work.op)) {
    before = line;
    const std::string_view type_name = line.word();
    const auto type = std::ranges::find(kTypes, type_name, &TypeName::name);
    if (type == kTypes.end()) before.fail("expected a type here: i8, i16, i32, i64, u8, u16, u32, u64, f32 or f64");
    work.type = type->type;
    if (!known(work.op, work.type)) before.fail("bits of floating-point numbers cannot be combined; use an integer type");
  }
  line.expect_word("dst");
  work.memory = place(line);
  if (has_a(work.op)) {
    line.expect_word("a");
    work.a = place(line);
  }
  if (has_b(work.op)) {
    line.expect_word("b");
    work.b = place(line);
  }
  if (has_a(work.op)) {
    line.expect_word("n");
    work.count = line.number("a number of elements");
  }
  plan_.graph.amend(v, Kind::local, 0);
}

void AnnotationReader::apply(const Annotation& annotation) {
  Line line(annotation);
  const std::string_view first = line.word();
  if (first == "scratch") {
    plan_.scratch_bytes = line.number("a size in bytes");
    return line.end();
  }
  const VertexId v = plan_.graph.find(first);
  if (v == kNoVertex) {
    throw ParseError({annotation.line, annotation.column}, "this rank has no operation with the label \"" + std::string(first) +
                                                               "\"; an annotation is \"scratch\" or begins with a label of its block");
  }
  const Line before = line;
  const std::string_view what = line.word();
  if (what == "buf") buffer(line, v);
  else if (what == "op") local(line, v);
  else if (what == "needs")
    plan_.graph.set_needs(v, static_cast<uint32_t>(std::min<uint64_t>(line.number("a number of operations"), 0xffffffff)));
  else if (what == "bytes" && plan_.graph[v].is_message()) plan_.graph.amend(v, plan_.graph[v].kind, line.number("a size in bytes"));
  else before.fail("expected \"buf\", \"op\", \"needs\" or, of a message, \"bytes\" here");
  line.end();
}

// Messages that nobody gave memory get some of their own.
void AnnotationReader::finish() {
  for (VertexId v = 0; v < plan_.graph.size(); ++v) {
    Work& work = plan_.works[v];
    if (!plan_.graph[v].is_message() || work.memory.space != Space::none) continue;
    const uint64_t begin = (plan_.scratch_bytes + 63) / 64 * 64;
    if (__builtin_add_overflow(begin, plan_.graph[v].size, &plan_.scratch_bytes)) {
      throw ScheduleError(plan_.graph[v].where, "the messages of this rank are larger than memory together; use smaller ones");
    }
    work.memory = scratchpad(begin);
  }
  plan_.check();
}

std::string text_of(const Plan& plan, VertexId v, const Memory& m) {
  switch (m.space) {
    case Space::scratch: return "scratch+" + std::to_string(m.place);
    case Space::argument: return "user" + (m.number == 0 ? std::string() : std::to_string(m.number)) + "+" + std::to_string(m.place);
    case Space::pieces: {
      std::string text;
      for (const Piece& piece : plan.pieces_of(m)) {
        text += (text.empty() ? "[" : ",") + text_of(plan, v, piece.at) + ":" + std::to_string(piece.bytes);
      }
      return text.empty() ? "scratch+0" : text + "]";
    }
    case Space::none: return "scratch+0";
    case Space::user: break;
  }
  throw ScheduleError(plan.graph[v].where, "the " + plan.graph.describe(v) +
                                               " works on an address of this process, which no file can name; "
                                               "use the scratchpad or an argument");
}

}  // namespace

std::vector<Plan> plans_of(GoalFile file) {
  std::vector<Plan> plans(file.ranks.size());
  for (size_t r = 0; r < plans.size(); ++r) plans[r].graph = std::move(file.ranks[r]);
  std::vector<std::optional<AnnotationReader>> readers(plans.size());
  const auto reader = [&](size_t rank) -> AnnotationReader& { return readers[rank] ? *readers[rank] : readers[rank].emplace(plans[rank]); };
  // Sizes first: buffers are compared with them.
  for (const bool sizes : {true, false}) {
    for (const Annotation& annotation : file.annotations) {
      if (annotation.rank == Annotation::kNoRank) {
        if (sizes) continue;
        throw ParseError({annotation.line, annotation.column}, "an annotation stands inside the block of its rank");
      }
      const bool is_size = annotation.text.find(" bytes ") != std::string::npos;
      if (is_size == sizes) reader(annotation.rank).apply(annotation);
    }
  }
  for (size_t r = 0; r < plans.size(); ++r) {
    reader(r).finish();
    plans[r].graph.refuse_starving();
  }
  return plans;
}

std::string annotation_of(const Plan& plan, VertexId v) {
  const Work& work = plan.works[v];
  if (plan.graph[v].is_message()) return "buf " + text_of(plan, v, work.memory);
  std::string text = std::string("op ") + name_of(work.op);
  if (has_a(work.op)) text += std::string(" ") + name_of(work.type);
  text += " dst " + text_of(plan, v, work.memory);
  if (has_a(work.op)) text += " a " + text_of(plan, v, work.a);
  if (has_b(work.op)) text += " b " + text_of(plan, v, work.b);
  return has_a(work.op) ? text + " n " + std::to_string(work.count) : text;
}

const char* name_of(ptl_datatype_t type) {
  const auto found = std::ranges::find(kTypes, type, &TypeName::type);
  return found == kTypes.end() ? "?" : found->name.data();
}

const char* name_of(ptlx_local_op_t op) {
  const auto found = std::ranges::find(kOps, op, &OpName::op);
  return found == kOps.end() ? "?" : found->name.data();
}

}  // namespace portunus::goal
