// The GOAL reader: the language, what we accept beyond txt2bin, and every error with its place.
#include "engine/goal/schedules/parse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "engine/goal/schedules/validate.hpp"
#include "tests/support/thorough.hpp"

namespace portunus::goal {
namespace {

// The schedule of rank 0 of a file whose rank 1 does nothing.
Schedule rank0(const std::string& body) { return parse_goal("num_ranks 2\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\n").ranks[0]; }

bool waits_for(const Schedule& s, std::string_view dependent, std::string_view prerequisite, bool on_start = false) {
  for (const Edge e : s.prerequisites(s.find(dependent))) {
    if (e.vertex == s.find(prerequisite)) return (e.on_start != 0) == on_start;
  }
  return false;
}

TEST(Parse, ReadsEveryStatementOfTheLanguage) {
  const GoalFile file = parse_goal(
      "num_ranks 2\n\nrank 0 {\n"
      "l1: send 512b to 1 tag 7 cpu 1 nic 2\n"
      "l2: recv 64b from -1 tag -1\n"
      "l3: calc 1000 cpu 3\n"
      "l2 requires l1\n"
      "l3 irequires l1\n"
      "}\n\nrank 1 {\n}\n");
  ASSERT_EQ(file.num_ranks, 2u);
  ASSERT_EQ(file.ranks.size(), 2u);
  const Schedule& s = file.ranks[0];
  ASSERT_EQ(s.size(), 3u);
  EXPECT_EQ(s[0].kind, Kind::send);
  EXPECT_EQ(s[0].size, 512u);
  EXPECT_EQ(s[0].peer, 1u);
  EXPECT_EQ(s[0].tag, 7u);
  EXPECT_EQ(s[0].cpu, 1u);
  EXPECT_EQ(s[0].nic, 2u);
  EXPECT_EQ(s[0].where.line, 4u);
  EXPECT_EQ(s[0].where.column, 1u);
  EXPECT_EQ(s.label(0), "l1");
  EXPECT_EQ(s[1].kind, Kind::recv);
  EXPECT_EQ(s[1].peer, kAnySource);
  EXPECT_EQ(s[1].tag, kAnyTag);
  EXPECT_EQ(s[2].kind, Kind::calc);
  EXPECT_EQ(s[2].size, 1000u);
  EXPECT_EQ(s[2].cpu, 3u);
  EXPECT_TRUE(waits_for(s, "l2", "l1"));
  EXPECT_TRUE(waits_for(s, "l3", "l1", true));
  EXPECT_EQ(file.ranks[1].size(), 0u);
}

TEST(Parse, TagCpuAndNicAreZeroWhenNotSaid) {
  const Schedule s = rank0("send 8b to 1");
  EXPECT_EQ(s[0].tag, 0u);
  EXPECT_EQ(s[0].cpu, 0u);
  EXPECT_EQ(s[0].nic, 0u);
  EXPECT_EQ(s.label(0), "");
}

TEST(Parse, ReadsTheFormPrintedInPapers) {
  const GoalFile file = parse_goal("num_ranks 1 rank 0 { l1: send 8b to 0; l2: recv 8b from 0; l1 requires l2; }");
  EXPECT_EQ(file.ranks[0].size(), 2u);
  EXPECT_TRUE(waits_for(file.ranks[0], "l1", "l2"));
  EXPECT_EQ(file.ranks[0][1].where.column, 40u);
}

TEST(Parse, IndentationAndBlanksBeforeTheBraceAreFree) {
  const Schedule s = parse_goal("num_ranks 1\nrank 0\n {\n  l1: calc 5\n\tl2:   calc  6\n  }").ranks[0];
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[1].where.line, 5u);
  EXPECT_EQ(s[1].where.column, 2u);
}

TEST(Parse, CommentsMayStandAnywhere) {
  const Schedule s = rank0(
      "/* one\n two */ l1: calc 5 // trailing\n// whole line\nl2: /* inside */ calc 6 /* and\nafter */\n"
      "l2 requires l1 // why\n//");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].where.line, 4u);
  EXPECT_EQ(s[0].where.column, 9u);
  EXPECT_EQ(s[1].where.line, 6u);
  EXPECT_TRUE(waits_for(s, "l2", "l1"));
}

