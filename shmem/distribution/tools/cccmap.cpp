// cccmap.cpp: draws who owns what of a distribution of one or two dimensions, and says what its theorems and a
// redistribution come to.
//
// Needs no job. See kHelp. Ends with status 2 and a sentence after what it does not understand.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shmem/distribution/axis/axis.hpp"

namespace {

using namespace portunus::distribution;

constexpr const char* kHelp =
    "cccmap: who owns what.\n\n"
    "usage: cccmap --n N[,N] --virtual P:FUNCTION[,P:FUNCTION] [--physical P:FUNCTION[,..]] [--to P:FUNCTION[,..]]\n"
    "              [--size BYTES] [--svg FILE]\n\n"
    "  --n         indices of each dimension, one or two\n"
    "  --virtual   processors of each dimension and how they are dealt to: block, cyclic, balanced, whole or a number,\n"
    "              the size of a block\n"
    "  --physical  deals these processors, virtual ones then, out to PEs\n"
    "  --to        another distribution of the same indices: what redistribution would cost\n"
    "  --size      bytes of an element, for that (8)\n"
    "  --svg       also draws there\n\n"
    "example: cccmap --n 64 --virtual 16:cyclic --physical 4:block\n";

constexpr int64_t kMostDrawn = 128;  // indices of a dimension that text and picture show

[[noreturn]] void refuse_line(const std::string& sentence) {
  fprintf(stderr, "cccmap: %s; see --help\n", sentence.c_str());
  exit(2);
}

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == by) parts.emplace_back();
    else parts.back() += c;
  return parts;
}

int64_t number(const std::string& text) {
  char* end = nullptr;
  const int64_t value = strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') refuse_line("'" + text + "' is no number");
  return value;
}

struct Spec {
  int64_t processors;
  std::string function;
};
std::vector<Spec> specs(const std::string& text, size_t dimensions) {
  std::vector<Spec> found;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> words = split(part, ':');
    if (words.size() != 2) refuse_line("'" + part + "' is not PROCESSORS:FUNCTION");
    found.push_back({number(words[0]), words[1]});
  }
  if (found.size() != dimensions) refuse_line("'" + text + "' must say as much for each dimension of --n");
  return found;
}

void require(int code) {
  if (code != CCC_SUCCESS) {
    fprintf(stderr, "cccmap: %s\n", ccc_explain());
    exit(2);
  }
}

ccc_axis axis_of(int64_t n, const Spec& spec) {
  ccc_axis axis{};
  if (spec.function == "block") require(ccc_block(&axis, n, spec.processors));
  else if (spec.function == "cyclic") require(ccc_cyclic(&axis, n, spec.processors));
  else if (spec.function == "balanced") require(ccc_balanced(&axis, n, spec.processors));
  else if (spec.function == "whole") require(ccc_compress(&axis, n));
  else require(ccc_block_cyclic(&axis, n, number(spec.function), spec.processors));
  return axis;
}
void cascade(ccc_axis& axis, const Spec& spec) {
  const int64_t block = spec.function == "block"    ? 0
                        : spec.function == "cyclic" ? 1
                        : spec.function == "whole"  ? processors(axis)
                                                    : number(spec.function);
  require(ccc_cascade(&axis, block, spec.function == "whole" ? 1 : spec.processors));
}

std::string steps(const ccc_axis& axis) {
  std::string text = is_balanced(axis) ? "balanced" : "";
  for (int i = 0; i < axis.steps && !is_balanced(axis); ++i)
    text +=
        (i ? " then " : "") + ("block-cyclic(" + std::to_string(axis.step[i].block)) + ") on " + std::to_string(axis.step[i].processors);
  return text;
}

// Facts of one dimension: counts, periods, the theorem.
void tell(const ccc_axis& axis, int dimension) {
  printf("dimension %d: %" PRId64 " indices, %s; room %" PRId64 "\n", dimension, axis.n, steps(axis).c_str(), room(axis));
  if (axis.steps == 1) return;
  ccc_axis merged{};
  std::string left;
  for (int i = 0; i + 1 < axis.steps; ++i)
    if (keeps_period(axis, i)) left += " " + std::to_string(period(axis, i));
  printf("  periods left:%s\n", left.empty() ? " none" : left.c_str());
  if (ccc_merges(&axis, &merged))
    printf("  theorem 6.1 holds: the targets are those of block-cyclic(%" PRId64 "), whose room is %" PRId64 "\n", merged.step[0].block,
           room(merged));
  else
    printf("  theorem 6.1 does not hold: no one block-cyclic distribution with blocks of %" PRId64 " has these targets\n",
           axis.hidden[kBlock]);
}

// The indices of each: a line for each processor.
void list(const ccc_axis& axis) {
  for (int64_t t = 0; t < processors(axis) && t < kMostDrawn; ++t) {
    printf("  %4" PRId64 " has %" PRId64 ":", t, count(axis, t));
    int64_t shown = 0, last = -2;
    for (int64_t o = 0; o < room(axis) && shown < 64; ++o) {
      const int64_t s = global(axis, t, o);
      if (s < 0) continue;
      if (s == last + 1) {
        last = s;
        continue;
      }
      if (last >= 0) printf("-%" PRId64, last);
      printf(" %" PRId64, s);
      last = s;
      ++shown;
    }
    printf(last >= 0 ? "-%" PRId64 "%s\n" : "\n", last, shown == 64 ? " .." : "");
  }
}

