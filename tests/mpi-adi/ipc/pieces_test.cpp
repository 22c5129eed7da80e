// PEACE between threads: messages gathered from pieces and scattered into others.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/mpi-adi/ipc/layouts.hpp"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

const std::vector<size_t> kSizes{0, 1, 7, 8, 500, 1024, 1025, 8192, 8193, 30'000, 70'000, 500'000};

TEST_F(Peace, AMessageFromPiecesComesToOtherPiecesAsTheModelSays) {
  uint64_t seed = 1;
  for (const size_t bytes : kSizes)
    for (int round = 0; round < 8; ++round, ++seed) {
      Layout from = layout_of(bytes, seed), to = layout_of(bytes, seed + 1000);
      from.fill(seed);
      std::thread sender([&] {
        size_t moved = bytes + 1;
        EXPECT_EQ(peace_send_pieces(here, 3, from.pieces.data(), from.pieces.size(), 0, kPatience, &moved), PEACE_OK) << peace_explain();
        EXPECT_EQ(moved, bytes);
      });
      peace_message_t message{};
      EXPECT_EQ(peace_receive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), kPatience, &message), PEACE_OK) << peace_explain();
      sender.join();
      EXPECT_EQ(message.sent, bytes);
      EXPECT_EQ(message.moved, bytes);
      EXPECT_EQ(message.type, 3u);
      ASSERT_TRUE(to.holds(seed, bytes)) << bytes << " bytes, seed " << seed;
    }
}

TEST_F(Peace, PiecesAndRunsAreTheSameMessage) {
  for (const size_t bytes : kSizes) {
    Layout pieces = layout_of(bytes, 5);
    pieces.fill(9);
    std::vector<unsigned char> run(bytes);
    std::thread gathers(
        [&] { EXPECT_EQ(peace_send_pieces(here, 3, pieces.pieces.data(), pieces.pieces.size(), 0, kPatience, nullptr), PEACE_OK); });
    EXPECT_EQ(receive(run.data(), bytes), PEACE_OK);
    gathers.join();
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(run[i], byte_of(9, i)) << i;
    pieces.clear();
    std::thread sender([&] { EXPECT_EQ(cs_send(here, 3, run.data(), bytes), PEACE_OK); });
    EXPECT_EQ(peace_receive_pieces(port, kAny, pieces.pieces.data(), pieces.pieces.size(), kPatience, nullptr), PEACE_OK);
    sender.join();
    EXPECT_TRUE(pieces.holds(9, bytes)) << bytes;
  }
}

