// PEACE between processes: messages from pieces to other pieces, of up to 64 MiB, and with the end of a process in the middle.
//
// PEACE_KILLS in the environment: how many processes are killed (12).
#include <array>
#include <atomic>
#include <thread>

#include "tests/mpi-adi/ipc/layouts.hpp"
#include "tests/mpi-adi/ipc/processes.hpp"

namespace {

using namespace peace_test;

constexpr uint32_t kRegular = 1 << 20;
constexpr size_t kMost = 64 << 20;

// The bytes of a message, kept as they are many.
const std::vector<unsigned char>& message_of(uint64_t number, size_t bytes) {
  static uint64_t kept = 0;
  static std::vector<unsigned char> message;
  if (kept != number || message.size() != bytes) {
    message.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) message[i] = byte_of(number, i);
    kept = number;
  }
  return message;
}

// A regular stride of `bytes`, by the number of the message: blocks of 8 bytes, of 1 KiB or of 1 MiB with gaps.
struct Regular {
  std::vector<unsigned char> memory;
  std::vector<peace_piece_t> pieces;
  size_t block, stride;

  Regular(size_t bytes, uint32_t number) {
    constexpr size_t kBlocks[] = {8, 1024, 1 << 20};
    block = std::min(bytes, kBlocks[number % 3]);
    stride = block + block / 2 + 1;
    const size_t count = bytes / block, rest = bytes % block;
    memory.assign((count + 1) * stride, Layout::kGap);
    pieces = {peace_stride(memory.data(), count, block, static_cast<ptrdiff_t>(stride)), {memory.data() + count * stride, rest, 0, 0}};
  }
  void fill(uint64_t number, size_t bytes) {
    const unsigned char* from = message_of(number, bytes).data();
    for (size_t done = 0, at = 0; done < bytes; done += block, at += stride)
      std::memcpy(&memory[at], from + done, std::min(block, bytes - done));
  }
  bool holds(uint64_t number, size_t bytes) const {
    const unsigned char* expected = message_of(number, bytes).data();
    const std::vector<unsigned char> gap(stride, Layout::kGap);
    bool good = true;
    for (size_t done = 0, at = 0; good && at < memory.size(); at += stride) {
      const size_t here = std::min(block, bytes - done);
      good = std::memcmp(&memory[at], expected + done, here) == 0 && std::memcmp(&memory[at] + here, gap.data(), stride - here) == 0;
      done += here;
    }
    return good;
  }
};

// Two messages of 8 bytes tell how long the next one is and what its pieces are; it is looked at, and sent back from the same pieces.
int mirror(PeerProcess& me) {
  for (;;) {
    uint64_t order[2] = {};
    peace_message_t message;
    if (peace_receive(me.port, kAny, order, sizeof order, kPatience, &message) != PEACE_OK) return 2;
    if (message.type == kStop) return 0;
    const uint64_t bytes = order[0], number = order[1];
    const auto exchange = [&](auto& memory) {
      if (peace_receive_pieces(me.port, kAny, memory.pieces.data(), memory.pieces.size(), kPatience, &message) != PEACE_OK) return 3;
      if (message.moved != bytes || !memory.holds(number, bytes)) return 4;
      return peace_send_pieces(me.parent, 7, memory.pieces.data(), memory.pieces.size(), 0, kPatience, nullptr) == PEACE_OK ? 0 : 5;
    };
    int code;
    if (number >= kRegular) {
      Regular memory(bytes, static_cast<uint32_t>(number));
      code = exchange(memory);
    } else {
      Layout memory = layout_of(bytes, number);
      code = exchange(memory);
    }
    if (code != 0) return code;
  }
}

constexpr size_t kPoured = 200'000;
constexpr uint32_t kPour = 7;

int pour(PeerProcess& me) {
  Layout from = layout_of(kPoured, 1);
  from.fill(1);
  for (;;)
    if (const int code = peace_send_pieces(me.parent, kPour, from.pieces.data(), from.pieces.size(), 0, PEACE_FOREVER, nullptr))
      return code;
}
int drain(PeerProcess& me) {
  Layout to = layout_of(kPoured, 2);
  for (;;)
    if (const int code = peace_receive_pieces(me.port, kAny, to.pieces.data(), to.pieces.size(), PEACE_FOREVER, nullptr)) return code;
}
int ask(PeerProcess& me) {
  Layout out = layout_of(kPoured, 1), in = layout_of(kPoured, 2);
  out.fill(1);
  for (;;)
    if (const int code = peace_call_pieces(me.parent, kPour, out.pieces.data(), out.pieces.size(), in.pieces.data(), in.pieces.size(),
                                           PEACE_FOREVER, nullptr))
      return code;
}
int answer(PeerProcess& me) {
  Layout memory = layout_of(kPoured, 3);
  for (;;) {
    peace_task_t task;
    if (peace_accept(me.port, kAny, PEACE_FOREVER, &task, nullptr) != PEACE_OK) return 2;
    peace_movefrom_pieces(task, 0, memory.pieces.data(), memory.pieces.size());
    peace_moveto_pieces(task, 0, memory.pieces.data(), memory.pieces.size());
    if (const int code = peace_reply_pieces(&task, 1, memory.pieces.data(), memory.pieces.size())) return code;
  }
}

