// memory_test.cpp: memory that cannot be had is MPI_ERR_NO_MEM. MPI-5.0, 9.4.
//
// Rank 0 makes each call of the table again and again, and lets the first, the second .. allocation of it fail until none is left. A call
// that fails has done nothing: made again, it works, for all ranks. What calls of Portals allocate is left out: the engine serves others
// there, too.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "mpi-adi/mpi-ext.h"
#include "mpi-adi/mpi-goal.h"
#include "ranks.hpp"
#include "tests/allocation_refusal.hpp"

bool portunus::allocation_refusal::spares(std::string_view function) { return function.starts_with("Ptl"); }

namespace memory_test {
namespace {

using portunus::allocation_refusal::armed, portunus::allocation_refusal::before, portunus::allocation_refusal::reached,
    portunus::allocation_refusal::refused;

// A call, and what takes back what it has made.
struct Row {
  const char* name;
  std::function<int()> call;
  std::function<void()> undo = [] {};
};

MPI_Comm comm, other = MPI_COMM_NULL;
MPI_Datatype type = MPI_DATATYPE_NULL;
MPI_Group group;
MPI_Win win = MPI_WIN_NULL;
MPI_Info info;
MPI_Request request;
MPI_Op op;
MPI_File file;
int in[4096], out[4096];
int keyval, ended = 0;
MPI_Message message;
bool is_sent = false;

void wait() { EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS); }
void ignore(MPI_Comm*, int*, ...) {}
void free_comm() { MPI_Comm_free(&other); }
void free_type() { MPI_Type_free(&type); }
void free_group() { MPI_Group_free(&group); }
void free_request() { MPI_Request_free(&request); }

std::vector<Row> alone() {
  return {
      {"Comm_dup of MPI_COMM_SELF", [] { return MPI_Comm_dup(MPI_COMM_SELF, &other); }, free_comm},
      {"Comm_set_name", [] { return MPI_Comm_set_name(comm, "a name that is longer than what a short string keeps without memory"); }},
      {"Comm_group", [] { return MPI_Comm_group(comm, &group); }, free_group},
      {"Group_incl",
       [] {
         MPI_Group all;
         MPI_Comm_group(comm, &all);
         const int first = 0;
         const int code = MPI_Group_incl(all, 1, &first, &group);
         MPI_Group_free(&all);
         return code;
       },
       free_group},
      {"Type_contiguous", [] { return MPI_Type_contiguous(3, MPI_INT, &type); }, free_type},
      {"Type_vector", [] { return MPI_Type_vector(100, 1, 2, MPI_INT, &type); }, free_type},
      {"Type_indexed",
       [] {
         const int lengths[] = {1, 2, 3}, places[] = {0, 5, 9};
         return MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type);
       },
       free_type},
      {"Type_create_struct and Type_commit",
       [] {
         const int lengths[] = {1, 2};
         const MPI_Aint places[] = {0, 16};
         const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
         const int code = MPI_Type_create_struct(2, lengths, places, types, &type);
         if (code != MPI_SUCCESS) return code;
         const int committed = MPI_Type_commit(&type);
         if (committed != MPI_SUCCESS) free_type();
         return committed;
       },
       free_type},
      {"Type_create_subarray",
       [] {
         const int sizes[] = {10, 10}, parts[] = {5, 5}, starts[] = {2, 2};
         return MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
       },
       free_type},
      {"Type_dup", [] { return MPI_Type_dup(MPI_DOUBLE_INT, &type); }, free_type},
      {"Op_create", [] { return MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op); }, [] { MPI_Op_free(&op); }},
      {"Info_create and Info_set",
       [] {
         if (const int code = MPI_Info_create(&info)) return code;
         const int code = MPI_Info_set(info, "a key that needs memory of its own, or not", "and a value that does, too, if not");
         if (code != MPI_SUCCESS) MPI_Info_free(&info);
         return code;
       },
       [] { MPI_Info_free(&info); }},
      {"Info_create_env", [] { return MPI_Info_create_env(0, nullptr, &info); }, [] { MPI_Info_free(&info); }},
      {"Comm_create_keyval and Comm_set_attr",
       [] {
         if (const int code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr)) return code;
         const int code = MPI_Comm_set_attr(comm, keyval, &in);
         if (code != MPI_SUCCESS) MPI_Comm_free_keyval(&keyval);
         return code;
       },
       [] {
         MPI_Comm_delete_attr(comm, keyval);
         MPI_Comm_free_keyval(&keyval);
       }},
      {"Comm_create_errhandler",
       [] {
         MPI_Errhandler handler;
         const int code = MPI_Comm_create_errhandler(ignore, &handler);
         if (code == MPI_SUCCESS) MPI_Errhandler_free(&handler);
         return code;
       }},
      {"Add_error_class, code and string",
       [] {
         int error_class, error_code;
         if (const int code = MPI_Add_error_class(&error_class)) return code;
         int code = MPI_Add_error_code(error_class, &error_code);
         if (code == MPI_SUCCESS) {
           code = MPI_Add_error_string(error_code, "a sentence that is longer than what a short string keeps without memory");
           if (code == MPI_SUCCESS) MPI_Remove_error_string(error_code);
           MPI_Remove_error_code(error_code);
         }
         MPI_Remove_error_class(error_class);
         return code;
       }},
      {"Mprobe",  // one that fails leaves the message to the next
       [] {
         if (const int code = is_sent ? MPI_SUCCESS : MPI_Send(in, 1, MPI_INT, 0, 4, MPI_COMM_SELF)) return code;
         is_sent = true;
         return MPI_Mprobe(0, 4, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
       },
       [] {
         MPI_Mrecv(out, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
         is_sent = false;
       }},
      {"Alloc_mem",
       [] {
         void* memory;
         const int code = MPI_Alloc_mem(100000, MPI_INFO_NULL, &memory);
         if (code == MPI_SUCCESS) MPI_Free_mem(memory);
         return code;
       }},
      {"Send_init", [] { return MPI_Send_init(in, 10, MPI_INT, 0, 9, comm, &request); }, free_request},
      {"Recv_init", [] { return MPI_Recv_init(in, 10, MPI_INT, 0, 9, comm, &request); }, free_request},
      {"Bcast_init on MPI_COMM_SELF", [] { return MPI_Bcast_init(in, 4096, MPI_INT, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request); },
       free_request},
      {"Pack_external",
       [] {
         static char packed[65536];
         MPI_Aint place = 0;
         return MPI_Pack_external("external32", in, 4096, MPI_INT, packed, sizeof packed, &place);
       }},
      {"Session_init and finalize",
       [] {
         MPI_Session session;
         const int code = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
         if (code == MPI_SUCCESS) MPI_Session_finalize(&session);
         return code;
       }},
      {"Grequest_start",
       [] {
         return MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                                   [](void*, int) { return MPI_SUCCESS; }, nullptr, &request);
       },
       [] {
         MPI_Grequest_complete(request);
         wait();
       }},
      {"Open_port",
       [] {
         char port[MPI_MAX_PORT_NAME];
         const int code = MPI_Open_port(MPI_INFO_NULL, port);
         if (code == MPI_SUCCESS) MPI_Close_port(port);
         return code;
       }},
      {"Send to oneself",
       [] {
         MPI_Request receive;
         if (const int code = MPI_Irecv(out, 4096, MPI_INT, 0, 3, MPI_COMM_SELF, &receive)) return code;
         const int code = MPI_Send(in, 4096, MPI_INT, 0, 3, MPI_COMM_SELF);
         if (code != MPI_SUCCESS) MPI_Cancel(&receive);
         MPI_Wait(&receive, MPI_STATUS_IGNORE);
         return code;
       }},
      {"Sendrecv_replace", [] { return MPI_Sendrecv_replace(in, 4096, MPI_INT, 0, 4, 0, 4, MPI_COMM_SELF, MPI_STATUS_IGNORE); }},
      {"File_open, read and write",
       [name = testing::TempDir() + "portunus-memory." + std::to_string(getpid())] {
         if (const int code = MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                            MPI_INFO_NULL, &file))
           return code;
         int code = MPI_File_write_at(file, 0, in, 4096, MPI_INT, MPI_STATUS_IGNORE);
         if (code == MPI_SUCCESS) code = MPI_File_read_at_all(file, 0, out, 4096, MPI_INT, MPI_STATUS_IGNORE);
         MPI_File_close(&file);
         return code;
       }},
      {"Accumulate under a lock",
       [] {
         static struct {
           double value;
           int place;
         } here[4], there[4];
         if (win == MPI_WIN_NULL)
           if (const int code = MPI_Win_create(there, sizeof there, sizeof *there, MPI_INFO_NULL, MPI_COMM_SELF, &win)) return code;
         if (type == MPI_DATATYPE_NULL)
           if (const int code = MPI_Type_vector(2, 1, 2, MPI_DOUBLE_INT, &type)) return code;
         MPI_Type_commit(&type);
         MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
         if (const int code = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)) return code;
         const int code = MPI_Accumulate(here, 1, type, 0, 0, 1, type, MPI_MAXLOC, win);
         EXPECT_EQ(MPI_Win_unlock(0, win), MPI_SUCCESS);
         return code;
       },
       [] {
         MPI_Win_free(&win);
         free_type();
       }},
      {"Comm_revoke of a copy of MPI_COMM_SELF",
       [] {
         if (other == MPI_COMM_NULL)
           if (const int code = MPI_Comm_dup(MPI_COMM_SELF, &other)) return code;
         return MPIX_Comm_revoke(other);
       },
       [] {
         int revoked = 0;
         EXPECT_EQ(MPIX_Comm_is_revoked(other, &revoked), MPI_SUCCESS);
         EXPECT_EQ(revoked, 1);
         free_comm();
       }},
      {"Comm_is_revoked",
       [] {
         int revoked;
         return MPIX_Comm_is_revoked(comm, &revoked);
       }},
      {"Comm_failure_ack", [] { return MPIX_Comm_failure_ack(comm); }},
      {"Comm_failure_get_acked", [] { return MPIX_Comm_failure_get_acked(comm, &group); }},
      {"Comm_get_failed", [] { return MPIX_Comm_get_failed(comm, &group); }},
      {"Comm_ack_failed",
       [] {
         int acked;
         return MPIX_Comm_ack_failed(comm, 1, &acked);
       }},
      {"Comm_goal_group of a copy of MPI_COMM_SELF",
       [] {
         if (other == MPI_COMM_NULL)
           if (const int code = MPI_Comm_dup(MPI_COMM_SELF, &other)) return code;
         GOAL_Group goal;
         unsigned context;
         return MPIX_Comm_goal_group(other, &goal, &context);
       },
       free_comm},
  };
}

