// Barriers, pieces of unequal size, graphs, groups within a job, nodes first, and what is chosen.
#include <stdexcept>

#include "tests/goal/collective_cases.hpp"
#include "tests/support/collective_graphs.hpp"
#include "tests/support/graph_run.hpp"

namespace portunus::goal::collectives {
namespace {

// ---- barriers

template <class Build>
void expect_that_nobody_leaves_early(uint32_t ranks, Build&& build) {
  const std::vector<Plan> plans = plans_of(ranks, build);
  ASSERT_EQ(trouble(plans, ranks), "");
  for (uint32_t absent = 0; ranks > 1 && absent < ranks; ++absent) {
    Executor executor(plans, absent, absent);
    executor.run();
    for (uint32_t r = 0; r < ranks; ++r) ASSERT_FALSE(executor.ended(r)) << "rank " << r << " left, rank " << absent << " never came";
  }
}

// All ways to be on nodes that a few ranks have, and for more ranks some: round robin, blocks, all else on one.
std::vector<std::vector<uint32_t>> node_maps(uint32_t ranks) {
  std::vector<std::vector<uint32_t>> maps(4, std::vector<uint32_t>(ranks));
  for (uint32_t r = 0; r < ranks; ++r) {
    maps[0][r] = 7 + r % 2;
    maps[1][r] = r / 3;
    maps[2][r] = r == ranks / 2 ? 9 : 4;
    maps[3][r] = r * r % 5;
  }
  return maps;
}

TEST(Barrier, KeepsAllRanksUntilTheLastHasCome) {
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    SCOPED_TRACE(ranks);
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_DISSEMINATION, GOAL_BINOMIAL}) {
      const Choices choices = only(Collective::barrier, algorithm);
      expect_that_nobody_leaves_early(ranks, [&](Script& script, uint32_t r) { barrier(script, Team(r, ranks), choices); });
    }
    for (const auto& nodes : node_maps(ranks)) {
      expect_that_nobody_leaves_early(ranks, [&](Script& script, uint32_t r) { barrier(script, Levels(r, nodes), Choices()); });
    }
  }
}

// Leaving out the wait for earlier rounds is the well-known mistake: then ranks do leave early.
TEST(Barrier, WouldNotHoldIfOnlyTheLastRoundCounted) {
  const std::vector<Plan> plans = plans_of(8, [](Script& script, uint32_t r) {
    VertexId last = kNoVertex;
    for (const uint32_t distance : {1u, 2u, 4u}) {
      const VertexId out = script.send_signal((r + distance) % 8), in = script.recv_signal((r + 8 - distance) % 8);
      script.after(out, last);
      last = in;
    }
  });
  ASSERT_EQ(trouble(plans, 1), "");
  Executor executor(plans, 1, 0);
  executor.run();
  EXPECT_TRUE(executor.ended(5));  // though rank 0 never came
}

TEST(Script, OrdersEveryUseOfMemoryThatAWriteTouches) {
  Builder builder;
  Script script(builder);
  const Memory box = script.scratch(16);
  const VertexId first = script.recv(box, 16, 1), half = script.send(box + 8, 8, 2), other = script.send(box, 8, 3);
  const VertexId again = script.recv(box + 4, 8, 4), apart = script.recv(script.scratch(8), 8, 5);
  const VertexId elsewhere = script.recv(argument(0, box.place), 16, 1);
  const Plan plan = builder.finish();
  const auto waits = [&](VertexId dependent, VertexId prerequisite) {
    return std::ranges::any_of(plan.graph.prerequisites(dependent), [&](Edge e) { return e.vertex == prerequisite && !e.on_start; });
  };
  EXPECT_TRUE(waits(half, first) && waits(other, first) && waits(again, half) && waits(again, other));
  EXPECT_TRUE(plan.graph.prerequisites(apart).empty() && plan.graph.prerequisites(elsewhere).empty());
  EXPECT_EQ(plan.graph.num_edges(), 4u);
  EXPECT_EQ(MemoryOrder(plan).problem(), "");
  EXPECT_TRUE(script.is_waited_for(first) && script.waits(again) && !script.waits(first) && !script.is_waited_for(again));
}

