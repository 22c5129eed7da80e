// leaks.cpp: see leaks.hpp.
#include "mpi-adi/core/leaks.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "mpi-adi/comm/group.hpp"
#include "mpi-adi/core/attributes.hpp"
#include "mpi-adi/core/debug.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errhandler.hpp"
#include "mpi-adi/core/info.hpp"
#include "mpi-adi/core/long_waits.hpp"
#include "mpi-adi/core/settings.hpp"
#include "mpi-adi/dynamic/spawn.hpp"
#include "mpi-adi/io/file.hpp"
#include "mpi-adi/op/op.hpp"
#include "mpi-adi/pt2pt/matched.hpp"
#include "mpi-adi/rma/window.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi::leaks {
namespace {

struct Words {
  const char *one, *many;
};
constexpr Words kWords[kKinds] = {{"request", "requests"},
                                  {"communicator", "communicators"},
                                  {"datatype", "datatypes"},
                                  {"window", "windows"},
                                  {"file", "files"},
                                  {"message never received", "messages never received"},
                                  {"group", "groups"},
                                  {"reduction operation", "reduction operations"},
                                  {"info", "infos"},
                                  {"error handler", "error handlers"},
                                  {"attribute key", "attribute keys"}};

constexpr uint64_t kMostTold = 10;  // of each kind on a rank

// Counts one more, and says which it is.
void add(Counts& counts, Kind kind, const std::string& which) {
  const uint64_t number = ++counts[kind];
  if (!debug.leaks || number > kMostTold) return;
  const char* const one = kWords[kind].one;
  std::fprintf(stderr, "MPI_Finalize on rank %d: left is %s %s: %s%s\n", world().rank, strchr("aeiou", *one) ? "an" : "a", one,
               which.c_str(), number == kMostTold ? "; others of its kind are not told" : "");
}

std::string name_or(const char* name, const char* otherwise) { return name[0] != '\0' ? name : otherwise; }

std::string what_it_waits_for(const Request& request) {
  const std::string what = device::long_waits::of_request(request).what;
  return what.empty() ? "its operation has not ended" : "it waits for " + what;
}

// Those of the user, not of windows, files, or other communicators.
std::set<const Communicator*> owned_communicators() {
  std::set<const Communicator*> owned{predefined[0], predefined[1]};
  communicators.for_each([&](const Communicator& comm) { owned.insert(comm.local); });
  rma::windows.for_each([&](const rma::Window& window) { owned.insert(window.comm); });
  io::files.for_each([&](const io::File& file) { owned.insert(file.comm); });
  return owned;
}

// A group is held by communicators and by handles of the user.
void count_groups(Counts& counts) {
  std::map<const Group*, int> held;
  communicators.for_each([&](const Communicator& comm) {
    ++held[comm.group];
    ++held[comm.remote_group];
  });
  for_each_group([&](const Group& group) {
    for (int left = group.references.load(std::memory_order_acquire) - held[&group]; left > 0; --left)
      add(counts, kGroups, "of " + std::to_string(group.size) + " processes");
  });
}

void count_errhandlers(Counts& counts) {
  static constexpr const char* kSubjects[] = {"communicators", "windows", "sessions", "files"};
  for_each_errhandler([&](const ErrorHandler& handler) {
    for (int left = handler.handles.load(std::memory_order_acquire); left > 0; --left)
      add(counts, kErrhandlers, std::string("of ") + kSubjects[static_cast<int>(handler.subject)]);
  });
}

void count_keyvals(Counts& counts) {
  const std::pair<size_t, const char*> all[] = {{Attributes<MPI_Comm>::keyvals(), "of communicators"},
                                                {Attributes<MPI_Datatype>::keyvals(), "of datatypes"},
                                                {Attributes<MPI_Win>::keyvals(), "of windows"}};
  for (const auto& [number, subject] : all)
    for (size_t i = 0; i < number; ++i) add(counts, kKeyvals, subject);
}

std::string name_of_context(uint16_t context) {
  std::string name = "a communicator that is no more";
  communicators.for_each([&](const Communicator& comm) {
    if (comm.context == context) name = name_or(comm.name, "a communicator without name");
  });
  return name;
}

// Messages of all contexts are set aside, one by one; the context of those that are has no bit that is 0, and so is not looked at.
void count_messages(Counts& counts) {
  for (int bit = envelope.source_bits + kTagBits; bit < 64;) {
    ptl_event_t found;
    const ptl_match_bits_t label = new_label();
    if (device::find(PTL_RANK_ANY, {0, ~(ptl_match_bits_t{1} << bit)}, &label, found) != PTL_OK) return;
    if (found.ni_fail_type != PTL_NI_OK) {
      ++bit;
      continue;
    }
    const auto context = static_cast<uint16_t>(found.match_bits >> (envelope.source_bits + kTagBits));
    if (context % kContextsPerCommunicator != 0) continue;  // MPI's own
    add(counts, kMessages,
        std::to_string(found.rlength) + " bytes from rank " + std::to_string(source_of(found.match_bits)) + " with tag " +
            std::to_string(tag_of(found.match_bits)) + " on " + name_of_context(context));
  }
}

// "2 requests (rank 1: 1, rank 3: 1)"
std::string line_of(Kind kind, const std::vector<Counts>& of_ranks) {
  constexpr size_t kMostRanks = 8;
  uint64_t sum = 0;
  size_t ranks = 0;
  std::string where;
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const uint64_t count = of_ranks[rank][kind];
    sum += count;
    if (count == 0 || ++ranks > kMostRanks) continue;
    where += (ranks > 1 ? ", rank " : "rank ") + std::to_string(rank) + ": " + std::to_string(count);
  }
  if (ranks > kMostRanks) where += ", and " + std::to_string(ranks - kMostRanks) + " others";
  return sum == 0 ? "" : std::to_string(sum) + " " + (sum == 1 ? kWords[kind].one : kWords[kind].many) + " (" + where + ")";
}

}  // namespace

