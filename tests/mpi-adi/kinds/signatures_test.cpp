// Under PTL_DEBUG=calls a receive ends with MPI_ERR_TYPE if, and only if, the basic datatypes of what was sent are not the first of those
// it is of: for every pair of calls, every way of the data, and types of chance. Without the key no receive does. Source: MPI-5.0, 3.3.1.
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "../ranks.hpp"

namespace signatures_test {
namespace {

bool is_told() {
  const char* keys = std::getenv("PTL_DEBUG");
  return keys != nullptr && std::strstr(keys, "calls") != nullptr;
}

constexpr int kTag = 7;
struct Data {
  const char* name;
  int count;  // for each unit of length
  MPI_Datatype type;
};
// Each begins with the same number of bytes for each unit.
struct Pair {
  Data sent, received;
  bool fits;
};

using Send = int (*)(const void*, int, MPI_Datatype, int);
using Init = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

int wait(int error, MPI_Request& request) {
  const int ended = error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return ended;
}
template <int (*call)(const void*, int, MPI_Datatype, int, int, MPI_Comm)>
int at_once(const void* data, int count, MPI_Datatype type, int peer) {
  return call(data, count, type, peer, kTag, MPI_COMM_WORLD);
}
template <Init begin>
int by_request(const void* data, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  return wait(begin(data, count, type, peer, kTag, MPI_COMM_WORLD, &request), request);
}
template <Init init>
int persistent(const void* data, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  int error = init(data, count, type, peer, kTag, MPI_COMM_WORLD, &request);
  if (error == MPI_SUCCESS) error = MPI_Start(&request);
  return wait(error, request);
}
// Those that go both ways send only.
int by_sendrecv(const void* data, int count, MPI_Datatype type, int peer) {
  return MPI_Sendrecv(data, count, type, peer, kTag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int by_isendrecv(const void* data, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  return wait(MPI_Isendrecv(data, count, type, peer, kTag, nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), request);
}
int by_replacing(const void* data, int count, MPI_Datatype type, int peer) {
  return MPI_Sendrecv_replace(const_cast<void*>(data), count, type, peer, kTag, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
int by_ireplacing(const void* data, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  return wait(MPI_Isendrecv_replace(const_cast<void*>(data), count, type, peer, kTag, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), request);
}

constexpr struct {
  const char* name;
  Send send;
} kSends[] = {
    {"MPI_Send", at_once<MPI_Send>},
    {"MPI_Ssend", at_once<MPI_Ssend>},
    {"MPI_Bsend", at_once<MPI_Bsend>},
    {"MPI_Isend", by_request<MPI_Isend>},
    {"MPI_Issend", by_request<MPI_Issend>},
    {"MPI_Ibsend", by_request<MPI_Ibsend>},
    {"MPI_Send_init", persistent<MPI_Send_init>},
    {"MPI_Ssend_init", persistent<MPI_Ssend_init>},
    {"MPI_Bsend_init", persistent<MPI_Bsend_init>},
    {"MPI_Sendrecv", by_sendrecv},
    {"MPI_Isendrecv", by_isendrecv},
    {"MPI_Sendrecv_replace", by_replacing},
    {"MPI_Isendrecv_replace", by_ireplacing},
};

using Receive = int (*)(void*, int, MPI_Datatype, int);
int irecv(void* room, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  return wait(MPI_Irecv(room, count, type, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &request), request);
}
int recv_init(void* room, int count, MPI_Datatype type, int peer) {
  MPI_Request request;
  int error = MPI_Recv_init(room, count, type, peer, kTag, MPI_COMM_WORLD, &request);
  if (error == MPI_SUCCESS) error = MPI_Start(&request);
  return wait(error, request);
}
int mrecv(void* room, int count, MPI_Datatype type, int peer) {
  MPI_Message message;
  MPI_Mprobe(peer, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  return MPI_Mrecv(room, count, type, &message, MPI_STATUS_IGNORE);
}
int imrecv(void* room, int count, MPI_Datatype type, int peer) {
  MPI_Message message;
  MPI_Request request;
  MPI_Mprobe(peer, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  return wait(MPI_Imrecv(room, count, type, &message, &request), request);
}
constexpr struct {
  const char* name;
  Receive receive;
} kReceives[] = {
    {"MPI_Recv", [](void* room, int count, MPI_Datatype type,
                    int peer) { return MPI_Recv(room, count, type, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
    {"MPI_Recv from any", [](void* room, int count, MPI_Datatype type,
                             int) { return MPI_Recv(room, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
    {"MPI_Irecv", irecv},
    {"MPI_Recv_init", recv_init},
    {"MPI_Mrecv", mrecv},
    {"MPI_Imrecv", imrecv},
    {"MPI_Sendrecv",
     [](void* room, int count, MPI_Datatype type, int peer) {
       return MPI_Sendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, room, count, type, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
     }},
    {"MPI_Isendrecv",
     [](void* room, int count, MPI_Datatype type, int peer) {
       MPI_Request request;
       return wait(MPI_Isendrecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, room, count, type, peer, kTag, MPI_COMM_WORLD, &request), request);
     }},
};

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}
MPI_Datatype vector_of(MPI_Datatype type) {
  MPI_Datatype made;
  MPI_Type_vector(2, 1, 2, type, &made);
  return committed(made);
}
MPI_Datatype struct_of(MPI_Datatype first, MPI_Datatype second) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {first, second};
  MPI_Datatype made;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  return committed(made);
}

constexpr size_t kLargest = 40000;
constexpr int kLengths[] = {1, 300, kLargest};  // 8 bytes each: copied, in one message, in several

class Signatures : public testing::Test {
 protected:
  ReturnErrors returned;
  MPI_Datatype ints = vector_of(MPI_INT), mixed = struct_of(MPI_INT, MPI_FLOAT), turned = struct_of(MPI_FLOAT, MPI_INT);
  std::vector<char> room = std::vector<char>(kLargest * 32 + 64), attached = std::vector<char>(2 * kLargest * 8 + 4096);

  void SetUp() override { MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size())); }
  void TearDown() override {
    void* memory;
    int size;
    MPI_Buffer_detach(&memory, &size);
    for (MPI_Datatype* type : {&ints, &mixed, &turned}) MPI_Type_free(type);
  }
};

TEST_F(Signatures, OfEveryPairOfCallsAreCompared) {
  if (partner() < 0) return;
  const Pair pairs[] = {
      {{"MPI_INT", 2, MPI_INT}, {"MPI_INT", 2, MPI_INT}, true},
      {{"MPI_INT", 2, MPI_INT}, {"MPI_INTEGER", 2, MPI_INTEGER}, true},
      {{"MPI_INT", 2, MPI_INT}, {"MPI_FLOAT", 2, MPI_FLOAT}, false},
      {{"MPI_INT", 2, MPI_INT}, {"MPI_LONG_LONG", 1, MPI_LONG_LONG}, false},
      {{"MPI_DOUBLE", 1, MPI_DOUBLE}, {"MPI_FLOAT", 2, MPI_FLOAT}, false},
      {{"MPI_BYTE", 8, MPI_BYTE}, {"MPI_FLOAT", 2, MPI_FLOAT}, true},
      {{"MPI_INT", 2, MPI_INT}, {"MPI_PACKED", 8, MPI_PACKED}, true},
      {{"ints with gaps", 1, ints}, {"MPI_INT", 2, MPI_INT}, true},
      {{"ints with gaps", 1, ints}, {"MPI_FLOAT", 2, MPI_FLOAT}, false},
      {{"an int and a float", 1, mixed}, {"an int and a float", 1, mixed}, true},
      {{"an int and a float", 1, mixed}, {"a float and an int", 1, turned}, false},
      {{"a float and an int", 1, turned}, {"ints with gaps", 1, ints}, false},
      {{"MPI_FLOAT", 2, MPI_FLOAT}, {"a float and an int", 1, turned}, false},
  };
  for (const auto& send : kSends)
    for (const auto& receive : kReceives)
      for (const Pair& pair : pairs)
        for (const int length : kLengths) {
          if (length == kLargest && !pair.fits && &send != kSends && &receive != kReceives) continue;  // slow, and no other way
          if (rank() % 2 == 0) {
            EXPECT_EQ(send.send(room.data(), length * pair.sent.count, pair.sent.type, partner()), MPI_SUCCESS);
            MPI_Buffer_flush();
          } else {
            const int error = receive.receive(room.data(), (length + 1) * pair.received.count, pair.received.type, partner());
            EXPECT_EQ(class_of(error), pair.fits || !is_told() ? MPI_SUCCESS : MPI_ERR_TYPE)
                << send.name << " of " << pair.sent.name << ", " << receive.name << " of " << pair.received.name << ", length " << length;
          }
        }
}

TEST_F(Signatures, OfPartsThatAreReadyOneByOneAreCompared) {
  if (partner() < 0) return;
  for (const MPI_Datatype type : {MPI_INT, MPI_FLOAT, MPI_BYTE}) {
    MPI_Request request;
    if (rank() % 2 == 0) {
      MPI_Psend_init(room.data(), 4, 8, MPI_INT, partner(), kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      MPI_Pready_range(0, 3, request);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
      const int bytes = type == MPI_BYTE ? 4 : 1;
      MPI_Precv_init(room.data(), 2, 16 * bytes, type, partner(), kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), type == MPI_FLOAT && is_told() ? MPI_ERR_TYPE : MPI_SUCCESS);
    }
    MPI_Request_free(&request);
  }
}

// A datatype, and the basic ones that it consists of.
struct Chance {
  MPI_Datatype type;
  std::vector<MPI_Datatype> basic;
};

// One that consists of others; frees them.
Chance made_of(std::mt19937& random, std::vector<Chance> parts) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
  Chance made{MPI_DATATYPE_NULL, {}};
  MPI_Aint end = 0;
  for (const Chance& part : parts) {
    MPI_Aint lb, extent;
    MPI_Type_get_extent(part.type, &lb, &extent);
    lengths.push_back(static_cast<int>(random() % 3));
    places.push_back(end);
    types.push_back(part.type);
    end += lengths.back() * extent + static_cast<MPI_Aint>(random() % 2 * 8);
    for (int i = 0; i < lengths.back(); ++i) made.basic.insert(made.basic.end(), part.basic.begin(), part.basic.end());
  }
  MPI_Type_create_struct(static_cast<int>(types.size()), lengths.data(), places.data(), types.data(), &made.type);
  for (Chance& part : parts)
    if (part.basic.size() != 1 || part.type != part.basic[0]) MPI_Type_free(&part.type);
  return made;
}
Chance by_chance(std::mt19937& random, int depth) {
  static const MPI_Datatype kBasic[] = {MPI_INT, MPI_FLOAT, MPI_INT, MPI_SHORT};
  if (depth == 0) {
    const MPI_Datatype basic = kBasic[random() % 4];
    return {basic, {basic}};
  }
  std::vector<Chance> parts;
  for (unsigned i = 0, count = 1 + random() % 3; i < count; ++i)
    parts.push_back(by_chance(random, static_cast<int>(random() % static_cast<unsigned>(depth))));
  return made_of(random, std::move(parts));
}

TEST_F(Signatures, OfTypesOfChanceAreComparedAsFarAsWasSent) {
  constexpr int kCases = 4000;
  int fitting = 0, told = 0;
  for (unsigned i = 0; i < kCases; ++i) {
    std::mt19937 random(i);
    Chance sent = made_of(random, {by_chance(random, 2)}), received = made_of(random, {by_chance(random, 3)});
    if (i % 2 == 0) {  // the same, and more
      std::mt19937 again(i + 1);
      const int lengths[] = {1, 1};
      const MPI_Aint places[] = {0, 4096};
      Chance more = by_chance(again, 2);
      const MPI_Datatype types[] = {sent.type, more.type};
      MPI_Type_free(&received.type);
      MPI_Type_create_struct(2, lengths, places, types, &received.type);
      received.basic = sent.basic;
      received.basic.insert(received.basic.end(), more.basic.begin(), more.basic.end());
      if (more.basic.size() != 1 || more.type != more.basic[0]) MPI_Type_free(&more.type);
    }
    MPI_Type_commit(&sent.type);
    MPI_Type_commit(&received.type);
    int size, most;
    MPI_Type_size(sent.type, &size);
    MPI_Type_size(received.type, &most);
    if (size <= most && most < 2000) {
      const bool fits =
          sent.basic.size() <= received.basic.size() && std::equal(sent.basic.begin(), sent.basic.end(), received.basic.begin());
      const int error = MPI_Sendrecv(room.data(), 1, sent.type, 0, kTag, room.data() + room.size() / 2, 1, received.type, 0, kTag,
                                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
      EXPECT_EQ(class_of(error), fits || !is_told() ? MPI_SUCCESS : MPI_ERR_TYPE) << "case " << i;
      fitting += fits;
      told += !fits;
    }
    MPI_Type_free(&sent.type);
    MPI_Type_free(&received.type);
  }
  EXPECT_GT(fitting, kCases / 20);
  EXPECT_GT(told, kCases / 20);
}

}  // namespace
}  // namespace signatures_test
