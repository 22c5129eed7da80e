// Which error handler is called, on which object, with which class, and what its code makes of the call's result: for each kind of object,
// and for calls that name none. The tables of wrong arguments (arguments.hpp) look at the same for every call.
// Source: MPI-5.0, 9.3, 7.4.4, 7.6.2, 11.3.
#include <climits>
#include <string>

#include "../ranks.hpp"

namespace handlers_test {
namespace {

std::string called;  // "object class", one after the other
int makes = -1;      // of each code; negative: leaves it
void note(const char* object, int* code) {
  called += (called.empty() ? "" : ", ") + std::string(object) + " " + std::to_string(class_of(*code));
  if (makes >= 0) *code = makes;
}
void on_comm(MPI_Comm* comm, int* code, ...) {
  note(*comm == MPI_COMM_SELF ? "self" : *comm == MPI_COMM_WORLD ? "world" : *comm == MPI_COMM_NULL ? "new" : "comm", code);
}
void on_win(MPI_Win*, int* code, ...) { note("win", code); }
void on_file(MPI_File* file, int* code, ...) { note(*file == MPI_FILE_NULL ? "no file" : "file", code); }
void on_session(MPI_Session* session, int* code, ...) { note(*session == MPI_SESSION_NULL ? "no session" : "session", code); }

MPI_Errhandler comm_handler, win_handler, file_handler, session_handler;
MPI_Comm comm, made;
MPI_Win win;
MPI_File file;
MPI_Session session, other;
MPI_Group group;
MPI_Datatype type;
MPI_Message message;                     // that lies in `comm`
MPI_Request sent_parts, received_parts;  // partitioned ones there, which have been started

MPI_Request request;
MPI_Aint size;
int buffer[4], number, length;
const MPI_Info kNoInfo = reinterpret_cast<MPI_Info>(buffer);
const MPI_Group kNoGroup = reinterpret_cast<MPI_Group>(buffer);

int extent_of_int(MPI_Datatype, MPI_Aint* extent, void*) {
  *extent = sizeof(int);
  return MPI_SUCCESS;
}
int broken(void*, MPI_Datatype, int, void*, MPI_Offset, void*) { return MPI_ERR_OTHER; }

struct Case {
  int line;
  const char* call;
  const char* object;
  int error_class;
  int (*run)();
};
#define CASE(object, error_class, call)                                 \
  {                                                                     \
    __LINE__, #call, object, MPI_ERR_##error_class, [] { return call; } \
  }

const Case kCases[] = {
    CASE("comm", RANK, MPI_Send(buffer, 1, MPI_INT, 1000, 0, comm)),
    CASE("comm", ROOT, MPI_Bcast(buffer, 1, MPI_INT, 1000, comm)),
    CASE("comm", INFO, MPI_Comm_set_info(comm, kNoInfo)),
    CASE("comm", ARG, MPI_Comm_split(comm, -7, 0, &made)),
    CASE("comm", COUNT, MPI_Mrecv(buffer, -1, MPI_INT, &message, MPI_STATUS_IGNORE)),
    CASE("comm", TYPE, MPI_Imrecv(buffer, 1, MPI_DATATYPE_NULL, &message, &request)),
    CASE("comm", ARG, MPI_Pready(2, sent_parts)),
    CASE("comm", ARG, MPI_Pready_range(1, 0, sent_parts)),
    CASE("comm", ARG, MPI_Pready_range(INT_MIN, INT_MAX, sent_parts)),
    CASE("comm", ARG, MPI_Pready_range(0, INT_MAX, sent_parts)),
    CASE("comm", ARG, MPI_Pready_list(-1, buffer, sent_parts)),
    CASE("comm", REQUEST, MPI_Pready(0, received_parts)),
    CASE("comm", ARG, MPI_Parrived(received_parts, -1, &number)),
    CASE("comm", REQUEST, MPI_Start(&sent_parts)),
    CASE("world", RANK, MPI_Recv(buffer, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
    CASE("self", COMM, MPI_Send(buffer, 1, MPI_INT, 0, 0, MPI_COMM_NULL)),
    CASE("self", TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type)),
    CASE("self", ARG, MPI_Info_create(nullptr)),
    CASE("self", GROUP, MPI_Group_size(MPI_GROUP_NULL, &number)),
    CASE("self", WIN, MPI_Win_fence(0, MPI_WIN_NULL)),
    CASE("self", SESSION, MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &number)),
    CASE("win", RANK, MPI_Put(buffer, 1, MPI_INT, 1000, 0, 1, MPI_INT, win)),
    CASE("win", INFO, MPI_Win_set_info(win, kNoInfo)),
    CASE("win", GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win)),
    CASE("win", GROUP, MPI_Win_post(kNoGroup, 0, win)),
    CASE("win", RMA_SYNC, MPI_Win_complete(win)),
    CASE("win", ARG, MPI_Win_get_group(win, nullptr)),
    CASE("file", ARG, MPI_File_read_at(file, -1, buffer, 1, MPI_INT, MPI_STATUS_IGNORE)),
    CASE("file", COUNT, MPI_File_read(file, buffer, -1, MPI_INT, MPI_STATUS_IGNORE)),
    CASE("no file", FILE, MPI_File_get_size(MPI_FILE_NULL, reinterpret_cast<MPI_Offset*>(&size))),
    CASE("session", INFO, MPI_Session_get_num_psets(session, kNoInfo, &number)),
    CASE("session", INFO, MPI_Session_get_nth_pset(session, kNoInfo, 0, &length, nullptr)),
    CASE("session", ARG, MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1000, &length, nullptr)),
    CASE("session", ARG, MPI_Group_from_session_pset(session, "mpi://NOTHING", &group)),
    CASE("no session", INFO, MPI_Session_init(kNoInfo, session_handler, &other)),
    CASE("new", GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "handlers", MPI_INFO_NULL, comm_handler, &made)),
    CASE("new", INFO, MPI_Comm_create_from_group(group, "handlers", kNoInfo, comm_handler, &made)),
    CASE("new", GROUP, MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, group, 0, "handlers", MPI_INFO_NULL, comm_handler, &made)),
};