char letter(int64_t pe) { return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[pe % 62]; }

int64_t owner(const std::vector<ccc_axis>& axes, int64_t row, int64_t column) {
  if (axes.size() == 1) return target(axes[0], column);
  return target(axes[0], row) * processors(axes[1]) + target(axes[1], column);
}

void draw_text(const std::vector<ccc_axis>& axes) {
  const int64_t rows = axes.size() == 1 ? 1 : std::min(kMostDrawn, axes[0].n), columns = std::min(kMostDrawn, axes.back().n);
  for (int64_t r = 0; r < rows; ++r) {
    printf("  ");
    for (int64_t c = 0; c < columns; ++c) putchar(letter(owner(axes, r, c)));
    printf("\n");
  }
}

void draw_svg(const std::vector<ccc_axis>& axes, const std::string& path) {
  FILE* const file = fopen(path.c_str(), "w");
  if (!file) refuse_line("'" + path + "' cannot be written");
  constexpr int64_t kCell = 12;
  const int64_t rows = axes.size() == 1 ? 1 : std::min(kMostDrawn, axes[0].n), columns = std::min(kMostDrawn, axes.back().n);
  int64_t all = 1;
  for (const ccc_axis& axis : axes) all *= processors(axis);
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
          "\" font-family=\"sans-serif\" font-size=\"7\">\n",
          columns * kCell, rows * kCell);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t pe = owner(axes, r, c);
      fprintf(file,
              "<g><title>[%" PRId64 ",%" PRId64 "] PE %" PRId64 "</title><rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64
              "\" height=\"%" PRId64 "\" fill=\"hsl(%" PRId64 ",60%%,75%%)\" stroke=\"#fff\" stroke-width=\"0.5\"/><text x=\"%" PRId64
              "\" y=\"%" PRId64 "\">%" PRId64 "</text></g>\n",
              r, c, pe, c * kCell, r * kCell, kCell, kCell, pe * 360 / all, c * kCell + 2, r * kCell + 9, pe);
    }
  fprintf(file, "</svg>\n");
  if (fclose(file) != 0) refuse_line("'" + path + "' cannot be written");
}

ccc_layout layout_of(const std::vector<ccc_axis>& axes) {
  ccc_layout layout{};
  layout.axes = static_cast<int>(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) layout.axis[d] = axes[d];
  return layout;
}

void tell_cost(const char* what, const std::vector<ccc_axis>& from, const std::vector<ccc_axis>& to, size_t size) {
  const ccc_layout a = layout_of(from), b = layout_of(to);
  ccc_cost cost{};
  require(ccc_cost_of(&a, &b, nullptr, size, &cost));
  printf("%s: %" PRId64 " messages, %" PRId64 " bytes in %" PRId64 " pieces, at most %" PRId64 " bytes of one PE\n", what, cost.messages,
         cost.bytes, cost.pieces, cost.most_bytes_of_a_pe);
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<std::string> n, deal, physical, to, svg, size;
  const std::pair<std::string_view, std::optional<std::string>*> options[] = {
      {"--n", &n}, {"--virtual", &deal}, {"--physical", &physical}, {"--to", &to}, {"--svg", &svg}, {"--size", &size}};
  for (int a = 1; a < argc; a += 2) {
    if (strcmp(argv[a], "--help") == 0 || strcmp(argv[a], "-h") == 0) return fputs(kHelp, stdout), 0;
    std::optional<std::string>* value = nullptr;
    for (const auto& [name, where] : options)
      if (name == argv[a]) value = where;
    if (!value) refuse_line("there is no option '" + std::string(argv[a]) + "'");
    if (a + 1 == argc) refuse_line("'" + std::string(argv[a]) + "' wants a value");
    *value = argv[a + 1];
  }
  if (!n || !deal) refuse_line("--n and --virtual are needed");
  std::vector<int64_t> extents;
  for (const std::string& word : split(*n, ',')) extents.push_back(number(word));
  if (extents.size() > 2) refuse_line("at most two dimensions are drawn");
  const std::vector<Spec> dealt = specs(*deal, extents.size());
  std::vector<ccc_axis> axes, there;
  for (size_t d = 0; d < extents.size(); ++d) axes.push_back(axis_of(extents[d], dealt[d]));
  if (physical) {
    const std::vector<Spec> pes = specs(*physical, extents.size());
    for (size_t d = 0; d < extents.size(); ++d) cascade(axes[d], pes[d]);
  }
  for (size_t d = 0; d < axes.size(); ++d) tell(axes[d], static_cast<int>(d)), list(axes[d]);
  printf("owners, by PE:\n");
  draw_text(axes);
  if (svg) draw_svg(axes, *svg);
  const int64_t bytes = size ? number(*size) : 8;
  if (bytes < 1) refuse_line("--size must be above 0");
  if (to) {
    const std::vector<Spec> others = specs(*to, extents.size());
    for (size_t d = 0; d < extents.size(); ++d) there.push_back(axis_of(extents[d], others[d]));
    tell_cost("redistribution", axes, there, static_cast<size_t>(bytes));
  }
  return 0;
}
