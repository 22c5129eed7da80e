// mpi_pair.cpp: messages between two ranks by the MPI calls: latency, rate, bandwidth.
#include <mpi.h>
#include <portals4.h>

#include <array>
#include <vector>

#include "bench/pairs/measure.hpp"

namespace {

using namespace portunus::bench;

class MpiLink : public Link {
 public:
  explicit MpiLink(int peer) : peer_(peer), out_(kMaxMessage), in_(kMaxBytes) {}

  void send(size_t bytes, bool last) override {
    out_[0] = last;
    MPI_Send(out_.data(), static_cast<int>(bytes), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD);
  }
  bool receive(size_t bytes) override {
    MPI_Recv(in_.data(), static_cast<int>(bytes), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return in_[0] != 0;
  }
  void send_window(size_t bytes, size_t count, bool last) override {
    out_[0] = last;
    for (size_t i = 0; i < count; ++i)
      MPI_Isend(out_.data(), static_cast<int>(bytes), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD, &requests_[i]);
    MPI_Waitall(static_cast<int>(count), requests_.data(), MPI_STATUSES_IGNORE);
  }
  bool receive_window(size_t bytes, size_t count) override {
    for (size_t i = 0; i < count; ++i)
      MPI_Irecv(in_.data() + i * bytes, static_cast<int>(bytes), MPI_BYTE, peer_, kTag, MPI_COMM_WORLD, &requests_[i]);
    MPI_Waitall(static_cast<int>(count), requests_.data(), MPI_STATUSES_IGNORE);
    return in_[(count - 1) * bytes] != 0;
  }

 private:
  static constexpr int kTag = 1;

  int peer_;
  std::vector<char> out_, in_;
  std::array<MPI_Request, kMaxWindow> requests_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv, "Messages between two ranks by the MPI calls: latency, rate, bandwidth.");
  int me, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require_two_ranks(ranks, "mpi_pair");
  MpiLink link(1 - me);
  Report report(options, me == 0, transport_to(PTL_NI_MATCHING | PTL_NI_LOGICAL, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  measure_link(link, me, report, "mpi");
  const bool written = report.write();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return written ? 0 : 1;
}
