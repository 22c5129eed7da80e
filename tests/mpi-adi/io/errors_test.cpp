// errors_test.cpp: what users do wrong with files: the class of the error, nothing done, and no rank left waiting.
#include <climits>

#include "../arguments.hpp"
#include "files.hpp"

namespace {

MPI_File open_file, read_only, write_only;
MPI_File none = MPI_FILE_NULL, *no_place = nullptr;
MPI_Offset offset_;
char representation[MPI_MAX_DATAREP_STRING];

TEST(FileErrors, AWrongArgumentHasItsClass) {
  using namespace args;
  Opened file("errors");
  open_file = file;
  const std::string name = file_name("errors-ro");
  EXPECT_EQ(MPI_File_open(W, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &write_only), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_open(W, name.c_str(), MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &read_only), MPI_SUCCESS);
  static const Wrong kTable[] = {
      WRONG(COMM, MPI_File_open(MPI_COMM_NULL, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", 0, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &none)),
      WRONG(AMODE, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDWR | 1 << 20, MPI_INFO_NULL, &none)),
      WRONG(BAD_FILE, MPI_File_open(W, "", MPI_MODE_RDWR, MPI_INFO_NULL, &none)),
      WRONG(BAD_FILE, MPI_File_open(W, nullptr, MPI_MODE_RDWR, MPI_INFO_NULL, &none)),
      WRONG(INFO, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDWR, no_info, &none)),
      WRONG(NO_SUCH_FILE, MPI_File_open(W, "/dev/shm/portunus-none", MPI_MODE_RDWR, MPI_INFO_NULL, &none)),
      WRONG(BAD_FILE, MPI_File_open(W, "/dev/shm", MPI_MODE_RDONLY, MPI_INFO_NULL, &none)),
      WRONG(NO_SUCH_FILE, MPI_File_open(W, "/dev/shm/portunus-none/x", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &none)),
      WRONG(ARG, MPI_File_open(W, "/dev/shm/x", MPI_MODE_RDWR, MPI_INFO_NULL, no_place)),
      WRONG(ARG, MPI_File_close(no_place)),
      WRONG(FILE, MPI_File_close(&none)),
      WRONG(FILE, MPI_File_sync(reinterpret_cast<MPI_File>(buffer))),
      WRONG(NO_SUCH_FILE, MPI_File_delete("/dev/shm/portunus-none", MPI_INFO_NULL)),
      WRONG(BAD_FILE, MPI_File_delete("/dev/shm", MPI_INFO_NULL)),
      WRONG(BAD_FILE, MPI_File_delete("", MPI_INFO_NULL)),
      WRONG(ARG, MPI_File_set_size(open_file, -1)),
      WRONG(READ_ONLY, MPI_File_set_size(read_only, 0)),
      WRONG(ARG, MPI_File_preallocate(open_file, -1)),
      WRONG(ARG, MPI_File_get_size(open_file, nullptr)),
      WRONG(ARG, MPI_File_get_group(open_file, nullptr)),
      WRONG(ARG, MPI_File_get_amode(open_file, nullptr)),
      WRONG(INFO, MPI_File_set_info(open_file, no_info)),
      WRONG(ARG, MPI_File_set_view(open_file, -5, I, I, "native", MPI_INFO_NULL)),
      WRONG(DISP, MPI_File_set_view(open_file, MPI_DISPLACEMENT_CURRENT, I, I, "native", MPI_INFO_NULL)),
      WRONG(TYPE, MPI_File_set_view(open_file, 0, no_type, I, "native", MPI_INFO_NULL)),
      WRONG(TYPE, MPI_File_set_view(open_file, 0, I, uncommitted, "native", MPI_INFO_NULL)),
      WRONG(TYPE, MPI_File_set_view(open_file, 0, I, MPI_SHORT, "native", MPI_INFO_NULL)),
      WRONG(UNSUPPORTED_DATAREP, MPI_File_set_view(open_file, 0, I, I, "nobody's", MPI_INFO_NULL)),
      WRONG(ARG, MPI_File_set_view(open_file, 0, I, I, nullptr, MPI_INFO_NULL)),
      WRONG(ARG, MPI_File_get_view(open_file, nullptr, &type, &type, representation)),
      WRONG(ARG, MPI_File_seek(open_file, -1, MPI_SEEK_SET)),
      WRONG(ARG, MPI_File_seek(open_file, 0, 77)),
      WRONG(ARG, MPI_File_seek(open_file, -1, MPI_SEEK_CUR)),
      WRONG(ARG, MPI_File_seek_shared(open_file, -1, MPI_SEEK_SET)),
      WRONG(ARG, MPI_File_get_position(open_file, nullptr)),
      WRONG(ARG, MPI_File_get_byte_offset(open_file, -1, &offset_)),
      WRONG(TYPE, MPI_File_get_type_extent(open_file, no_type, &address)),
      WRONG(COUNT, MPI_File_write_at(open_file, 0, buffer, -1, I, &status)),
      WRONG(ARG, MPI_File_write_at(open_file, -1, buffer, 1, I, &status)),
      WRONG(ARG, MPI_File_write_at(open_file, LLONG_MAX, buffer, 1, I, &status)),
      WRONG(BUFFER, MPI_File_write(open_file, nullptr, 1, I, &status)),
      WRONG(TYPE, MPI_File_write(open_file, buffer, 1, uncommitted, &status)),
      WRONG(TYPE, MPI_File_read(open_file, buffer, 1, no_type, &status)),
      WRONG(TYPE, MPI_File_write_all(open_file, buffer, 1, no_type, &status)),
      WRONG(COUNT, MPI_File_read_at_all(open_file, 0, buffer, -1, I, &status)),
      WRONG(ARG, MPI_File_iwrite(open_file, buffer, 1, I, nullptr)),
      WRONG(COUNT, MPI_File_iread_at(open_file, 0, buffer, -1, I, &request)),
      WRONG(READ_ONLY, MPI_File_write(read_only, buffer, 1, I, &status)),
      WRONG(READ_ONLY, MPI_File_write_all(read_only, buffer, 1, I, &status)),
      WRONG(ACCESS, MPI_File_read(write_only, buffer, 1, I, &status)),
      WRONG(ACCESS, MPI_File_read_shared(write_only, buffer, 1, I, &status)),
      WRONG(IO, MPI_File_read_all_end(open_file, buffer, &status)),
      WRONG(ERRHANDLER, MPI_File_set_errhandler(open_file, no_errhandler)),
      WRONG(ARG, MPI_Register_datarep("", nullptr, nullptr, nullptr, nullptr)),
      WRONG(ARG, MPI_Register_datarep("portunus-x", nullptr, nullptr, nullptr, nullptr)),
      WRONG(DUP_DATAREP, MPI_Register_datarep(
                             "native", nullptr, nullptr, [](MPI_Datatype, MPI_Aint*, void*) { return 0; }, nullptr)),
  };
  expect_errors(kTable, open_file, read_only, write_only);
  MPI_Offset size = -1;
  EXPECT_EQ(MPI_File_get_size(file, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 0);
  EXPECT_EQ(MPI_File_close(&write_only), MPI_SUCCESS);
  EXPECT_EQ(MPI_File_close(&read_only), MPI_SUCCESS);
}

TEST(FileErrors, RanksThatDifferAreTold) {
  Opened file("differ");
  const bool odd = rank() == 1;
  const int class_expected = ranks() > 1 ? MPI_ERR_NOT_SAME : MPI_SUCCESS;
  EXPECT_EQ(class_of(MPI_File_set_size(file, odd ? 8 : 4)), class_expected);
  EXPECT_EQ(class_of(MPI_File_set_atomicity(file, odd)), class_expected);
  EXPECT_EQ(class_of(MPI_File_set_atomicity(file, 0)), MPI_SUCCESS);
  MPI_Datatype etype = odd ? MPI_INT : MPI_DOUBLE;
  EXPECT_EQ(class_of(MPI_File_set_view(file, 0, etype, etype, "native", MPI_INFO_NULL)), class_expected);
  EXPECT_EQ(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, odd ? "native" : "external32", MPI_INFO_NULL)), class_expected);
  EXPECT_EQ(class_of(MPI_File_seek_shared(file, odd, MPI_SEEK_SET)), class_expected);
  MPI_File other;
  EXPECT_EQ(class_of(MPI_File_open(MPI_COMM_WORLD, file.name.c_str(), odd ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &other)),
            ranks() > 1 ? MPI_ERR_AMODE : MPI_SUCCESS);
  if (ranks() == 1) MPI_File_close(&other);
  int data = 0;
  // Ranks with right arguments are told of wrong ones where they wait for each other; nobody hangs elsewhere.
  MPI_Datatype tile;
  MPI_Type_create_resized(MPI_INT, 0, 8, &tile);
  MPI_Type_commit(&tile);
  EXPECT_EQ(class_of(MPI_File_write_all(file, &data, odd ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE)), odd ? MPI_ERR_COUNT : MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL)), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_write_all(file, &data, odd ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE)), ranks() > 1 ? MPI_ERR_COUNT : MPI_SUCCESS);
  MPI_Type_free(&tile);
}

