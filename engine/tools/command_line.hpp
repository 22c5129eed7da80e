// command_line.hpp: reading the options of a tool that prints and ends. Thread: one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace portunus {

constexpr int kBadUse = 2;

// Nothing: go on. Else the exit status: help or version were asked for and printed, or an option is wrong and was told.
inline std::optional<int> read_command_line(CLI::App& app, const char* tool, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s; run '%s --help' for the options\n", tool, error.what(), tool);
    return kBadUse;
  }
  return std::nullopt;
}

}  // namespace portunus
