// The table, and writing the file: see report.hpp.
//
// Thread: one.
#include "engine/tools/goaltune/report.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/tools/goaltune/winners.hpp"

namespace portunus::goaltune {

using goal::collectives::Algorithm;
using goal::collectives::Choices;
using goal::collectives::line_of;
using goal::collectives::name_of;
using goal::collectives::offered;
using goal::collectives::Rule;
using goal::collectives::size_text;

namespace {

// Every point is covered by a rule: they were made from these.
Algorithm chosen(std::span<const Rule> rules, const Point& point) {
  return std::ranges::find_if(rules, [&](const Rule& rule) { return rule.holds(point.collective, point.bytes, point.ranks, point.place); })
      ->algorithm;
}

// Losses as they add up over points: their worst, and their geometric mean.
struct Sum {
  double worst = 0, logarithms = 0;
  size_t points = 0;
  void add(double loss) {
    worst = std::max(worst, loss);
    logarithms += std::log1p(loss);
    ++points;
  }
  [[nodiscard]] double mean() const { return points == 0 ? 0 : std::expm1(logarithms / static_cast<double>(points)); }
};

std::string sentence(const std::string& path, const char* what, int cause) {
  return path + ": the file cannot be " + what + " (" + std::strerror(cause) + "); name one in a folder where files can be made";
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    done += static_cast<size_t>(wrote);
  }
  return ::fsync(file) == 0;
}

}  // namespace

void print_table(std::span<const Point> points, Choices choices, const char* name_of_choices, std::span<const Rule> rules, double margin) {
  std::printf("%-15s %6s %5s  %-18s %7s  %-18s %7s  times in us\n", "collective", "size", "ranks", name_of_choices, "loses", "measured",
              "loses");
  Sum in_force, measured;
  size_t wrong = 0;
  for (const Point& point : points) {
    choices.take_place({.all = point.place, .within = {}, .between = {}});
    const Algorithm now = choices.of(point.collective, point.bytes, point.ranks).algorithm, then = chosen(rules, point);
    const Loss loss_now = loss_of(point, now), loss_then = loss_of(point, then);
    in_force.add(loss_now.seen);
    measured.add(loss_then.seen);
    if (loss_now.sure > margin) ++wrong;
    std::printf("%-15s %6s %5u  %-18s %5.0f%%%c  %-18s %5.0f%%  ", name_of(point.collective).data(), size_text(point.bytes).c_str(),
                point.ranks, name_of(now).data(), 100 * loss_now.seen, loss_now.sure > margin ? '!' : ' ', name_of(then).data(),
                100 * loss_then.seen);
    for (size_t i = 0; i < point.times.size(); ++i)
      std::printf(" %s %.2f+-%.2f", name_of(offered(point.collective)[i]).data(), point.times[i], point.doubts[i]);
    std::printf("\n");
  }
  std::printf("%zu points; %s loses %.1f%% (geometric mean) and at most %.0f%%, beyond doubt more than the margin at %zu points (!);\n",
              points.size(), name_of_choices, 100 * in_force.mean(), 100 * in_force.worst, wrong);
  std::printf("the measured rules lose %.1f%% and at most %.0f%%\n", 100 * measured.mean(), 100 * measured.worst);
}

std::string file_text(const Facts& facts, std::span<const Rule> rules) {
  const std::string per_node = facts.least_per_node == facts.most_per_node
                                   ? std::to_string(facts.most_per_node)
                                   : std::to_string(facts.least_per_node) + " to " + std::to_string(facts.most_per_node);
  char margin[32];
  std::snprintf(margin, sizeof margin, "%.3g", 100 * facts.margin);
  std::string text = "# Algorithms of collectives, measured by goaltune (Portunus " PTL_VERSION ") on " + facts.date + "\n";
  text += "#   machine:         " + facts.machine + "\n";
  text += "#   ranks:           " + std::to_string(facts.ranks) + "\n";
  text += "#   ranks per node:  " + per_node + "\n";
  text += "#   transport:       " + facts.transport + "\n";
  text += std::string("#   oversubscribed:  ") + (facts.crowded ? "yes, more ranks than cores" : "no") + "\n";
  text += std::string("#   margin:          ") + margin + " percent\n";
  text += "# Use: PTL_COLLECTIVES=file=PATH, on all ranks. Of each collective the first line that holds is used; what no line\n";
  text += "# covers is as the built-in table says.\n#\n# collective, up to bytes, up to ranks, algorithm, where\n";
  for (size_t i = 0; i < rules.size(); ++i) {
    if (i > 0 && rules[i].collective != rules[i - 1].collective) text += "\n";
    text += line_of(rules[i]) + "\n";
  }
  return text;
}

// Something that is no regular file would be lost when another takes its name.
std::string cannot_write(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return path + ": this is no regular file; name a file that goaltune may replace";
  if (::access(folder_of(path).c_str(), W_OK | X_OK) != 0) return sentence(path, "written", errno);
  return "";
}

std::string write_file(const std::string& path, const std::string& text) {
  std::string beside = path + ".XXXXXX";
  const int file = ::mkstemp(beside.data());
  if (file < 0) return sentence(path, "made", errno);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  bool good = ::fchmod(file, 0666 & ~mask) == 0 && write_all(file, text);
  int cause = errno;
  if (::close(file) != 0 && good) {
    good = false;
    cause = errno;
  }
  if (good && ::rename(beside.c_str(), path.c_str()) == 0) return "";
  if (good) cause = errno;
  ::unlink(beside.c_str());
  return sentence(path, "written", cause);
}

}  // namespace portunus::goaltune