TEST_F(Peace, TheSmallerOfTwoListsIsMovedAndBothSidesKnow) {
  for (const size_t bytes : {size_t{2}, size_t{100}, size_t{8192}, size_t{8200}, size_t{100'000}}) {
    Layout large = layout_of(bytes, 1), small = layout_of(bytes / 2, 2);
    large.fill(4);
    std::thread sender([&] {
      size_t moved = 0;
      EXPECT_EQ(peace_send_pieces(here, 1, large.pieces.data(), large.pieces.size(), 0, kPatience, &moved), PEACE_CUT);
      EXPECT_EQ(moved, bytes / 2);
      EXPECT_STRNE(peace_explain(), "");
    });
    peace_message_t message{};
    EXPECT_EQ(peace_receive_pieces(port, kAny, small.pieces.data(), small.pieces.size(), kPatience, &message), PEACE_CUT);
    sender.join();
    EXPECT_EQ(message.sent, bytes);
    EXPECT_EQ(message.moved, bytes / 2);
    EXPECT_TRUE(small.holds(4, bytes / 2));
    small.fill(5);
    large.clear();
    std::thread other(
        [&] { EXPECT_EQ(peace_send_pieces(here, 1, small.pieces.data(), small.pieces.size(), 0, kPatience, nullptr), PEACE_OK); });
    EXPECT_EQ(peace_receive_pieces(port, kAny, large.pieces.data(), large.pieces.size(), kPatience, &message), PEACE_OK);
    other.join();
    EXPECT_EQ(message.moved, bytes / 2);
    EXPECT_TRUE(large.holds(5, bytes / 2));
  }
}

TEST_F(Peace, AThousandPiecesOfAByteEachAndOneStrideOfThemAreTheSame) {
  constexpr size_t kPieces = 1000, kStride = 3;
  std::vector<unsigned char> from(kPieces * kStride, 1), to(kPieces * kStride, 2);
  std::vector<peace_piece_t> list;
  for (size_t i = 0; i < kPieces; ++i) {
    from[i * kStride] = byte_of(0, i);
    list.push_back({&from[i * kStride], 1, 0, 0});
  }
  const peace_piece_t stride = peace_stride(to.data(), kPieces, 1, kStride);
  for (const bool listed : {true, false}) {
    std::thread sender([&] {
      const peace_piece_t regular = peace_stride(from.data(), kPieces, 1, kStride);
      EXPECT_EQ(listed ? peace_send_pieces(here, 1, list.data(), kPieces, 0, kPatience, nullptr)
                       : peace_send_pieces(here, 1, &regular, 1, 0, kPatience, nullptr),
                PEACE_OK);
    });
    std::fill(to.begin(), to.end(), static_cast<unsigned char>(2));
    EXPECT_EQ(peace_receive_pieces(port, kAny, &stride, 1, kPatience, nullptr), PEACE_OK);
    sender.join();
    for (size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], i % kStride ? 2 : byte_of(0, i / kStride)) << i;
  }
}

TEST_F(Peace, ListsWithoutBytesAreEmptyMessages) {
  const peace_piece_t empty[] = {{nullptr, 0, 0, 0}, {nullptr, 0, 1000, -8}, peace_stride(nullptr, 0, 8, 8)};
  for (const size_t count : {0, 1, 3}) {
    std::thread sender(
        [&] { EXPECT_EQ(peace_send_pieces(here, 1, count ? empty : nullptr, count, 0, kPatience, nullptr), PEACE_OK) << peace_explain(); });
    peace_message_t message{};
    EXPECT_EQ(peace_receive_pieces(port, kAny, empty, 3 - count, kPatience, &message), PEACE_OK) << peace_explain();
    EXPECT_EQ(message.sent, 0u);
    sender.join();
  }
}

TEST_F(Peace, WherePiecesOverlapTheLaterByteOfTheMessageStays) {
  for (const size_t count : {size_t{100}, size_t{20'000}}) {
    std::vector<unsigned char> from(8 * count);
    for (size_t i = 0; i < from.size(); ++i) from[i] = byte_of(1, i);
    std::vector<unsigned char> to(3 * count + 8), model(to.size());
    for (size_t i = 0; i < count; ++i) std::memcpy(&model[3 * i], &from[8 * i], 8);
    std::thread sender([&] { EXPECT_EQ(cs_send(here, 1, from.data(), from.size()), PEACE_OK); });
    const peace_piece_t overlaps = peace_stride(to.data(), count, 8, 3);
    EXPECT_EQ(peace_receive_pieces(port, kAny, &overlaps, 1, kPatience, nullptr), PEACE_OK);
    sender.join();
    EXPECT_EQ(to, model);
    std::thread repeats([&] {
      const peace_piece_t same = peace_stride(from.data(), count, 8, 0);
      EXPECT_EQ(peace_send_pieces(here, 1, &same, 1, 0, kPatience, nullptr), PEACE_OK);
    });
    std::vector<unsigned char> got(8 * count);
    EXPECT_EQ(receive(got.data(), got.size()), PEACE_OK);
    repeats.join();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], from[i % 8]);
  }
}

TEST_F(Peace, PiecesGoThroughBuffersAndConsumptionIsToldOfThem) {
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{20'000}}) {
    open(1, 30'000);
    Layout from = layout_of(bytes, 7), to = layout_of(bytes, 8);
    from.fill(2);
    EXPECT_EQ(peace_send_pieces(here, 1, from.pieces.data(), from.pieces.size(), 0, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(peace_receive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), kPatience, nullptr), PEACE_OK);
    EXPECT_TRUE(to.holds(2, bytes));
    peace_request_t request;
    ASSERT_EQ(peace_isend_pieces(here, 1, from.pieces.data(), from.pieces.size(), PEACE_CONSUMED, &request), PEACE_OK);
    EXPECT_EQ(peace_wait(&request, kMillisecond, nullptr), PEACE_TIMEOUT);
    to.clear();
    EXPECT_EQ(peace_receive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(peace_wait(&request, kPatience, nullptr), PEACE_OK);
    EXPECT_TRUE(to.holds(2, bytes));
  }
}

TEST_F(Peace, RequestsOfPiecesAreWaitedForAndCancelledAsOthers) {
  for (const size_t bytes : {size_t{9}, size_t{8192}, size_t{300'000}}) {
    Layout from = layout_of(bytes, 11), to = layout_of(bytes, 12);
    from.fill(6);
    peace_request_t sends, receives;
    ASSERT_EQ(peace_isend_pieces(here, 1, from.pieces.data(), from.pieces.size(), 0, &sends), PEACE_OK);
    EXPECT_EQ(peace_wait(&sends, 0, nullptr), PEACE_BUSY);
    EXPECT_EQ(peace_cancel(sends), PEACE_OK);
    EXPECT_EQ(peace_wait(&sends, kPatience, nullptr), PEACE_CANCELLED);
    EXPECT_EQ(peace_send_pieces(here, 1, from.pieces.data(), from.pieces.size(), 0, 0, nullptr), PEACE_BUSY);
    EXPECT_EQ(peace_send_pieces(here, 1, from.pieces.data(), from.pieces.size(), 0, kMillisecond, nullptr), PEACE_TIMEOUT);
    ASSERT_EQ(peace_ireceive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), &receives), PEACE_OK);
    EXPECT_EQ(peace_cancel(receives), PEACE_OK);
    EXPECT_EQ(peace_wait(&receives, kPatience, nullptr), PEACE_CANCELLED);
    EXPECT_EQ(peace_receive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), 0, nullptr), PEACE_BUSY);
    EXPECT_EQ(peace_receive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), kMillisecond, nullptr), PEACE_TIMEOUT);
    EXPECT_TRUE(to.holds(6, 0));
    ASSERT_EQ(peace_ireceive_pieces(port, kAny, to.pieces.data(), to.pieces.size(), &receives), PEACE_OK);
    ASSERT_EQ(peace_isend_pieces(here, 1, from.pieces.data(), from.pieces.size(), 0, &sends), PEACE_OK);
    peace_message_t message{};
    EXPECT_EQ(peace_wait(&receives, kPatience, &message), PEACE_OK);
    EXPECT_EQ(peace_wait(&sends, kPatience, nullptr), PEACE_OK);
    EXPECT_EQ(message.moved, bytes);
    EXPECT_TRUE(to.holds(6, bytes));
  }
}

