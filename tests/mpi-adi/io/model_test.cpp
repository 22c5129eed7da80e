// model_test.cpp: every way to access a file against the model, with views, types and positions drawn at random.
#include "model.hpp"
#include "files.hpp"

namespace {

enum class Way { independent, together, later, together_later, split };

// Writes or reads `bytes` of the view's data from `position` (elementary types) on.
void access(MPI_File file, Way way, bool writes, MPI_Offset position, void* buf, int count, MPI_Datatype type, MPI_Status* status) {
  MPI_Request request;
  switch (way) {
    case Way::independent:
      EXPECT_EQ(
          writes ? MPI_File_write_at(file, position, buf, count, type, status) : MPI_File_read_at(file, position, buf, count, type, status),
          0);
      return;
    case Way::together:
      EXPECT_EQ(writes ? MPI_File_write_at_all(file, position, buf, count, type, status)
                       : MPI_File_read_at_all(file, position, buf, count, type, status),
                0);
      return;
    case Way::split:
      EXPECT_EQ(writes ? MPI_File_write_at_all_begin(file, position, buf, count, type)
                       : MPI_File_read_at_all_begin(file, position, buf, count, type),
                0);
      EXPECT_EQ(writes ? MPI_File_write_at_all_end(file, buf, status) : MPI_File_read_at_all_end(file, buf, status), 0);
      return;
    case Way::later:
      EXPECT_EQ(writes ? MPI_File_iwrite_at(file, position, buf, count, type, &request)
                       : MPI_File_iread_at(file, position, buf, count, type, &request),
                0);
      break;
    case Way::together_later:
      EXPECT_EQ(writes ? MPI_File_iwrite_at_all(file, position, buf, count, type, &request)
                       : MPI_File_iread_at_all(file, position, buf, count, type, &request),
                0);
      break;
  }
  EXPECT_EQ(MPI_Wait(&request, status), MPI_SUCCESS);
}

constexpr Way kWays[] = {Way::independent, Way::together, Way::later, Way::together_later, Way::split};

// All ranks write parts of a file that do not overlap, and read what another one wrote.
void run_round(Draw& draw, const char* datarep, bool small_buffers, bool atomic) {
  const Hints hints = {{"cb_buffer_size", small_buffers ? "16384" : "1048576"},
                       {"cb_nodes", draw.chance(2) ? "1" : "2"},
                       {"romio_cb_write", draw.chance(2) ? "enable" : "automatic"},
                       {"romio_cb_read", draw.chance(2) ? "enable" : "automatic"},
                       {"romio_ds_write", draw.chance(3) ? "disable" : "automatic"}};
  Opened file("model", hints);
  MPI_File_set_atomicity(file, atomic);
  const Typed base = elementary(draw);
  std::vector<Typed> tiles = shared_tile(draw, base, ranks());
  const int64_t displacement = draw(0, 100);
  const int64_t units = draw(0, 4000), start = draw(0, 50);
  const int shape = static_cast<int>(draw(0, 3));
  const Way write_way = kWays[draw(0, 4)], read_way = kWays[draw(0, 4)];
  const int reader_shift = static_cast<int>(draw(0, ranks() - 1));
  const bool background = draw.chance(2);
  const auto own = static_cast<size_t>(rank());

  // Bytes that nobody writes must stay as it is.
  Model model;
  const int64_t most = displacement + (units + start + 64) / tiles[0].size() * tiles[0].extent + 4 * tiles[0].extent + 4096;
  if (background) {
    model.bytes.assign(static_cast<size_t>(std::min<int64_t>(most, 200000)), 0xee);
    if (rank() == 0) {
      EXPECT_EQ(MPI_File_write_at(file, 0, model.bytes.data(), static_cast<int>(model.bytes.size()), MPI_BYTE, MPI_STATUS_IGNORE), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_EQ(MPI_File_set_view(file, displacement, base.type, tiles[own].type, datarep, MPI_INFO_NULL), MPI_SUCCESS);
  Typed memory = random_type(draw, base, shape);
  const int64_t per_type = memory.size();
  const int64_t count = units * base.size() / per_type;
  const auto in_memory = [&](int r, int64_t k) { return static_cast<unsigned char>(1 + (k * 7 + r * 31 + k / 251) % 250); };
  Bytes buffer(static_cast<size_t>(count * memory.extent + memory.extent + 64), 0xaa);
  for (int64_t k = 0; k < count * per_type; ++k) buffer[static_cast<size_t>(memory.place(k))] = in_memory(rank(), k);
  MPI_Status status;
  access(file, write_way, true, start, buffer.data(), static_cast<int>(count), memory.type, &status);
  EXPECT_EQ(count_of(status, MPI_BYTE), count * per_type);
  for (int r = 0; r < ranks(); ++r)
    for (int64_t k = 0; k < count * per_type; ++k)
      model.put(displacement + tiles[static_cast<size_t>(r)].place(start * base.size() + k), in_memory(r, k));
  EXPECT_EQ(MPI_File_sync(file), MPI_SUCCESS);
  const std::string now = content(file.name);
  EXPECT_EQ(now.size(), model.bytes.size());
  for (size_t i = 0; i < std::min(now.size(), model.bytes.size()); ++i)
    if (static_cast<unsigned char>(now[i]) != model.bytes[i]) {
      ADD_FAILURE() << "byte " << i << " is " << int{static_cast<unsigned char>(now[i])} << ", not " << int{model.bytes[i]};
      break;
    }
  // Read with another rank's view, beyond the end, too.
  const auto other = static_cast<size_t>((rank() + reader_shift) % ranks());
  EXPECT_EQ(MPI_File_set_view(file, displacement, base.type, tiles[other].type, datarep, MPI_INFO_NULL), MPI_SUCCESS);
  const int64_t more = count + draw(0, 40);
  Bytes room(static_cast<size_t>(more * memory.extent + memory.extent + 64), 0x55), expected = room;
  int64_t there = 0;
  for (int64_t k = 0; k < more * per_type; ++k) {
    const auto at = static_cast<size_t>(displacement + tiles[other].place(start * base.size() + k));
    if (at >= model.bytes.size()) break;
    expected[static_cast<size_t>(memory.place(k))] = model.bytes[at];
    ++there;
  }
  access(file, read_way, false, start, room.data(), static_cast<int>(more), memory.type, &status);
  EXPECT_EQ(count_of(status, MPI_BYTE), there);
  EXPECT_TRUE(room == expected);
  release(memory);
  for (Typed& tile : tiles) release(tile);
}

TEST(Model, RandomViewsAreAsLoopsOverSingleBytes) {
  const char* seed = std::getenv("MPI_IO_TEST_SEED");
  Draw draw(seed ? std::strtoull(seed, nullptr, 10) : 20260101);
  for (int round = 0; round < (ranks() > 4 ? 20 : 50) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    run_round(draw, draw.chance(2) ? "native" : "internal", draw.chance(2), draw.chance(5));
    int failed = HasFailure(), any = 0;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (any) break;
  }
}

}  // namespace