bool wanted() { return settings.info != 0 || debug.leaks; }

Counts objects() {
  Counts counts{};
  device::release_orphans();
  std::vector<const Request*> left;
  pool.for_each([&](const Request& request) {
    const State state = request.state.load(std::memory_order_acquire);
    if (state == State::active || state == State::done || state == State::inactive) left.push_back(&request);
  });
  for (const Request* request : left)
    add(counts, kRequests,
        request->done()                                                     ? "an operation that has ended, and was not waited for"
        : request->state.load(std::memory_order_relaxed) == State::inactive ? "a persistent one, not started"
                                                                            : what_it_waits_for(*request));
  const std::set<const Communicator*> owned = owned_communicators();
  communicators.for_each([&](const Communicator& comm) {
    if (!owned.contains(&comm) && !comm.parts && !is_parent(handle_of(&comm)))
      add(counts, kCommunicators,
          name_or(comm.name, comm.inter ? "an intercommunicator without name" : "one without name") + " of " + std::to_string(comm.size) +
              " ranks");
  });
  for_each_derived_type([&](const Datatype& type) {
    const bool of_fortran =
        type.combiner == MPI_COMBINER_F90_REAL || type.combiner == MPI_COMBINER_F90_COMPLEX || type.combiner == MPI_COMBINER_F90_INTEGER;
    if (!of_fortran) add(counts, kDatatypes, name_or(type.name, "one without name") + " of " + std::to_string(type.size) + " bytes");
  });
  rma::windows.for_each([&](const rma::Window& window) { add(counts, kWindows, name_or(window.name, "one without name")); });
  io::files.for_each([&](const io::File& file) { add(counts, kFiles, file.name); });
  count_groups(counts);
  for_each_user_op([&](const UserOp& op) { add(counts, kOperations, op.commutes ? "one that commutes" : "one that does not commute"); });
  for_each_info([&](const Info& info) { add(counts, kInfos, "of " + std::to_string(info.copy().size()) + " keys"); });
  count_errhandlers(counts);
  count_keyvals(counts);
  return counts;
}

void tell(Counts counts) {
  count_messages(counts);
  std::vector<Counts> of_ranks(world().rank == 0 ? static_cast<size_t>(world().size) : 0);
  world().errhandler.store(MPI_ERRORS_RETURN, std::memory_order_relaxed);
  if (PMPI_Gather(counts.data(), kKinds, MPI_UINT64_T, of_ranks.data(), kKinds, MPI_UINT64_T, 0, MPI_COMM_WORLD) != MPI_SUCCESS) return;
  if (world().rank != 0) return;
  std::string line;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::string words = line_of(static_cast<Kind>(kind), of_ranks);
    if (!words.empty()) line += (line.empty() ? "" : ", ") + words;
  }
  std::fprintf(stderr, "MPI_Finalize: the job has left %s\n", line.empty() ? "nothing behind" : line.c_str());
}

}  // namespace portunus::mpi::leaks
