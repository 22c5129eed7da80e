// failures_test.cpp: every transfer that a provider can fail, by one that fails the n-th, for every n: what was begun ends on both sides.
//
// Needs FI_PROVIDER_PATH, where the provider `demanding` lies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/transport/fabric/fabric.hpp"
#include "tests/engine/transport_pair.hpp"

namespace portunus {
namespace {

constexpr size_t kBulk = 300'000;
constexpr uint64_t kLast = 99;

// Two ends, of which the first has the fault, sends messages of all lengths, and reads and writes the other's memory.
class Exchange {
 public:
  explicit Exchange(const std::string& fault) {
    do {  // the end with the smaller address sends probes: each time the same one, so that the n-th transfer is the same
      for (const int side : {0, 1}) {
        setenv("DEMANDING", side == 0 ? fault.c_str() : "", 1);
        ends_[side] = std::make_unique<FabricTransport>(sinks[side], FabricOptions{"demanding", "127.0.0.1", 0, getuid(), 1});
      }
    } while (ends_[1]->self().pid < ends_[0]->self().pid);
    link_ = ends_[0]->connect(ends_[1]->self());
    link_->peer = Recorder::somebody();
  }

  // Returns false when the first end has lost the other.
  bool run() {
    bool goes = true;
    for (uint64_t i = 0; goes && i < 3; ++i) goes = send(i, i == 1 ? ends_[0]->limits().eager : 8 * i);
    while (goes && !lost() && sinks[1].arrivals.size() < 3) pump();
    if (lost()) return false;
    std::vector<std::byte> mine(kBulk, std::byte{1}), theirs(kBulk, std::byte{2});
    for (const bool out : {false, true})
      if (!move(out, mine, theirs)) return false;
    goes = send(kLast, 0);
    while (goes && !lost() && sinks[1].arrivals.back().header.match_bits != kLast) pump();
    return !lost();
  }
  // The other end hears of the loss, too, if it has heard of the first one.
  void expect_both_know() {
    while (sinks[0].losses.empty() || (!sinks[1].introductions.empty() && sinks[1].losses.empty())) pump();
    EXPECT_EQ(sinks[0].losses.size(), 1u);
    EXPECT_LE(sinks[1].losses.size(), 1u);
  }

  Recorder sinks[2];
  size_t moves_failed = 0;

 private:
  void pump() {
    for (auto& end : ends_) {
      end->poll(16);
      end->housekeeping(true);
    }
  }
  bool lost() const { return !sinks[0].losses.empty(); }
  bool send(uint64_t number, size_t size) {
    const std::vector<std::byte> payload(size, std::byte{7});
    const iovec piece{const_cast<std::byte*>(payload.data()), size};
    wire::Header header{};
    header.kind = wire::Kind::put;
    header.match_bits = number;
    header.payload_size = static_cast<uint16_t>(size);
    header.rlength = size;
    Sent sent;
    while ((sent = ends_[0]->send(*link_, header, {&piece, 1})) == Sent::again) pump();
    return sent == Sent::done;
  }
  bool move(bool out, std::vector<std::byte>& mine, std::vector<std::byte>& theirs) {
    Exposed exposed;
    Link& other = *sinks[1].arrivals.front().from;
    EXPECT_TRUE(ends_[1]->expose(other, theirs.data(), kBulk, out, exposed));
    Moved moved;
    do {
      moved = out ? ends_[0]->push(*link_, exposed.region, mine.data(), kBulk, &mine)
                  : ends_[0]->pull(*link_, exposed.region, mine.data(), kBulk, &mine);
      pump();
    } while (moved == Moved::again);
    while (moved == Moved::started && sinks[0].moves[&mine].empty()) pump();
    const bool fine = moved == Moved::done || (moved == Moved::started && sinks[0].moves[&mine].back());
    moves_failed += !fine;
    EXPECT_TRUE(!fine || mine == theirs);
    sinks[0].moves.clear();
    ends_[1]->withdraw(exposed);
    return !lost();
  }

  std::unique_ptr<FabricTransport> ends_[2];
  Link* link_ = nullptr;
};

class FabricFailure : public testing::TestWithParam<const char*> {};

// A message that is missing ends the link, on both sides. Data that cannot be moved are told as such, and the engine sends them by
// messages.
TEST_P(FabricFailure, OfTheNthTransferEndsWhatWasBegunOnBothSides) {
  size_t losses = 0, moves = 0;
  for (uint64_t n = 1;; ++n) {
    Exchange exchange(GetParam() + std::to_string(n));
    const bool through = exchange.run();
    if (!through) exchange.expect_both_know();
    losses += !through;
    moves += exchange.moves_failed;
    if (through && exchange.moves_failed == 0) break;
  }
  EXPECT_GE(losses, 4u);  // the probe, and three messages
  EXPECT_EQ(moves, 2u);
}
INSTANTIATE_TEST_SUITE_P(All, FabricFailure, testing::Values("inject=0,fail=", "refuse="),
                         [](const auto& info) { return std::string(info.param).find("fail") != std::string::npos ? "Ended" : "Refused"; });

// Some providers drop a transfer whose memory cannot be read there, and tell nobody.
TEST(DroppedRead, EndsTheLinkOnceThePeerHasAnswered) {
  size_t losses = 0;
  for (uint64_t n = 1; n <= 6; ++n) {
    Exchange exchange("inject=0,lose=" + std::to_string(n));
    if (exchange.run()) continue;
    exchange.expect_both_know();
    ++losses;
  }
  EXPECT_EQ(losses, 1u);
}

}  // namespace
}  // namespace portunus