TEST_F(Peace, AServerMovesAndAnswersPiecesOfACall) {
  // Long runs are read where they lie, short ones are packed, and up to 1 KiB comes along.
  for (const size_t run : {size_t{1}, size_t{40}, size_t{20'000}, size_t{100'000}})
    for (const size_t blocks : {size_t{2}, size_t{25}, size_t{70}}) {
      const size_t bytes = run * blocks;
      Layout out, in = layout_of(bytes, run), room = layout_of(bytes, blocks);
      out.memory.assign(bytes + blocks * 5, Layout::kGap);
      out.add(0, run, blocks, static_cast<ptrdiff_t>(run + 5));
      out.fill(1);
      std::thread server([&] {
        peace_task_t task;
        peace_message_t message;
        ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, &message), PEACE_OK);
        EXPECT_EQ(message.sent, bytes);
        EXPECT_EQ(peace_movefrom_pieces(task, 0, room.pieces.data(), room.pieces.size()), PEACE_OK) << peace_explain();
        EXPECT_TRUE(room.holds(1, bytes));
        EXPECT_EQ(peace_movefrom_pieces(task, 1, room.pieces.data(), room.pieces.size()), PEACE_ARG);
        std::vector<unsigned char> rest(bytes / 2);
        EXPECT_EQ(peace_movefrom(task, bytes - rest.size(), rest.data(), rest.size()), PEACE_OK);
        for (size_t i = 0; i < rest.size(); ++i) ASSERT_EQ(rest[i], byte_of(1, bytes - rest.size() + i));
        room.fill(2);
        EXPECT_EQ(peace_moveto_pieces(task, 0, room.pieces.data(), room.pieces.size()), PEACE_OK) << peace_explain();
        EXPECT_EQ(peace_moveto_pieces(task, 1, room.pieces.data(), room.pieces.size()), PEACE_ARG);
        const peace_piece_t wrong{nullptr, 1, 0, 0};
        EXPECT_EQ(peace_reply_pieces(&task, 4, &wrong, 1), PEACE_ARG);
        EXPECT_EQ(peace_reply_pieces(&task, 4, nullptr, 0), PEACE_OK) << peace_explain();
        ASSERT_EQ(peace_accept(port, kAny, kPatience, &task, &message), PEACE_OK);
        room.fill(3);
        EXPECT_EQ(peace_reply_pieces(&task, 5, room.pieces.data(), room.pieces.size()), PEACE_OK) << peace_explain();
      });
      peace_message_t reply;
      EXPECT_EQ(peace_call_pieces(here, 9, out.pieces.data(), 1, in.pieces.data(), in.pieces.size(), kPatience, &reply), PEACE_OK)
          << peace_explain();
      EXPECT_EQ(reply.sent, 0u);
      EXPECT_TRUE(in.holds(2, bytes)) << run << " " << blocks;
      in.clear();
      EXPECT_EQ(peace_call_pieces(here, 9, out.pieces.data(), 1, in.pieces.data(), in.pieces.size(), kPatience, &reply), PEACE_OK)
          << peace_explain();
      EXPECT_EQ(reply.sent, bytes);
      EXPECT_EQ(reply.moved, bytes);
      EXPECT_EQ(reply.type, 5u);
      EXPECT_TRUE(in.holds(3, bytes)) << run << " " << blocks;
      server.join();
    }
}