TEST(FileErrors, TypesOfFilesAscend) {
  Opened file("ascend");
  const auto view_of = [&](std::vector<int> places) {
    MPI_Datatype type;
    std::vector<int> blocks(places.size(), 2);
    MPI_Type_indexed(static_cast<int>(places.size()), blocks.data(), places.data(), MPI_INT, &type);
    MPI_Type_commit(&type);
    const int result = class_of(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    return result;
  };
  EXPECT_EQ(view_of({0, 4}), MPI_SUCCESS);
  EXPECT_EQ(view_of({4, 0}), MPI_ERR_TYPE);
  EXPECT_EQ(view_of({0, 1}), MPI_ERR_TYPE);
  EXPECT_EQ(view_of({-4, 0}), MPI_ERR_TYPE);
}

TEST(FileErrors, SplitCollectivesComeInPairs) {
  Opened file("split");
  int data[2] = {rank(), 0};
  EXPECT_EQ(MPI_File_write_at_all_begin(file, 4 * rank(), data, 1, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_write_at_all_begin(file, 0, data, 1, MPI_INT)), MPI_ERR_IO);
  EXPECT_EQ(class_of(MPI_File_read_at_all_end(file, data, MPI_STATUS_IGNORE)), MPI_ERR_IO);
  EXPECT_EQ(class_of(MPI_File_write_at_all_end(file, data + 1, MPI_STATUS_IGNORE)), MPI_ERR_BUFFER);
  MPI_Status status;
  EXPECT_EQ(MPI_File_write_at_all_end(file, data, &status), MPI_SUCCESS);
  EXPECT_EQ(count_of(status), 4);
}

int calls, last_code;
MPI_File last_file;
void note(MPI_File* file, int* code, ...) {
  ++calls;
  last_file = *file;
  last_code = *code;
}

TEST(FileErrors, HandlersAreCalled) {
  MPI_Errhandler handler, before, now;
  EXPECT_EQ(MPI_File_get_errhandler(MPI_FILE_NULL, &before), MPI_SUCCESS);
  EXPECT_EQ(before, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_File_create_errhandler(note, &handler), MPI_SUCCESS);
  calls = 0;
  {
    Opened file("handlers");
    EXPECT_EQ(MPI_File_set_errhandler(file, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_File_get_errhandler(file, &now), MPI_SUCCESS);
    EXPECT_EQ(now, handler);
    MPI_Errhandler_free(&now);
    EXPECT_EQ(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)), MPI_ERR_ARG);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(last_file, file.file);
    EXPECT_EQ(MPI_File_call_errhandler(file, MPI_ERR_IO), MPI_SUCCESS);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(last_code, MPI_ERR_IO);
  }
  EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, handler), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_File_delete("/dev/shm/portunus-none", MPI_INFO_NULL)), MPI_ERR_NO_SUCH_FILE);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(last_file, MPI_FILE_NULL);
  {
    Opened file("inherits");
    EXPECT_EQ(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)), MPI_ERR_ARG);
    EXPECT_EQ(calls, 4);
  }
  EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), MPI_SUCCESS);
  MPI_Errhandler_free(&handler);
}

}  // namespace