TEST(Parse, CalcMayNameANic) { EXPECT_EQ(rank0("calc 5 nic 3")[0].nic, 3u); }

TEST(Parse, AttributesComeInAnyOrder) {
  const Schedule s = rank0("send 8b to 1 nic 3 cpu 2 tag 1");
  EXPECT_EQ(s[0].tag, 1u);
  EXPECT_EQ(s[0].cpu, 2u);
  EXPECT_EQ(s[0].nic, 3u);
}

TEST(Parse, LabelsMayBeUsedBeforeTheyAreDefined) {
  const Schedule s = rank0("l2 requires l1\nl2: calc 5\nl1: calc 6");
  EXPECT_TRUE(waits_for(s, "l2", "l1"));
}

TEST(Parse, SeveralPrerequisitesMayStandInOneStatement) {
  const Schedule s = rank0("l1: calc 5\nl2: calc 6\nl3: calc 7\nl4: calc 8\nl3 requires l1 l2\nl4 requires l1, l3");
  EXPECT_TRUE(waits_for(s, "l3", "l1"));
  EXPECT_TRUE(waits_for(s, "l3", "l2"));
  EXPECT_TRUE(waits_for(s, "l4", "l1"));
  EXPECT_TRUE(waits_for(s, "l4", "l3"));
}

TEST(Parse, KeywordsMayBeLabels) {
  const Schedule s = rank0(
      "send: send 8b to 1\ntag: recv 8b from 1 tag 4\ncalc: calc 1\nrank: calc 2\nrequires: calc 3\n"
      "tag requires send\nrequires requires calc\nrank irequires tag");
  EXPECT_EQ(s.size(), 5u);
  EXPECT_EQ(s[1].tag, 4u);
  EXPECT_TRUE(waits_for(s, "tag", "send"));
  EXPECT_TRUE(waits_for(s, "requires", "calc"));
  EXPECT_TRUE(waits_for(s, "rank", "tag", true));
}

TEST(Parse, RanksMayComeInAnyOrder) {
  const GoalFile file = parse_goal("num_ranks 2\nrank 1 { calc 1 }\nrank 0 { calc 2; calc 3 }");
  EXPECT_EQ(file.ranks[0].size(), 2u);
  EXPECT_EQ(file.ranks[1].size(), 1u);
}

TEST(Parse, CarriageReturnsBlankLinesAndByteOrderMarksAreSkipped) {
  const Schedule s =
      parse_goal("\xef\xbb\xbfnum_ranks 1\r\n\r\nrank 0 {\r\n\r\nl1: send 8 b  to  0\r\nl2: recv 8b from 0\r\n}\r\n").ranks[0];
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].size, 8u);
  EXPECT_EQ(s[1].where.line, 6u);
}

TEST(Parse, SameLabelMayStandInSeveralRanks) {
  EXPECT_NO_THROW(static_cast<void>(parse_goal("num_ranks 2\nrank 0 { l1: calc 1 }\nrank 1 { l1: calc 1 }")));
}

TEST(Parse, SizesUseTheirFullWidth) {
  const Schedule s = rank0("send 18446744073709551615b to 1 tag 4294967294 cpu 255 nic 255\nsend 0b to 1 tag -1");
  EXPECT_EQ(s[0].size, 18446744073709551615u);
  EXPECT_EQ(s[0].tag, 4294967294u);
  EXPECT_EQ(s[0].cpu, 255u);
  EXPECT_EQ(s[1].size, 0u);
  EXPECT_EQ(s[1].tag, kAnyTag);
}

TEST(Parse, AnnotationsKeepTheirTextLineAndRank) {
  const GoalFile file = parse_goal(
      "//@ version 1\nnum_ranks 2\nrank 0 {\n//@ l3 buf user+128 len 64 \r\nl3: calc 5 //@tail\n// plain\n}\n"
      "//@ between\nrank 1 { //@ inside\n}\n//@ end");
  ASSERT_EQ(file.annotations.size(), 6u);
  const auto expect = [&](size_t i, uint32_t rank, uint32_t line, const std::string& text) {
    EXPECT_EQ(file.annotations[i].rank, rank) << i;
    EXPECT_EQ(file.annotations[i].line, line) << i;
    EXPECT_EQ(file.annotations[i].text, text) << i;
  };
  expect(0, Annotation::kNoRank, 1, "version 1");
  expect(1, 0, 4, "l3 buf user+128 len 64");
  expect(2, 0, 5, "tail");
  expect(3, Annotation::kNoRank, 8, "between");
  expect(4, 1, 9, "inside");
  expect(5, Annotation::kNoRank, 11, "end");
}

