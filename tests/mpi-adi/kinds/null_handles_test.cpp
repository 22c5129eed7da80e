// Null handles, and requests that are not active, wherever the standard lets them stand. Source:
// MPI-5.0, 2.4.2, 3.7.3, 3.10, 4.2, 7.8, 9.3.
#include <string>

#include "../ranks.hpp"

namespace null_handles_test {
namespace {

struct Allowed {
  int line;
  const char* call;
  bool (*run)();  // success, and the results that go with null
};
#define ALLOWED(call, results)                                         \
  {                                                                    \
    __LINE__, #call, [] { return (call) == MPI_SUCCESS && (results); } \
  }

int flag, number, length, inside, buffer[8], zero[1] = {0}, ranks_out[1], null_rank[1] = {MPI_PROC_NULL};
int indices[2];
char text[MPI_MAX_OBJECT_NAME];
MPI_Request request, requests[2], inactive[2];
MPI_Status status, statuses[2];
MPI_Message message;
MPI_Errhandler handler;
MPI_Group group;
MPI_Comm comm;
MPI_Win win;

bool is_empty(const MPI_Status& of) {
  int count = -1, cancelled = -1;
  MPI_Get_count(&of, MPI_INT, &count);
  MPI_Test_cancelled(&of, &cancelled);
  return of.MPI_SOURCE == MPI_ANY_SOURCE && of.MPI_TAG == MPI_ANY_TAG && count == 0 && cancelled == 0;
}
bool is_from_nobody(const MPI_Status& of) {
  int count = -1;
  MPI_Get_count(&of, MPI_INT, &count);
  return of.MPI_SOURCE == MPI_PROC_NULL && of.MPI_TAG == MPI_ANY_TAG && count == 0;
}
bool is_named(const char* name) { return std::string(text) == name && length == static_cast<int>(std::string(name).size()); }
MPI_Request& null() { return request = MPI_REQUEST_NULL; }
MPI_Request* nulls() {
  requests[0] = requests[1] = MPI_REQUEST_NULL;
  return requests;
}

const Allowed kRequests[] = {
    ALLOWED(MPI_Wait(&null(), &status), is_empty(status)),
    ALLOWED(MPI_Test(&null(), &(flag = 0), &status), flag&& is_empty(status)),
    ALLOWED(MPI_Waitall(2, nulls(), statuses), is_empty(statuses[0]) && is_empty(statuses[1])),
    ALLOWED(MPI_Testall(2, nulls(), &(flag = 0), statuses), flag&& is_empty(statuses[1])),
    ALLOWED(MPI_Waitany(2, nulls(), &number, &status), number == MPI_UNDEFINED && is_empty(status)),
    ALLOWED(MPI_Testany(2, nulls(), &number, &(flag = 0), &status), flag&& number == MPI_UNDEFINED && is_empty(status)),
    ALLOWED(MPI_Waitsome(2, nulls(), &number, indices, statuses), number == MPI_UNDEFINED),
    ALLOWED(MPI_Testsome(2, nulls(), &number, indices, statuses), number == MPI_UNDEFINED),
    ALLOWED(MPI_Request_get_status(null(), &(flag = 0), &status), flag&& is_empty(status)),
    ALLOWED(MPI_Request_get_status_all(2, nulls(), &(flag = 0), statuses), flag&& is_empty(statuses[1])),
    ALLOWED(MPI_Request_get_status_any(2, nulls(), &number, &(flag = 0), &status), flag&& number == MPI_UNDEFINED),
    ALLOWED(MPI_Request_get_status_some(2, nulls(), &number, indices, statuses), number == MPI_UNDEFINED),
    ALLOWED(MPI_Parrived(MPI_REQUEST_NULL, 0, &(flag = 0)), flag),
    ALLOWED(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), true),
    // Inactive ones: a receive and a partitioned receive.
    ALLOWED(MPI_Wait(&inactive[0], &status), is_empty(status) && inactive[0] != MPI_REQUEST_NULL),
    ALLOWED(MPI_Test(&inactive[1], &(flag = 0), &status), flag&& is_empty(status)),
    ALLOWED(MPI_Waitall(2, inactive, statuses), is_empty(statuses[0]) && is_empty(statuses[1])),
    ALLOWED(MPI_Testall(2, inactive, &(flag = 0), statuses), flag&& is_empty(statuses[1])),
    ALLOWED(MPI_Waitany(2, inactive, &number, &status), number == MPI_UNDEFINED && is_empty(status)),
    ALLOWED(MPI_Testany(2, inactive, &number, &(flag = 0), &status), flag&& number == MPI_UNDEFINED),
    ALLOWED(MPI_Waitsome(2, inactive, &number, indices, statuses), number == MPI_UNDEFINED),
    ALLOWED(MPI_Testsome(2, inactive, &number, indices, statuses), number == MPI_UNDEFINED),
    ALLOWED(MPI_Request_get_status(inactive[0], &(flag = 0), &status), flag&& is_empty(status)),
    ALLOWED(MPI_Parrived(inactive[1], 0, &(flag = 0)), flag),
};

const Allowed kNobody[] = {
    ALLOWED(MPI_Send(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), true),
    ALLOWED(MPI_Recv(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), is_from_nobody(status)),
    ALLOWED(MPI_Sendrecv(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, buffer, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status),
            is_from_nobody(status)),
    ALLOWED(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), is_from_nobody(status)),
    ALLOWED(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &(flag = 0), &status), flag&& is_from_nobody(status)),
    ALLOWED(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status), message == MPI_MESSAGE_NO_PROC),
    ALLOWED(MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &(flag = 0), &message, &status), flag&& message == MPI_MESSAGE_NO_PROC),
    ALLOWED(MPI_Mrecv(buffer, 1, MPI_INT, &(message = MPI_MESSAGE_NO_PROC), &status),
            is_from_nobody(status) && message == MPI_MESSAGE_NULL),
    ALLOWED(MPI_Imrecv(buffer, 1, MPI_INT, &(message = MPI_MESSAGE_NO_PROC), &request),
            MPI_Wait(&request, &status) == MPI_SUCCESS && is_from_nobody(status)),
    ALLOWED(MPI_Group_translate_ranks(group, 1, null_rank, group, ranks_out), ranks_out[0] == MPI_PROC_NULL),
    ALLOWED(MPI_Put(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win), true),
    ALLOWED(MPI_Get(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win), true),
    ALLOWED(MPI_Accumulate(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win), true),
    ALLOWED(MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, buffer, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_NO_OP, win), true),
    ALLOWED(MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win), true),
    ALLOWED(MPI_Fetch_and_op(nullptr, buffer, MPI_INT, 0, 0, MPI_NO_OP, win), true),
    ALLOWED(MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win), MPI_Win_unlock(MPI_PROC_NULL, win) == MPI_SUCCESS),
};