std::vector<Row> together() {
  return {
      {"Comm_dup", [] { return MPI_Comm_dup(comm, &other); }, free_comm},
      {"Comm_split", [] { return MPI_Comm_split(comm, 0, -rank(), &other); }, free_comm},
      {"Comm_idup",
       [] {
         const int code = MPI_Comm_idup(comm, &other, &request);
         if (code == MPI_SUCCESS) wait();
         return code;
       },
       free_comm},
      {"Cart_create",
       [] {
         const int dims[] = {ranks()}, periods[] = {1};
         return MPI_Cart_create(comm, 1, dims, periods, 0, &other);
       },
       free_comm},
      {"Dist_graph_create_adjacent",
       [] {
         const int from = left(), to = right();
         return MPI_Dist_graph_create_adjacent(comm, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &other);
       },
       free_comm},
      {"the first collectives of a communicator",
       [] {
         if (ended == 0 && other == MPI_COMM_NULL)
           if (const int code = MPI_Comm_dup(comm, &other)) return code;
         while (ended < 12) {  // as many as make it share memory on a node
           const int code = ended % 3 == 0   ? MPI_Bcast(in, 4096, MPI_INT, 0, other)
                            : ended % 3 == 1 ? MPI_Barrier(other)
                                             : MPI_Iallreduce(in, out, 100, MPI_INT, MPI_SUM, other, &request);
           if (code != MPI_SUCCESS) return code;
           if (ended++ % 3 == 2) wait();
         }
         return MPI_SUCCESS;
       },
       [] {
         ended = 0;
         free_comm();
       }},
      {"Barrier", [] { return MPI_Barrier(comm); }},
      {"Bcast", [] { return MPI_Bcast(in, 4096, MPI_INT, 0, comm); }},
      {"Bcast of a vector",
       [] {
         if (const int code = MPI_Type_vector(1000, 1, 2, MPI_INT, &type)) return code;
         int code = MPI_Type_commit(&type);
         if (code == MPI_SUCCESS) code = MPI_Bcast(in, 1, type, 0, comm);
         free_type();
         return code;
       }},
      {"Ibcast",
       [] {
         const int code = MPI_Ibcast(in, 4096, MPI_INT, 0, comm, &request);
         if (code == MPI_SUCCESS) wait();
         return code;
       }},
      {"Bcast_init",
       [] {
         const int code = MPI_Bcast_init(in, 4096, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
         if (code != MPI_SUCCESS) return code;
         EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
         wait();
         return code;
       },
       free_request},
      {"Reduce", [] { return MPI_Reduce(in, out, 2048, MPI_INT, MPI_SUM, 0, comm); }},
      {"Allreduce", [] { return MPI_Allreduce(in, out, 2048, MPI_INT, MPI_SUM, comm); }},
      {"Gather", [] { return MPI_Gather(in, 100, MPI_INT, out, 100, MPI_INT, 0, comm); }},
      {"Alltoall", [] { return MPI_Alltoall(in, 100, MPI_INT, out, 100, MPI_INT, comm); }},
      {"Scan", [] { return MPI_Scan(in, out, 1000, MPI_INT, MPI_SUM, comm); }},
      {"Win_create", [] { return MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, comm, &win); }, [] { MPI_Win_free(&win); }},
      {"Win_allocate",
       [] {
         void* base;
         return MPI_Win_allocate(1000, 1, MPI_INFO_NULL, comm, &base, &win);
       },
       [] { MPI_Win_free(&win); }},
      {"Comm_agree of a copy",
       [] {
         if (other == MPI_COMM_NULL)
           if (const int code = MPI_Comm_dup(comm, &other)) return code;
         int flag = 3;
         return MPIX_Comm_agree(other, &flag);
       },
       free_comm},
      {"Comm_agree",
       [] {
         int flag = rank() == 0 ? 3 : 6;
         const int code = MPIX_Comm_agree(comm, &flag);
         if (code == MPI_SUCCESS) {
           EXPECT_EQ(flag, 2);
         }
         return code;
       }},
      {"Comm_iagree",
       [] {
         static int flag;
         flag = 5;
         const int code = MPIX_Comm_iagree(comm, &flag, &request);
         if (code == MPI_SUCCESS) wait();
         return code;
       }},
      {"Comm_shrink", [] { return MPIX_Comm_shrink(comm, &other); }, free_comm},
      {"Comm_ishrink",
       [] {
         const int code = MPIX_Comm_ishrink(comm, &other, &request);
         return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
       },
       free_comm},
      {"Send and Recv",
       [] { return rank() == 0 ? MPI_Send(in, 4096, MPI_INT, 1, 1, comm) : MPI_Recv(out, 4096, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE); }},
      {"Recv and Send",
       [] { return rank() == 0 ? MPI_Recv(out, 4096, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE) : MPI_Send(in, 4096, MPI_INT, 0, 1, comm); }},
  };
}