// The judge of the tests is not blind.
TEST(MemoryOrder, FindsUsesInNoOrder) {
  Builder builder;
  const Memory box = builder.scratch(16);
  const VertexId recv = builder.recv(box, 8, 1), send = builder.send(box + 7, 1, 1);
  builder.after_start(send, recv);
  EXPECT_EQ(MemoryOrder(builder.finish()).problem(), "operations 0 and 1 share memory in no order");
}

// ---- pieces of unequal size

uint64_t size_of(uint32_t from, uint32_t to) { return (from * 3 + to * 5) % 4 * 100 + (from * to) % 7; }

struct Layout {  // where one rank has the pieces of all, with gaps between, in descending order
  std::vector<uint64_t> at;
  uint64_t total = 0;
  template <class Size>
  Layout(uint32_t ranks, Size&& size) : at(ranks) {
    for (uint32_t i = ranks; i-- > 0;) {
      at[i] = total;
      total += size(i) + i % 3;
    }
  }
  [[nodiscard]] std::vector<Piece> in(Memory base, const std::vector<uint64_t>& sizes) const {
    std::vector<Piece> pieces;
    for (size_t i = 0; i < at.size(); ++i) pieces.push_back({base + at[i], sizes[i]});
    return pieces;
  }
};

void write(Bytes& bytes, uint64_t at, const Bytes& text) { std::ranges::copy(text, bytes.begin() + static_cast<std::ptrdiff_t>(at)); }

TEST(Collectives, GathervScattervAndAllgathervMovePiecesOfAnySize) {
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    SCOPED_TRACE(ranks);
    std::vector<uint64_t> sizes;
    for (uint32_t r = 0; r < ranks; ++r) sizes.push_back(size_of(r, 1));
    const Layout layout(ranks, [&](uint32_t i) { return sizes[i]; });
    Bytes expected(layout.total, Buffers::kUntouched);
    Buffers one(ranks), all(ranks), back(ranks);
    for (uint32_t r = 0; r < ranks; ++r) {
      one.set(r, letter(r, 0, sizes[r]));
      back.set(r, Bytes(sizes[r], Buffers::kUntouched));
      write(expected, layout.at[r], letter(r, 0, sizes[r]));
    }
    all.set_all(layout.total);
    const uint32_t root = ranks / 2;
    execute(ranks, [&](Script& script, uint32_t r) {
      const std::vector<Piece> pieces = r == root ? layout.in(all.at(r), sizes) : std::vector<Piece>();
      gatherv(script, Team(r, ranks), root, {one.at(r), sizes[r]}, pieces);
    });
    ASSERT_EQ(all.get(root), expected);
    execute(ranks, [&](Script& script, uint32_t r) {
      const std::vector<Piece> pieces = r == root ? layout.in(all.at(r), sizes) : std::vector<Piece>();
      scatterv(script, Team(r, ranks), root, {back.at(r), sizes[r]}, pieces);
    });
    for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(back.get(r), letter(r, 0, sizes[r]));
    for (const Algorithm algorithm : {GOAL_AUTO, GOAL_BRUCK, GOAL_RING}) {
      for (const bool in_place : {false, true}) {
        all.set_all(layout.total);
        for (uint32_t r = 0; r < ranks; ++r) {
          Bytes content(layout.total, Buffers::kUntouched);
          if (in_place) write(content, layout.at[r], letter(r, 0, sizes[r]));
          all.set(r, content);
        }
        const Choices choices = only(Collective::allgatherv, algorithm);
        execute(ranks, [&](Script& script, uint32_t r) {
          const std::vector<Piece> pieces = layout.in(all.at(r), sizes);
          allgatherv(script, Team(r, ranks), in_place ? pieces[r].at : one.at(r), pieces, choices);
        });
        for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(all.get(r), expected);
      }
    }
  }
}

