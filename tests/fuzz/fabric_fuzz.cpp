// Whatever bytes a provider delivers, what is taken for a message lies within them, one behind the other, and what a grant says never lets
// a sender have more under way than its window. The input is one delivery after the other, each behind a byte with its length.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/transport/fabric/credit.hpp"
#include "engine/transport/fabric/message.hpp"
#include "tests/fuzz/replay.hpp"

namespace {

using namespace portunus;

// Both ends of a link, as FabricTransport keeps them, and what is true of them.
struct Ends {
  fabric::Credit credit;
  fabric::ReceiveCredit grant;
  fabric::CreditPool credit_pool;
  uint64_t spent = 0;
  uint8_t sum = 0;  // so that payloads are read
  static constexpr uint64_t kMost = 1 << 20;

  void granted(uint64_t total) {
    if (!credit.granted(total)) return;
    require(total >= fabric::kOneMessage, "a grant never takes back what every sender has");
    while (credit.covers(fabric::kOneMessage)) credit.spend(fabric::kOneMessage), spent += fabric::kOneMessage;
    require(spent <= total, "no more is sent than was granted");
  }

  void arrived(const fabric::Message& message) {
    const bool eager_rdma = message.header.payload_size == wire::kWhole;
    const size_t size = eager_rdma ? 0 : message.header.payload_size;
    if (eager_rdma) require(message.header.rlength <= fabric::kEagerRdmaMost, "what travels whole is no longer than its place");
    for (size_t i = 0; i < size; ++i) sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(message.payload[i]));
    if (size > fabric::kEager || !credit_pool.take(grant, fabric::cost_of(message.header))) return;
    if (credit_pool.is_due(grant, kMost)) credit_pool.tell(grant, credit_pool.next_total(grant, kMost));
    require(grant.outstanding() >= fabric::kOneMessage, "whoever was heard may send a message of any length");
    require(grant.outstanding() <= fabric::kWindow && credit_pool.lent() <= kMost, "and no more than its window");
  }

  // Length of what the bytes begin with; 0: nothing of them is worth a look any more.
  size_t take(std::span<const std::byte> bytes) {
    fabric::Message message;
    const size_t size = fabric::decode_first(bytes, message);
    require(size <= bytes.size(), "a message lies within what was delivered");
    if (size == 0) return 0;
    if (message.prefix.magic == fabric::kGrantMagic) granted(message.total);
    else if (fabric::word_size(message.prefix.magic) == 0) arrived(message);
    return size;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Ends ends;
  for (size_t at = 0; at < size;) {
    const size_t length = std::min<size_t>(size - at - 1, size_t{data[at]} * 4);
    // Memory of its own, so that whoever reads beyond is found.
    const auto* const begin = reinterpret_cast<const std::byte*>(data) + at + 1;
    const std::vector<std::byte> delivery(begin, begin + length);
    std::span<const std::byte> bytes(delivery);
    while (!bytes.empty()) {
      const size_t taken = ends.take(bytes);
      if (taken == 0) break;
      bytes = bytes.subspan(taken);
    }
    at += 1 + length;
  }
  return 0;
}
