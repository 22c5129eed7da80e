// command_line.hpp: the options of a tool. CLI11 reads them, in command_line.cpp alone, since it takes long to compile. Thread: one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace portunus {

constexpr int kBadUse = 2;

// Why a tool ends before its work, and what it says: help, the version, or (with status kBadUse) what is wrong.
struct Said {
  int status;
  std::string text;
};

// The status of a tool that is about to end with `status`: 1, with a sentence, if what it printed could not be written.
[[nodiscard]] int told(const char* tool, int status);

// Options are declared, each with the place of its value, which must outlive read(); then read once.
class CommandLine {
 public:
  using Excluded = std::initializer_list<CLI::Option*>;

  CommandLine(const char* tool, const char* about, const char* footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // A name without dashes is a place in the line. What is returned may be excluded from use with others.
  CLI::Option* flag(const char* name, bool& value, const char* help, Excluded excluded = {});
  CLI::Option* text(const char* name, std::string& value, const char* help, Excluded excluded = {});
  void number(const char* name, std::optional<uint32_t>& value, const char* help);
  void number(const char* name, uint32_t& value, const char* help, uint32_t least, uint32_t most);
  void positive(const char* name, double& value, const char* help);  // or zero
  void positive(const char* name, std::optional<double>& value, const char* help);
  void seconds(const char* name, std::optional<double>& value, const char* help);  // any number: the tool judges

  // A program and all that follows it, for which there are no options of the tool.
  void command(std::vector<std::string>& words);

  // Nothing: go on.
  [[nodiscard]] std::optional<Said> read(int argc, char** argv);
  // The same, with the text printed; the exit status.
  [[nodiscard]] std::optional<int> read_or_tell(int argc, char** argv);

 private:
  const char* tool_;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::string>* command_ = nullptr;
};

}  // namespace portunus