TEST(Collectives, AlltoallvMovesPiecesOfAnySize) {
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(ranks);
      // In place, what goes to a rank and what comes from it have one size.
      const auto size = [&](uint32_t from, uint32_t to) {
        return in_place ? size_of(std::min(from, to), std::max(from, to)) : size_of(from, to);
      };
      Buffers from(ranks), to(ranks);
      std::vector<std::vector<Piece>> out(ranks), in(ranks);
      std::vector<Bytes> expected(ranks);
      for (uint32_t r = 0; r < ranks; ++r) {
        std::vector<uint64_t> leaving, coming;
        for (uint32_t i = 0; i < ranks; ++i) {
          leaving.push_back(size(r, i));
          coming.push_back(size(i, r));
        }
        const Layout left(ranks, [&](uint32_t i) { return leaving[i]; }), arrived(ranks, [&](uint32_t i) { return coming[i]; });
        Bytes content(left.total, Buffers::kUntouched);
        expected[r].assign(arrived.total, Buffers::kUntouched);
        for (uint32_t i = 0; i < ranks; ++i) {
          write(content, left.at[i], letter(r, i, leaving[i]));
          write(expected[r], arrived.at[i], letter(i, r, coming[i]));
        }
        from.set(r, content);
        to.set(r, in_place ? content : Bytes(arrived.total, Buffers::kUntouched));
        in[r] = arrived.in(to.at(r), coming);
        out[r] = in_place ? in[r] : left.in(from.at(r), leaving);
      }
      execute(ranks, [&](Script& script, uint32_t r) { alltoallv(script, Team(r, ranks), out[r], in[r]); });
      for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(to.get(r), expected[r]) << "rank " << r;
    }
  }
}

// ---- any graph

TEST(Collectives, ExchangeFollowsTheEdgesOfAnyGraph) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<uint32_t>(1 + random() % 17);
    std::vector<std::vector<Link>> out(ranks), in(ranks);
    std::vector<Buffers> sent(40, Buffers(ranks)), received(40, Buffers(ranks));
    std::vector<Bytes> texts;
    std::vector<uint32_t> targets;
    for (uint32_t edge = 0; edge < random() % 40; ++edge) {  // loops and parallel edges among them
      const auto from = static_cast<uint32_t>(random() % ranks), to = static_cast<uint32_t>(random() % ranks);
      const auto tag = static_cast<uint32_t>(random() % 2);
      texts.push_back(letter(from, edge, random() % 3 * 500));
      targets.push_back(to);
      sent[edge].set(from, texts.back());
      received[edge].set(to, Bytes(texts.back().size(), Buffers::kUntouched));
      out[from].push_back({to, tag, {sent[edge].at(from), texts.back().size()}});
      in[to].push_back({from, tag, {received[edge].at(to), texts.back().size()}});
    }
    execute(ranks, [&](Script& script, uint32_t r) { exchange(script, Team(r, ranks), out[r], in[r]); });
    for (size_t edge = 0; edge < texts.size(); ++edge) ASSERT_EQ(received[edge].get(targets[edge]), texts[edge]);
  }
}

// ---- nodes first

