// Whatever a sender of the node writes into its box, the reader stays within it and comes to an end; and what an honest writer publishes
// is read as it was written, whole and in order. The first byte says how large the box is and which of the two it is; the others are the
// box, or a script of records and reads, before some of which the writer goes ahead.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "engine/transport/node/sender_ring.hpp"
#include "tests/fuzz/replay.hpp"

namespace {

using namespace portunus;

struct alignas(64) Line {
  std::byte bytes[SenderRing::kLine];
};

void read_anything(std::vector<Line>& lines, const uint8_t* data, size_t size) {
  std::memcpy(static_cast<void*>(lines.data()), data, std::min(size, lines.size() * sizeof(Line)));
  std::atomic<uint64_t> head{0};
  SenderRingReader reader;
  reader.lines = reinterpret_cast<std::byte*>(lines.data());
  reader.capacity = lines.size();
  reader.head = &head;
  // Nobody clears what is read here, so the records may go round and round.
  for (size_t reads = 0; reads < 4 * lines.size() && !reader.broken; ++reads) {
    uint32_t count = 0;
    std::byte* const record = reader.next(count);
    if (!record) break;
    const size_t first = static_cast<size_t>(record - reinterpret_cast<std::byte*>(lines.data())) / SenderRing::kLine;
    require(first < lines.size() && count > 0 && count <= lines.size() - first, "a record lies within its box");
    reader.done(count);
  }
  require(!reader.broken || reader.empty(), "what is broken has nothing more to say");
}

void write_and_read(std::vector<Line>& lines, const uint8_t* data, size_t size) {
  std::atomic<uint64_t> head{0};
  SenderRingReader reader;
  SenderRingWriter writer;
  for (SenderRing* each : {static_cast<SenderRing*>(&reader), static_cast<SenderRing*>(&writer)}) {
    each->lines = reinterpret_cast<std::byte*>(lines.data());
    each->capacity = lines.size();
    each->head = &head;
  }
  struct Record {
    uint64_t count;
    uint8_t mark;
  };
  std::deque<Record> published;
  for (size_t i = 0; i < size; ++i) {
    const uint64_t count = 1 + (data[i] & 0x7f) % (lines.size() / 2);
    if (data[i] & 0x80) {
      std::byte* const record = writer.reserve(count);
      if (!record) {
        require(!published.empty() || count + 1 > lines.size() / 2, "an empty box has room");
        continue;
      }
      std::memset(record + 4, data[i], count * SenderRing::kLine - 4);
      writer.publish(record, count);
      published.push_back({count, data[i]});
      continue;
    }
    if (data[i] & 0x40) writer.prefault_next(count);
    uint32_t read = 0;
    const std::byte* const record = reader.next(read);
    require(!reader.broken, "what an honest writer wrote makes sense");
    require((record != nullptr) == !published.empty(), "a record is there as soon as it is published, and once");
    if (!record) continue;
    require(read == published.front().count, "a record is as long as it was");
    for (size_t b = 4; b < read * SenderRing::kLine; ++b)
      require(b % SenderRing::kLine < 4 || record[b] == std::byte{published.front().mark}, "a record is as it was written");
    reader.done(read);
    published.pop_front();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<Line> lines(size_t{4} << data[0] % 4);
  if (data[0] & 0x80) write_and_read(lines, data + 1, size - 1);
  else read_anything(lines, data + 1, size - 1);
  return 0;
}
