// Whatever a process sends to a port, to a server or as an answer: its words are understood as they were written, and no length or place
// in them reaches beyond what came or what there is. Match bits, header data, and the sender's process come first, each of eight bytes;
// then how much more was sent than came (one byte), and the packet.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi-adi/ipc/packet.hpp"
#include "tests/fuzz/replay.hpp"

namespace {

using namespace portunus::peace;

void words(uint64_t bits, uint64_t hdr_data, uint64_t process) {
  const auto port = static_cast<uint32_t>(bits >> kPortShift) & kMostPort;
  const auto generation = static_cast<uint32_t>(bits >> kGenerationShift) & kMostGeneration;
  require(match_bits(form_of(bits), (bits & kTryBit) != 0, port, generation, type_of(bits)) == bits, "match bits are read as written");
  const peace_address_t sender = sender_of(process, hdr_data);
  require(sender.process == process, "Portals names the sender, not the packet");
  require(sender.port <= kMostPort && sender.generation <= kMostGeneration, "an address lies within its limits");
  require(sender.port != 0 || sender.generation == 0, "who has no port has no generation");
  if (sender.port != 0)
    require(header_data(sender.port, sender.generation, token_of(hdr_data)) == hdr_data, "header data is read as written");
}

void answers(uint64_t hdr_data, uint64_t came, uint64_t more) {
  const peace_message_t message = message_of_answer(hdr_data, came, came + more);
  require(message.moved <= came && message.moved <= message.sent, "no more was moved than came, or than was sent");
  require(answer_of(hdr_data) == Answer::merged || message.sent == came + more, "only an answer laid over others says its size itself");
}

void call(const uint8_t* data, size_t came, size_t more) {
  CallPacket packet;
  if (came > sizeof packet) more += came - sizeof packet, came = sizeof packet;  // an entry takes no more
  std::memset(static_cast<void*>(&packet), 0xa5, sizeof packet);                 // of a call before
  if (came) std::memcpy(static_cast<void*>(&packet), data, came);
  if (!well_formed(packet.header, came, came + more)) return;
  const CallHeader& header = packet.header;
  require(more == 0 && came >= sizeof header, "a call that was cut is none");
  if (header.out_bytes <= kInline) require(came == sizeof header + header.out_bytes, "what came along is what there is");
  else require(came == sizeof header, "what lies elsewhere does not come along");
  if (header.lies_at == 0) return;
  require(lies_at(block_of(header.lies_at), offset_in_block(header.lies_at)) == header.lies_at, "a place is read as written");
  const uint64_t size = header.in_room, offset = offset_in_block(header.lies_at);
  uint64_t end;
  const bool wraps = __builtin_add_overflow(offset, header.out_bytes, &end);
  require(lies_within(offset, header.out_bytes, size) == (!wraps && end <= size), "a range lies within or not, also at the end of all");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 25) return 0;
  uint64_t front[3];
  std::memcpy(front, data, sizeof front);
  const size_t came = size - 25, more = data[24];
  words(front[0], front[1], front[2]);
  answers(front[1], came, more);
  call(data + 25, came, more);
  return 0;
}