TEST(NodesFirst, GivesWhatOneLevelGives) {
  size_t number = 0;
  for (uint32_t ranks = 1; ranks <= 17; ++ranks) {
    for (const auto& nodes : node_maps(ranks)) {
      for (const uint64_t count : {0, 1, 300, 9000}) {
        const Element& e = kElements[number++ % std::size(kElements)];
        const bool in_place = number % 2 == 0;
        const auto root = static_cast<uint32_t>(number % ranks);
        SCOPED_TRACE(std::to_string(ranks) + " ranks, case " + std::to_string(number));
        const Bytes all = combined(e, 0, ranks, count);
        const uint64_t bytes = all.size();
        const Choices choices;
        Buffers from(ranks), to(ranks), buffer(ranks), gathered(ranks);
        Bytes everything;
        for (uint32_t r = 0; r < ranks; ++r) {
          from.set(r, input(e, r, count));
          to.set(r, input(e, r, count));
          const Bytes mine = input(e, r, count);
          everything.insert(everything.end(), mine.begin(), mine.end());
        }
        buffer.set_all(bytes);
        buffer.set(root, all);
        gathered.set_all(bytes * ranks);
        execute(ranks, [&](Script& script, uint32_t r) { bcast(script, Levels(r, nodes, root), buffer.at(r), bytes, choices); });
        for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(buffer.get(r), all);
        execute(ranks,
                [&](Script& script, uint32_t r) { allgather(script, Levels(r, nodes), from.at(r), gathered.at(r), bytes, choices); });
        for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(gathered.get(r), everything);
        execute(ranks, [&](Script& script, uint32_t r) {
          reduce(script, Levels(r, nodes, root), {in_place && r == root ? to.at(r) : from.at(r), to.at(r), count, e}, choices);
        });
        ASSERT_EQ(to.get(root), all);
        to.set(root, input(e, root, count));
        execute(ranks, [&](Script& script, uint32_t r) {
          allreduce(script, Levels(r, nodes), {(in_place ? to : from).at(r), to.at(r), count, e}, choices);
        });
        for (uint32_t r = 0; r < ranks; ++r) ASSERT_EQ(to.get(r), all);
      }
    }
  }
}

TEST(NodesFirst, SendsOneMessageToEachNode) {
  std::vector<uint32_t> nodes(16);
  for (uint32_t r = 0; r < 16; ++r) nodes[r] = r % 4;
  const auto between_nodes = [&](auto&& build) {
    size_t count = 0;
    for (uint32_t r = 0; r < 16; ++r) {
      Builder builder;
      Script script(builder);
      build(script, r);
      for (const Vertex& vertex : builder.plan().graph.vertices()) count += vertex.kind == Kind::send && nodes[vertex.peer] != nodes[r];
    }
    return count;
  };
  static std::byte buffer[8];
  const Memory b = user(buffer);
  EXPECT_EQ(between_nodes([&](Script& script, uint32_t r) { bcast(script, Levels(r, nodes, 5), b, 8, Choices()); }), 3u);
  EXPECT_EQ(between_nodes([&](Script& script, uint32_t r) { reduce(script, Levels(r, nodes, 5), {b, b, 8, {}}, Choices()); }), 3u);
  EXPECT_EQ(between_nodes([&](Script& script, uint32_t r) { allreduce(script, Levels(r, nodes), {b, b, 8, {}}, Choices()); }), 8u);
  EXPECT_EQ(between_nodes([&](Script& script, uint32_t r) { barrier(script, Levels(r, nodes), Choices()); }), 8u);
  EXPECT_TRUE(Levels::worthwhile(nodes));
  EXPECT_FALSE(Levels::worthwhile(std::vector<uint32_t>{3, 3, 3}));
  EXPECT_FALSE(Levels::worthwhile(std::vector<uint32_t>{1, 2, 3}));
}

// ---- groups, counts of messages, choices

TEST(Teams, CarryCollectivesAmongSomeOfTheRanks) {
  const std::vector<uint32_t> members = {9, 2, 7, 4, 0};
  Buffers vector(10);
  for (uint32_t r = 0; r < 10; ++r) vector.set(r, input(kElements[0], r, 100));
  execute(10, [&](Script& script, uint32_t r) {
    const auto place = std::ranges::find(members, r);
    if (place == members.end()) return;
    const Team team(static_cast<uint32_t>(place - members.begin()), 5, members);
    allreduce_halving(script, team, {vector.at(r), vector.at(r), 100, kElements[0]});
    reduce_halving(script, team, 3, {vector.at(r), vector.at(r), 100, kElements[0]});
  });
  int32_t first;
  std::memcpy(&first, vector.get(4).data(), 4);
  EXPECT_EQ(first, 5 * 7 * (9 + 2 + 7 + 4 + 0));
  EXPECT_EQ(vector.get(3), input(kElements[0], 3, 100));
}

