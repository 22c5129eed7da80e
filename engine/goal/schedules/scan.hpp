// Cuts a GOAL text into tokens; the text must outlive them.
//
// Thread: any; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/goal/schedules/parse.hpp"

namespace portunus::goal {

// `line` is a line break, `number` may carry a minus sign, `other` is one character that the language does not know.
enum class Sort : uint8_t { word, number, colon, semicolon, comma, open, close, line, end, other };

struct Token {
  Sort sort = Sort::end;
  std::string_view text;
  Position where;
};

// How an error quotes a token: shortened, with unprintable characters as numbers.
std::string quote(const Token& token);

class Scanner {
 public:
  explicit Scanner(std::string_view text);

  // The next token; after the last one `end` for ever. Throws ParseError for a comment that does not end.
  Token next();

  // The text of the "//@" comments met since the last call, with their lines.
  std::vector<Annotation> take_annotations() { return std::exchange(annotations_, {}); }
  [[nodiscard]] bool has_annotations() const { return !annotations_.empty(); }

 private:
  [[nodiscard]] Position here() const;
  void new_line();
  bool skip_comment();
  void skip_blanks();
  Token take(Sort sort, size_t length);

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  std::vector<Annotation> annotations_;
};

}  // namespace portunus::goal
