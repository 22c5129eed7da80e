// Reads the options of a tool: see command_line.hpp.
//
// Thread: one.
#include "engine/tools/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace portunus {
namespace {

// Comparisons let NaN pass.
const CLI::Validator kFinite(
    [](std::string& word) {
      double value = 0;
      const bool good = CLI::detail::lexical_cast(word, value) && std::isfinite(value) && value >= 0;
      return good ? std::string() : "'" + word + "' is not a number from 0 on";
    },
    "NUMBER");

CLI::Option* exclude(CLI::Option* option, CommandLine::Excluded excluded) {
  for (CLI::Option* other : excluded) option->excludes(other);
  return option;
}

}  // namespace

int told(const char* tool, int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "%s: the output cannot be written (%s); make room for it\n", tool, errno ? std::strerror(errno) : "it was refused");
  return 1;
}

CommandLine::CommandLine(const char* tool, const char* about, const char* footer) : tool_(tool), app_(std::make_unique<CLI::App>(about)) {
  app_->footer(footer);
  app_->set_version_flag("--version", std::string(tool) + " (Portunus) " PTL_VERSION);
}

CommandLine::~CommandLine() = default;

CLI::Option* CommandLine::flag(const char* name, bool& value, const char* help, Excluded excluded) {
  return exclude(app_->add_flag(name, value, help), excluded);
}

CLI::Option* CommandLine::text(const char* name, std::string& value, const char* help, Excluded excluded) {
  return exclude(app_->add_option(name, value, help), excluded);
}

void CommandLine::number(const char* name, std::optional<uint32_t>& value, const char* help) { app_->add_option(name, value, help); }

void CommandLine::number(const char* name, uint32_t& value, const char* help, uint32_t least, uint32_t most) {
  app_->add_option(name, value, help)->check(CLI::Range(least, most));
}

void CommandLine::positive(const char* name, double& value, const char* help) { app_->add_option(name, value, help)->check(kFinite); }

void CommandLine::positive(const char* name, std::optional<double>& value, const char* help) {
  app_->add_option(name, value, help)->check(kFinite);
}

void CommandLine::seconds(const char* name, std::optional<double>& value, const char* help) {
  app_->add_option(name, value, help)->type_name("SECONDS");
}

void CommandLine::command(std::vector<std::string>& words) {
  app_->prefix_command();
  command_ = &words;
}

std::optional<Said> CommandLine::read(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    if (command_) *command_ = app_->remaining();
  } catch (const CLI::CallForHelp&) {
    return Said{0, app_->help()};
  } catch (const CLI::CallForVersion& version) {
    return Said{0, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return Said{kBadUse, std::string(error.what()) + "; run '" + tool_ + " --help' for the options"};
  }
  return std::nullopt;
}

std::optional<int> CommandLine::read_or_tell(int argc, char** argv) {
  const std::optional<Said> said = read(argc, argv);
  if (!said) return std::nullopt;
  if (said->status == 0) std::fputs(said->text.c_str(), stdout);
  else std::fprintf(stderr, "%s: %s\n", tool_, said->text.c_str());
  return said->status;
}

}  // namespace portunus