TEST_F(Peace, PiecesAreGatheredAndScatteredAtAnyPlace) {
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{50'000}}) {
    Layout pieces = layout_of(bytes, 21);
    pieces.fill(3);
    std::mt19937_64 random(4);
    for (int round = 0; round < 40; ++round) {
      const size_t offset = random() % bytes, size = random() % (bytes - offset) + 1;
      std::vector<unsigned char> run(size);
      ASSERT_EQ(peace_gather(pieces.pieces.data(), pieces.pieces.size(), offset, run.data(), size), PEACE_OK);
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(run[i], byte_of(3, offset + i));
    }
    pieces.clear();
    std::vector<unsigned char> run(bytes);
    for (size_t i = 0; i < bytes; ++i) run[i] = byte_of(8, i);
    const size_t middle = bytes / 3;
    ASSERT_EQ(peace_scatter(pieces.pieces.data(), pieces.pieces.size(), middle, &run[middle], bytes - middle), PEACE_OK);
    ASSERT_EQ(peace_scatter(pieces.pieces.data(), pieces.pieces.size(), 0, run.data(), middle), PEACE_OK);
    EXPECT_TRUE(pieces.holds(8, bytes));
    EXPECT_EQ(peace_gather(pieces.pieces.data(), pieces.pieces.size(), bytes, run.data(), 1), PEACE_ARG);
    EXPECT_EQ(peace_scatter(pieces.pieces.data(), pieces.pieces.size(), SIZE_MAX, run.data(), 2), PEACE_ARG);
  }
}

