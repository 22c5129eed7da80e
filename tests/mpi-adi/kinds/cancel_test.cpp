// MPI_Cancel of every kind of message in every phase: waiting for it returns without anybody's help, and a message is either taken back
// or received whole. Source: MPI-5.0, 3.8.4, 3.9.
#include <string>

#include "../ranks.hpp"

namespace cancel_test {
namespace {

struct Data {
  size_t ints, step;  // the distance from one to the next
  std::vector<int> memory;
  MPI_Datatype type;
};

// A message of so many ints; in pieces, every other int of the memory.
Data data_of(int ints, bool in_pieces, int first) {
  Data made{static_cast<size_t>(ints), in_pieces ? size_t{2} : size_t{1}, {}, MPI_DATATYPE_NULL};
  MPI_Type_vector(ints, 1, in_pieces ? 2 : 1, MPI_INT, &made.type);
  MPI_Type_commit(&made.type);
  made.memory.resize(static_cast<size_t>(2 * ints + 1));
  for (size_t i = 0; i < made.memory.size(); ++i) made.memory[i] = first + static_cast<int>(i);
  return made;
}

struct Kind {
  const char* name;
  bool persistent;
  int (*begin)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
};
constexpr Kind kSends[] = {
    {"MPI_Isend", false, MPI_Isend},        {"MPI_Issend", false, MPI_Issend},        {"MPI_Ibsend", false, MPI_Ibsend},
    {"MPI_Send_init", true, MPI_Send_init}, {"MPI_Ssend_init", true, MPI_Ssend_init}, {"MPI_Bsend_init", true, MPI_Bsend_init},
};
// The act of the receiver before the send is cancelled.
enum class Phase { nothing, receives, has_received };
constexpr const char* kPhases[] = {"nothing", "a receive", "a receive that is complete"};

constexpr int kTag = 5, kOther = 6;

void tell(int peer) { MPI_Send(nullptr, 0, MPI_INT, peer, kOther, MPI_COMM_WORLD); }
void hear(int peer) { MPI_Recv(nullptr, 0, MPI_INT, peer, kOther, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

int cancel_and_wait(MPI_Request& request) {
  MPI_Status status;
  int cancelled = -1;
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(MPI_Test_cancelled(&status, &cancelled), MPI_SUCCESS);
  return cancelled;
}

void send_and_cancel(const Kind& kind, const Data& data, Phase phase, int target) {
  MPI_Request request;
  kind.begin(data.memory.data(), 1, data.type, target, kTag, MPI_COMM_WORLD, &request);
  for (int round = 0; round < (kind.persistent ? 2 : 1); ++round) {
    if (kind.persistent) MPI_Start(&request);
    if (phase == Phase::has_received) hear(target);
    const int cancelled = cancel_and_wait(request);
    EXPECT_EQ(request == MPI_REQUEST_NULL, !kind.persistent);
    if (phase == Phase::has_received) {
      EXPECT_EQ(cancelled, 0);
    }
    MPI_Send(&cancelled, 1, MPI_INT, target, kOther, MPI_COMM_WORLD);
    hear(target);
  }
  if (kind.persistent) MPI_Request_free(&request);
}

void receive(const Kind& kind, const Data& wanted, Phase phase, int source) {
  for (int round = 0; round < (kind.persistent ? 2 : 1); ++round) {
    std::vector<int> room(wanted.memory.size());
    MPI_Request request = MPI_REQUEST_NULL;
    if (phase != Phase::nothing) MPI_Irecv(room.data(), 1, wanted.type, source, kTag, MPI_COMM_WORLD, &request);
    if (phase == Phase::has_received) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      tell(source);
    }
    int taken_back = -1, flag = -1;
    MPI_Recv(&taken_back, 1, MPI_INT, source, kOther, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (taken_back && request != MPI_REQUEST_NULL) {
      EXPECT_EQ(cancel_and_wait(request), 1);
    } else if (taken_back) {
      MPI_Iprobe(source, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      EXPECT_EQ(flag, 0);
    } else {
      if (phase == Phase::nothing) MPI_Irecv(room.data(), 1, wanted.type, source, kTag, MPI_COMM_WORLD, &request);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    std::vector<int> expected(room.size());
    for (size_t i = 0; i < wanted.ints && !taken_back; ++i) expected[i * wanted.step] = wanted.memory[i * wanted.step];
    EXPECT_TRUE(room == expected);
    tell(source);
  }
}

TEST(Cancel, OfASendIsFollowedByItsEndInEveryPhase) {
  const int other = partner();
  if (other < 0) return;
  std::vector<char> buffer(8 << 20);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  for (const Kind& kind : kSends)
    for (const int ints : {0, 1, 100, 3'000, 300'000})
      for (const bool in_pieces : {false, true})
        for (const Phase phase : {Phase::nothing, Phase::receives, Phase::has_received}) {
          SCOPED_TRACE(std::string(kind.name) + " of " + std::to_string(ints) + (in_pieces ? " scattered" : "") +
                       " ints, at the target: " + kPhases[static_cast<int>(phase)]);
          Data data = data_of(ints, in_pieces, 1);
          if (rank() % 2 == 0) send_and_cancel(kind, data, phase, other);
          else receive(kind, data, phase, other);
          MPI_Type_free(&data.type);
        }
  void* detached;
  int size;
  MPI_Buffer_detach(&detached, &size);
}

TEST(Cancel, OfASendToOneselfIsFollowedByItsEnd) {
  for (const Kind& kind : {kSends[0], kSends[1], kSends[3], kSends[4]})
    for (const int ints : {1, 100, 300'000})
      for (const bool in_pieces : {false, true}) {
        SCOPED_TRACE(std::string(kind.name) + " of " + std::to_string(ints) + (in_pieces ? " scattered ints" : " ints"));
        Data data = data_of(ints, in_pieces, 1);
        MPI_Request request;
        kind.begin(data.memory.data(), 1, data.type, 0, kTag, MPI_COMM_SELF, &request);
        if (kind.persistent) MPI_Start(&request);
        const int taken_back = cancel_and_wait(request);
        int there = -1;
        MPI_Iprobe(0, kTag, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
        EXPECT_EQ(there, !taken_back);
        if (there) MPI_Recv(data.memory.data(), 1, data.type, 0, kTag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        if (kind.persistent) MPI_Request_free(&request);
        MPI_Type_free(&data.type);
      }
}

TEST(Cancel, OfAReceiveIsFollowedByItsEndInEveryPhase) {
  for (const bool persistent : {false, true})
    for (const int ints : {1, 100, 300'000})
      for (const bool in_pieces : {false, true})
        for (const bool sent : {false, true}) {
          Data data = data_of(ints, in_pieces, 1);
          std::vector<int> room(data.memory.size());
          MPI_Request request;
          if (persistent) MPI_Recv_init(room.data(), 1, data.type, 0, kTag, MPI_COMM_SELF, &request);
          for (int round = 0; round < (persistent ? 2 : 1); ++round) {
            if (persistent) MPI_Start(&request);
            else MPI_Irecv(room.data(), 1, data.type, 0, kTag, MPI_COMM_SELF, &request);
            if (sent) MPI_Send(data.memory.data(), 1, data.type, 0, kTag, MPI_COMM_SELF);
            EXPECT_EQ(cancel_and_wait(request), !sent);
            EXPECT_EQ(room[0], sent ? 1 : 0);
          }
          if (persistent) MPI_Request_free(&request);
          MPI_Type_free(&data.type);
        }
}

// A request for both directions has no entry and no message of its own: a stale one must not be taken back in its place.
TEST(Cancel, OfACombinedSendAndReceiveIsRefusedAndDoesNoHarm) {
  ReturnErrors guard;
  for (int round = 0; round < 20; ++round) {
    int out[2] = {rank(), round}, in[2] = {-1, -1};
    MPI_Request request;
    MPI_Isendrecv(out, 2, MPI_INT, right(), kTag, in, 2, MPI_INT, left(), kTag, MPI_COMM_WORLD, &request);
    const int error = MPI_Cancel(&request);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(error, &error_class);
    EXPECT_TRUE(error_class == MPI_SUCCESS || error_class == MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(in[0] == left() && in[1] == round);
  }
}

}  // namespace
}  // namespace cancel_test
