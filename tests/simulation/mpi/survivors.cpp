// survivors.cpp: a program that goes on with those that are left when ranks die: work in rounds; after each an agreement whether it
// succeeded everywhere; if not, the communicator is revoked and shrunk, and the round begins again.
#include <algorithm>

#include "tests/simulation/mpi/program.hpp"

namespace portunus::simulation {
namespace {

class Survivor {
 public:
  Survivor(TestMachine& machine, const Plan& plan, History& history, int me) : machine_(machine), plan_(plan), history_(history), me_(me) {}

  void run() {
    expect(MPI_Init(nullptr, nullptr) == MPI_SUCCESS, "MPI_Init fails");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comm_ = MPI_COMM_WORLD;
    for (int round = 0; round < plan_.rounds;) {
      const bool well = work(round);
      if (!well) {  // others may wait for what this rank will not do
        machine_.acts("MPIX_Comm_revoke");
        expect(MPIX_Comm_revoke(comm_) == MPI_SUCCESS, "MPIX_Comm_revoke fails");
      }
      if (agreed(well)) history_.rounds[me_] = ++round;
      else shrink();
    }
    machine_.acts("MPI_Finalize");
    expect(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize fails");
    machine_.acts("the end");
  }

 private:
  void expect(bool well, const char* what) {
    if (!well) machine_.violated(what);
  }
  // Nobody waits for a dead rank, and nothing else goes wrong.
  bool well(int code) {
    if (code == MPI_SUCCESS) return true;
    const int kind = class_of(code);
    if (kind != MPIX_ERR_PROC_FAILED && kind != MPIX_ERR_REVOKED)
      machine_.violated(("a call fails otherwise than by a death: " + text_of(code)).c_str());
    return false;
  }

  bool agreed(bool well) {
    machine_.acts("MPIX_Comm_agree");
    int flag = well;
    const int code = MPIX_Comm_agree(comm_, &flag);
    const int kind = class_of(code);
    if (code != MPI_SUCCESS && kind != MPIX_ERR_PROC_FAILED) machine_.violated(("MPIX_Comm_agree fails: " + text_of(code)).c_str());
    history_.agreements[me_].push_back({flag, kind});
    expect(!flag || well, "an agreement is true, though this rank said false");
    return flag && code == MPI_SUCCESS;
  }

  void shrink() {
    machine_.acts("MPIX_Comm_shrink");
    if (machine_.draw(2)) expect(MPIX_Comm_revoke(comm_) == MPI_SUCCESS, "MPIX_Comm_revoke fails");
    MPI_Comm smaller = MPI_COMM_NULL;
    const int code = MPIX_Comm_shrink(comm_, &smaller);
    if (code != MPI_SUCCESS) return machine_.violated(("MPIX_Comm_shrink fails: " + text_of(code)).c_str());
    MPI_Comm_set_errhandler(smaller, MPI_ERRORS_RETURN);
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
    comm_ = smaller;
    int size = 0;
    MPI_Comm_size(comm_, &size);
    MPI_Group group, world;
    MPI_Comm_group(comm_, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> here(static_cast<size_t>(size)), there(here.size());
    for (int r = 0; r < size; ++r) here[static_cast<size_t>(r)] = r;
    MPI_Group_translate_ranks(group, size, here.data(), world, there.data());
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    expect(std::find(there.begin(), there.end(), me_) != there.end(), "a rank is not in the communicator that it has made by shrinking");
    history_.survivors[me_].push_back(there);
  }

  // The work is the same on all, by the round. True: nothing failed here, and all is right.
  bool work(int round) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    const uint64_t mixed = (plan_.seed * 31 + static_cast<uint64_t>(round) + 1) * 0x9e3779b97f4a7c15u;
    bool fine = true;
    for (uint32_t step = 0; step < 4; ++step) {
      const auto kind = static_cast<uint32_t>(mixed >> (8 * step)) % 6;
      const size_t size = (mixed >> (40 + step)) % 3 == 0 ? 3'000 : 8;
      fine = step_of(kind, size, round * 8 + static_cast<int>(step)) && fine;
      if (!fine && machine_.draw(3) == 0) break;  // others go on, and are to learn of it
    }
    return fine;
  }

  // `tag`: the step's own, since messages of one that failed may come to nobody.
  bool step_of(uint32_t kind, size_t k, int tag) {
    static constexpr const char* kCalls[] = {"MPI_Allreduce",  "MPI_Bcast",  "a ring", "receives from any source",
                                             "MPI_Iallreduce", "MPI_Barrier"};
    machine_.acts(kCalls[kind]);
    std::vector<int64_t> in(k, rank_ + 1), out(k, -1);
    const int count = static_cast<int>(k), after = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
    const int64_t sum = int64_t{size_} * (size_ + 1) / 2;
    const auto all = [&](int64_t wanted) {
      expect(std::all_of(out.begin(), out.end(), [&](int64_t each) { return each == wanted; }), "a call that succeeds gives wrong values");
      return true;
    };
    switch (kind) {
      case 0: return well(MPI_Allreduce(in.data(), out.data(), count, MPI_INT64_T, MPI_SUM, comm_)) && all(sum);
      case 1:
        if (rank_ == 0) out = in;
        return well(MPI_Bcast(out.data(), count, MPI_INT64_T, 0, comm_)) && all(1);
      case 2: {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status statuses[2]{};
        if (!well(MPI_Irecv(out.data(), count, MPI_INT64_T, before, tag, comm_, &requests[0]))) return false;
        if (!well(MPI_Isend(in.data(), count, MPI_INT64_T, after, tag, comm_, &requests[1]))) {
          give_up(requests[0]);
          return false;
        }
        const int code = MPI_Waitall(2, requests, statuses);
        if (code == MPI_SUCCESS) return all(before + 1);
        expect(class_of(code) == MPI_ERR_IN_STATUS, "MPI_Waitall fails otherwise than in its statuses");
        bool fine = true;
        for (const MPI_Status& status : statuses) fine = well(status.MPI_ERROR) && fine;
        expect(!fine, "MPI_Waitall fails, and no status says why");
        return false;
      }
      case 3: {
        if (rank_ != 0) return well(MPI_Send(in.data(), count, MPI_INT64_T, 0, tag, comm_));
        bool fine = true;
        for (int r = 1; r < size_ && fine; ++r) {
          MPI_Status status{};
          fine = well(MPI_Recv(out.data(), count, MPI_INT64_T, MPI_ANY_SOURCE, tag, comm_, &status)) && all(status.MPI_SOURCE + 1);
        }
        return fine;
      }
      case 4: {
        MPI_Request request = MPI_REQUEST_NULL;
        return well(MPI_Iallreduce(in.data(), out.data(), count, MPI_INT64_T, MPI_SUM, comm_, &request)) &&
               well(MPI_Wait(&request, MPI_STATUS_IGNORE)) && all(sum);
      }
      default: return well(MPI_Barrier(comm_));
    }
  }

  void give_up(MPI_Request& request) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  TestMachine& machine_;
  const Plan& plan_;
  History& history_;
  int me_, rank_ = 0, size_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

void survive(TestMachine& machine, const Plan& plan, History& history, int rank) { Survivor(machine, plan, history, rank).run(); }

}  // namespace portunus::simulation
