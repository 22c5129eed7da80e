// Shared by the GOAL_* calls of one process: its job, its network interface, the port and the contexts given out.
//
// Thread: GOAL_Init and GOAL_Finalize one at a time per process; the rest under `guard`.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/goal/collectives/choice.hpp"
#include "engine/goal/program.hpp"

struct goal_schedule;

namespace portunus::goal {

class Library {
 public:
  static Library& instance();

  // Joins the job and opens the network, unless that was done: counted. Collective over the job at the first call.
  // Returns nullptr, or a sentence about what cannot be used.
  const char* open();
  // Undoes one open; the last one is collective.
  const char* close();

  [[nodiscard]] int users() const { return users_; }
  [[nodiscard]] const ptlx_job_t& job() const { return job_; }
  [[nodiscard]] const Port& port() const { return port_; }
  // How many ranks messages can name: the job's, and those that its map was extended by.
  [[nodiscard]] int reach() const;
  // For each rank of the job a number that is the same for ranks of one node.
  const int* nodes();
  // The placement of so many ranks: these, or the first ones. All of them find the same; of ranks of other jobs nothing is known but that
  // messages to them may cross a network.
  collectives::Choices::Places places(int size, const int* ranks);
  // Contexts, 16 bits of the match bits: those that are counted here, those that programs choose, and those of libraries on GOAL
  // (engine/client/numbers.hpp).
  static constexpr unsigned kCounted = 0x4000, kChosen = 0x2000, kFirstOfLibraries = 0x7000, kContexts = 0x10000;
  // The context that a program or a library means by a number. Nothing: there is none.
  static std::optional<uint16_t> context_of(unsigned number) {
    if (number < kChosen) return static_cast<uint16_t>(kCounted + number);
    if (number >= kFirstOfLibraries && number < kContexts) return static_cast<uint16_t>(number);
    return std::nullopt;
  }
  // The next compiled schedule's: equal on all ranks, which compile in the same order. Nothing while a schedule that exists has it; it
  // stays the next one then.
  std::optional<uint16_t> next_context(goal_schedule* schedule) {
    const uint16_t context = next_context_ % kCounted;
    if (!counted_.try_emplace(context, schedule).second) return std::nullopt;
    ++next_context_;
    return context;
  }
  void give_back(uint16_t context) { counted_.erase(context); }
  // The schedule that has a context that was counted, or nullptr.
  [[nodiscard]] goal_schedule* counted(uint16_t context) const {
    const auto found = counted_.find(context);
    return found == counted_.end() ? nullptr : found->second;
  }

  // Taken by the calls that make and free schedules, some of which call others.
  std::recursive_mutex guard;
  int schedules = 0;  // that are not freed

 private:
  const char* open_network();
  [[nodiscard]] bool reaches_its_node_by_memory();
  const char* agree_on_places();
  // Tells all ranks of `facts`, a bit for each, and hears theirs: whichever holds for one then holds for all. Behind it each has begun it.
  const char* tell_all(const char* key, uint8_t& facts);
  int nodes_in_all();
  // For the first rank of a node, where there are several: that of the node behind it.
  std::optional<int> first_of_next_node();

  int users_ = 0;
  ptlx_job_t job_{};
  ptl_handle_ni_t ni_ = PTL_INVALID_HANDLE;
  Port port_;
  std::vector<int> nodes_;
  bool by_memory_ = true;  // messages between ranks of a node go through its memory, on all nodes
  bool crowded_ = false;   // ranks outnumber cores on some node
  bool slow_ = false;      // data take long between some nodes
  uint16_t next_context_ = 0;
  std::unordered_map<uint16_t, goal_schedule*> counted_;  // by their contexts, those that exist
};

}  // namespace portunus::goal
