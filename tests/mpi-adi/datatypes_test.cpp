// Datatypes: constructors, bounds, contents, packing, and messages of them. Source: MPI-5.0, 5.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "ranks.hpp"

namespace datatypes_test {
namespace {

using Map = std::vector<MPI_Aint>;  // where each int of a datatype lies

// A datatype of ints beside its type map, built independently.
struct Model {
  MPI_Datatype type;
  Map map;
  MPI_Aint extent;
};

int size_of(MPI_Datatype type) {
  int size;
  MPI_Type_size(type, &size);
  return size;
}
MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  return extent;
}
MPI_Aint lb_of(MPI_Datatype type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  return lb;
}

void append(Map& to, const Map& from, MPI_Aint displacement) {
  for (MPI_Aint each : from) to.push_back(each + displacement);
}

// Everything fits into this many bytes around the middle of a buffer of ints.
constexpr int kReach = 6000, kInts = 2 * kReach / 4;

class Builder {
 public:
  explicit Builder(unsigned seed) : random_(seed) {}
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  Model build(int depth) {
    if (depth == 0) return {MPI_INT, {0}, 4};
    Model old = build(depth - 1), made{MPI_DATATYPE_NULL, {}, 0};
    switch (draw(6)) {
      case 0: vector(old, made); break;
      case 1: hvector(old, made); break;
      case 2: indexed(old, made); break;
      case 3: structure(old, made); break;
      case 4: resized(old, made); break;
      default: subarray(old, made); break;
    }
    if (old.type != MPI_INT) MPI_Type_free(&old.type);  // the new type keeps what it needs
    made.extent = extent_of(made.type);
    return made;
  }

 private:
  void rows(const Model& old, Model& made, int count, int length, MPI_Aint stride) {
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < length; ++j) append(made.map, old.map, i * stride + j * old.extent);
  }
  void vector(const Model& old, Model& made) {
    const int count = 1 + draw(4), length = 1 + draw(2), stride = length + draw(2);
    MPI_Type_vector(count, length, stride, old.type, &made.type);
    rows(old, made, count, length, stride * old.extent);
  }
  void hvector(const Model& old, Model& made) {
    const int count = 1 + draw(3);
    const MPI_Aint stride = old.extent + 4 * draw(3);
    MPI_Type_create_hvector(count, 1, stride, old.type, &made.type);
    rows(old, made, count, 1, stride);
  }
  void indexed(const Model& old, Model& made) {
    const bool same_length = draw(2) == 0;
    int lengths[3], places[3], next = 0;
    for (int i = 0; i < 3; ++i) {
      lengths[i] = same_length ? 1 : draw(3);
      places[i] = next + draw(2);
      next = places[i] + lengths[i];
    }
    if (draw(2) == 0) std::swap(places[0], places[2]), std::swap(lengths[0], lengths[2]);  // need not ascend
    if (same_length) MPI_Type_create_indexed_block(3, 1, places, old.type, &made.type);
    else MPI_Type_indexed(3, lengths, places, old.type, &made.type);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < lengths[i]; ++j) append(made.map, old.map, (places[i] + j) * old.extent);
  }
  void structure(const Model& old, Model& made) {
    const int lengths[2] = {1 + draw(2), 1};
    const MPI_Aint places[2] = {0, lengths[0] * old.extent + 4 * draw(2)};
    const MPI_Datatype types[2] = {old.type, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, types, &made.type);
    for (int j = 0; j < lengths[0]; ++j) append(made.map, old.map, j * old.extent);
    made.map.push_back(places[1]);
  }
  void resized(const Model& old, Model& made) {
    MPI_Type_create_resized(old.type, 0, old.extent + 4 * draw(3), &made.type);
    made.map = old.map;
  }
  void subarray(const Model& old, Model& made) {
    const int sizes[2] = {3, 3}, parts[2] = {1 + draw(2), 2}, starts[2] = {draw(2), 1};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, old.type, &made.type);
    for (int i = 0; i < parts[0]; ++i)
      for (int j = 0; j < parts[1]; ++j) append(made.map, old.map, ((starts[0] + i) * 3 + starts[1] + j) * old.extent);
  }
  std::mt19937 random_;
};

bool fits(const Model& model, int count) {
  for (MPI_Aint each : model.map)
    if (std::abs(each) + count * std::abs(model.extent) > kReach - 4) return false;
  return true;
}

