// plan.cpp: see plan.hpp.
#include "tests/simulation/mpi/plan.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace portunus::simulation {
namespace {

constexpr size_t kRoom = 70'000;  // of a receive that may get any message

class Drawing {
 public:
  Drawing(uint64_t seed, int ranks) : random_(seed * 0xd1342543de82ef95u + 7) {
    plan_.ranks = ranks;
    plan_.seed = seed;
  }

  Plan draw_all(bool survivors) {
    if (survivors) {
      plan_.rounds = 2 + draw(6);
      return plan_;
    }
    draw_communicators();
    plan_.windows = one_in(3);
    plan_.added.resize(static_cast<size_t>(plan_.ranks));
    plan_.fetched.resize(static_cast<size_t>(plan_.ranks));
    for (int count = 1 + draw(3); count > 0; --count) draw_epoch();
    return plan_;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  bool one_in(int n) { return draw(n) == 0; }
  template <class Enum>
  Enum any() {
    return static_cast<Enum>(draw(static_cast<int>(Enum::count)));
  }

  void draw_communicators() {
    CommPlan world;
    world.members.resize(static_cast<size_t>(plan_.ranks));
    std::iota(world.members.begin(), world.members.end(), 0);
    plan_.comms.push_back(world);
    for (int more = draw(3); more > 0; --more) {
      CommPlan made;
      made.parent = 0;
      made.dup = one_in(2);
      made.members = world.members;
      if (!made.dup) {
        // All in one, in another order: so that numbers differ; or in two parts, of which the plan follows the one with colour 0.
        const bool parts = plan_.ranks > 2 && one_in(2);
        made.members.clear();
        for (int r = 0; r < plan_.ranks; ++r) {
          made.colours.push_back(parts ? r % 2 : 0);
          made.keys.push_back(draw(100));
          if (made.colours.back() == 0) made.members.push_back(r);
        }
        std::stable_sort(made.members.begin(), made.members.end(),
                         [&](int a, int b) { return made.keys[static_cast<size_t>(a)] < made.keys[static_cast<size_t>(b)]; });
      }
      plan_.comms.push_back(made);
    }
  }

  size_t length() {
    switch (draw(8)) {
      case 0: return static_cast<size_t>(draw(9));
      case 1: return static_cast<size_t>(240 + draw(40));
      case 2: return static_cast<size_t>(8'100 + draw(200));
      case 3: return static_cast<size_t>(draw(10'000));
      case 4: return one_in(3) ? static_cast<size_t>(draw(static_cast<int>(kRoom))) : 64;
      default: return static_cast<size_t>(draw(200));
    }
  }

  enum class Regime : uint8_t { exact, any_source, any_tag, anything };
  struct Habit {  // of one receiver on one communicator in an epoch
    Regime regime;
    bool early;
    bool wild() const { return regime == Regime::any_source || regime == Regime::anything; }
  };

  void draw_epoch() {
    Epoch& epoch = plan_.epochs.emplace_back();
    epoch.ranks.resize(static_cast<size_t>(plan_.ranks));
    habits_.clear();
    for (const CommPlan& comm : plan_.comms) {
      auto& mine = habits_.emplace_back();
      for (size_t i = 0; i < comm.members.size(); ++i) mine.push_back({static_cast<Regime>(draw(4)), one_in(4)});
    }
    for (int count = 5 + draw(40); count > 0; --count) {
      const int kind = draw(20);
      if (kind < 15) message(epoch);
      else if (kind < 17) collective(epoch);
      else if (kind < 18 && plan_.windows) access(epoch);
      else lonely(epoch);
    }
    for (auto& actions : epoch.ranks) join(actions);
  }

  std::vector<Action>& of(Epoch& epoch, int comm, int rank) {
    return epoch.ranks[static_cast<size_t>(plan_.comms[static_cast<size_t>(comm)].members[static_cast<size_t>(rank)])];
  }

  void message(Epoch& epoch) {
    const int comm = draw(static_cast<int>(plan_.comms.size()));
    const int size = static_cast<int>(plan_.comms[static_cast<size_t>(comm)].members.size());
    const int from = draw(size), to = one_in(12) ? from : draw(size);
    const Habit habit = habits_[static_cast<size_t>(comm)][static_cast<size_t>(to)];
    Action send{.kind = Action::Kind::send, .comm = comm, .peer = to, .tag = draw(3), .length = length(), .number = ++numbers_};
    send.stride = one_in(6) ? 2 : 1;
    send.sending = any<Sending>();
    send.deferred = habit.wild() || from == to || one_in(3);
    if (send.deferred && send.sending < Sending::nonblocking)
      send.sending = send.sending == Sending::blocking ? Sending::nonblocking : Sending::nonblocking_synchronous;
    Action receive{
        .kind = Action::Kind::receive, .comm = comm, .peer = from, .tag = send.tag, .length = send.length, .number = send.number};
    receive.stride = one_in(6) ? 2 : 1;
    receive.receiving = any<Receiving>();
    receive.early = habit.early;
    if (receive.early) receive.receiving = Receiving::nonblocking;
    if (habit.wild()) receive.peer = kAny;
    if (habit.regime == Regime::any_tag || habit.regime == Regime::anything) receive.tag = kAny;
    if (habit.regime != Regime::exact) receive.length = kRoom;
    else if (one_in(10)) receive.length /= 2;  // too short
    else if (one_in(2)) receive.length += static_cast<size_t>(draw(100));
    of(epoch, comm, from).push_back(send);
    of(epoch, comm, to).push_back(receive);
  }

  void collective(Epoch& epoch) {
    const int comm = draw(static_cast<int>(plan_.comms.size()));
    const int size = static_cast<int>(plan_.comms[static_cast<size_t>(comm)].members.size());
    Action action{.kind = Action::Kind::collective, .comm = comm, .peer = draw(size), .number = ++numbers_};
    action.collective = any<Collective>();
    action.length = static_cast<size_t>(one_in(4) ? draw(3'000) : draw(20));
    action.nonblocking = one_in(2);
    for (int r = 0; r < size; ++r) of(epoch, comm, r).push_back(action);
  }

  void access(Epoch& epoch) {
    const int rank = draw(plan_.ranks);
    Action action{
        .kind = Action::Kind::access, .peer = draw(plan_.ranks), .length = 1 + static_cast<size_t>(draw(4'000)), .number = ++numbers_};
    action.access = any<Access>();
    const auto target = static_cast<size_t>(action.peer);
    if (action.access == Access::accumulate) plan_.added[target] += static_cast<int64_t>(action.length);
    if (action.access == Access::fetch) ++plan_.fetched[target];
    epoch.ranks[static_cast<size_t>(rank)].push_back(action);
  }

  void lonely(Epoch& epoch) {
    Action action{.kind = one_in(2) ? Action::Kind::cancelled : Action::Kind::to_nobody, .peer = draw(plan_.ranks), .length = length()};
    if (one_in(2)) action.peer = kAny;
    epoch.ranks[static_cast<size_t>(draw(plan_.ranks))].push_back(action);
  }

  void join(std::vector<Action>& actions) {
    for (size_t i = 0; i + 1 < actions.size(); ++i) {
      const Action &send = actions[i], &receive = actions[i + 1];
      actions[i].joined = send.kind == Action::Kind::send && send.sending == Sending::blocking && receive.kind == Action::Kind::receive &&
                          receive.receiving == Receiving::blocking && !receive.early && send.comm == receive.comm && one_in(2);
    }
  }

  std::mt19937_64 random_;
  Plan plan_;
  std::vector<std::vector<Habit>> habits_;
  uint64_t numbers_ = 0;
};

}  // namespace

Plan draw_plan(uint64_t seed, int ranks, bool survivors) { return Drawing(seed, ranks).draw_all(survivors); }

}  // namespace portunus::simulation