TEST(Collectives, SendAsManyMessagesAsTheirAlgorithmsSay) {
  for (uint32_t ranks = 1; ranks <= 33; ++ranks) {
    SCOPED_TRACE(ranks);
    const uint64_t rounds = std::bit_width(ranks - 1), core = std::bit_floor(ranks);
    Buffers from(ranks), to(ranks);
    from.set_all(8 * 64);
    to.set_all(8 * 64);
    const auto messages = [&](auto&& build) {
      uint64_t count = 0;
      execute(ranks, build, &count);
      return count;
    };
    const auto r64 = [&](uint32_t r) { return Reduction{from.at(r), to.at(r), 64, {PTLX_ADD, PTL_UINT64_T}}; };
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { barrier(s, Team(r, ranks), Choices()); }), ranks * rounds);
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { bcast_binomial(s, Team(r, ranks), 0, to.at(r), 8); }), ranks - 1);
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { allreduce_doubling(s, Team(r, ranks), r64(r)); }),
              core * static_cast<uint64_t>(std::bit_width(core) - 1) + 2 * (ranks - core));
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { allreduce_dissemination(s, Team(r, ranks), r64(r)); }),
              ranks * static_cast<uint64_t>(std::bit_width(ranks) + std::popcount(ranks) - 2));
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { allreduce_ring(s, Team(r, ranks), r64(r)); }), 2u * ranks * (ranks - 1));
    EXPECT_EQ(messages([&](Script& s, uint32_t r) { alltoall_bruck(s, Team(r, ranks), from.at(r), to.at(r), 8); }), ranks * rounds);
  }
}

TEST(Collectives, EndAtThousandsOfRanksWithTheMessagesAndRoundsOfTheirAlgorithms) {
  for (const KnownCollective& collective : kKnownCollectives) {
    for (const uint32_t ranks : {2u, 48u, 49u, 64u, 1000u, 1023u, 1024u, 3000u}) {
      SCOPED_TRACE(std::string(collective.name) + ", " + std::to_string(ranks));
      if (ranks > 64 && collective.most_ranks < 3000) continue;
      const std::vector<Schedule> graphs = graphs_of(collective, ranks);
      const GraphRun run = GraphRunner(graphs).run();
      EXPECT_TRUE(run.ended);
      EXPECT_EQ(run.messages, collective.messages(ranks));
      EXPECT_EQ(run.rounds, collective.rounds(ranks));
    }
  }
}

TEST(Choices, FollowTheTableUnlessTheyAreOverridden) {
  const Choices table, forced = Choices::parse("allreduce=ring,nodes=off,bcast=auto");
  EXPECT_EQ(table.of(Collective::allreduce, 8, 16).algorithm, GOAL_DOUBLING);
  EXPECT_EQ(table.of(Collective::allreduce, 100000, 16).algorithm, GOAL_HALVING);
  EXPECT_TRUE(table.nodes_first());
  EXPECT_EQ(forced.of(Collective::allreduce, 8, 16).algorithm, GOAL_RING);
  EXPECT_EQ(forced.of(Collective::bcast, 8, 16).algorithm, GOAL_BINOMIAL);
  EXPECT_FALSE(forced.nodes_first());
  for (uint8_t c = 0; c <= static_cast<uint8_t>(Collective::reduce_scatter); ++c) {
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{5000}, ~uint64_t{0}}) {
      for (const uint32_t ranks : {1u, 16u, ~0u}) EXPECT_NE(table.of(static_cast<Collective>(c), bytes, ranks).algorithm, GOAL_AUTO);
    }
  }
  Choices choices;
  EXPECT_FALSE(choices.force(Collective::barrier, GOAL_RING));
}