std::vector<int> numbers() {
  std::vector<int> all(kInts);
  std::iota(all.begin(), all.end(), 1);
  return all;
}
// The values of `count` elements at the middle of `memory`, one int after the other.
std::vector<int> expected(const Model& model, int count, const std::vector<int>& memory) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i)
    for (MPI_Aint each : model.map) values.push_back(memory[static_cast<size_t>((kReach + i * model.extent + each) / 4)]);
  return values;
}
// Memory of zeroes with these values at the places of the elements.
std::vector<int> scattered(const Model& model, int count, const std::vector<int>& values) {
  std::vector<int> memory(kInts);
  size_t next = 0;
  for (int i = 0; i < count; ++i)
    for (MPI_Aint each : model.map) memory[static_cast<size_t>((kReach + i * model.extent + each) / 4)] = values[next++];
  return memory;
}

TEST(Datatypes, NestedAtRandomPackWhatTheirTypeMapSays) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Builder builder(seed);
    Model model = builder.build(1 + builder.draw(4));
    const int count = 1 + builder.draw(3);
    if (fits(model, count)) {
      MPI_Type_commit(&model.type);
      const std::vector<int> memory = numbers(), wanted = expected(model, count, memory);
      EXPECT_EQ(static_cast<size_t>(size_of(model.type)), 4 * model.map.size());
      std::vector<int> packed(wanted.size() + 1), back(kInts);
      int position = 4, bytes;
      MPI_Pack_size(count, model.type, MPI_COMM_SELF, &bytes);
      EXPECT_EQ(static_cast<size_t>(bytes), 4 * wanted.size());
      ASSERT_EQ(
          MPI_Pack(&memory[kReach / 4], count, model.type, packed.data(), 4 * static_cast<int>(packed.size()), &position, MPI_COMM_SELF),
          MPI_SUCCESS);
      EXPECT_EQ(static_cast<size_t>(position), 4 * packed.size());
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), packed.begin() + 1)) << "seed " << seed;
      position = 4;
      MPI_Unpack(packed.data(), 4 * static_cast<int>(packed.size()), &position, &back[kReach / 4], count, model.type, MPI_COMM_SELF);
      EXPECT_EQ(back, scattered(model, count, wanted)) << "seed " << seed;
    }
    if (model.type != MPI_INT) MPI_Type_free(&model.type);
  }
}

TEST(Datatypes, NestedAtRandomTravel) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Builder builder(seed + 1000);
    Model model = builder.build(1 + builder.draw(4));
    const int count = 1 + builder.draw(3);
    if (fits(model, count)) {
      MPI_Type_commit(&model.type);
      const std::vector<int> memory = numbers(), wanted = expected(model, count, memory);
      const int total = static_cast<int>(wanted.size());
      std::vector<int> flat(wanted.size()), back(kInts);
      MPI_Request requests[2];
      // From the datatype into ints, and from ints into the datatype.
      MPI_Irecv(flat.data(), total, MPI_INT, left(), 1, MPI_COMM_WORLD, &requests[0]);
      MPI_Irecv(&back[kReach / 4], count, model.type, left(), 2, MPI_COMM_WORLD, &requests[1]);
      MPI_Send(&memory[kReach / 4], count, model.type, right(), 1, MPI_COMM_WORLD);
      MPI_Send(wanted.data(), total, MPI_INT, right(), 2, MPI_COMM_WORLD);
      MPI_Status statuses[2];
      MPI_Waitall(2, requests, statuses);
      EXPECT_EQ(flat, wanted) << "seed " << seed;
      EXPECT_EQ(back, scattered(model, count, wanted)) << "seed " << seed;
      EXPECT_EQ(count_of(statuses[1], model.type), model.map.empty() ? 0 : count);
      int elements;
      MPI_Get_elements(&statuses[1], model.type, &elements);
      EXPECT_EQ(elements, total);
    }
    if (model.type != MPI_INT) MPI_Type_free(&model.type);
  }
}

