// Whatever comes over a connection between launchers, or between a launcher and the process that serves PMIx: messages come out whole and
// in order or the connection is garbled for good, and a body read piece by piece gives no byte twice and none from beyond its end. The
// first byte says how large the pieces are in which the rest arrives.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/tools/ptlrun/channel.hpp"
#include "tests/fuzz/replay.hpp"

namespace {

using namespace portunus::launch;

// Numbers and texts, as many as there are.
void read(const std::string& body) {
  Reader reader(body);
  size_t taken = 0;
  for (unsigned i = 0; reader.good() && taken <= body.size(); ++i) {
    if (i % 3 == 2) taken += 4 + reader.text().size();
    else reader.number(), taken += 4;
    require(!reader.good() || taken <= body.size(), "no more is read than there is");
    require(reader.complete() == (reader.good() && taken == body.size()), "a body is complete when all of it was read");
  }
  require(reader.number() == 0 && reader.text().empty(), "beyond the end there are zeros and empty texts");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
  const size_t piece = 1 + data[0];
  std::string given(reinterpret_cast<const char*>(data) + 1, size - 1), understood;
  Channel channel(ends[0]);
  Message message{};
  for (size_t at = 0; at < given.size(); at += piece) {
    if (send(ends[1], given.data() + at, std::min(piece, given.size() - at), MSG_NOSIGNAL) < 0) break;
    require(channel.receive(), "who has spoken has not gone");
    while (channel.next(message)) {
      require(message.body.size() <= kMaxBody && message.word >= kFirstWord && message.word <= kLastWord, "a message has a known head");
      std::string again = framed(message);
      again[7] = given[understood.size() + 7];  // of no meaning
      understood += again;
      read(message.body);
    }
  }
  require(given.compare(0, understood.size(), understood) == 0, "messages come whole and in order");
  require(understood.size() + channel.unread() <= given.size(), "nothing is made up");
  const bool garbled = channel.garbled();
  close(ends[1]);
  while (channel.receive()) {
  }
  require(!garbled || !channel.next(message), "what is garbled stays so");
  channel.shut();
  return 0;
}
