// The ranks' output with a tag before each line, and the terminal's input for rank 0.
//
// Thread: ptlrun's main thread, from its poll loop.
// Invariants: output leaves in whole lines, one after the other, over both of ptlrun's descriptors; nothing here blocks.
#pragma once

#include <poll.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace portunus::launch {

class TaggedOutput {
 public:
  ~TaggedOutput();

  // A new pipe; what is written to the returned end comes out of `target` (1 or 2), tagged. The caller closes that end once
  // the rank has it. Throws Refusal.
  int open_stream(std::string tag, int target);

  // A line from ptlrun itself, or from a stream; it leaves when service() finds the target writable.
  void add_line(int target, std::string_view tag, std::string_view line);

  // Appends what poll() shall watch; service() is given the whole list with poll's answers, in any order.
  void watch(std::vector<pollfd>& list) const;
  void service(const std::vector<pollfd>& list);

  // True when all that was read has been written.
  bool written() const { return queue_.empty(); }

  // After the last writer has ended: takes what is still in the pipes, and ends lines that have no end.
  void close_streams();

 private:
  struct Stream {
    int fd;
    int target;
    std::string tag;
    std::string line;  // the part of a line that has come so far
  };
  struct Chunk {
    int target;
    std::string text;
    size_t written;
  };

  bool take(Stream& stream);
  void end_stream(Stream& stream);
  void write_some();
  void reader_left(int target);

  std::vector<Stream> streams_;
  std::deque<Chunk> queue_;
  size_t queued_bytes_ = 0;
};

// Ranks live in process groups of their own, which a terminal does not let read: ptlrun reads for rank 0.
class TerminalInput {
 public:
  ~TerminalInput();

  // The descriptor that shall be rank 0's input: 0 itself when that is no terminal, else the end of a new pipe, which
  // rank_started() closes here. Throws Refusal.
  int open_for_rank();
  void rank_started();

  void watch(std::vector<pollfd>& list) const;
  void service(const std::vector<pollfd>& list);

 private:
  void close_pipe();

  int rank_end_ = -1;
  int our_end_ = -1;
  std::string pending_;  // read from the terminal, not yet taken by the pipe
};

}  // namespace portunus::launch
