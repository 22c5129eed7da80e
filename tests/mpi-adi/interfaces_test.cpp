// Interfaces beside messages: the tool interface, handles as integers, buffers of communicators and sessions, old names; and as
// many communicators as there can be. Source: MPI-5.0, 3.6, 7.4, 15.3, 20.4.
#include <cstring>
#include <set>
#include <string>

#include "ranks.hpp"

extern "C" {
int MPI_Address(void* location, MPI_Aint* address);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint* displacement);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint* displacement);
int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype* newtype);
int MPI_Type_struct(int count, int* blocklengths, MPI_Aint* displacements, MPI_Datatype* types, MPI_Datatype* newtype);
}

namespace interfaces_test {
namespace {

TEST(OldNames, DoWhatHasTakenTheirPlace) {
  int word;
  MPI_Aint old, now;
  EXPECT_EQ(MPI_Address(&word, &old), MPI_SUCCESS);
  MPI_Get_address(&word, &now);
  EXPECT_EQ(old, now);
  MPI_Errhandler handler;
  EXPECT_EQ(MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  EXPECT_EQ(MPI_Errhandler_get(MPI_COMM_SELF, &handler), MPI_SUCCESS);
  EXPECT_EQ(handler, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL), MPI_SUCCESS);
  MPI_Datatype rows, both;
  EXPECT_EQ(MPI_Type_hvector(3, 1, 8, MPI_INT, &rows), MPI_SUCCESS);
  int lengths[] = {1, 1};
  MPI_Aint places[] = {4, 32};
  MPI_Datatype types[] = {rows, MPI_INT};
  EXPECT_EQ(MPI_Type_struct(2, lengths, places, types, &both), MPI_SUCCESS);
  MPI_Aint lower, upper, extent;
  MPI_Type_lb(both, &lower);
  MPI_Type_ub(both, &upper);
  MPI_Type_extent(both, &extent);
  EXPECT_EQ(lower, 4);
  EXPECT_EQ(upper, 36);
  EXPECT_EQ(extent, 32);
  MPI_Type_free(&rows);
  MPI_Type_free(&both);
}

TEST(Handles, AreTheSameThroughIntegers) {
  EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  EXPECT_EQ(MPI_Comm_fromint(0x102), MPI_COMM_SELF);
  EXPECT_EQ(MPI_Type_toint(MPI_DOUBLE), 0x214);
  EXPECT_EQ(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)), MPI_FILE_NULL);
  MPI_Comm copies[3];
  for (MPI_Comm& copy : copies) MPI_Comm_dup(MPI_COMM_SELF, &copy);
  EXPECT_NE(MPI_Comm_toint(copies[0]), MPI_Comm_toint(copies[1]));
  for (MPI_Comm& copy : copies) {
    EXPECT_GE(MPI_Comm_toint(copy), 4096);
    EXPECT_EQ(MPI_Comm_fromint(MPI_Comm_toint(copy)), copy);
    MPI_Comm_free(&copy);
  }
  int word = 0, sent = 0;
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
  MPI_Request again = MPI_Request_fromint(MPI_Request_toint(request));
  EXPECT_EQ(again, request);
  MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Wait(&again, MPI_STATUS_IGNORE);
  ReturnErrors guard;
  int size;
  EXPECT_EQ(MPI_Comm_size(MPI_Comm_fromint(1 << 30), &size), MPI_ERR_COMM);
}

// 19.3.4: c2f and f2c are the inverse of each other, for as many handles as there are.
TEST(Handles, OfManyObjectsKeepTheirNumbersForFortran) {
  std::vector<MPI_Info> infos(3000);
  std::vector<MPI_Fint> numbers;
  for (MPI_Info& info : infos) {
    MPI_Info_create(&info);
    numbers.push_back(MPI_Info_c2f(info));
  }
  EXPECT_EQ(std::set<MPI_Fint>(numbers.begin(), numbers.end()).size(), numbers.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(MPI_Info_f2c(numbers[i]), infos[i]);
    EXPECT_EQ(MPI_Info_c2f(infos[i]), numbers[i]);
    MPI_Info_free(&infos[i]);
  }
  EXPECT_EQ(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)), MPI_WIN_NULL);
}

