// Random trees of datatypes, with zeros and negative strides and extents, beside a model of bytes. Source: MPI-5.0, 5.1.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "../ranks.hpp"

namespace bounds_test {
namespace {

// The type map of the standard, byte by byte, with the bounds that were set.
struct Model {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<MPI_Aint> bytes;
  int elements = 0;
  MPI_Aint alignment = 1;
  std::optional<MPI_Aint> lower_mark, upper_mark;
  std::optional<MPI_Aint> lowest, highest;  // of the parts, with the gaps behind them, as other implementations count

  MPI_Aint true_lb() const { return bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end()); }
  MPI_Aint true_ub() const { return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1; }
  MPI_Aint lb() const { return lower_mark.value_or(lowest.value_or(0)); }
  MPI_Aint extent() const {
    if (upper_mark) return *upper_mark - lb();
    return (highest.value_or(0) - lb() + alignment - 1) / alignment * alignment;
  }
  void add(const Model& part, MPI_Aint displacement) {
    for (MPI_Aint each : part.bytes) bytes.push_back(each + displacement);
    elements += part.elements;
    alignment = std::max(alignment, part.alignment);
    const MPI_Aint low = part.lb() + displacement, high = low + part.extent();
    if (part.lower_mark) widen(lower_mark, upper_mark, low, high);
    else if (!part.bytes.empty()) widen(lowest, highest, low, high);
  }
  static void widen(std::optional<MPI_Aint>& from, std::optional<MPI_Aint>& to, MPI_Aint low, MPI_Aint high) {
    from = std::min(from.value_or(low), low);
    to = std::max(to.value_or(high), high);
  }
  void add_row(const Model& part, MPI_Aint displacement, int length) {
    for (int i = 0; i < length; ++i) add(part, displacement + i * part.extent());
  }
  void mark(MPI_Aint low, MPI_Aint extent) {
    lower_mark = low;
    upper_mark = low + extent;
  }
};

class Builder {
 public:
  explicit Builder(unsigned seed) : random_(seed) {}
  int draw(int from, int to) { return from + static_cast<int>(random_() % static_cast<unsigned>(to - from + 1)); }

  Model build(int depth) {
    if (depth == 0) return elementary();
    Model old = build(depth - 1), made;
    switch (draw(0, 10)) {
      case 0: contiguous(old, made); break;
      case 1: vector(old, made, false); break;
      case 2: vector(old, made, true); break;
      case 3: indexed(old, made, false, false); break;
      case 4: indexed(old, made, true, false); break;
      case 5: indexed(old, made, false, true); break;
      case 6: indexed(old, made, true, true); break;
      case 7: structure(old, made); break;
      case 8: resized(old, made); break;
      case 9: copy(old, made); break;
      default: array(old, made); break;
    }
    release(old);
    return made;
  }
  static void release(Model& model) {
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(model.type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&model.type);
  }