TEST(Choices, BetweenManyNodesSpareTheLatencyOfRings) {
  constexpr uint64_t kKiB = 1024;
  const RankPlacement across{RankPlacement::kNetwork}, slow{RankPlacement::kNetwork | RankPlacement::kSlow}, node{RankPlacement::kSeveral};
  Choices nodes, slow_nodes, within;
  nodes.take_place({across, across, across});
  slow_nodes.take_place({slow, slow, slow});
  within.take_place({node, node, node});
  EXPECT_EQ(nodes.of(Collective::allgather, 512 * kKiB, 64).algorithm, GOAL_DOUBLING);
  EXPECT_EQ(nodes.of(Collective::reduce_scatter, 512 * kKiB, 64).algorithm, GOAL_HALVING);
  EXPECT_EQ(slow_nodes.of(Collective::reduce_scatter, 512 * kKiB, 64).algorithm, GOAL_RING);
  for (const Collective ring : {Collective::allgather, Collective::reduce_scatter}) {
    EXPECT_EQ(nodes.of(ring, 513 * kKiB, 64).algorithm, GOAL_RING);
    EXPECT_EQ(nodes.of(ring, 512 * kKiB, 8).algorithm, GOAL_RING);
    EXPECT_EQ(within.of(ring, 512 * kKiB, 64).algorithm, GOAL_RING);
  }
  // A pipeline of a segment or few is a chain of all ranks.
  EXPECT_EQ(nodes.of(Collective::bcast, 1024 * kKiB, 16).algorithm, GOAL_SCATTER_ALLGATHER);
  EXPECT_EQ(nodes.of(Collective::bcast, 1025 * kKiB, 16).algorithm, GOAL_PIPELINE);
  EXPECT_EQ(nodes.of(Collective::bcast, 64 * kKiB, 17).algorithm, GOAL_BINOMIAL);
}

TEST(Choices, TakeRulesOfAFileBeforeTheTableAndNamesBeforeBoth) {
  const auto of = [](const char* text) {
    return Choices::parse(text, [](const std::string& path) { return "bcast " + path + " 8 pipeline"; });
  };
  const Choices file = of("file=4k");
  EXPECT_EQ(file.of(Collective::bcast, 4096, 8).algorithm, GOAL_PIPELINE);
  EXPECT_EQ(file.of(Collective::bcast, 4097, 8).algorithm, GOAL_BINOMIAL);
  EXPECT_EQ(file.of(Collective::bcast, 4096, 9).algorithm, GOAL_BINOMIAL);
  EXPECT_EQ(file.of(Collective::allreduce, 8, 8).algorithm, GOAL_DOUBLING);
  EXPECT_FALSE(file.is_forced(Collective::bcast));  // node collectives go on
  for (const char* text : {"file=any,bcast=linear,nodes=off", "nodes=off,bcast=linear,file=any"}) {
    const Choices named = of(text);
    EXPECT_EQ(named.of(Collective::bcast, 8, 2).algorithm, GOAL_LINEAR);
    EXPECT_TRUE(named.is_forced(Collective::bcast));
    EXPECT_FALSE(named.nodes_first());
  }
  EXPECT_EQ(of("file=1k,file=any").of(Collective::bcast, 8192, 8).algorithm, GOAL_PIPELINE);
  EXPECT_THROW(of("file=much"), std::invalid_argument);
}

