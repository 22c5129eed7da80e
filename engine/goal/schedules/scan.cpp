// The tokens of a GOAL text: see scan.hpp.
//
// Thread: any; pure.
// Invariants: line_start_ is the offset just after the last line break before at_.
#include "engine/goal/schedules/scan.hpp"

#include <array>
#include <cstdio>

namespace portunus::goal {

namespace {

constexpr size_t kQuoteLength = 32;

enum Class : uint8_t { unknown, blank, letter, digit };

constexpr std::array<Class, 256> make_classes() {
  std::array<Class, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = letter;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = letter;
  for (int c = '0'; c <= '9'; ++c) table[c] = digit;
  table['_'] = letter;  // only inside a word: next() starts none with it
  for (const char c : {' ', '\t', '\v', '\f', '\r'}) table[static_cast<unsigned char>(c)] = blank;
  return table;
}
constexpr std::array<Class, 256> kClasses = make_classes();

Class class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && class_of(text.front()) == blank) text.remove_prefix(1);
  while (!text.empty() && class_of(text.back()) == blank) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string quote(const Token& token) {
  if (token.sort == Sort::end) return "the end of the file";
  if (token.sort == Sort::line) return "the end of the line";
  std::string quoted = "\"";
  for (const char c : token.text.substr(0, kQuoteLength)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      char number[8];
      std::snprintf(number, sizeof number, "\\x%02x", byte);
      quoted += number;
    }
  }
  return quoted + (token.text.size() > kQuoteLength ? "...\"" : "\"");
}

Scanner::Scanner(std::string_view text) : text_(text) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = line_start_ = 3;  // the byte order mark some editors write
}

Position Scanner::here() const { return {line_, static_cast<uint32_t>(at_ - line_start_ + 1)}; }

void Scanner::new_line() {
  ++line_;
  line_start_ = at_;
}

void Scanner::skip_blanks() {
  while (at_ < text_.size()) {
    if (class_of(text_[at_]) == blank) {
      ++at_;
    } else if (text_[at_] != '/' || !skip_comment()) {
      return;
    }
  }
}

// Skips a comment up to its end, a "//" comment up to the line break. False if the "/" starts no comment.
bool Scanner::skip_comment() {
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("//")) {
    const std::string_view comment = rest.substr(0, rest.find('\n'));
    if (comment.starts_with("//@")) {
      const std::string_view text = trim(comment.substr(3));
      const auto column = static_cast<uint32_t>(text.data() - text_.data() - line_start_ + 1);
      annotations_.push_back({Annotation::kNoRank, line_, column, std::string(text)});
    }
    at_ += comment.size();
    return true;
  }
  if (!rest.starts_with("/*")) return false;
  const size_t length = rest.find("*/", 2);
  if (length == std::string_view::npos) throw ParseError(here(), "this comment does not end; close it with \"*/\"");
  const size_t end = at_ + length + 2;
  while ((at_ = text_.find('\n', at_)) < end) {
    ++at_;
    new_line();
  }
  at_ = end;
  return true;
}

Token Scanner::take(Sort sort, size_t length) {
  const Token token{sort, text_.substr(at_, length), here()};
  at_ += length;
  return token;
}

Token Scanner::next() {
  skip_blanks();
  if (at_ == text_.size()) return take(Sort::end, 0);
  const char c = text_[at_];
  size_t length = 1;
  if (class_of(c) == letter && c != '_') {
    while (at_ + length < text_.size() && class_of(text_[at_ + length]) >= letter) ++length;
    return take(Sort::word, length);
  }
  if (class_of(c) == digit || c == '-') {
    while (at_ + length < text_.size() && class_of(text_[at_ + length]) == digit) ++length;
    return take(c == '-' && length == 1 ? Sort::other : Sort::number, length);
  }
  switch (c) {
    case ':': return take(Sort::colon, 1);
    case ';': return take(Sort::semicolon, 1);
    case ',': return take(Sort::comma, 1);
    case '{': return take(Sort::open, 1);
    case '}': return take(Sort::close, 1);
    case '\n': {
      const Token token = take(Sort::line, 1);
      new_line();
      return token;
    }
    default: return take(Sort::other, 1);
  }
}

}  // namespace portunus::goal