 private:
  Model elementary() {
    static const MPI_Datatype kTypes[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    const int which = draw(0, 3), size = 1 << which;
    Model made;
    made.type = kTypes[which];
    made.elements = 1;
    made.alignment = size;
    for (MPI_Aint i = 0; i < size; ++i) made.bytes.push_back(i);
    made.lowest = 0;
    made.highest = size;
    return made;
  }
  void contiguous(const Model& old, Model& made) {
    const int count = draw(0, 3);
    MPI_Type_contiguous(count, old.type, &made.type);
    made.add_row(old, 0, count);
  }
  void vector(const Model& old, Model& made, bool in_bytes) {
    const int count = draw(0, 3), length = draw(0, 2), stride = draw(-3, 5);
    if (in_bytes) MPI_Type_create_hvector(count, length, stride, old.type, &made.type);
    else MPI_Type_vector(count, length, stride, old.type, &made.type);
    for (int i = 0; i < count; ++i) made.add_row(old, i * stride * (in_bytes ? 1 : old.extent()), length);
  }
  void indexed(const Model& old, Model& made, bool in_bytes, bool alike) {
    const int count = draw(0, 3);
    int lengths[3], places[3];
    MPI_Aint byte_places[3];
    for (int i = 0; i < 3; ++i) {
      lengths[i] = alike && i > 0 ? lengths[0] : draw(0, 2);
      byte_places[i] = places[i] = draw(-4, 6);
    }
    if (in_bytes && alike) MPI_Type_create_hindexed_block(count, lengths[0], byte_places, old.type, &made.type);
    else if (in_bytes) MPI_Type_create_hindexed(count, lengths, byte_places, old.type, &made.type);
    else if (alike) MPI_Type_create_indexed_block(count, lengths[0], places, old.type, &made.type);
    else MPI_Type_indexed(count, lengths, places, old.type, &made.type);
    for (int i = 0; i < count; ++i) made.add_row(old, places[i] * (in_bytes ? 1 : old.extent()), lengths[i]);
  }
  void structure(const Model& old, Model& made) {
    Model other = build(draw(0, 2)), number = elementary();
    const Model* const parts[3] = {&old, &other, &number};
    const int count = draw(0, 3);
    int lengths[3];
    MPI_Aint places[3];
    MPI_Datatype types[3];
    for (int i = 0; i < 3; ++i) {
      lengths[i] = draw(0, 2);
      places[i] = draw(-20, 40);
      types[i] = parts[i]->type;
    }
    MPI_Type_create_struct(count, lengths, places, types, &made.type);
    for (int i = 0; i < count; ++i) made.add_row(*parts[i], places[i], lengths[i]);
    release(other);
  }
  void resized(const Model& old, Model& made) {
    const MPI_Aint low = draw(-12, 12), extent = draw(-24, 40);
    MPI_Type_create_resized(old.type, low, extent, &made.type);
    made.add(old, 0);
    made.mark(low, extent);
  }
  void copy(const Model& old, Model& made) {
    MPI_Type_dup(old.type, &made.type);
    made.add(old, 0);
  }
  void array(const Model& old, Model& made) {
    const int sizes[2] = {3, 3}, parts[2] = {draw(1, 2), 2}, starts[2] = {draw(0, 1), 1};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, old.type, &made.type);
    for (int i = 0; i < parts[0]; ++i)
      for (int j = 0; j < parts[1]; ++j) made.add(old, ((starts[0] + i) * 3 + starts[1] + j) * old.extent());
    made.mark(0, 9 * old.extent());
  }
  std::mt19937 random_;
};

// Elements of a model lie around the middle of so many bytes.
constexpr MPI_Aint kReach = 8192;

// The places of all bytes; nothing when they do not fit, or lie on one another, which none may receive into.
std::vector<size_t> places_of(const Model& model, int count) {
  std::vector<size_t> places;
  for (int i = 0; i < count; ++i)
    for (MPI_Aint each : model.bytes) {
      const MPI_Aint place = kReach + i * model.extent() + each;
      if (place < 0 || place >= 2 * kReach) return {};
      places.push_back(static_cast<size_t>(place));
    }
  return std::set<size_t>(places.begin(), places.end()).size() == places.size() ? places : std::vector<size_t>{};
}

struct Sample {
  Model model;
  int count;
  std::vector<size_t> places;
  Bytes memory, packed, scattered;  // random bytes; the data among them; the data alone, where they lie
};

// Calls check(sample) for many random types.
template <class Check>
void for_each_sample(unsigned first, unsigned many, Check&& check) {
  for (unsigned seed = first; seed < first + many; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Builder builder(seed);
    Sample sample;
    sample.model = builder.build(builder.draw(1, 4));
    sample.count = builder.draw(0, 3);
    sample.places = places_of(sample.model, sample.count);
    sample.memory = message(0, static_cast<int>(seed), 2 * kReach);
    sample.scattered.resize(2 * kReach);
    for (size_t place : sample.places) {
      sample.packed.push_back(sample.memory[place]);
      sample.scattered[place] = sample.memory[place];
    }
    const bool usable = !sample.places.empty() || sample.count == 0 || sample.model.bytes.empty();
    MPI_Type_commit(&sample.model.type);
    if (usable) check(sample);
    Builder::release(sample.model);
  }
}

TEST(Bounds, AreThoseOfTheTypeMap) {
  for_each_sample(0, 3000, [](const Sample& sample) {
    const Model& model = sample.model;
    int size;
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count wide_lb, wide_extent;
    MPI_Type_size(model.type, &size);
    MPI_Type_get_extent(model.type, &lb, &extent);
    MPI_Type_get_extent_c(model.type, &wide_lb, &wide_extent);
    MPI_Type_get_true_extent(model.type, &true_lb, &true_extent);
    EXPECT_EQ(size, static_cast<int>(model.bytes.size()));
    EXPECT_EQ(lb, model.lb());
    EXPECT_EQ(extent, model.extent());
    EXPECT_TRUE(wide_lb == lb && wide_extent == extent);
    EXPECT_EQ(true_lb, model.true_lb());
    EXPECT_EQ(true_extent, model.true_ub() - model.true_lb());
  });
}

TEST(Bounds, SayWherePackedDataLie) {
  for_each_sample(10000, 1500, [](Sample& sample) {
    const int bytes = static_cast<int>(sample.packed.size());
    Bytes packed(sample.packed.size() + 1), back(2 * kReach), big(2 * sample.packed.size() + 1);
    int position = 0;
    MPI_Pack(&sample.memory[kReach], sample.count, sample.model.type, packed.data(), bytes, &position, MPI_COMM_SELF);
    packed.resize(sample.packed.size());
    EXPECT_EQ(packed, sample.packed);
    position = 0;
    packed.push_back(0);
    MPI_Unpack(packed.data(), bytes, &position, &back[kReach], sample.count, sample.model.type, MPI_COMM_SELF);
    EXPECT_EQ(back, sample.scattered);
    MPI_Aint place = 0;
    back.assign(back.size(), 0);
    MPI_Pack_external("external32", &sample.memory[kReach], sample.count, sample.model.type, big.data(), static_cast<MPI_Aint>(big.size()),
                      &place);
    EXPECT_EQ(place, bytes);
    place = 0;
    MPI_Unpack_external("external32", big.data(), static_cast<MPI_Aint>(big.size()), &place, &back[kReach], sample.count,
                        sample.model.type);
    EXPECT_EQ(back, sample.scattered);
  });
}

TEST(Bounds, SayWhereMessagesLie) {
  for_each_sample(20000, 300, [](Sample& sample) {
    const int bytes = static_cast<int>(sample.packed.size());
    Bytes flat(sample.packed.size() + 1), back(2 * kReach), copy(2 * kReach);
    MPI_Status status;
    MPI_Sendrecv(&sample.memory[kReach], sample.count, sample.model.type, right(), 1, flat.data(), bytes, MPI_BYTE, left(), 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    flat.resize(sample.packed.size());
    EXPECT_EQ(flat, sample.packed);
    flat.push_back(0);
    MPI_Sendrecv(flat.data(), bytes, MPI_BYTE, right(), 2, &back[kReach], sample.count, sample.model.type, left(), 2, MPI_COMM_WORLD,
                 &status);
    EXPECT_EQ(back, sample.scattered);
    int elements;
    MPI_Get_elements(&status, sample.model.type, &elements);
    EXPECT_EQ(elements, sample.count * sample.model.elements);
    EXPECT_EQ(count_of(status, sample.model.type), sample.model.bytes.empty() ? 0 : sample.count);
    if (rank() == 0) copy = sample.memory;
    MPI_Bcast(&copy[kReach], sample.count, sample.model.type, 0, MPI_COMM_WORLD);
    if (rank() != 0) {
      EXPECT_EQ(copy, sample.scattered);
    }
  });
}

TEST(Bounds, SayWhereWindowsAreAccessed) {
  Bytes memory(2 * kReach);
  MPI_Win win;
  MPI_Win_create(memory.data(), 2 * kReach, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for_each_sample(30000, 200, [&](Sample& sample) {
    const int bytes = static_cast<int>(sample.packed.size());
    Bytes flat(sample.packed.size() + 1), back(2 * kReach);
    memory.assign(memory.size(), 0);
    MPI_Win_fence(0, win);
    MPI_Put(&sample.memory[kReach], sample.count, sample.model.type, right(), kReach, sample.count, sample.model.type, win);
    MPI_Win_fence(0, win);
    EXPECT_EQ(memory, sample.scattered);
    MPI_Get(flat.data(), bytes, MPI_BYTE, right(), 0, 0, MPI_BYTE, win);
    MPI_Get(&back[kReach], sample.count, sample.model.type, right(), kReach, sample.count, sample.model.type, win);
    MPI_Win_fence(0, win);
    EXPECT_EQ(back, sample.scattered);
  });
  MPI_Win_free(&win);
}

TEST(Bounds, SayWhereDataOfFilesLie) {
  MPI_File file;
  const std::string name = "/tmp/portunus-bounds-" + std::to_string(getpid());
  ASSERT_EQ(MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file),
            MPI_SUCCESS);
  for_each_sample(40000, 300, [&](Sample& sample) {
    const int bytes = static_cast<int>(sample.packed.size());
    Bytes flat(sample.packed.size() + 1), back(2 * kReach);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_write_at(file, 0, &sample.memory[kReach], sample.count, sample.model.type, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, flat.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    flat.resize(sample.packed.size());
    EXPECT_EQ(flat, sample.packed);
    MPI_File_read_at(file, 0, &back[kReach], sample.count, sample.model.type, MPI_STATUS_IGNORE);
    EXPECT_EQ(back, sample.scattered);
    // As the view of a file, where its data lie in order and the displacement keeps them inside.
    std::vector<size_t> places = sample.places;
    if (places.empty() || !std::is_sorted(places.begin(), places.end()) || sample.model.true_lb() < 0 || sample.model.extent() < 0) return;
    if (sample.model.extent() < sample.model.true_ub() - sample.model.true_lb()) return;
    MPI_File_set_size(file, 0);
    EXPECT_EQ(MPI_File_set_view(file, kReach, MPI_BYTE, sample.model.type, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File_write_at(file, 0, sample.packed.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    back.assign(back.size(), 0);
    MPI_File_read_at(file, 0, back.data(), static_cast<int>(back.size()), MPI_BYTE, MPI_STATUS_IGNORE);
    EXPECT_EQ(back, sample.scattered);
  });
  MPI_File_close(&file);
}

}  // namespace
}  // namespace bounds_test