TEST(Datatypes, OfManyMegabytesTravelBothWays) {
  const int rows = 1 << 20;  // 8 MiB of data in 16
  MPI_Datatype column;
  MPI_Type_vector(rows, 1, 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  std::vector<double> mine(2 * rows), room(2 * rows, -1.0);
  std::iota(mine.begin(), mine.end(), rank() * 1e8);
  MPI_Request request;
  MPI_Irecv(room.data() + 1, 1, column, left(), 4, MPI_COMM_WORLD, &request);
  MPI_Send(mine.data(), 1, column, right(), 4, MPI_COMM_WORLD);
  MPI_Type_free(&column);  // pending operations keep it
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  bool good = true;
  for (int i = 0; i < rows; ++i) {
    const size_t place = 2 * static_cast<size_t>(i);
    const bool hole_untouched = room[place] == -1.0;
    good = good && hole_untouched && room[place + 1] == left() * 1e8 + 2 * i;
  }
  EXPECT_TRUE(good);
}

// Every other double.
MPI_Datatype every_other(int doubles) {
  MPI_Datatype type;
  MPI_Type_vector(doubles, 1, 2, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

TEST(Datatypes, OfBulkSizeTravelManyAtATimeAndWhateverTheirReceivesLookLike) {
  constexpr int kAtATime = 7, kDoubles = 150'000;
  MPI_Datatype strided = every_other(kDoubles);
  using Doubles = std::vector<double>;
  std::vector<Doubles> out, in;
  const auto value = [](int source, int number, int i) { return source * 1e8 + number * 1e6 + i; };
  for (int n = 0; n < kAtATime; ++n) {
    Doubles& data = out.emplace_back(2 * kDoubles, -1.0);
    for (int i = 0; i < kDoubles; ++i) data[static_cast<size_t>(n % 3 == 1 ? i : 2 * i)] = value(rank(), n, i);
    in.emplace_back(2 * kDoubles, -2.0);
  }
  for (const bool early : {false, true}) {
    std::vector<MPI_Request> requests(2 * kAtATime, MPI_REQUEST_NULL);
    const auto receive_all = [&] {  // the third kind cuts off
      for (int n = 0; n < kAtATime; ++n)
        MPI_Irecv(in[static_cast<size_t>(n)].data(), n % 3 == 2 ? kDoubles : 1, n % 3 == 2 ? MPI_DOUBLE : strided, left(), n,
                  MPI_COMM_WORLD, &requests[static_cast<size_t>(n)]);
    };
    if (!early) receive_all();
    for (int n = 0; n < kAtATime; ++n) {
      const bool plain = n % 3 == 1;
      const auto send = n % 2 ? MPI_Issend : MPI_Isend;
      send(out[static_cast<size_t>(n)].data(), plain ? kDoubles : 1, plain ? MPI_DOUBLE : strided, right(), n, MPI_COMM_WORLD,
           &requests[static_cast<size_t>(kAtATime + n)]);
    }
    if (early) {
      MPI_Barrier(MPI_COMM_WORLD);
      receive_all();
    }
    EXPECT_EQ(MPI_Waitall(2 * kAtATime, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int n = 0; n < kAtATime; ++n) {
      Doubles& data = in[static_cast<size_t>(n)];
      bool same = true;
      for (int i = 0; i < kDoubles; ++i) {
        same &= data[static_cast<size_t>(n % 3 == 2 ? i : 2 * i)] == value(left(), n, i);
        if (n % 3 != 2) same &= data[static_cast<size_t>(2 * i + 1)] == -2.0;
      }
      EXPECT_TRUE(same) << n << (early ? ", sent early" : "");
      std::fill(data.begin(), data.end(), -2.0);
    }
  }
  MPI_Type_free(&strided);
}

TEST(Datatypes, OfBulkSizeAreCutOffWhereTheReceiveEndsAndMayBeCancelled) {
  MPI_Datatype more = every_other(100'000), fewer = every_other(60'000);
  std::vector<double> out(200'000, rank()), in(200'000, -2.0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(in.data(), 1, fewer, left(), 1, MPI_COMM_WORLD, &request);
  EXPECT_EQ(MPI_Send(out.data(), 1, more, right(), 1, MPI_COMM_WORLD), MPI_SUCCESS);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Wait(&request, &status), &error_class);
  EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
  EXPECT_TRUE(in[119'998] == left() && in[119'999] == -2.0 && in[120'000] == -2.0);
  MPI_Irecv(in.data(), 1, more, left(), 2, MPI_COMM_WORLD, &request);
  MPI_Type_free(&more);  // it lasts as long as the receive
  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_TRUE(cancelled);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&fewer);
}

TEST(Datatypes, HaveTheBoundsOfTheirDataUnlessTheyAreResized) {
  struct Item {
    double value;
    char kind;
  };
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype item, packed, shifted, array;
  MPI_Type_create_struct(2, lengths, places, types, &item);
  EXPECT_EQ(extent_of(item), static_cast<MPI_Aint>(sizeof(Item)));  // rounded up to the alignment of double
  EXPECT_EQ(size_of(item), 9);
  MPI_Aint true_lb, true_extent;
  MPI_Type_get_true_extent(item, &true_lb, &true_extent);
  EXPECT_EQ(true_extent, 9);
  MPI_Type_create_resized(item, -4, 9, &packed);
  EXPECT_EQ(lb_of(packed), -4);
  EXPECT_EQ(extent_of(packed), 9);
  MPI_Type_contiguous(3, packed, &array);
  EXPECT_EQ(lb_of(array), -4);
  EXPECT_EQ(extent_of(array), 27);
  const MPI_Aint far[1] = {100};
  MPI_Type_create_hindexed_block(1, 2, far, MPI_INT, &shifted);
  EXPECT_EQ(lb_of(shifted), 100);
  EXPECT_EQ(extent_of(shifted), 8);
  for (MPI_Datatype* type : {&item, &packed, &array, &shifted}) MPI_Type_free(type);
  EXPECT_EQ(extent_of(MPI_DOUBLE_INT), 16);
  EXPECT_EQ(size_of(MPI_DOUBLE_INT), 12);
}

TEST(Datatypes, SayHowTheyWereMade) {
  MPI_Datatype vector, twin, parts[1];
  MPI_Type_vector(3, 2, 5, MPI_SHORT, &vector);
  MPI_Type_dup(vector, &twin);
  int integers, addresses, types, combiner, values[3];
  MPI_Type_get_envelope(vector, &integers, &addresses, &types, &combiner);
  EXPECT_EQ(combiner, MPI_COMBINER_VECTOR);
  EXPECT_EQ(integers, 3);
  EXPECT_EQ(addresses, 0);
  EXPECT_EQ(types, 1);
  MPI_Type_get_contents(vector, 3, 0, 1, values, nullptr, parts);
  EXPECT_EQ(std::vector<int>(values, values + 3), (std::vector<int>{3, 2, 5}));
  EXPECT_EQ(parts[0], MPI_SHORT);
  MPI_Type_free(&vector);
  MPI_Type_get_envelope(twin, &integers, &addresses, &types, &combiner);
  EXPECT_EQ(combiner, MPI_COMBINER_DUP);
  MPI_Type_get_contents(twin, 0, 0, 1, nullptr, nullptr, parts);
  MPI_Type_get_envelope(parts[0], &integers, &addresses, &types, &combiner);
  EXPECT_EQ(combiner, MPI_COMBINER_VECTOR);  // still there: its twin holds it
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&twin);
  MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &types, &combiner);
  EXPECT_EQ(combiner, MPI_COMBINER_NAMED);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Type_get_name(MPI_2INT, name, &length);
  EXPECT_STREQ(name, "MPI_2INT");
  MPI_Datatype matched;
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &matched);
  EXPECT_EQ(matched, MPI_DOUBLE);
}

// Every element of the array belongs to exactly one process.
TEST(Datatypes, OfDistributedArraysCoverThemOnce) {
  const int kinds[][2] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG},
                          {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG},
                          {MPI_DISTRIBUTE_CYCLIC, 2},
                          {MPI_DISTRIBUTE_BLOCK, 5}};
  for (const auto& first : kinds)
    for (const auto& second : kinds)
      for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
        const int sizes[2] = {9, 7}, grid[2] = {2, 3}, distributions[2] = {first[0], second[0]};
        const int arguments[2] = {first[1], second[1]};
        std::vector<int> owner(63, -1), all(63);
        for (int process = 0; process < 6; ++process) {
          MPI_Datatype part;
          ASSERT_EQ(MPI_Type_create_darray(6, process, 2, sizes, distributions, arguments, grid, order, MPI_INT, &part), MPI_SUCCESS);
          MPI_Type_commit(&part);
          EXPECT_EQ(extent_of(part), 63 * 4);
          std::vector<int> ones(63, process);
          int position = 0, count = size_of(part) / 4;
          std::fill(all.begin(), all.end(), -1);
          MPI_Unpack(ones.data(), 4 * count, &position, all.data(), 1, part, MPI_COMM_SELF);
          for (size_t i = 0; i < 63; ++i) {
            if (all[i] != process) continue;
            EXPECT_EQ(owner[i], -1);
            owner[i] = process;
          }
          MPI_Type_free(&part);
        }
        EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
        EXPECT_EQ(owner[0], 0);
      }
}