// 19.3.5: statuses travel between languages whole; MPI_F_STATUS_IGNORE cannot be converted.
TEST(Statuses, AreTheSameInFortran) {
  ReturnErrors guard;
  MPI_Status status = {5, 6, 7, {1, 2, 3, 4, 5}}, back = {};
  MPI_Fint old[MPI_F_STATUS_SIZE] = {};
  MPI_F08_status other = {};
  EXPECT_EQ(MPI_Status_c2f(&status, old), MPI_SUCCESS);
  EXPECT_EQ(old[MPI_F_SOURCE] * 100 + old[MPI_F_TAG] * 10 + old[MPI_F_ERROR], 567);
  EXPECT_EQ(MPI_Status_f2f08(old, &other), MPI_SUCCESS);
  EXPECT_EQ(MPI_Status_f082c(&other, &back), MPI_SUCCESS);
  EXPECT_EQ(std::memcmp(&status, &back, sizeof status), 0);
  EXPECT_EQ(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back), MPI_ERR_ARG);
}

TEST(Buffers, OfACommunicatorAreItsOwn) {
  ReturnErrors guard;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const Bytes data = message(rank(), 1, 100000), expected = message(left(), 1, 100000);
  Bytes room(data.size()), memory(2 * (data.size() + MPI_BSEND_OVERHEAD));
  const auto bsend = [&] { return MPI_Bsend(data.data(), 100000, MPI_BYTE, right(), 3, comm); };
  EXPECT_EQ(bsend(), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Comm_attach_buffer(comm, memory.data(), static_cast<int>(memory.size())), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_attach_buffer(comm, memory.data(), 1), MPI_ERR_BUFFER);
  EXPECT_EQ(bsend(), MPI_SUCCESS);
  EXPECT_EQ(bsend(), MPI_SUCCESS);
  EXPECT_EQ(MPI_Bsend(data.data(), 100000, MPI_BYTE, right(), 3, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  MPI_Request flush;
  EXPECT_EQ(MPI_Comm_iflush_buffer(comm, &flush), MPI_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(MPI_Recv(room.data(), 100000, MPI_BYTE, left(), 3, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(room, expected);
  }
  EXPECT_EQ(MPI_Wait(&flush, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_iflush_buffer(comm, &flush), MPI_SUCCESS);
  EXPECT_EQ(MPI_Wait(&flush, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Comm_flush_buffer(comm), MPI_SUCCESS);
  void* given = nullptr;
  MPI_Count size = 0;
  EXPECT_EQ(MPI_Comm_detach_buffer_c(comm, static_cast<void*>(&given), &size), MPI_SUCCESS);
  EXPECT_EQ(given, memory.data());
  EXPECT_EQ(size, static_cast<MPI_Count>(memory.size()));
  EXPECT_EQ(bsend(), MPI_ERR_BUFFER);
  MPI_Comm_free(&comm);
}

TEST(Buffers, OfASessionServeTheCommunicatorsThatComeFromIt) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group all, same;
  MPI_Comm comm, copy;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  const int reversed[1][3] = {{ranks() - 1, 0, -1}};
  MPI_Group_range_incl(all, 1, const_cast<int(*)[3]>(reversed), &same);
  MPI_Comm_create_from_group(same, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_split(comm, 0, 0, &copy);
  const Bytes data = message(rank(), 1, 100000);
  Bytes room(data.size());
  int me, n;
  MPI_Comm_rank(copy, &me);
  MPI_Comm_size(copy, &n);
  const auto bsend = [&] { return MPI_Bsend(data.data(), 100000, MPI_BYTE, (me + 1) % n, 3, copy); };
  EXPECT_EQ(bsend(), MPI_ERR_BUFFER);
  EXPECT_EQ(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
  EXPECT_EQ(bsend(), MPI_SUCCESS);
  MPI_Request flush;
  EXPECT_EQ(MPI_Session_iflush_buffer(session, &flush), MPI_SUCCESS);
  MPI_Recv(room.data(), 100000, MPI_BYTE, (me + n - 1) % n, 3, copy, MPI_STATUS_IGNORE);
  EXPECT_EQ(room, message((ranks() - 1 - (me + n - 1) % n), 1, 100000));
  EXPECT_EQ(MPI_Wait(&flush, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(MPI_Session_flush_buffer(session), MPI_SUCCESS);
  void* given = nullptr;
  int size = 0;
  EXPECT_EQ(MPI_Session_detach_buffer(session, static_cast<void*>(&given), &size), MPI_SUCCESS);
  EXPECT_EQ(given, MPI_BUFFER_AUTOMATIC);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  MPI_Group_free(&same);
  MPI_Group_free(&all);
  EXPECT_EQ(MPI_Session_finalize(&session), MPI_SUCCESS);
}

TEST(ToolInterface, ShowsTheSettingsAndWhatTheEngineCounts) {
  int count = 0, provided, length;
  EXPECT_EQ(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
  ASSERT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_cvar_get_num(&count), MPI_SUCCESS);
  ASSERT_GT(count, 0);
  char name[64], text[256];
  for (int i = 0; i < count; ++i) {
    int verbosity, bind, scope, text_length = sizeof text, found = -1, elements = 0;
    MPI_Datatype type;
    MPI_T_enum kind;
    length = sizeof name;
    ASSERT_EQ(MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &kind, text, &text_length, &bind, &scope), MPI_SUCCESS);
    EXPECT_EQ(length, static_cast<int>(std::strlen(name)) + 1);
    EXPECT_EQ(type, MPI_UINT64_T);
    EXPECT_EQ(MPI_T_cvar_get_index(name, &found), MPI_SUCCESS);
    EXPECT_EQ(found, i);
    MPI_T_cvar_handle handle;
    EXPECT_EQ(MPI_T_cvar_handle_alloc(i, nullptr, &handle, &elements), MPI_SUCCESS);
    uint64_t value = ~uint64_t{0};
    EXPECT_EQ(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
    EXPECT_NE(value, ~uint64_t{0});
    EXPECT_EQ(MPI_T_cvar_write(handle, &value), MPI_T_ERR_CVAR_SET_NEVER);
    EXPECT_EQ(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    EXPECT_EQ(MPI_T_cvar_read(handle, &value), MPI_T_ERR_INVALID_HANDLE);
  }
  EXPECT_EQ(MPI_T_cvar_get_index("no such thing", &count), MPI_T_ERR_INVALID_NAME);
  EXPECT_EQ(MPI_T_cvar_get_info(-1, name, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), MPI_T_ERR_INVALID_INDEX);

  MPI_T_pvar_session session;
  ASSERT_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  int index = -1;
  ASSERT_EQ(MPI_T_pvar_get_index("engine_sends", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
  MPI_T_pvar_handle sends;
  ASSERT_EQ(MPI_T_pvar_handle_alloc(session, index, nullptr, &sends, &count), MPI_SUCCESS);
  unsigned long before = 0, after = 0;
  EXPECT_EQ(MPI_T_pvar_read(session, sends, &before), MPI_SUCCESS);
  Bytes room(64);
  MPI_Request request = ireceive(room, left());
  send(message(rank(), 1, 64), right());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  barrier();
  EXPECT_EQ(MPI_T_pvar_read(session, sends, &after), MPI_SUCCESS);
  EXPECT_GT(after, before);
  EXPECT_EQ(MPI_T_pvar_start(session, sends), MPI_T_ERR_PVAR_NO_STARTSTOP);
  EXPECT_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_reset(session, sends), MPI_T_ERR_PVAR_NO_WRITE);
  EXPECT_EQ(MPI_T_pvar_handle_free(session, &sends), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);

  int cvars, pvars, parts, found, all;
  EXPECT_EQ(MPI_T_category_get_index("engine", &found), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_category_get_info(found, nullptr, nullptr, nullptr, nullptr, &cvars, &pvars, &parts), MPI_SUCCESS);
  MPI_T_pvar_get_num(&all);
  EXPECT_EQ(pvars, all);
  std::vector<int> indices(static_cast<size_t>(pvars), -1);
  EXPECT_EQ(MPI_T_category_get_pvars(found, pvars, indices.data()), MPI_SUCCESS);
  EXPECT_EQ(indices.back(), pvars - 1);
  EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

TEST(ToolInterface, HasEventsWhileItIsOpen) {
  int number = -1, provided;
  MPI_Count time;
  MPI_T_event_registration none{};
  EXPECT_EQ(MPI_T_event_get_index("send_begins", &number), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_source_get_timestamp(0, &time), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_event_handle_free(none, nullptr, nullptr), MPI_T_ERR_NOT_INITIALIZED);
  EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_event_get_index("send_begins", &number), MPI_SUCCESS);
  EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

TEST(Fortran, KindsAreMadeOnceAndAreAsGoodAsThePredefinedTypes) {
  ReturnErrors guard;
  MPI_Datatype kind, again, other;
  EXPECT_EQ(MPI_Type_create_f90_real(15, 307, &kind), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_create_f90_real(15, 307, &again), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_create_f90_real(14, MPI_UNDEFINED, &other), MPI_SUCCESS);
  EXPECT_EQ(kind, again);
  EXPECT_NE(kind, other);
  double mine = rank() + 0.5, least = -1;
  EXPECT_EQ(MPI_Allreduce(&mine, &least, 1, kind, MPI_MIN, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(least, 0.5);
  int counts[3], combiner, asked[2];
  MPI_Type_get_envelope(kind, &counts[0], &counts[1], &counts[2], &combiner);
  EXPECT_EQ(combiner, MPI_COMBINER_F90_REAL);
  EXPECT_EQ(MPI_Type_get_contents(kind, 2, 0, 0, asked, nullptr, nullptr), MPI_SUCCESS);
  EXPECT_EQ(asked[0], 15);
  EXPECT_EQ(asked[1], 307);
  EXPECT_EQ(MPI_Type_free(&again), MPI_ERR_TYPE);
  int size;
  for (const auto& [range, bytes] : {std::pair(2, 1), {3, 2}, {9, 4}, {18, 8}, {19, 16}}) {
    EXPECT_EQ(MPI_Type_create_f90_integer(range, &kind), MPI_SUCCESS);
    MPI_Type_size(kind, &size);
    EXPECT_EQ(size, bytes) << range;
  }
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &kind);
  MPI_Type_size(kind, &size);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(MPI_Type_create_f90_real(34, MPI_UNDEFINED, &kind), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Type_create_f90_integer(39, &kind), MPI_ERR_ARG);
}

TEST(Fortran, SizesAndTruthValuesAreToldOnceAndMustBeThoseOfThisLibrary) {
  ReturnErrors guard;
  int yes = 1, no = 0, minus = -1, flag;
  MPI_Info info, found;
  EXPECT_EQ(MPI_Abi_get_fortran_info(&found), MPI_SUCCESS);
  EXPECT_EQ(found, MPI_INFO_NULL);
  EXPECT_EQ(MPI_Abi_get_fortran_booleans(4, &minus, &minus, &flag), MPI_SUCCESS);
  EXPECT_FALSE(flag);
  EXPECT_EQ(MPI_Abi_set_fortran_booleans(4, &minus, &no), MPI_ERR_ABI);
  EXPECT_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_SUCCESS);
  EXPECT_EQ(MPI_Abi_get_fortran_booleans(4, &minus, &no, &flag), MPI_SUCCESS);
  EXPECT_TRUE(flag && minus == 1);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_integer_size", "8");
  EXPECT_EQ(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
  MPI_Info_set(info, "mpi_integer_size", "4");
  EXPECT_EQ(MPI_Abi_set_fortran_info(info), MPI_SUCCESS);
  EXPECT_EQ(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
  MPI_Info_free(&info);
  EXPECT_EQ(MPI_Abi_get_fortran_info(&found), MPI_SUCCESS);
  MPI_Info_get_nkeys(found, &flag);
  EXPECT_EQ(flag, 1);
  MPI_Info_free(&found);
}

TEST(Environment, ProcessesCannotBeSpawnedNorJobsConnect) {
  ReturnErrors guard;
  char port[MPI_MAX_PORT_NAME] = "nowhere";
  MPI_Comm made = MPI_COMM_SELF;
  EXPECT_EQ(MPI_Comm_spawn("hello", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE), MPI_ERR_SPAWN);
  EXPECT_EQ(made, MPI_COMM_NULL);
  // Only the root's arguments mean anything; all ranks learn of each process that it was not started.
  char hello[] = "hello", *commands[] = {hello, hello};
  const int at_root[] = {2, 1}, elsewhere[] = {-1, -1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  const int root = ranks() - 1;
  const bool is_root = rank() == root;
  int codes[] = {0, 0, 0, 77};
  EXPECT_EQ(MPI_Comm_spawn_multiple(is_root ? 2 : -1, is_root ? commands : nullptr, MPI_ARGVS_NULL, is_root ? at_root : elsewhere,
                                    is_root ? infos : nullptr, root, MPI_COMM_WORLD, &made, codes),
            MPI_ERR_SPAWN);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(codes[i], MPI_ERR_SPAWN);
  EXPECT_EQ(codes[3], 77);
  // A mistake of the root alone is an error everywhere.
  EXPECT_EQ(MPI_Comm_spawn("hello", MPI_ARGV_NULL, is_root ? -1 : 1, MPI_INFO_NULL, root, MPI_COMM_WORLD, &made, codes), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT);
  EXPECT_EQ(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_NULL, &made), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Lookup_name("ocean", MPI_INFO_NULL, port), MPI_ERR_NAME);
}

TEST(Environment, TellsSizesOfTheAbiAndThatNobodyWasSpawned) {
  MPI_Info info;
  EXPECT_EQ(MPI_Abi_get_info(&info), MPI_SUCCESS);
  char value[16];
  int length = sizeof value, flag;
  MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag);
  EXPECT_TRUE(flag);
  EXPECT_STREQ(value, "8");
  MPI_Info_free(&info);
  MPI_Comm parent;
  EXPECT_EQ(MPI_Comm_get_parent(&parent), MPI_SUCCESS);
  EXPECT_EQ(parent, MPI_COMM_NULL);
  MPI_Datatype pair;
  EXPECT_EQ(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair), MPI_SUCCESS);
  EXPECT_EQ(pair, MPI_DOUBLE_INT);
  EXPECT_EQ(MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &pair), MPI_SUCCESS);
  EXPECT_EQ(pair, MPI_DATATYPE_NULL);
}

TEST(ManyCommunicators, AreMadeAndFreedTenThousandTimes) {
  for (int i = 0; i < 10000; ++i) {
    MPI_Comm copy;
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &copy), MPI_SUCCESS);
    MPI_Comm_free(&copy);
  }
  for (int i = 0; i < 20; ++i) {
    MPI_Comm copy;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
    EXPECT_EQ(sum, ranks());
    MPI_Comm_free(&copy);
  }
}

TEST(ManyCommunicators, SixteenThousandLiveAtOnceAndOneMoreIsRefused) {
  if (rank() != 0) return;  // they are its own
  ReturnErrors guard;
  std::vector<MPI_Comm> all;
  MPI_Comm one;
  int error;
  while ((error = MPI_Comm_dup(MPI_COMM_SELF, &one)) == MPI_SUCCESS) all.push_back(one);
  EXPECT_EQ(error, MPI_ERR_NO_MEM);
  EXPECT_GE(all.size(), 16000u);
  for (size_t i = 0; i < all.size(); i += 1000) {
    int word = static_cast<int>(i), back = -1;
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 0, &back, 1, MPI_INT, MPI_ANY_SOURCE, 0, all[i], MPI_STATUS_IGNORE);
    EXPECT_EQ(back, word);
    int sum = 0;
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, all[i]);
    EXPECT_EQ(sum, word);
  }
  for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
  EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &one), MPI_SUCCESS);
  MPI_Comm_free(&one);
}

}  // namespace
}  // namespace interfaces_test