struct PiecesOfProcesses : Processes {
  template <class Memory>
  void go_there_and_come_back(const Child& child, Memory& from, Memory& to, size_t bytes, uint64_t number) {
    const uint64_t order[2] = {bytes, number};
    ASSERT_EQ(peace_send(child.address, 1, order, sizeof order, 0, kPatience, nullptr), PEACE_OK) << peace_explain();
    size_t moved = 0;
    ASSERT_EQ(peace_send_pieces(child.address, 1, from.pieces.data(), from.pieces.size(), 0, kPatience, &moved), PEACE_OK)
        << peace_explain();
    EXPECT_EQ(moved, bytes);
    peace_message_t message{};
    ASSERT_EQ(peace_receive_pieces(port, {child.address, 7, 0}, to.pieces.data(), to.pieces.size(), kPatience, &message), PEACE_OK)
        << peace_explain();
    EXPECT_EQ(message.moved, bytes);
    ASSERT_TRUE(to.holds(number, bytes)) << bytes << " bytes, message " << number;
  }
  void stop(const Child& child) {
    EXPECT_EQ(peace_send(child.address, kStop, nullptr, 0, 0, kPatience, nullptr), PEACE_OK);
    end(child);
  }
};

TEST_F(PiecesOfProcesses, LayoutsOfChanceGoToOthersAndComeBack) {
  const Child child = start("mirror");
  uint64_t number = 1;
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{100}, size_t{8192}, size_t{8193}, size_t{60'000}, size_t{70'000}, size_t{600'000}, size_t{4'500'000}})
    for (int round = 0; round < (bytes > 1'000'000 ? 1 : 4); ++round, ++number) {
      Layout from = layout_of(bytes, number + 500), to = layout_of(bytes, number + 5000);
      from.fill(number);
      go_there_and_come_back(child, from, to, bytes, number);
      if (HasFatalFailure()) return;
    }
  stop(child);
}

TEST_F(PiecesOfProcesses, StridesOfUpTo64MiBGoThereAndComeBack) {
  const Child child = start("mirror");
  for (const size_t bytes : {size_t{800}, size_t{1} << 20, kMost})
    for (uint32_t number = kRegular; number < kRegular + (bytes == kMost ? 1 : 3); ++number) {
      Regular from(bytes, number + 1), to(bytes, number + 2);
      from.fill(number, bytes);
      go_there_and_come_back(child, from, to, bytes, number);
      if (HasFatalFailure()) return;
    }
  stop(child);
}

TEST_F(PiecesOfProcesses, AServerOfAnotherProcessIsGivenPiecesAndAnswersInPieces) {
  const Child child = start("answer");
  Layout out = layout_of(kPoured, 1), in = layout_of(kPoured, 2);
  out.fill(6);
  for (int round = 0; round < 5; ++round) {
    in.clear();
    peace_message_t reply{};
    ASSERT_EQ(
        peace_call_pieces(child.address, 1, out.pieces.data(), out.pieces.size(), in.pieces.data(), in.pieces.size(), kPatience, &reply),
        PEACE_OK)
        << peace_explain();
    EXPECT_EQ(reply.moved, kPoured);
    ASSERT_TRUE(in.holds(6, kPoured));
  }
  kill_child(child);
  port_serves();
}

// A message that was received is whole, whoever sends to the dead or waits for them is told, and the port serves others.
TEST_F(PiecesOfProcesses, OneOfTheTwoIsKilledInTheMiddle) {
  const char* const text = std::getenv("PEACE_KILLS");
  const int kills = text ? std::atoi(text) : 12;
  std::mt19937_64 random(4711);
  Layout memory = layout_of(kPoured, 4), other = layout_of(kPoured, 5);
  for (int i = 0; i < kills; ++i) {
    const char* const role = std::array{"pour", "drain", "ask", "answer"}[static_cast<size_t>(i % 4)];
    const Child child = start(role);
    const uint64_t before = random() % 4, pause = random() % 200'000;
    std::atomic<uint64_t> rounds{0};
    std::thread killer([&] {
      while (rounds.load() < before) std::this_thread::yield();
      for (volatile uint64_t spins = 0; spins < pause;) spins = spins + 1;
      kill(child.pid, SIGKILL);
    });
    int code = PEACE_OK;
    for (; code == PEACE_OK; ++rounds) {
      if (i % 4 == 0) {
        memory.clear();
        code = peace_receive_pieces(port, {child.address, kPour, 0}, memory.pieces.data(), memory.pieces.size(), kPatience, nullptr);
        if (code == PEACE_OK) {
          EXPECT_TRUE(memory.holds(1, kPoured));
        }
      } else if (i % 4 == 1) {
        code = peace_send_pieces(child.address, kPour, memory.pieces.data(), memory.pieces.size(), 0, kPatience, nullptr);
      } else if (i % 4 == 2) {
        peace_task_t task;
        code = peace_accept(port, {child.address, kPour, 0}, kPatience, &task, nullptr);
        if (code != PEACE_OK) continue;
        memory.clear();
        code = peace_movefrom_pieces(task, 0, memory.pieces.data(), memory.pieces.size());
        if (code == PEACE_OK) {
          EXPECT_TRUE(memory.holds(1, kPoured));
          code = peace_moveto_pieces(task, 0, memory.pieces.data(), memory.pieces.size());
        }
        const int replied = peace_reply_pieces(&task, 1, memory.pieces.data(), memory.pieces.size());
        if (code == PEACE_OK) code = replied;
      } else {
        code = peace_call_pieces(child.address, 1, memory.pieces.data(), memory.pieces.size(), other.pieces.data(), other.pieces.size(),
                                 kPatience, nullptr);
      }
    }
    EXPECT_EQ(code, PEACE_DIED) << role << ", kill " << i << ": " << peace_explain();
    rounds.store(before);
    killer.join();
    EXPECT_EQ(waitpid(child.pid, nullptr, 0), child.pid);
    std::erase(left, child.pid);
  }
  port_serves();
}

}  // namespace

int main(int argc, char** argv) {
  return peace_test::run(argc, argv,
                         {{"echo", echo}, {"mirror", mirror}, {"pour", pour}, {"drain", drain}, {"ask", ask}, {"answer", answer}});
}