TEST(Datatypes, External32IsBigEndianAndOfFixedSizes) {
  const int number = 0x01020304;
  const long negative = -2;
  const long double wide = -1.5L;
  const MPI_Datatype types[3] = {MPI_INT, MPI_LONG, MPI_LONG_DOUBLE};
  const void* values[3] = {&number, &negative, &wide};
  unsigned char out[24];
  MPI_Aint position = 0, bytes;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(MPI_Pack_external("external32", values[i], 1, types[i], out, sizeof out, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 24);
  const unsigned char wanted[12] = {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe, 0xbf, 0xff, 0x80, 0};
  EXPECT_EQ(std::memcmp(out, wanted, sizeof wanted), 0);
  int number_back = 0;
  long negative_back = 0;
  long double wide_back = 0;
  void* places[3] = {&number_back, &negative_back, &wide_back};
  position = 0;
  for (int i = 0; i < 3; ++i) MPI_Unpack_external("external32", out, sizeof out, &position, places[i], 1, types[i]);
  EXPECT_EQ(number_back, number);
  EXPECT_EQ(negative_back, negative);
  EXPECT_EQ(wide_back, wide);
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 3, MPI_SHORT, &column);
  MPI_Pack_external_size("external32", 2, column, &bytes);
  EXPECT_EQ(bytes, 16);
  MPI_Type_free(&column);
}