TEST(Handlers, AreThoseOfTheObjectOfTheCall) {
  MPI_Comm_create_errhandler(on_comm, &comm_handler);
  MPI_Win_create_errhandler(on_win, &win_handler);
  MPI_File_create_errhandler(on_file, &file_handler);
  MPI_Session_create_errhandler(on_session, &session_handler);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_group(MPI_COMM_SELF, &group);
  MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  const std::string name = "/tmp/portunus-handlers-" + std::to_string(rank());
  MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_Session_init(MPI_INFO_NULL, session_handler, &session);
  int parts[2] = {1, 2}, other_parts[2], waits;
  MPI_Request requests[3];
  MPI_Isend(parts, 1, MPI_INT, 0, 1, comm, &requests[0]);
  MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE);
  MPI_Psend_init(parts, 2, 1, MPI_INT, 0, 2, comm, MPI_INFO_NULL, &sent_parts);
  MPI_Precv_init(other_parts, 2, 1, MPI_INT, 0, 2, comm, MPI_INFO_NULL, &received_parts);
  MPI_Start(&sent_parts);
  MPI_Start(&received_parts);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF, comm}) MPI_Comm_set_errhandler(each, comm_handler);
  MPI_Win_set_errhandler(win, win_handler);
  MPI_File_set_errhandler(file, file_handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, file_handler);
  for (const Case& each : kCases)
    for (const int code : {-1, MPI_ERR_LASTCODE, MPI_SUCCESS}) {
      called.clear();
      makes = code;
      const int error = each.run();
      const bool of_file = std::string(each.object).find("file") != std::string::npos;
      EXPECT_EQ(error, code > 0 || (code == MPI_SUCCESS && of_file) ? code : each.error_class) << "line " << each.line << ": " << each.call;
      EXPECT_EQ(called, std::string(each.object) + " " + std::to_string(each.error_class)) << "line " << each.line << ": " << each.call;
    }
  // Refused calls have done nothing.
  MPI_Pready_range(0, 1, sent_parts);
  EXPECT_EQ(MPI_Mrecv(&waits, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(waits, 1);
  requests[1] = sent_parts, requests[2] = received_parts;
  EXPECT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(other_parts[1], 2);
  MPI_Request_free(&sent_parts);
  MPI_Request_free(&received_parts);
  // A file's request says what went wrong when it is completed.
  makes = -1;
  MPI_Register_datarep("portunus-broken", broken, nullptr, extent_of_int, nullptr);
  MPI_File_write_at(file, 0, buffer, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "portunus-broken", MPI_INFO_NULL);
  for (const int code : {-1, MPI_ERR_LASTCODE, MPI_SUCCESS}) {
    MPI_Request request;
    called.clear();
    EXPECT_EQ(MPI_File_iread_at(file, 0, buffer, 1, MPI_INT, &request), MPI_SUCCESS);
    makes = code;
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), code < 0 ? MPI_ERR_CONVERSION : code);
    EXPECT_EQ(called, "file " + std::to_string(MPI_ERR_CONVERSION));
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }
  makes = -1;
  // A call that makes nothing, as its group is empty, calls no handler.
  called.clear();
  MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "handlers", MPI_INFO_NULL, comm_handler, &made);
  MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, MPI_GROUP_EMPTY, 0, "handlers", MPI_INFO_NULL, comm_handler, &made);
  EXPECT_EQ(called, "");
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Session_finalize(&session);
  MPI_File_close(&file);
  MPI_Win_free(&win);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  for (MPI_Errhandler* each : {&comm_handler, &win_handler, &file_handler, &session_handler}) MPI_Errhandler_free(each);
}

}  // namespace
}  // namespace handlers_test
