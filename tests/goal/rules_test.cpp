// Files of rules: what is understood, what is refused with which sentence, and that rules are written as they are read.
#include "engine/goal/collectives/rules.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace portunus::goal::collectives {
namespace {

std::string refusal(std::string_view text) {
  try {
    return static_cast<void>(parse_rules(text)), "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(Rules, AreLinesOfFourWordsAndComments) {
  const std::vector<Rule> rules =
      parse_rules("# of a machine\n\n bcast 32k any binomial\t# short\r\nallreduce 7 16 ring\nbarrier any 1 binomial");
  const std::vector<Rule> meant = {{Collective::bcast, 32 * 1024, kAnyRanks, GOAL_BINOMIAL},
                                   {Collective::allreduce, 7, 16, GOAL_RING},
                                   {Collective::barrier, kAnySize, 1, GOAL_BINOMIAL}};
  EXPECT_EQ(rules, meant);
  EXPECT_TRUE(parse_rules("").empty());
  EXPECT_TRUE(parse_rules("#").empty());
}

TEST(Rules, HoldUpToTheirSizeAndRanks) {
  const Rule rule = parse_rules("alltoall 1m 8 bruck").front();
  EXPECT_TRUE(rule.holds(Collective::alltoall, 1 << 20, 8, {}));
  EXPECT_FALSE(rule.holds(Collective::alltoall, (1 << 20) + 1, 8, {}));
  EXPECT_FALSE(rule.holds(Collective::alltoall, 1, 9, {}));
  EXPECT_FALSE(rule.holds(Collective::bcast, 1, 1, {}));
}

TEST(Rules, HoldWhereTheySay) {
  const Rule rule = parse_rules("alltoall any any bruck crowded node").front();
  EXPECT_EQ(rule.where, (Where{RankPlacement::kNetwork | RankPlacement::kCrowded, RankPlacement::kCrowded}));
  EXPECT_TRUE(rule.holds(Collective::alltoall, 1, 8, {RankPlacement::kCrowded}));
  EXPECT_TRUE(rule.holds(Collective::alltoall, 1, 8, {RankPlacement::kCrowded | RankPlacement::kSeveral}));
  EXPECT_FALSE(rule.holds(Collective::alltoall, 1, 8, {}));
  EXPECT_FALSE(rule.holds(Collective::alltoall, 1, 8, {RankPlacement::kCrowded | RankPlacement::kNetwork}));
  EXPECT_EQ(parse_rules("allreduce any any pipeline slow").front().where, (Where{RankPlacement::kSlow, RankPlacement::kSlow}));
  EXPECT_EQ(parse_rules("allreduce any any ring fast").front().where, (Where{RankPlacement::kSlow, 0}));
}

TEST(Rules, AreRefusedWithTheirLineAndWhatToWrite) {
  EXPECT_EQ(refusal("# one\nbcast 8k any ring\n"),
            "line 2, \"bcast 8k any ring\": the algorithms of bcast are linear, binomial, pipeline, scatter_allgather");
  EXPECT_NE(refusal("allreduce=ring").find("line 1, \"allreduce=ring\": write COLLECTIVE UP-TO-BYTES UP-TO-RANKS ALGORITHM"),
            std::string::npos);
  EXPECT_NE(refusal("bcast any any").find("write COLLECTIVE"), std::string::npos);
  for (const char* where : {"linear", "node node", "node network", "crowded single uncrowded", "1"})
    EXPECT_NE(refusal(std::string("bcast any any linear ") + where).find("where it is used"), std::string::npos) << where;
  EXPECT_NE(refusal("cast any any linear").find("the collectives with a choice are barrier, bcast"), std::string::npos);
  EXPECT_NE(refusal("bcast any any auto").find("the algorithms of bcast are linear"), std::string::npos);
  for (const char* size : {"-1", "8K", "k", "1.5k", "0x10", "18446744073709551616", "17179869184g", "+8", "eight"})
    EXPECT_NE(refusal(std::string("bcast ") + size + " any linear").find("up to how many bytes"), std::string::npos) << size;
  for (const char* ranks : {"0", "-1", "4294967295", "2k", "all"})
    EXPECT_NE(refusal(std::string("bcast any ") + ranks + " linear").find("up to how many ranks"), std::string::npos) << ranks;
}

TEST(Rules, ThatAreRefusedAreShownAsFarAsTheyCanBe) {
  const std::string noise = refusal(std::string("\x7f\x01\xff ELF\0 and more\x1b[31m", 21));
  for (const char c : noise) EXPECT_TRUE(c >= ' ' && c <= '~');
  EXPECT_LT(refusal(std::string(10000, 'x')).size(), 250u);
}

TEST(Rules, AreWrittenAsTheyAreRead) {
  for (const Rule& rule :
       {Rule{Collective::reduce_scatter, kAnySize, kAnyRanks, GOAL_RING}, Rule{Collective::bcast, 0, 1, GOAL_SCATTER_ALLGATHER},
        Rule{Collective::gather, 4097, 17, GOAL_LINEAR}, Rule{Collective::barrier, uint64_t{3} << 30, 2, GOAL_DISSEMINATION},
        Rule{Collective::bcast, 7, 7, GOAL_LINEAR, {RankPlacement::kNetwork | RankPlacement::kSeveral, RankPlacement::kSeveral}},
        Rule{Collective::bcast, 7, 7, GOAL_LINEAR, {RankPlacement::kSeveral | RankPlacement::kCrowded, RankPlacement::kCrowded}},
        Rule{Collective::bcast, uint64_t{5} << 50, kAnyRanks - 1, GOAL_LINEAR}}) {
    EXPECT_EQ(parse_rules(line_of(rule)), std::vector<Rule>{rule}) << line_of(rule);
  }
  EXPECT_EQ(size_text(8192), "8k");
  EXPECT_EQ(size_text(100), "100");
  EXPECT_EQ(size_text(kAnySize), "any");
}

}  // namespace
}  // namespace portunus::goal::collectives
