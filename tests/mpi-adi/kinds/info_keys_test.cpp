// Every reserved key of the standard: what is honoured, what is refused, and what is kept without effect, as mpi-adi/README.md has it.
// Source: MPI-5.0, 7.4.2, 7.4.4, 9.2, 11.3, 11.8.4, 12.2, 12.4.3, 14.2.8.
#include <cstdlib>
#include <cstring>
#include <string>

#include "../ranks.hpp"

namespace info_keys_test {
namespace {

struct Key {
  const char* key;
  const char* value;
  const char* used;  // what the object says: the same, something else, or nothing
};
constexpr const char* kNothing = nullptr;

class Info {
 public:
  explicit Info(std::initializer_list<Key> keys) {
    MPI_Info_create(&info);
    for (const Key& each : keys) MPI_Info_set(info, each.key, each.value);
  }
  ~Info() { MPI_Info_free(&info); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  MPI_Info info;
};

std::string value_of(MPI_Info info, const char* key, const char* otherwise) {
  char value[MPI_MAX_INFO_VAL + 1];
  int flag = 0, length = sizeof value;
  MPI_Info_get_string(info, key, &length, value, &flag);
  return flag ? value : otherwise;
}

// `used`: of an object that was made with the key; it is the test's.
void expect(const Key& key, MPI_Info used) {
  EXPECT_EQ(value_of(used, key.key, "nothing"), key.used ? key.used : "nothing") << key.key;
  EXPECT_EQ(value_of(used, "mpi_memory_alloc_kinds", "nothing"), "mpi,system") << key.key;
  MPI_Info_free(&used);
}

// Nothing is gained here by what a program promises.
const Key kOfCommunicators[] = {
    {"mpi_assert_no_any_tag", "true", "true"},
    {"mpi_assert_no_any_source", "true", "true"},
    {"mpi_assert_exact_length", "true", "true"},
    {"mpi_assert_allow_overtaking", "true", "true"},
    {"mpi_assert_strict_persistent_collective_ordering", "true", "true"},
    {"mpi_assert_memory_alloc_kinds", "system", "system"},
};
const Key kOfWindows[] = {
    {"no_locks", "true", "true"},
    {"accumulate_ordering", "rar,raw,war,waw", "rar,raw,war,waw"},
    {"accumulate_ordering", "none", "none"},
    {"accumulate_ops", "same_op_no_op", "same_op_no_op"},
    {"same_size", "true", "true"},
    {"same_disp_unit", "true", "true"},
    {"mpi_accumulate_granularity", "8", "8"},
    {"alloc_shared_noncontig", "true", "true"},  // see shared_windows_test.cpp
    {"mpi_minimum_memory_alignment", "256", "256"},
    {"mpi_assert_memory_alloc_kinds", "system", "system"},
};
const Key kOfFiles[] = {
    {"access_style", "read_once,sequential", kNothing},
    {"collective_buffering", "false", "false"},
    {"cb_block_size", "4096", kNothing},
    {"cb_buffer_size", "65536", "65536"},
    {"cb_nodes", "1", "1"},
    {"chunked", "10,10", kNothing},
    {"chunked_item", "8", kNothing},
    {"chunked_size", "5,5", kNothing},
    {"file_perm", "0640", "0640"},
    {"io_node_list", "somewhere", kNothing},
    {"nb_proc", "8", kNothing},
    {"num_io_nodes", "2", kNothing},
    {"striping_factor", "4", "4"},
    {"striping_unit", "65536", "65536"},
};

TEST(InfoKeys, OfCommunicators) {
  for (const Key& key : kOfCommunicators) {
    const Info given({key});
    MPI_Comm comm;
    MPI_Info used;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, given.info, &comm);
    int mine = rank(), sum = -1, got = -1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&mine, 1, MPI_INT, right(), 0, &got, 1, MPI_INT, left(), 0, comm, MPI_STATUS_IGNORE);
    EXPECT_TRUE(sum == ranks() * (ranks() - 1) / 2 && got == left());
    MPI_Comm_get_info(comm, &used);
    expect(key, used);
    MPI_Comm_free(&comm);
  }
}

TEST(InfoKeys, OfWindows) {
  for (const Key& key : kOfWindows) {
    const Info given({key});
    long* at;
    MPI_Win win;
    MPI_Info used;
    MPI_Win_allocate(8 * sizeof(long), sizeof(long), given.info, MPI_COMM_WORLD, &at, &win);
    at[0] = 0;
    MPI_Win_fence(0, win);
    const long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(0, win);
    EXPECT_TRUE(rank() != 0 || at[0] == ranks());
    MPI_Win_get_info(win, &used);
    expect(key, used);
    MPI_Win_free(&win);
  }
}

bool is_aligned(const void* address, size_t to) { return reinterpret_cast<uintptr_t>(address) % to == 0; }

TEST(InfoKeys, OfMemory) {
  for (const size_t alignment : {size_t{1}, size_t{256}, size_t{4096}, size_t{1} << 21}) {
    const std::string text = std::to_string(alignment);
    const Info given({{"mpi_minimum_memory_alignment", text.c_str(), ""}}),
        apart({{"mpi_minimum_memory_alignment", text.c_str(), ""}, {"alloc_shared_noncontig", "true", ""}});
    char* at = nullptr;
    EXPECT_EQ(MPI_Alloc_mem(100, given.info, &at), MPI_SUCCESS);
    EXPECT_TRUE(is_aligned(at, alignment));
    MPI_Free_mem(at);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win win;
    MPI_Win_allocate(100, 1, given.info, MPI_COMM_WORLD, &at, &win);
    EXPECT_TRUE(is_aligned(at, alignment));
    at[99] = 1;
    MPI_Win_free(&win);
    if (MPI_Win_allocate_shared(100, 1, apart.info, MPI_COMM_WORLD, &at, &win) == MPI_SUCCESS) {
      EXPECT_TRUE(is_aligned(at, alignment));
      MPI_Win_free(&win);
    }
    if (MPI_Win_allocate_shared(100, 1, given.info, MPI_COMM_WORLD, &at, &win) == MPI_SUCCESS) {
      EXPECT_TRUE(rank() != 0 || is_aligned(at, alignment));
      MPI_Win_free(&win);
    }
    // Ranks that ask for different things.
    MPI_Win_allocate(100 + rank(), 1, rank() % 2 ? given.info : MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win);
    EXPECT_TRUE(rank() % 2 == 0 || is_aligned(at, alignment));
    std::memset(at, rank() + 1, static_cast<size_t>(100 + rank()));
    MPI_Win_fence(0, win);
    for (int i = 0; i < 100 + rank(); ++i) EXPECT_EQ(at[i], rank() + 1);
    MPI_Win_free(&win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  }
  for (const char* wrong : {"", "0", "3", "-64", "64 ", "1e3", "99999999999999999999"}) {  // is no alignment, and asks for none
    const Info given({{"mpi_minimum_memory_alignment", wrong, ""}});
    char* at = nullptr;
    EXPECT_EQ(MPI_Alloc_mem(100, given.info, &at), MPI_SUCCESS);
    EXPECT_TRUE(is_aligned(at, 16));
    MPI_Free_mem(at);
  }
}

TEST(InfoKeys, OfFiles) {
  const std::string name = "/tmp/portunus-keys-" + std::to_string(rank());
  for (const Key& key : kOfFiles) {
    const Info given({key});
    MPI_File file;
    MPI_Info used;
    MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, given.info, &file);
    int out = 7, in = 0;
    MPI_File_write_at_all(file, 0, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(file, 0, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
    EXPECT_EQ(in, 7);
    MPI_File_get_info(file, &used);
    EXPECT_EQ(value_of(used, "filename", ""), name);
    expect(key, used);
    MPI_File_close(&file);
  }
}

TEST(InfoKeys, OfSessionsAndTheEnvironment) {
  const Key key{"thread_level", "MPI_THREAD_FUNNELED", "MPI_THREAD_FUNNELED"};
  const Info given({key, {"mpi_memory_alloc_kinds", "system,cuda", ""}});
  MPI_Session session;
  MPI_Info used;
  MPI_Session_init(given.info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Session_get_info(session, &used);
  expect(key, used);
  MPI_Session_get_pset_info(session, "mpi://WORLD", &used);
  EXPECT_EQ(value_of(used, "mpi_size", ""), std::to_string(ranks()));
  MPI_Info_free(&used);
  MPI_Session_finalize(&session);
  const Info wrong({{"thread_level", "MPI_THREAD_MANY", ""}});
  EXPECT_EQ(class_of(MPI_Session_init(wrong.info, MPI_ERRORS_RETURN, &session)), MPI_ERR_INFO_VALUE);
  EXPECT_EQ(session, MPI_SESSION_NULL);
  for (const char* known : {"wdir", "arch", "host", "thread_level", "mpi_memory_alloc_kinds"})
    EXPECT_NE(value_of(MPI_INFO_ENV, known, ""), "") << known;
}

// The key decides where splitting is guided by one.
TEST(InfoKeys, OfSplitting) {
  const Info node({{"mpi_hw_resource_type", "mpi_shared_memory", ""}}), world({{"mpi_pset_name", "mpi://WORLD", ""}}),
      self({{"mpi_pset_name", "mpi://SELF", ""}});
  MPI_Comm comm;
  int size;
  for (const auto& [info, wanted] : {std::pair{world.info, ranks()}, {self.info, 1}, {node.info, -1}}) {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
    EXPECT_NE(comm, MPI_COMM_NULL);
    MPI_Comm_size(comm, &size);
    EXPECT_TRUE(wanted < 0 || size == wanted);
    MPI_Comm_free(&comm);
  }
}

// A port has the address that the launcher's network gives it.
TEST(InfoKeys, OfPorts) {
  const Info given({{"ip_port", "7000", ""}, {"ip_address", "127.0.0.1", ""}});
  char port[MPI_MAX_PORT_NAME];
  EXPECT_EQ(MPI_Open_port(given.info, port), MPI_SUCCESS);
  EXPECT_EQ(MPI_Close_port(port), MPI_SUCCESS);
}

}  // namespace
}  // namespace info_keys_test
