// trace.hpp: what happened when in a simulated run, as JSON for Perfetto (ui.perfetto.dev), written while it runs.
//
// Each rank is a process of the trace with three tracks: what it does (computes, waits, sleeps), what leaves its network card, and what
// comes to it; messages are arrows from one card to the other. Times are virtual. Waits that follow one another at once are one.
//
// Thread: one. close() may be called from a signal's handler: it takes no memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace portunus::ptlsim {

class Trace {
 public:
  // Throws std::runtime_error with a sentence if the file cannot be written.
  Trace(const std::string& path, uint32_t ranks);
  ~Trace() { close(); }
  Trace(const Trace&) = delete;

  // ---- what a rank does, from `begin` to `end` in ns ----
  void computes(uint32_t rank, uint64_t begin, uint64_t end);
  void sleeps(uint32_t rank, uint64_t begin, uint64_t end);
  // `call`, `what`: of a wait that has lasted, else empty.
  void waits(uint32_t rank, uint64_t begin, uint64_t end, const std::string& call, const std::string& what);
  void happens(uint32_t rank, uint64_t at, const char* what);

  // ---- messages: each has a number ----
  // The card is busy for `lasts`, from `now` on or when it has sent what it had before.
  void leaves(uint64_t number, uint32_t from, uint32_t to, uint64_t now, uint64_t lasts, size_t bytes, const char* kind);
  // All of it is there at `due`.
  void arrives(uint64_t number, uint32_t from, uint32_t to, uint64_t due, uint64_t lasts, size_t bytes, const char* kind);

  // Writes what is left. False if something could not be written.
  bool close();

 private:
  enum Track : uint32_t { does, sends, receives };
  struct Wait {
    uint64_t begin = 0, end = 0;
    std::string call, what;
  };
  void slice(uint32_t rank, Track track, uint64_t begin, uint64_t end, const char* name, const char* arguments = "{}");
  void arrow(char phase, uint64_t number, uint32_t rank, Track track, uint64_t at);
  void end_wait(uint32_t rank);
  void put(const char* text, size_t size);
  void write_out();

  int file_ = -1;
  bool failed_ = false, first_ = true;
  std::string buffer_;
  std::vector<Wait> waits_;           // of each rank the one that may go on
  std::vector<uint64_t> sent_until_;  // by its card
};

}  // namespace portunus::ptlsim
