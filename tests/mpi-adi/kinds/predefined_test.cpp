// The names of predefined things, places of predefined attributes, and the ends of error codes. Source: MPI-5.0, 7.8, 9.1.2, 9.5, 7.4.2.
#include <string>
#include <utility>

#include "../ranks.hpp"

namespace predefined_test {
namespace {

TEST(Predefined, HandlesHaveTheNamesOfTheirConstants) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
#define NAMED(type) \
  { type, #type }
  const struct {
    MPI_Datatype type;
    const char* name;
  } kTypes[] = {NAMED(MPI_CHAR),
                NAMED(MPI_SIGNED_CHAR),
                NAMED(MPI_UNSIGNED_CHAR),
                NAMED(MPI_BYTE),
                NAMED(MPI_PACKED),
                NAMED(MPI_WCHAR),
                NAMED(MPI_SHORT),
                NAMED(MPI_UNSIGNED_SHORT),
                NAMED(MPI_INT),
                NAMED(MPI_UNSIGNED),
                NAMED(MPI_LONG),
                NAMED(MPI_UNSIGNED_LONG),
                NAMED(MPI_LONG_LONG_INT),
                NAMED(MPI_UNSIGNED_LONG_LONG),
                NAMED(MPI_FLOAT),
                NAMED(MPI_DOUBLE),
                NAMED(MPI_LONG_DOUBLE),
                NAMED(MPI_C_BOOL),
                NAMED(MPI_CXX_BOOL),
                NAMED(MPI_C_COMPLEX),
                NAMED(MPI_C_DOUBLE_COMPLEX),
                NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
                NAMED(MPI_CXX_FLOAT_COMPLEX),
                NAMED(MPI_CXX_DOUBLE_COMPLEX),
                NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
                NAMED(MPI_INT8_T),
                NAMED(MPI_INT16_T),
                NAMED(MPI_INT32_T),
                NAMED(MPI_INT64_T),
                NAMED(MPI_UINT8_T),
                NAMED(MPI_UINT16_T),
                NAMED(MPI_UINT32_T),
                NAMED(MPI_UINT64_T),
                NAMED(MPI_AINT),
                NAMED(MPI_COUNT),
                NAMED(MPI_OFFSET),
                NAMED(MPI_FLOAT_INT),
                NAMED(MPI_DOUBLE_INT),
                NAMED(MPI_LONG_INT),
                NAMED(MPI_2INT),
                NAMED(MPI_SHORT_INT),
                NAMED(MPI_LONG_DOUBLE_INT),
                NAMED(MPI_INTEGER),
                NAMED(MPI_REAL),
                NAMED(MPI_DOUBLE_PRECISION),
                NAMED(MPI_COMPLEX),
                NAMED(MPI_DOUBLE_COMPLEX),
                NAMED(MPI_LOGICAL),
                NAMED(MPI_CHARACTER),
                NAMED(MPI_2REAL),
                NAMED(MPI_2DOUBLE_PRECISION),
                NAMED(MPI_2INTEGER),
                NAMED(MPI_INTEGER1),
                NAMED(MPI_INTEGER2),
                NAMED(MPI_INTEGER4),
                NAMED(MPI_INTEGER8),
                NAMED(MPI_REAL4),
                NAMED(MPI_REAL8),
                NAMED(MPI_COMPLEX8),
                NAMED(MPI_COMPLEX16),
                NAMED(MPI_DATATYPE_NULL)};
#undef NAMED
  for (const auto& each : kTypes) {
    MPI_Type_get_name(each.type, name, &length);
    EXPECT_STREQ(name, each.name);
    EXPECT_EQ(length, static_cast<int>(std::string(each.name).size()));
  }
  for (const auto& [comm, wanted] :
       {std::pair(MPI_COMM_WORLD, "MPI_COMM_WORLD"), {MPI_COMM_SELF, "MPI_COMM_SELF"}, {MPI_COMM_NULL, "MPI_COMM_NULL"}}) {
    MPI_Comm_get_name(comm, name, &length);
    EXPECT_STREQ(name, wanted);
  }
}

bool has(MPI_Comm comm, int key) {
  void* value;
  int flag = -1;
  EXPECT_EQ(MPI_Comm_get_attr(comm, key, &value, &flag), MPI_SUCCESS);
  return flag != 0;
}

TEST(Predefined, AttributesOfTheWorldAreNotThoseOfSessions) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm, copy, of_world;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "predefined", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_dup(MPI_COMM_WORLD, &of_world);
  for (const int key : {MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE, MPI_APPNUM}) {
    EXPECT_FALSE(has(comm, key)) << key;
    EXPECT_FALSE(has(copy, key)) << key;
    if (key == MPI_APPNUM) continue;  // only a launcher knows it
    EXPECT_TRUE(has(MPI_COMM_WORLD, key)) << key;
    EXPECT_TRUE(has(of_world, key)) << key;
  }
  for (const MPI_Comm each : {comm, copy, MPI_COMM_WORLD, of_world}) EXPECT_TRUE(has(each, MPI_TAG_UB));
  for (MPI_Comm* each : {&comm, &copy, &of_world}) MPI_Comm_free(each);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

// Error classes, codes and strings that were added are removed in the opposite order.
TEST(Predefined, ErrorCodesAreRemovedAfterTheirStrings) {
  ReturnErrors guard;
  int error_class, code;
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(error_class, "a class");
  MPI_Add_error_string(code, "a code");
  EXPECT_NE(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_string(error_class), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_NE(MPI_Remove_error_class(error_class), MPI_SUCCESS);
}

int size_of_part(int type, const char* key, const char* value, MPI_Info info) {
  MPI_Comm part = MPI_COMM_NULL;
  int size = 0;
  if (key != nullptr) MPI_Info_set(info, key, value);
  EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &part), MPI_SUCCESS);
  if (part == MPI_COMM_NULL) return 0;
  MPI_Comm_size(part, &size);
  MPI_Comm_free(&part);
  return size;
}

TEST(Predefined, ResourcesSplitCommunicators) {
  MPI_Info info;
  const auto with = [&](int type, const char* key, const char* value) {
    MPI_Info_create(&info);
    const int size = size_of_part(type, key, value, info);
    MPI_Info_free(&info);
    return size;
  };
  EXPECT_EQ(with(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"), ranks());
  EXPECT_EQ(with(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://self"), 1);
  EXPECT_EQ(with(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://nothing"), 0);
  EXPECT_EQ(with(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD"), 0);
  EXPECT_GE(with(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory"), 1);
  MPI_Info_create(&info);
  const int size = size_of_part(MPI_COMM_TYPE_HW_UNGUIDED, nullptr, nullptr, info);
  char value[64] = "";
  int flag = 0;
  MPI_Info_get(info, "mpi_hw_resource_type", 63, value, &flag);
  EXPECT_EQ(flag != 0, size > 0);
  MPI_Info_free(&info);
}

}  // namespace
}  // namespace predefined_test