struct BadText {
  const char* name;
  std::string text;
  uint32_t line, column;
  const char* message;
};

class ParseErrors : public testing::TestWithParam<BadText> {};

TEST_P(ParseErrors, NameThePlaceTheCauseAndTheRemedy) {
  const BadText& bad = GetParam();
  try {
    const GoalFile file = parse_goal(bad.text);
    validate(file.ranks);
    FAIL() << "accepted";
  } catch (const ScheduleError& e) {
    EXPECT_EQ(e.line, bad.line) << e.what();
    EXPECT_EQ(e.column, bad.column) << e.what();
    EXPECT_EQ(e.message, bad.message);
  }
}

std::string in_rank0(const std::string& body) { return "num_ranks 2\nrank 0 {\n" + body + "\n}\nrank 1 {\n}\n"; }

INSTANTIATE_TEST_SUITE_P(
    Text, ParseErrors,
    testing::Values(
        BadText{"Empty", "", 1, 1, "the file does not say how many ranks there are; begin it with \"num_ranks N\""},
        BadText{"NoNumRanks", "// x\nrank 0 {\n}\n", 2, 1, "num_ranks is not known yet; write \"num_ranks N\" before the first rank"},
        BadText{"NumRanksTwice", "num_ranks 1\nnum_ranks 1\n", 2, 1, "num_ranks was said in line 1 already; remove one of the two"},
        BadText{"NumRanksZero", "num_ranks 0\n", 1, 11, "num_ranks is 0; a job has at least one rank"},
        BadText{"NumRanksNoNumber", "num_ranks many\n", 1, 11, "expected the number of ranks instead of \"many\""},
        BadText{"NumRanksNegative", "num_ranks -2\n", 1, 11, "\"-2\" cannot be the number of ranks; write a number from 0 to 4294967294"},
        BadText{
            "OperationOutside", "num_ranks 1\nl1: calc 5\n", 2, 1,
            "expected \"rank R {\" or \"num_ranks N\" instead of \"l1\"; operations and dependencies stand inside the block of their rank"},
        BadText{"StrayBrace", "num_ranks 1\nrank 0 {\n}\n}\n", 4, 1,
                "this \"}\" closes nothing; remove it, or open a block with \"rank R {\" before"},
        BadText{"RankTooHigh", "num_ranks 2\nrank 2 {\n}\n", 2, 6,
                "there is no rank 2: ranks go from 0 to 1; correct it or raise num_ranks in line 1"},
        BadText{"RankTwice", "num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", 4, 6, "rank 0 has a block in line 2 already; join the two"},
        BadText{"RankMissing", "\nnum_ranks 3\nrank 0 {\n}\nrank 2 {\n}\n", 2, 1,
                "num_ranks is 3 but rank 1 has no block; add \"rank 1 { }\" if it has nothing to do, or correct num_ranks"},
        BadText{"RanksByTheBillion", "num_ranks 4294967294\nrank 0 {\n}\n", 1, 1,
                "num_ranks is 4294967294 but rank 1 has no block; add \"rank 1 { }\" if it has nothing to do, or correct num_ranks"},
        BadText{"NoOpeningBrace", "num_ranks 1\nrank 0\ncalc 5\n", 3, 1, "expected \"{\" after the number of the rank instead of \"calc\""},
        BadText{"NoClosingBrace", "num_ranks 1\nrank 0 {\ncalc 5\n", 4, 1, "the block of rank 0 opened in line 2 is not closed; add \"}\""},
        BadText{"BlockInBlock", "num_ranks 2\nrank 0 {\ncalc 5\nrank 1 {\n}\n", 4, 1,
                "the block of rank 0 opened in line 2 is still open; add \"}\" before \"rank\""},
        BadText{"UnknownOperation", in_rank0("l1: sned 8b to 1"), 3, 5, "\"sned\" is no operation; write send, recv or calc"},
        BadText{"LabelAlone", in_rank0("l1:"), 3, 4, "the end of the line is no operation; write send, recv or calc"},
        BadText{"TruncatedInOperation", "num_ranks 1\nrank 0 { send 8b to", 2, 20,
                "expected the rank of the destination instead of the end of the file"},
        BadText{"NoSize", in_rank0("send b to 1"), 3, 6, "expected a size in bytes instead of \"b\""},
        BadText{"NoUnit", in_rank0("send 8 to 1"), 3, 8, "expected \"b\" after the size instead of \"to\""},
        BadText{"SendFrom", in_rank0("send 8b from 1"), 3, 9, "expected \"to\" before the destination instead of \"from\""},
        BadText{"RecvTo", in_rank0("recv 8b to 1"), 3, 9, "expected \"from\" before the source instead of \"to\""},
        BadText{"SendToAny", in_rank0("send 8b to -1"), 3, 12,
                "\"-1\" cannot be the rank of the destination; write a number from 0 to 4294967294"},
        BadText{"RecvFromMinusTwo", in_rank0("recv 8b from -2"), 3, 14,
                "\"-2\" cannot be the rank of the source; write a number from 0 to 4294967294"},
        BadText{"SizeTooLarge", in_rank0("send 18446744073709551616b to 1"), 3, 6,
                "\"18446744073709551616\" cannot be a size in bytes; write a number from 0 to 18446744073709551615"},
        BadText{"TagTooLarge", in_rank0("send 8b to 1 tag 4294967295"), 3, 18,
                "\"4294967295\" cannot be a tag; write a number from 0 to 4294967294"},
        BadText{"CpuTooLarge", in_rank0("calc 5 cpu 256"), 3, 12, "\"256\" cannot be a cpu; write a number from 0 to 255"},
        BadText{"NicTooLarge", in_rank0("calc 5 nic 256"), 3, 12, "\"256\" cannot be a nic; write a number from 0 to 255"},
        BadText{"TagTwice", in_rank0("send 8b to 1 tag 1 tag 2"), 3, 20, "\"tag\" is said twice for one operation; remove one of the two"},
        BadText{"CalcTag", in_rank0("calc 5 tag 1"), 3, 8, "calc has no tag; only send and recv have"},
        BadText{"TwoStatementsOnALine", in_rank0("l1: calc 5 l2: calc 6"), 3, 12,
                "\"l2\" does not belong to this statement; begin the next one on a new line or after \";\""},
        BadText{"NumberAsStatement", in_rank0("5: calc 5"), 3, 1, "expected an operation or a label instead of \"5\""},
        BadText{"StrangeCharacter", in_rank0("calc 5\x01"), 3, 7,
                "\"\\x01\" does not belong to this statement; begin the next one on a new line or after \";\""},
        BadText{"CommentDoesNotEnd", in_rank0("calc 5 /* and\nso on"), 3, 8, "this comment does not end; close it with \"*/\""},
        BadText{"RequiresNothing", in_rank0("l1: calc 5\nl1 requires"), 4, 12,
                "expected the label of an operation to wait for instead of the end of the line"},
        BadText{"UnknownDependent", in_rank0("l1: calc 5\nl9 requires l1"), 4, 1,
                "rank 0 has no operation with the label \"l9\"; labels are known only in the block that defines them"},
        BadText{"UnknownPrerequisite", in_rank0("l1: calc 5\n l1 irequires l2"), 4, 15,
                "rank 0 has no operation with the label \"l2\"; labels are known only in the block that defines them"},
        BadText{"LabelTwice", in_rank0("l1: calc 5\n  l1: calc 6"), 4, 3,
                "the label \"l1\" is already that of the calc \"l1\" (3:1); give one of the two another label"},
        BadText{"LongWord", in_rank0(std::string(100, 'x')), 3, 1,
                "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" is no operation; write send, recv or calc"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Graph, ParseErrors,
    testing::Values(
        BadText{"SelfDependency", in_rank0("l1: calc 5\nl1 requires l1"), 3, 1,
                "the calc \"l1\" (3:1) waits for itself; remove one of these dependencies"},
        BadText{"Cycle", in_rank0("l1: calc 5\nl2: send 8b to 1\nl3: calc 7\nl1 requires l3\nl3 irequires l2\nl2 requires l1"), 3, 1,
                "operations wait for each other in a circle: the calc \"l1\" (3:1) waits for the calc \"l3\" (5:1), which waits for the "
                "send \"l2\" (4:1), which waits for the first; remove one of these dependencies"},
        BadText{"PeerOutOfRange", in_rank0("l1: send 8b to 2"), 3, 1,
                "the send \"l1\" (3:1) of rank 0 names the peer 2, but ranks go from 0 to 1; correct the peer or raise num_ranks"},
        BadText{"SendUnmatched", in_rank0("calc 1\nl1: send 8b to 1 tag 4"), 4, 1,
                "the send \"l1\" (4:1) of rank 0 has no matching receive: with tag 4 rank 0 sends 1 and rank 1 receives 0; add the receive "
                "or remove this send"},
        BadText{"RecvUnmatched", in_rank0("recv 8b from 1"), 3, 1,
                "the recv (3:1) of rank 0 has no matching send: with tag 0 rank 1 sends 0 and rank 0 receives 1; add the send or remove "
                "this receive"},
        BadText{"SizesDiffer", "num_ranks 1\nrank 0 {\nl1: send 8b to 0\nl2: recv 9b from 0\n}\n", 4, 1,
                "the recv \"l2\" (4:1) of rank 0 expects 9 bytes, but the message it gets, the send \"l1\" (3:1) of rank 0, has 8; make "
                "the sizes equal or give the messages different tags"}),
    [](const auto& info) { return info.param.name; });

struct Sample {
  const char* name;
  uint64_t operations, dependencies;
};

class Schedgen : public testing::TestWithParam<Sample> {};

TEST_P(Schedgen, OutputIsReadCompletely) {
  std::ifstream in(std::string(GOAL_SCHEDULES) + "/" + GetParam().name + ".8.goal");
  ASSERT_TRUE(in);
  std::ostringstream text;
  text << in.rdbuf();
  const GoalFile file = parse_goal(text.str());
  EXPECT_EQ(file.num_ranks, 8u);
  uint64_t operations = 0, dependencies = 0;
  for (const Schedule& s : file.ranks) {
    operations += s.size();
    dependencies += s.num_edges();
  }
  EXPECT_EQ(operations, GetParam().operations);
  EXPECT_EQ(dependencies, GetParam().dependencies);
  EXPECT_NO_THROW(validate(file.ranks));
}

INSTANTIATE_TEST_SUITE_P(Files, Schedgen,
                         testing::Values(Sample{"allreduce_recdoub", 96, 40}, Sample{"allreduce_ring", 224, 104},
                                         Sample{"binomialtreebcast", 14, 4}, Sample{"binomialtreereduce", 14, 4},
                                         Sample{"dissemination", 48, 16}, Sample{"gather", 14, 0}, Sample{"linear_alltoall", 112, 0},
                                         Sample{"scatter", 14, 0}),
                         [](const auto& info) { return info.param.name; });

TEST(Parse, ReadsAMillionOperations) {
  constexpr int kRanks = 4;
  const auto kPerRank = static_cast<int>(test::runs(250'000));
  std::string text = "num_ranks " + std::to_string(kRanks) + "\n";
  for (int rank = 0; rank < kRanks; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    for (int i = 1; i <= kPerRank; ++i) {
      const std::string l = std::to_string(i);
      const int peer = (rank + (i % 2 != 0 ? 1 : kRanks - 1)) % kRanks;
      text += "l" + l + (i % 2 != 0 ? ": send 1024b to " : ": recv 1024b from ") + std::to_string(peer) + " tag 0\n";
      if (i > 2 && i % 2 != 0) text += "l" + l + " requires l" + std::to_string(i - 1) + "\n";
    }
    text += "}\n";
  }
  const auto ms_since = [](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
  };
  auto start = std::chrono::steady_clock::now();
  const GoalFile file = parse_goal(text);
  const auto parse_ms = ms_since(start);
  start = std::chrono::steady_clock::now();
  EXPECT_NO_THROW(validate(file.ranks));
  RecordProperty("parse_ms", std::to_string(parse_ms));
  RecordProperty("validate_ms", std::to_string(ms_since(start)));
  std::cout << "parsed in " << parse_ms << " ms, validated in " << ms_since(start) << " ms\n";
  uint64_t operations = 0;
  for (const Schedule& s : file.ranks) operations += s.size();
  EXPECT_EQ(operations, uint64_t{kRanks} * kPerRank);
}

}  // namespace
}  // namespace portunus::goal
