// calls_test.cpp: sentences of MPI-5.0, chapter 14, on opening, pointers, sizes, infos, representations; and what users of
// other libraries complained about.
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include <thread>

#include "files.hpp"

namespace {

MPI_Offset size_of(MPI_File file) {
  MPI_Offset size = -1;
  EXPECT_EQ(MPI_File_get_size(file, &size), MPI_SUCCESS);
  return size;
}
MPI_Offset position_of(MPI_File file) {
  MPI_Offset position = -1;
  EXPECT_EQ(MPI_File_get_position(file, &position), MPI_SUCCESS);
  return position;
}
std::string value_of(MPI_File file, const char* key) {
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int length = sizeof value, flag = 0;
  EXPECT_EQ(MPI_File_get_info(file, &info), MPI_SUCCESS);
  MPI_Info_get_string(info, key, &length, value, &flag);
  MPI_Info_free(&info);
  return flag ? value : "-";
}

// 14.2.1: with MPI_MODE_EXCL a file that exists is an error; delete-on-close; append.
TEST(Files, OpenMakesKeepsAndDeletes) {
  const std::string name = file_name("open");
  MPI_File file;
  EXPECT_EQ(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
            MPI_SUCCESS);
  const int data = 7;
  if (rank() == 0) {
    EXPECT_EQ(MPI_File_write(file, &data, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
  EXPECT_EQ(file, MPI_FILE_NULL);
  EXPECT_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, MPI_INFO_NULL, &file)),
            MPI_ERR_FILE_EXISTS);
  EXPECT_EQ(file, MPI_FILE_NULL);
  EXPECT_EQ(MPI_File_open(MPI_COMM_WORLD, ("ufs:" + name).c_str(), MPI_MODE_APPEND | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &file),
            MPI_SUCCESS);
  EXPECT_EQ(position_of(file), 4);
  MPI_Offset shared = -1;
  EXPECT_EQ(MPI_File_get_position_shared(file, &shared), MPI_SUCCESS);
  EXPECT_EQ(shared, 4);
  int amode = 0;
  EXPECT_EQ(MPI_File_get_amode(file, &amode), MPI_SUCCESS);
  EXPECT_EQ(amode, MPI_MODE_APPEND | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Group group;
  EXPECT_EQ(MPI_File_get_group(file, &group), MPI_SUCCESS);
  int size = 0;
  MPI_Group_size(group, &size);
  EXPECT_EQ(size, ranks());
  MPI_Group_free(&group);
  EXPECT_EQ(MPI_File_close(&file), MPI_SUCCESS);
  EXPECT_NE(access(name.c_str(), F_OK), 0);
}

// 14.4.3: pointers count elementary types and begin at 0 in each new view; SEEK_END is behind the end.
TEST(Files, PointersMove) {
  Opened file("pointers", MPI_INFO_NULL, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_SELF);
  int data[6] = {1, 2, 3, 4, 5, 6}, room[6] = {};
  EXPECT_EQ(MPI_File_write(file, data, 6, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(position_of(file), 24);
  MPI_Datatype every_second;
  MPI_Type_create_resized(MPI_INT, 0, 8, &every_second);
  MPI_Type_commit(&every_second);
  EXPECT_EQ(MPI_File_set_view(file, 4, MPI_INT, every_second, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(position_of(file), 0);
  MPI_Request request;
  EXPECT_EQ(MPI_File_iread(file, room, 2, MPI_INT, &request), MPI_SUCCESS);
  EXPECT_EQ(position_of(file), 2);
  MPI_Status status;
  EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
  EXPECT_EQ(room[0] * 10 + room[1], 24);
  // At the end of the file: fewer than asked for, and memory behind stays.
  room[1] = 99;
  EXPECT_EQ(MPI_File_read(file, room, 4, MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status, MPI_INT), 1);
  EXPECT_EQ(room[0] * 100 + room[1], 699);
  EXPECT_EQ(MPI_File_seek(file, 0, MPI_SEEK_END), MPI_SUCCESS);
  EXPECT_EQ(position_of(file), 3);
  EXPECT_EQ(MPI_File_seek(file, -2, MPI_SEEK_CUR), MPI_SUCCESS);
  MPI_Offset place = 0;
  EXPECT_EQ(MPI_File_get_byte_offset(file, position_of(file), &place), MPI_SUCCESS);
  EXPECT_EQ(place, 12);
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING];
  EXPECT_EQ(MPI_File_get_view(file, &disp, &etype, &filetype, name), MPI_SUCCESS);
  EXPECT_EQ(disp, 4);
  EXPECT_EQ(etype, MPI_INT);
  EXPECT_STREQ(name, "native");
  MPI_Aint lb, extent;
  MPI_Type_get_extent(filetype, &lb, &extent);
  EXPECT_EQ(extent, 8);
  MPI_Type_free(&filetype);
  MPI_Type_free(&every_second);
}

// Runs of any length get to any place of a page, and nothing beside it is touched.
TEST(Files, MemoryMayLieAnywhere) {
  Opened file("anywhere", MPI_INFO_NULL, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_SELF);
  constexpr size_t kBytes = 150000;
  const Bytes data = message(rank(), 1, kBytes);
  EXPECT_EQ(MPI_File_write_at(file, 0, data.data(), kBytes, MPI_BYTE, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (const size_t from : {0, 1, 63, 64, 4095})
    for (const size_t shift : {0, 1, 16, 63, 64, 4095})
      for (const size_t count : {1000, 4096, 65536, 65537, 140000}) {
        Bytes room(count + 4096 + 64, 0x55);
        MPI_Request request;
        if (count == 65536) {
          EXPECT_EQ(MPI_File_iread_at(file, static_cast<MPI_Offset>(from), &room[shift], static_cast<int>(count), MPI_BYTE, &request), 0);
          EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else {
          EXPECT_EQ(
              MPI_File_read_at(file, static_cast<MPI_Offset>(from), &room[shift], static_cast<int>(count), MPI_BYTE, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
        }
        EXPECT_TRUE(std::equal(room.begin() + static_cast<long>(shift), room.begin() + static_cast<long>(shift + count),
                               data.begin() + static_cast<long>(from)))
            << from << " to " << shift << ", " << count;
        EXPECT_EQ(std::count(room.begin(), room.begin() + static_cast<long>(shift), 0x55), static_cast<long>(shift));
        EXPECT_EQ(room[shift + count], 0x55);
      }
}

// 14.4.4: the shared pointer: every access gets a place of its own; ordered ones get them by rank.
TEST(Files, SharedPointersDealOutPlaces) {
  Opened file("shared");
  EXPECT_EQ(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  constexpr int kEach = 20;
  for (int i = 0; i < kEach; ++i) {
    const int value = rank() * kEach + i;
    MPI_Request request;
    if (i % 2) {
      EXPECT_EQ(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_File_iwrite_shared(file, &value, 1, MPI_INT, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
  }
  barrier();
  const auto total = static_cast<size_t>(ranks() * kEach);
  std::vector<int> all(total), seen(total);
  EXPECT_EQ(MPI_File_read_at(file, 0, all.data(), static_cast<int>(total), MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (const int value : all)
    if (value >= 0 && static_cast<size_t>(value) < total) ++seen[static_cast<size_t>(value)];
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(total));
  EXPECT_EQ(MPI_File_seek_shared(file, 2, MPI_SEEK_SET), MPI_SUCCESS);
  std::vector<int> own(static_cast<size_t>(rank()) + 1, rank());
  EXPECT_EQ(MPI_File_write_ordered(file, own.data(), rank() + 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_seek_shared(file, 2, MPI_SEEK_SET), MPI_SUCCESS);
  std::vector<int> room(own.size(), -1);
  EXPECT_EQ(MPI_File_read_ordered_begin(file, room.data(), rank() + 1, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_read_ordered_end(file, room.data(), MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(room, own);
  MPI_Offset position = -1;
  EXPECT_EQ(MPI_File_get_position_shared(file, &position), MPI_SUCCESS);
  EXPECT_EQ(position, 2 + ranks() * (ranks() + 1) / 2);
}

TEST(Files, SequentialOnesHaveASharedPointerOnly) {
  Opened file("sequential", MPI_INFO_NULL, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  const int value = rank();
  EXPECT_EQ(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE)), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(class_of(MPI_File_seek(file, 0, MPI_SEEK_SET)), MPI_ERR_UNSUPPORTED_OPERATION);
  EXPECT_EQ(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  char name[MPI_MAX_DATAREP_STRING];
  EXPECT_EQ(MPI_File_get_view(file, &disp, &etype, &filetype, name), MPI_SUCCESS);
  EXPECT_EQ(disp, 4 * ranks());
}

TEST(Files, SizesAreSetBeyond4GiB) {
  Opened file("sizes");
  const MPI_Offset far = (MPI_Offset{5} << 30) + rank() * 4;
  const int value = rank() + 100;
  EXPECT_EQ(MPI_File_write_at(file, far, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  barrier();
  EXPECT_EQ(size_of(file), (MPI_Offset{5} << 30) + ranks() * 4);
  int room = 0;
  EXPECT_EQ(MPI_File_read_at_all(file, (MPI_Offset{5} << 30) + right() * 4, &room, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(room, right() + 100);
  barrier();
  EXPECT_EQ(MPI_File_set_size(file, 100), MPI_SUCCESS);
  EXPECT_EQ(size_of(file), 100);
  EXPECT_EQ(MPI_File_preallocate(file, 50), MPI_SUCCESS);
  EXPECT_EQ(size_of(file), 100);
  EXPECT_EQ(MPI_File_preallocate(file, 8192), MPI_SUCCESS);
  EXPECT_EQ(size_of(file), 8192);
}

TEST(Files, InfosSayWhatIsInUse) {
  const Hints hints = {
      {"cb_buffer_size", "65536"}, {"file_perm", "0600"}, {"cb_nodes", "senseless"}, {"unknown", "1"}, {"romio_ds_write", "disable"}};
  Opened file("infos", hints);
  EXPECT_EQ(value_of(file, "cb_buffer_size"), "65536");
  EXPECT_GE(std::atoi(value_of(file, "cb_nodes").c_str()), 1);  // as many as there are nodes
  EXPECT_EQ(value_of(file, "unknown"), "-");
  EXPECT_EQ(value_of(file, "romio_ds_write"), "disable");
  EXPECT_EQ(value_of(file, "romio_visibility_immediate"), "true");
  EXPECT_EQ(value_of(file, "ind_wr_buffer_size"), "524288");
  struct stat what;
  EXPECT_EQ(stat(file.name.c_str(), &what), 0);
  EXPECT_EQ(what.st_mode & 0777, 0600u);
  const Hints more = {{"ind_rd_buffer_size", "4096"}};
  EXPECT_EQ(MPI_File_set_info(file, more), MPI_SUCCESS);
  EXPECT_EQ(value_of(file, "ind_rd_buffer_size"), "4096");
}

// 14.5.2, table 14.2.
TEST(Files, External32IsBigEndianWithItsOwnSizes) {
  Opened file("external32");
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Aint extent = 0;
  EXPECT_EQ(MPI_File_get_type_extent(file, MPI_LONG, &extent), MPI_SUCCESS);
  EXPECT_EQ(extent, 4);
  const long value = 0x01020304 + rank();
  MPI_Status status;
  EXPECT_EQ(MPI_File_write_at_all(file, rank(), &value, 1, MPI_LONG, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status, MPI_LONG), 1);
  EXPECT_EQ(MPI_File_sync(file), MPI_SUCCESS);
  const std::string bytes = content(file.name);
  EXPECT_EQ(bytes.size(), static_cast<size_t>(4 * ranks()));
  EXPECT_EQ(bytes.substr(0, 4), std::string("\1\2\3\4"));
  long room[3] = {-1, -1, -1};
  EXPECT_EQ(MPI_File_read_at(file, ranks() - 1, room, 3, MPI_LONG, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status, MPI_LONG), 1);
  EXPECT_EQ(room[0], 0x01020304 + ranks() - 1);
  EXPECT_EQ(room[1], -1);
  // Views with elements of another size than memory's.
  MPI_Datatype by_turns;
  MPI_Type_vector(4, 1, ranks(), MPI_LONG, &by_turns);
  MPI_Datatype tile;
  MPI_Type_create_subarray(1, std::array{ranks()}.data(), std::array{1}.data(), std::array{rank()}.data(), MPI_ORDER_C, MPI_LONG, &tile);
  MPI_Type_commit(&tile);
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_LONG, tile, "external32", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_get_type_extent(file, tile, &extent), MPI_SUCCESS);
  EXPECT_EQ(extent, 4 * ranks());
  const long values[4] = {rank(), rank() + 100, rank() + 200, rank() + 300};
  EXPECT_EQ(MPI_File_write_all(file, values, 4, MPI_LONG, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_sync(file), MPI_SUCCESS);
  const std::string dealt = content(file.name);
  EXPECT_EQ(dealt.size(), static_cast<size_t>(16 * ranks()));
  for (int i = 0; i < 4 * ranks() && static_cast<size_t>(4 * i + 3) < dealt.size(); ++i)
    EXPECT_EQ(static_cast<unsigned char>(dealt[static_cast<size_t>(4 * i + 3)]),
              static_cast<unsigned char>(i / ranks() * 100 + i % ranks()));
  MPI_Type_free(&tile);
  MPI_Type_free(&by_turns);
}

// 14.5.2 (the extents of datatypes are those in the file): rows whose parts are no divisor of their length.
TEST(Files, SubarraysInExternal32KeepTheirRows) {
  constexpr int kSizes[] = {3, 5}, kParts[] = {2, 3}, kStarts[] = {1, 2};
  Opened file("rows");
  MPI_Datatype tile;
  MPI_Type_create_subarray(2, kSizes, kParts, kStarts, MPI_ORDER_C, MPI_LONG, &tile);
  MPI_Type_commit(&tile);
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_LONG, tile, "external32", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Aint extent = 0;
  EXPECT_EQ(MPI_File_get_type_extent(file, tile, &extent), MPI_SUCCESS);
  EXPECT_EQ(extent, 4 * 15);
  const long values[6] = {1, 2, 3, 4, 5, 6};
  if (rank() == 0) {
    EXPECT_EQ(MPI_File_write(file, values, 6, MPI_LONG, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_File_sync(file), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string bytes = content(file.name);
  ASSERT_EQ(bytes.size(), 4u * 15);
  for (size_t i = 0; i < 15; ++i) {
    const size_t row = i / 5, column = i % 5;
    EXPECT_EQ(static_cast<size_t>(bytes[4 * i + 3]), row >= 1 && column >= 2 ? (row - 1) * 3 + column - 1 : 0) << i;
  }
  MPI_Type_free(&tile);
}

// 14.5.3: a representation of the program's: every number is followed by as many zeros.
int twice(MPI_Datatype type, MPI_Aint* extent, void*) {
  int size;
  MPI_Type_size(type, &size);
  *extent = 2 * size;
  return MPI_SUCCESS;
}
int read_twice(void* userbuf, MPI_Datatype, int count, void* filebuf, MPI_Offset position, void* state) {
  for (int i = 0; i < count; ++i) static_cast<int*>(userbuf)[position + i] = static_cast<int*>(filebuf)[2 * i];
  ++*static_cast<int*>(state);
  return MPI_SUCCESS;
}
int write_twice(void* userbuf, MPI_Datatype, int count, void* filebuf, MPI_Offset position, void* state) {
  for (int i = 0; i < count; ++i) {
    static_cast<int*>(filebuf)[2 * i] = static_cast<int*>(userbuf)[position + i];
    static_cast<int*>(filebuf)[2 * i + 1] = 0;
  }
  ++*static_cast<int*>(state);
  return MPI_SUCCESS;
}
int fails(void*, MPI_Datatype, int, void*, MPI_Offset, void*) { return MPI_ERR_OTHER; }

TEST(Files, RepresentationsAreRegistered) {
  static int conversions = 0;
  EXPECT_EQ(MPI_Register_datarep("portunus-twice", read_twice, write_twice, twice, &conversions), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Register_datarep("portunus-twice", read_twice, write_twice, twice, &conversions)), MPI_ERR_DUP_DATAREP);
  EXPECT_EQ(MPI_Register_datarep("portunus-fails", fails, fails, twice, nullptr), MPI_SUCCESS);
  Opened file("registered");
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "portunus-twice", MPI_INFO_NULL), MPI_SUCCESS);
  const int values[2] = {rank() + 1, rank() + 2};
  int room[2] = {};
  MPI_Status status;
  EXPECT_EQ(MPI_File_write_at_all(file, 2 * rank(), values, 2, MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status, MPI_INT), 2);
  EXPECT_EQ(MPI_File_read_at_all(file, 2 * rank(), room, 2, MPI_INT, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status, MPI_INT), 2);
  EXPECT_EQ(room[1], rank() + 2);
  EXPECT_GE(conversions, 2);
  barrier();
  EXPECT_EQ(size_of(file), 16 * ranks());
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "portunus-fails", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_write_at(file, 0, values, 1, MPI_INT, &status)), MPI_ERR_CONVERSION);
}

// Atomic mode: what one rank writes, in pieces, another sees whole or not at all.
TEST(Files, AtomicAccessesAreOneAfterTheOther) {
  Opened file("atomic");
  constexpr int kCount = 200;
  MPI_Datatype pieces;
  MPI_Type_vector(kCount, 1, 3, MPI_INT, &pieces);
  MPI_Type_commit(&pieces);
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_INT, pieces, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_set_atomicity(file, 1), MPI_SUCCESS);
  int flag = 0;
  EXPECT_EQ(MPI_File_get_atomicity(file, &flag), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  std::vector<int> own(kCount, rank()), room(kCount);
  EXPECT_EQ(MPI_File_write_at_all(file, 0, own.data(), kCount, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(MPI_File_write_at(file, 0, own.data(), kCount, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_read_at(file, 0, room.data(), kCount, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(std::count(room.begin(), room.end(), room[0]), kCount);
  }
  MPI_Type_free(&pieces);
}

// Several nonblocking collectives of two files at a time, which the ranks call in different orders.
TEST(Files, NonblockingCollectivesOfTwoFilesDoNotWaitForEachOther) {
  Opened one("one"), other("other");
  MPI_Request requests[4];
  int values[4] = {rank(), rank() + 1, rank() + 2, rank() + 3};
  const MPI_Offset at = rank() * 4;
  for (int i = 0; i < 4; ++i) {
    const bool first = (i % 2 == 0) == (rank() % 2 == 0);
    EXPECT_EQ(MPI_File_iwrite_at_all(first ? one : other, at + i / 2 * 4 * ranks(), &values[i], 1, MPI_INT, &requests[i]), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  barrier();
  EXPECT_EQ(size_of(one), 8 * ranks());
}

// Elsewhere an iwrite of pieces is done by the call, the count at the end of a file is wrong, or 2^31 bytes are too many.
TEST(Complaints, CountsAtTheEndOfAFile) {
  Opened file("count");
  if (rank() == 0) {
    EXPECT_EQ(MPI_File_write_at(file, 0, "abcdefghij", 10, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  barrier();
  char room[64];
  for (const bool together : {false, true}) {
    MPI_Status status;
    MPI_Request request;
    EXPECT_EQ((together ? MPI_File_iread_at_all : MPI_File_iread_at)(file, 4, room, 64, MPI_CHAR, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(count_of(status, MPI_CHAR), 6);
    EXPECT_EQ(MPI_File_read_at_all(file, 100, room, 64, MPI_CHAR, &status), MPI_SUCCESS);
    EXPECT_EQ(count_of(status, MPI_CHAR), 0);
  }
}

TEST(Complaints, MoreThan2GiBInOneCall) {
  Opened file("large", MPI_INFO_NULL, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_COMM_SELF);
  // A type whose data lie far apart: one call covers 3 GiB of the file, though little is written.
  MPI_Datatype far;
  MPI_Type_create_hvector(4, 8, MPI_Aint{1} << 30, MPI_BYTE, &far);
  MPI_Type_commit(&far);
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_BYTE, far, "native", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Status status;
  EXPECT_EQ(MPI_File_write_at(file, 0, "01234567abcdefgh89ABCDEFijklmnop", 32, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status), 32);
  EXPECT_EQ(size_of(file), (MPI_Offset{3} << 30) + 8);
  char room[32];
  EXPECT_EQ(MPI_File_read_at_c(file, 0, room, 32, MPI_BYTE, &status), MPI_SUCCESS);
  EXPECT_EQ(std::string(room, 32), "01234567abcdefgh89ABCDEFijklmnop");
  MPI_Type_free(&far);
}

// Two openings of one file, of which each writes every second block: nobody's neighbour is touched, by whatever way.
TEST(Complaints, HolesAreNotFilledOverOthersData) {
  for (const char* way : {"enable", "disable"}) {
    const Hints hints = {{"romio_cb_write", way}};
    Opened file("holes", hints);
    MPI_Datatype block, tile;
    MPI_Type_contiguous(5, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 5 * 2 * ranks(), &tile);
    MPI_Type_commit(&tile);
    constexpr int kBlocks = 300;
    // Even blocks by all together, odd ones by each alone, at the same time.
    EXPECT_EQ(MPI_File_set_view(file, 10 * rank(), MPI_BYTE, tile, "native", MPI_INFO_NULL), MPI_SUCCESS);
    MPI_File alone;
    EXPECT_EQ(MPI_File_open(MPI_COMM_SELF, file.name.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL, &alone), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_set_view(alone, 10 * rank() + 5, MPI_BYTE, tile, "native", MPI_INFO_NULL), MPI_SUCCESS);
    const std::string even(5 * kBlocks, static_cast<char>('a' + rank())), odd(5 * kBlocks, static_cast<char>('A' + rank()));
    MPI_Request requests[2];
    EXPECT_EQ(MPI_File_iwrite(alone, odd.data(), 5 * kBlocks, MPI_BYTE, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_iwrite_all(file, even.data(), 5 * kBlocks, MPI_BYTE, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_close(&alone), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_sync(file), MPI_SUCCESS);
    const std::string bytes = content(file.name);
    EXPECT_EQ(bytes.size(), static_cast<size_t>(10 * ranks() * kBlocks));
    bool right_bytes = true;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto owner = static_cast<char>(i / 10 % static_cast<size_t>(ranks()));
      right_bytes = right_bytes && bytes[i] == (i % 10 < 5 ? 'a' : 'A') + owner;
    }
    EXPECT_TRUE(right_bytes);
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
  }
}

// Nothing beside the file appears in its directory.
TEST(Complaints, NoFilesAreLeftBeside) {
  Opened file("beside");
  EXPECT_EQ(MPI_File_write_shared(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS);
  const size_t slash = file.name.rfind('/');
  const std::string hidden = file.name.substr(0, slash + 1) + "." + file.name.substr(slash + 1);
  EXPECT_EQ(system(("ls " + hidden + "* >/dev/null 2>&1").c_str()) != 0, true);
}

// Types may be freed, and the view changed, while an operation under them is pending.
TEST(Files, PendingOperationsKeepTypesAndViews) {
  Opened file("pending");
  MPI_Datatype tile, memory;
  MPI_Type_create_resized(MPI_INT, 0, 4 * ranks(), &tile);
  MPI_Type_commit(&tile);
  MPI_Type_vector(50000, 1, 2, MPI_INT, &memory);
  MPI_Type_commit(&memory);
  std::vector<int> data(100000, rank());
  EXPECT_EQ(MPI_File_set_view(file, 4 * rank(), MPI_INT, tile, "native", MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Request request;
  EXPECT_EQ(MPI_File_iwrite_all(file, data.data(), 1, memory, &request), MPI_SUCCESS);
  MPI_Type_free(&memory);
  MPI_Type_free(&tile);
  EXPECT_EQ(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  barrier();
  int room[2];
  EXPECT_EQ(MPI_File_read_at(file, 49999 * ranks(), room, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(room[0], 0);
  EXPECT_EQ(size_of(file), 200000 * ranks());
}

TEST(Threads, ManyAccessAFileAtOnce) {
  Opened file("threads");
  constexpr int kThreads = 4, kTimes = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTimes; ++i) {
        const int value = ((rank() * kThreads) + t) * kTimes + i;
        MPI_Request request;
        EXPECT_EQ(MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_File_iwrite_at(file, 1 << 20 | value * 4, &value, 1, MPI_INT, &request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        int room = -1;
        EXPECT_EQ(MPI_File_read_at(file, 1 << 20 | value * 4, &room, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(room, value);
      }
    });
  for (std::thread& thread : threads) thread.join();
  barrier();
  const int total = ranks() * kThreads * kTimes;
  std::vector<int> all(static_cast<size_t>(total));
  EXPECT_EQ(MPI_File_read_at(file, 0, all.data(), total, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
  std::sort(all.begin(), all.end());
  for (int i = 0; i < total; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

}  // namespace
