// Schedules written as text and in the simulators' binary form, and read again; annotations.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/goal/schedules/annotate.hpp"
#include "engine/goal/schedules/binary.hpp"
#include "engine/goal/schedules/validate.hpp"
#include "engine/goal/schedules/write.hpp"

namespace portunus::goal {
namespace {

ScheduleError error_of(auto&& f) {
  try {
    f();
  } catch (const ScheduleError& error) {
    return error;
  }
  return {{}, "accepted"};
}

void expect_same(const Schedule& a, const Schedule& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.num_edges(), b.num_edges());
  for (VertexId v = 0; v < a.size(); ++v) {
    EXPECT_EQ(a[v].kind, b[v].kind);
    EXPECT_EQ(a[v].size, b[v].size);
    EXPECT_EQ(a[v].peer, b[v].peer);
    EXPECT_EQ(a[v].tag, b[v].tag);
    EXPECT_EQ(a[v].cpu, b[v].cpu);
    EXPECT_EQ(a[v].nic, b[v].nic);
    for (size_t i = 0; i < a.prerequisites(v).size(); ++i) {
      EXPECT_EQ(a.prerequisites(v)[i].vertex, b.prerequisites(v)[i].vertex);
      EXPECT_EQ(a.prerequisites(v)[i].on_start, b.prerequisites(v)[i].on_start);
    }
  }
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(GoalFiles, AreReadAgainAsTheyWereWritten) {
  for (const auto& entry : std::filesystem::directory_iterator(GOAL_SCHEDULES)) {
    const GoalFile file = parse_goal(contents(entry.path()));
    const GoalFile text = parse_goal(write_goal(std::span<const Schedule>(file.ranks)));
    const std::string bytes = write_binary_goal(file.ranks);
    const GoalFile binary = read_goal(bytes);
    ASSERT_EQ(text.num_ranks, file.num_ranks);
    ASSERT_EQ(binary.num_ranks, file.num_ranks);
    for (uint32_t r = 0; r < file.num_ranks; ++r) {
      expect_same(text.ranks[r], file.ranks[r]);
      expect_same(binary.ranks[r], file.ranks[r]);
    }
    EXPECT_EQ(write_binary_goal(binary.ranks), bytes);
  }
}

// The rules of txt2bin, each found by running it: see write.hpp.
TEST(GoalText, IsWrittenAsTheSimulatorsReadIt) {
  Schedule s;
  Vertex recv;
  recv.kind = Kind::recv;
  recv.peer = recv.tag = kAnyTag;
  recv.size = 8;
  recv.nic = 2;
  s.add(recv, "calc");  // no label there
  s.send(0, 0);         // at least one byte
  Vertex calc;
  calc.size = 5;
  calc.cpu = 1;
  calc.nic = 1;  // cpu only
  s.add(calc, "o1");
  s.add_dependency(1, 2);
  s.add_dependency(0, 1, After::start);
  s.finish();
  EXPECT_EQ(write_goal(std::span<const Schedule>(&s, 1)),
            "num_ranks 1\n"
            "rank 0 {\n"
            "o0: recv 8b from -1 tag -1 nic 2\n"
            "o1_: send 1b to 0 tag 0\n"
            "//@ o1_ bytes 0\n"
            "o1: calc 5 cpu 1\n"
            "o0 irequires o1_\n"
            "o1_ requires o1\n"
            "}\n");
}

TEST(GoalText, DistinctTagsAgreeAtBothEnds) {
  std::vector<Schedule> ranks(2);
  for (const uint32_t tag : {7u, 7u, 1u, 7u, 0u}) ranks[0].send(8 + tag, 1, tag);
  for (const uint32_t tag : {0u, 7u, 7u, 7u, 1u}) ranks[1].recv(8 + tag, 0, tag);
  for (Schedule& s : ranks) s.finish();
  const GoalFile file = parse_goal(write_goal(std::span<const Schedule>(ranks), {.distinct_tags = true, .cost = {}}));
  validate(file.ranks);
  std::array<bool, 5> seen{};
  for (const Vertex& v : file.ranks[0].vertices()) seen.at(v.tag) = true;
  for (const bool each : seen) EXPECT_TRUE(each);
}

// A header, one rank with a root and its follower, and an empty rank, byte by byte.
TEST(GoalBinary, HasTheLayoutOfTheSimulators) {
  std::vector<Schedule> ranks(2);
  const VertexId send = ranks[0].send(0x0102, 1, 9), calc = ranks[0].calc(3);
  ranks[0].add_dependency(calc, send);
  for (Schedule& s : ranks) s.finish();
  const std::string bytes = write_binary_goal(ranks);
  const unsigned char expected[] =
      {
          0x7f, 0x10, 0, 0, 0, 0, 0, 0, 2,   0, 0, 0, 0, 0,        // 4223, ranks, highest cpu and nic
          38,   0,    0, 0, 0, 0, 0, 0, 132, 0, 0, 0, 0, 0, 0, 0,  // rank 0
          132,  0,    0, 0, 0, 0, 0, 0, 140, 0, 0, 0, 0, 0, 0, 0,  // rank 1
          2,    0,    0, 0, 1, 0, 0, 0, 0,   0, 0, 0,              // nodes, roots, the root
          0,    0,    0, 0, 1, 1, 0, 0, 0,   2, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
          0,    0,    0, 0, 0, 0, 0, 1, 0,   0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
          0,    0,    0, 0, 0, 0, 0, 0, 0,   0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,  // the follower
          0,    0,    0, 0, 0, 0, 0, 0,                                                          // rank 1: nothing
      };
  ASSERT_EQ(bytes.size(), sizeof expected);
  EXPECT_EQ(std::memcmp(bytes.data(), expected, sizeof expected), 0);
}

// The size that txt2bin gives schedgen's dissemination pattern on 1024 ranks.
TEST(GoalBinary, HasTheSizeOfTheSimulators) {
  constexpr uint32_t kRanks = 1024;
  std::vector<Schedule> ranks(kRanks);
  for (uint32_t r = 0; r < kRanks; ++r) {
    VertexId last = kNoVertex;
    for (uint32_t distance = 1; distance < kRanks; distance *= 2) {
      const VertexId send = ranks[r].send(8, (r + distance) % kRanks), recv = ranks[r].recv(8, (r + kRanks - distance) % kRanks);
      if (last != kNoVertex) ranks[r].add_dependency(send, last);
      last = recv;
    }
    ranks[r].finish();
  }
  EXPECT_EQ(write_binary_goal(ranks).size(), 905230u);
}

TEST(GoalBinary, RefusesWhatIsNotWhole) {
  const GoalFile file = parse_goal("num_ranks 2\nrank 0 {\na: send 8b to 1\nb: calc 3\nb requires a\n}\nrank 1 {\nrecv 8b from 0\n}\n");
  const std::string bytes = write_binary_goal(file.ranks);
  for (size_t n = 8; n < bytes.size(); ++n) {
    EXPECT_NE(error_of([&] { (void)read_goal(std::string_view(bytes).substr(0, n)); }).message, "accepted") << n;
  }
  std::string spoilt = bytes;
  spoilt[0] = 0x26, spoilt[1] = 0x09;
  EXPECT_NE(error_of([&] { (void)read_goal(spoilt); }).message.find("used up"), std::string::npos);
}

constexpr std::string_view kAnnotated =
    "num_ranks 1\n"
    "rank 0 {\n"
    "//@ scratch 64\n"
    "in: recv 64b from 0 tag 3\n"
    "//@ in buf [scratch+0:32,user1+128:32]\n"
    "out: send 64b to 0 tag 3\n"
    "//@ out buf user+0\n"
    "sum: calc 40\n"
    "  //@ sum op sum f64 dst user+0 a user+0 b scratch+0 n 4\n"
    "now: calc 0\n"
    "//@ now op timestamp dst user2\n"
    "any: calc 0\n"
    "//@ any needs 1\n"
    "sum requires in\n"
    "any requires in\n"
    "any requires sum\n"
    "}\n";

TEST(Annotations, SayWhatOperationsWorkOn) {
  const std::vector<Plan> plans = plans_of(parse_goal(kAnnotated));
  ASSERT_EQ(plans.size(), 1u);
  const Plan& plan = plans[0];
  const VertexId sum = plan.graph.find("sum");
  EXPECT_EQ(plan.graph[sum].kind, Kind::local);
  EXPECT_EQ(plan.works[sum].op, PTLX_ADD);
  EXPECT_EQ(plan.works[sum].type, PTL_DOUBLE);
  EXPECT_EQ(plan.works[sum].count, 4u);
  EXPECT_EQ(plan.works[sum].b.space, Space::scratch);
  EXPECT_EQ(plan.pieces.size(), 2u);
  EXPECT_EQ(plan.argument_bytes, (std::vector<uint64_t>{64, 160, 8}));
  EXPECT_TRUE(plan.graph.is_choice(plan.graph.find("any")));
  EXPECT_EQ(plan.scratch_bytes, 64u);
}

TEST(Annotations, AreReadAgainAsTheyWereWritten) {
  const std::vector<Plan> plans = plans_of(parse_goal(kAnnotated));
  const std::string text =
      write_goal(std::span<const Plan>(plans), {.distinct_tags = false, .cost = [](const Plan&, VertexId) { return 40; }});
  const std::vector<Plan> again = plans_of(parse_goal(text));
  EXPECT_EQ(write_goal(std::span<const Plan>(again), {.distinct_tags = false, .cost = [](const Plan&, VertexId) { return 40; }}), text);
  expect_same(again[0].graph, plans[0].graph);
  EXPECT_NE(text.find("sum: calc 40\n//@ sum op add f64 dst user+0 a user+0 b scratch+0 n 4\n"), std::string::npos) << text;
}

TEST(Annotations, MessagesWithoutOneGetMemoryOfTheirOwn) {
  const std::vector<Plan> plans = plans_of(parse_goal("num_ranks 1\nrank 0 {\nsend 100b to 0\nrecv 100b from 0\n}\n"));
  EXPECT_EQ(plans[0].works[0].memory.place, 0u);
  EXPECT_EQ(plans[0].works[1].memory.place, 128u);
  EXPECT_EQ(plans[0].scratch_bytes, 228u);
}

TEST(Annotations, AreRefusedWithTheirPlace) {
  const auto wrong = [](const std::string& annotation) {
    return error_of(
        [&] { (void)plans_of(parse_goal("num_ranks 1\nrank 0 {\nm: send 8b to 0\nc: calc 1\n  //@ " + annotation + "\n}\n")); });
  };
  const struct {
    const char* annotation;
    uint32_t column;
    const char* part;
  } cases[] = {
      {"x buf user+0", 7, "no operation with the label"},
      {"m buff user+0", 9, "expected \"buf\""},
      {"m buf here+0", 13, "expected a place"},
      {"m buf user+0 len 9", 24, "has 8 bytes"},
      {"m buf user+0 9", 20, "expected \"len\""},
      {"m buf [user+0]", 20, "expected \":\""},
      {"m buf [user+0:8", 22, "expected \",\""},
      {"m op add i8 dst user a user b user n 1", 12, "only a calc"},
      {"c buf user", 13, "only messages"},
      {"c op plus i8", 12, "expected an operation"},
      {"c op xor f32 dst user a user b user n 1", 16, "bits"},
      {"c op add i9", 16, "expected a type"},
      {"c op add i8 dst user a user n 1", 35, "expected \"b\""},
      {"c op copy i8 dst user a user n 1 2", 40, "does not belong"},
      {"m bytes many", 15, "expected a size"},
  };
  for (const auto& c : cases) {
    const ScheduleError error = wrong(c.annotation);
    EXPECT_NE(error.message.find(c.part), std::string::npos) << c.annotation << ": " << error.message;
    EXPECT_EQ(error.line, 5u) << c.annotation;
    EXPECT_EQ(error.column, c.column) << c.annotation << ": " << error.message;
  }
  EXPECT_NE(wrong("c needs 2").message.find("needs 2"), std::string::npos);
  EXPECT_NE(wrong("m buf scratch+0").message.find("scratchpad"), std::string::npos);
}

}  // namespace
}  // namespace portunus::goal