TEST_F(Peace, WrongPiecesAreACodeAndASentenceAndNothingIsSent) {
  char byte[64] = {};
  peace_request_t request = nullptr;
  const auto refused = [&](const peace_piece_t* list, size_t count, const char* why) {
    EXPECT_EQ(peace_send_pieces(here, 1, list, count, 0, kMillisecond, nullptr), PEACE_ARG) << why;
    EXPECT_NE(std::strstr(peace_explain(), why), nullptr) << peace_explain();
    EXPECT_EQ(peace_receive_pieces(port, kAny, list, count, 0, nullptr), PEACE_ARG) << why;
    EXPECT_NE(std::strstr(peace_explain(), why), nullptr) << peace_explain();
    EXPECT_EQ(peace_isend_pieces(here, 1, list, count, 0, &request), PEACE_ARG) << why;
    EXPECT_EQ(peace_ireceive_pieces(port, kAny, list, count, &request), PEACE_ARG) << why;
    EXPECT_EQ(peace_call_pieces(here, 1, list, count, nullptr, 0, 0, nullptr), PEACE_ARG) << why;
    EXPECT_EQ(peace_call_pieces(here, 1, nullptr, 0, list, count, 0, nullptr), PEACE_ARG) << why;
    EXPECT_EQ(peace_gather(list, count, 0, byte, 1), PEACE_ARG) << why;
    EXPECT_EQ(peace_scatter(list, count, 0, byte, 1), PEACE_ARG) << why;
  };
  refused(nullptr, 1, "pieces is NULL");
  refused(reinterpret_cast<peace_piece_t*>(8), 3, "pieces");
  refused(reinterpret_cast<peace_piece_t*>(byte), SIZE_MAX / 8, "pieces");
  const peace_piece_t null[] = {{byte, 8, 0, 0}, {nullptr, 1, 0, 0}};
  refused(null, 2, "piece 1 of pieces is NULL");
  const peace_piece_t too_many[] = {{byte, 8, SIZE_MAX / 8, 0}};
  refused(too_many, 1, "more bytes than there can be");
  const peace_piece_t wraps[] = {{byte, 8, SIZE_MAX, 0}};
  refused(wraps, 1, "more bytes than there can be");
  const peace_piece_t sum[] = {{byte, 1, SIZE_MAX / 2 - 1, 0}, {byte, 1, SIZE_MAX / 2 - 1, 0}, {byte, 2, 0, 0}};
  refused(sum, 3, "more bytes than there can be, from piece");
  const peace_piece_t far_up[] = {{byte, 8, SIZE_MAX / 32, PTRDIFF_MAX / 2}};
  refused(far_up, 1, "reaches beyond all memory");
  const peace_piece_t beyond[] = {{byte, 8, 3, PTRDIFF_MAX}};
  refused(beyond, 1, "reaches beyond all memory");
  const peace_piece_t in_front[] = {{byte, 8, 3, PTRDIFF_MIN / 4}};
  refused(in_front, 1, "reaches beyond all memory");
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 3, "served", 6), PEACE_OK); });
  EXPECT_EQ(receive(byte, sizeof byte), PEACE_OK);
  EXPECT_STREQ(byte, "served");
  sender.join();
}

// A page that is forbidden, or may only be read, lies among few pieces or many, or in a gap.
TEST_F(Peace, PiecesThatMayNotBeTouchedAreNamedAndGapsNeedNoMemory) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kPages = 64;
  for (const int allowed : {PROT_NONE, PROT_READ})
    for (const size_t count : {size_t{3}, kPages})
      // Memory that a thread has asked about lately is not looked at again: a thread of its own for each.
      std::thread([&] {
        auto* const memory = static_cast<char*>(mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(memory, MAP_FAILED);
        std::memset(memory, 1, kPages * page);
        std::vector<peace_piece_t> pages;
        for (size_t i = 0; i < count; ++i) pages.push_back({memory + i * page + 8, 16, 0, 0});
        ASSERT_EQ(mprotect(memory + page, page, allowed), 0);
        const auto readable = allowed == PROT_NONE ? PEACE_ARG : PEACE_BUSY;
        EXPECT_EQ(peace_send_pieces(here, 1, pages.data(), count, 0, 0, nullptr), readable) << peace_explain();
        EXPECT_EQ(peace_receive_pieces(port, kAny, pages.data(), count, 0, nullptr), PEACE_ARG);
        EXPECT_NE(std::strstr(peace_explain(), "piece 1 of pieces"), nullptr) << peace_explain();
        const peace_piece_t stride = peace_stride(memory + 8, count, 16, static_cast<ptrdiff_t>(page));
        EXPECT_EQ(peace_receive_pieces(port, kAny, &stride, 1, 0, nullptr), PEACE_ARG);
        EXPECT_NE(std::strstr(peace_explain(), "piece 0 of pieces"), nullptr) << peace_explain();
        const auto every_second = static_cast<ptrdiff_t>(2 * page);
        const peace_piece_t around = peace_stride(memory + 8, count / 2, 16, every_second);
        EXPECT_EQ(peace_receive_pieces(port, kAny, &around, 1, 0, nullptr), PEACE_BUSY) << peace_explain();
        const peace_piece_t back = peace_stride(memory + 8 + (count / 2 - 1) * 2 * page, count / 2, 16, -every_second);
        EXPECT_EQ(peace_receive_pieces(port, kAny, &back, 1, 0, nullptr), PEACE_BUSY) << peace_explain();
        pages.erase(pages.begin() + 1);
        EXPECT_EQ(peace_receive_pieces(port, kAny, pages.data(), count - 1, 0, nullptr), PEACE_BUSY) << peace_explain();
        munmap(memory, kPages * page);
      }).join();
}

}  // namespace
}  // namespace peace_test
