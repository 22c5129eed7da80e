// capture_state.hpp: what a thread that captures has recorded so far.
//
// Thread: the one that captures.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "shmem/context.hpp"
#include "shmem/graph/recording.hpp"

namespace portunus::shmem::graph {

// An operation that nothing has waited for yet.
struct Pending {
  const Channel* channel;
  int pe;
  NodeId end;
};

class Capture {
 public:
  explicit Capture(Team& captured) : team(captured) {}
  // A thread that ends gives its capture up, so that others can capture the team.
  ~Capture() { team.is_captured = false; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void refuse(const char* function, const char* why);
  // False: the PE, or the team, is none of this capture's, which is refused.
  bool has(const char* function, const Target& target);
  bool has(const char* function, const Team& other);
  // An operation at a PE, behind what a fence says. `touched`: memory of this PE.
  NodeId access(const Target& target, std::vector<Access::Message> messages, std::vector<GOAL_Piece> touched, bool blocks,
                NodeId before = kNothing);
  // One that all that comes later waits for.
  NodeId block(Node node);
  void fence(const Channel& channel);
  void quiet(const Channel& channel);

  Team& team;
  Recording recording;
  std::set<int> gates, signals;
  std::string refusal;  // what makes it void

 private:
  std::vector<Pending> pending_;
  std::map<std::pair<const Channel*, int>, std::vector<NodeId>> fenced_, issued_;  // by PE: what is to come behind; since the last fence
};

// This thread's; null: none.
Capture* current();
void begin_capture(Team& team);
std::unique_ptr<Capture> end_capture();

}  // namespace portunus::shmem::graph