const Allowed kObjects[] = {
    ALLOWED(MPI_Comm_get_name(MPI_COMM_NULL, text, &length), is_named("MPI_COMM_NULL")),
    ALLOWED(MPI_Type_get_name(MPI_DATATYPE_NULL, text, &length), is_named("MPI_DATATYPE_NULL")),
    ALLOWED(MPI_Win_get_name(MPI_WIN_NULL, text, &length), is_named("MPI_WIN_NULL")),
    ALLOWED(MPI_File_get_errhandler(MPI_FILE_NULL, &handler), handler == MPI_ERRORS_RETURN),
    ALLOWED(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN), true),
    ALLOWED(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO), true),
    ALLOWED(MPI_Group_size(MPI_GROUP_EMPTY, &number), number == 0),
    ALLOWED(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &number), number == MPI_IDENT),
    ALLOWED(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "null", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm), comm == MPI_COMM_NULL),
    ALLOWED(MPI_Comm_create_group(MPI_COMM_SELF, MPI_GROUP_EMPTY, 0, &comm), comm == MPI_COMM_NULL),
    ALLOWED(MPI_Comm_get_parent(&comm), comm == MPI_COMM_NULL),
    ALLOWED(MPI_Comm_set_info(MPI_COMM_SELF, MPI_INFO_NULL), true),
    ALLOWED(MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD), true),
    ALLOWED(MPI_Reduce_scatter(buffer, buffer + 4, zero, MPI_INT, MPI_SUM, MPI_COMM_SELF), true),
    ALLOWED((MPI_Comm_c2f(MPI_COMM_NULL), MPI_SUCCESS), MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL),
    ALLOWED((MPI_Request_c2f(MPI_REQUEST_NULL), MPI_SUCCESS), MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL),
    ALLOWED((MPI_Type_c2f(MPI_DATATYPE_NULL), MPI_SUCCESS), MPI_Type_f2c(MPI_Type_c2f(MPI_DATATYPE_NULL)) == MPI_DATATYPE_NULL),
    ALLOWED((MPI_Group_c2f(MPI_GROUP_NULL), MPI_SUCCESS), MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_NULL)) == MPI_GROUP_NULL),
    ALLOWED((MPI_Op_c2f(MPI_OP_NULL), MPI_SUCCESS), MPI_Op_f2c(MPI_Op_c2f(MPI_OP_NULL)) == MPI_OP_NULL),
    ALLOWED((MPI_Info_c2f(MPI_INFO_NULL), MPI_SUCCESS), MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL),
    ALLOWED((MPI_Win_c2f(MPI_WIN_NULL), MPI_SUCCESS), MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL),
    ALLOWED((MPI_File_c2f(MPI_FILE_NULL), MPI_SUCCESS), MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL),
    ALLOWED((MPI_Message_c2f(MPI_MESSAGE_NULL), MPI_SUCCESS), MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL),
    ALLOWED((MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL), MPI_SUCCESS),
            MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRHANDLER_NULL)) == MPI_ERRHANDLER_NULL),
    ALLOWED((MPI_Session_c2f(MPI_SESSION_NULL), MPI_SUCCESS), MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)) == MPI_SESSION_NULL),
};

TEST(NullHandles, MayStandWhereTheStandardSaysSo) {
  ReturnErrors guard;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Win_create(&inside, sizeof inside, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Recv_init(buffer, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &inactive[0]);
  MPI_Precv_init(buffer, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &inactive[1]);
  const auto check = [](const auto& table) {
    for (const Allowed& allowed : table) EXPECT_TRUE(allowed.run()) << "line " << allowed.line << ": " << allowed.call;
  };
  check(kRequests);
  check(kObjects);
  MPI_Win_lock_all(0, win);
  const auto last = std::end(kNobody) - 1;  // a lock of its own
  for (const Allowed* allowed = kNobody; allowed != last; ++allowed)
    EXPECT_TRUE(allowed->run()) << "line " << allowed->line << ": " << allowed->call;
  MPI_Win_unlock_all(win);
  EXPECT_TRUE(last->run()) << last->call;
  for (MPI_Request& each : inactive) MPI_Request_free(&each);
  MPI_Win_free(&win);
  MPI_Group_free(&group);
}

}  // namespace
}  // namespace null_handles_test