TEST(Choices, KnowWhereTheRanksAre) {
  Choices choices = Choices::parse("file=-", [](const std::string&) {
    return std::string("bcast any any pipeline network single\nbcast any any binomial node\nbcast any any linear\n");
  });
  EXPECT_EQ(choices.of(Collective::bcast, 8, 8).algorithm, GOAL_BINOMIAL);
  choices.take_place({.all = {RankPlacement::kNetwork | RankPlacement::kSeveral},
                      .within = {RankPlacement::kSeveral},
                      .between = {RankPlacement::kNetwork}});
  EXPECT_EQ(choices.of(Collective::bcast, 8, 8).algorithm, GOAL_LINEAR);
  EXPECT_EQ(choices.within().of(Collective::bcast, 8, 8).algorithm, GOAL_BINOMIAL);
  EXPECT_EQ(choices.between().of(Collective::bcast, 8, 8).algorithm, GOAL_PIPELINE);
}

// On a slow wire, and between few: elsewhere messages cost more than they hide.
TEST(Choices, CutLongVectorsOnASlowWire) {
  constexpr uint64_t kLong = 1 << 20;
  Choices choices;
  choices.take_place({.all = {RankPlacement::kNetwork | RankPlacement::kSlow},
                      .within = {RankPlacement::kSeveral},
                      .between = {RankPlacement::kNetwork | RankPlacement::kSlow}});
  EXPECT_EQ(choices.of(Collective::allreduce, kLong, 2).algorithm, GOAL_PIPELINE);
  EXPECT_EQ(choices.between().of(Collective::allreduce, kLong, 2).algorithm, GOAL_PIPELINE);
  EXPECT_NE(choices.within().of(Collective::allreduce, kLong, 2).algorithm, GOAL_PIPELINE);
  EXPECT_NE(choices.of(Collective::allreduce, 100'000, 2).algorithm, GOAL_PIPELINE);
  EXPECT_EQ(choices.of(Collective::allreduce, kLong, 8).algorithm, GOAL_PIPELINE);
  EXPECT_NE(choices.of(Collective::allreduce, kLong + 1, 3).algorithm, GOAL_PIPELINE);
  EXPECT_EQ(choices.of(Collective::allgather, kLong, 8).algorithm, GOAL_PIPELINE);
  EXPECT_NE(choices.of(Collective::allgather, kLong + 1, 3).algorithm, GOAL_PIPELINE);
  choices.take_place({.all = {RankPlacement::kNetwork}, .within = {}, .between = {RankPlacement::kNetwork}});
  EXPECT_NE(choices.of(Collective::allgather, kLong, 8).algorithm, GOAL_PIPELINE);
  EXPECT_NE(choices.of(Collective::allreduce, kLong, 2).algorithm, GOAL_PIPELINE);
}

TEST(Choices, HaveATableOfWhatIsOffered) {
  for (uint8_t c = 0; c < kCollectives * 16; ++c) {
    Choices table;
    table.take_place({.all = {static_cast<uint8_t>(c / kCollectives)}, .within = {}, .between = {}});
    const auto collective = static_cast<Collective>(c % kCollectives);
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{200}, uint64_t{5000}, uint64_t{100000}, kAnySize}) {
      for (const uint32_t ranks : {1u, 2u, 4u, 8u, 16u, 64u, kAnyRanks})
        EXPECT_TRUE(offers(collective, table.of(collective, bytes, ranks).algorithm));
    }
  }
}

TEST(Choices, RefuseWhatTheyDoNotKnow) {
  const auto sentence = [](const char* text) -> std::string {
    try {
      return static_cast<void>(Choices::parse(text)), "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(sentence(""), "");
  EXPECT_EQ(sentence("allreduce=linear"),
            "\"allreduce=linear\": the algorithms of allreduce are auto, doubling, halving, ring, pipeline, dissemination");
  EXPECT_NE(sentence("allreduce").find("write COLLECTIVE=ALGORITHM"), std::string::npos);
  EXPECT_NE(sentence("bcast=ring,").find("the algorithms of bcast"), std::string::npos);
  EXPECT_NE(sentence("cast=ring").find("the collectives with a choice are barrier, bcast"), std::string::npos);
  EXPECT_EQ(sentence("nodes=yes"), "\"nodes=yes\": nodes is on or off");
}

}  // namespace
}  // namespace portunus::goal::collectives