// Rank 0: with the allocation after `n` others refused. True: the call needed no more than these.
bool attempt(const Row& row, int n) {
  before = n;
  reached = refused = false;
  armed = true;
  int code = row.call();
  armed = false;
  if (code != MPI_SUCCESS) {
    EXPECT_TRUE(refused) << row.name;
    EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM) << row.name << ", allocation " << n;
    EXPECT_EQ(row.call(), MPI_SUCCESS) << row.name << ", after allocation " << n;
  }
  row.undo();
  return !reached;
}

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  }
  void TearDown() override { MPI_Comm_free(&comm); }
  ReturnErrors errors_;
};

TEST_F(Memory, OfCallsThatOneRankMakesIsAnErrorClass) {
  if (rank() == 0)
    for (const Row& row : alone()) {
      for (int n = 0; !attempt(row, n);) ++n;
    }
  barrier();
}

// The places of more datatypes than rank 0 has ever had at a time: all there have been, and some more.
std::set<MPI_Datatype> places() {
  MPI_Datatype types[64];
  for (MPI_Datatype& each : types) MPI_Type_contiguous(3, MPI_INT, &each);
  const std::set<MPI_Datatype> all(std::begin(types), std::end(types));
  for (MPI_Datatype& each : types) MPI_Type_free(&each);
  return all;
}

TEST_F(Memory, IsNotTakenByDatatypesThatWereNeverMade) {
  if (rank() == 0)
    for (const Row& row : alone()) {
      if (!std::string_view(row.name).starts_with("Type_")) continue;
      const std::set<MPI_Datatype> before_it = places();
      for (int n = 0; !attempt(row, n);) ++n;
      EXPECT_EQ(places(), before_it) << row.name;
    }
  barrier();
}

TEST_F(Memory, OfCallsThatAllRanksMakeIsAnErrorClassAndTheOthersGoOn) {
  for (const Row& row : together())
    for (int n = 0, last = 0; last == 0; ++n) {
      if (rank() == 0) {
        last = attempt(row, n);
      } else {
        int code = row.call();
        if (class_of(code) == MPI_ERR_NO_MEM) code = row.call();  // it was told
        EXPECT_EQ(code, MPI_SUCCESS) << row.name;
        row.undo();
      }
      MPI_Bcast(&last, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

}  // namespace
}  // namespace memory_test