TEST(Datatypes, CountElementsOfWhatArrivedInPart) {
  const int lengths[2] = {1, 2};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype item;
  MPI_Type_create_struct(2, lengths, places, types, &item);  // 12 bytes of data
  MPI_Status status;
  std::memset(&status, 0, sizeof status);
  int count;
  MPI_Count wide;
  MPI_Status_set_elements(&status, item, 5);  // one item, and a double and a short of the next
  MPI_Get_elements(&status, item, &count);
  EXPECT_EQ(count, 5);
  MPI_Get_count(&status, item, &count);
  EXPECT_EQ(count, MPI_UNDEFINED);
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, 22);
  MPI_Status_set_elements_x(&status, MPI_BYTE, 21);
  MPI_Get_elements_x(&status, item, &wide);
  EXPECT_EQ(wide, MPI_UNDEFINED);
  MPI_Type_free(&item);
}

TEST(Datatypes, RefuseWhatMakesNoSense) {
  ReturnErrors guard;
  MPI_Datatype made;
  const int negative[1] = {-1}, zero[1] = {0}, three[1] = {3};
  EXPECT_EQ(MPI_Type_contiguous(-1, MPI_INT, &made), MPI_ERR_COUNT);
  EXPECT_EQ(MPI_Type_indexed(1, negative, zero, MPI_INT, &made), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Type_vector(1, 1, 1, MPI_DATATYPE_NULL, &made), MPI_ERR_TYPE);
  EXPECT_EQ(MPI_Type_create_subarray(1, three, three, three, MPI_ORDER_C, MPI_INT, &made), MPI_ERR_ARG);
  made = MPI_INT;
  EXPECT_EQ(MPI_Type_free(&made), MPI_ERR_TYPE);
  MPI_Type_contiguous(2, MPI_INT, &made);
  int room[2], position = 0;
  EXPECT_EQ(MPI_Send(room, 1, made, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);  // not committed
  MPI_Type_commit(&made);
  EXPECT_EQ(MPI_Pack(room, 1, made, room, 7, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
  EXPECT_EQ(MPI_Pack_external("native", room, 1, made, room, 8, nullptr), MPI_ERR_ARG);
  MPI_Datatype freed = made;
  MPI_Type_free(&made);
  EXPECT_EQ(MPI_Type_size(freed, &position), MPI_ERR_TYPE);
}

}  // namespace
}  // namespace datatypes_test
