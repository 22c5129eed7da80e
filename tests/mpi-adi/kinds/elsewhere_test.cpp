// Collective calls whose arguments are wrong at one rank alone: that one has its error, the others learn of it, and nobody waits for ever.
// Source: MPI-5.0, 7.4, 7.6.2, 8.5, 12.2.
#include "../ranks.hpp"

namespace elsewhere_test {
namespace {

// Each is called by all; `wrong`: this rank's arguments are. What was made is freed by the call.
struct Call {
  const char* name;
  int expected;  // the class at the rank whose arguments are wrong
  int (*run)(bool wrong);
};

int freed(int error, MPI_Comm comm) {
  if (error == MPI_SUCCESS && comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  return error;
}
int freed(int error, MPI_Win win) {
  if (error == MPI_SUCCESS) MPI_Win_free(&win);
  return error;
}
int create(bool wrong, MPI_Comm* made) {
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  const int error = MPI_Comm_create(MPI_COMM_WORLD, wrong ? MPI_GROUP_NULL : group, made);
  MPI_Group_free(&group);
  return error;
}

long memory[8];
const Call kCalls[] = {
    {"MPI_Comm_split", MPI_ERR_ARG,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int error = MPI_Comm_split(MPI_COMM_WORLD, wrong ? -5 : 1, 0, &made);
       return freed(error, made);
     }},
    {"MPI_Comm_split_type", MPI_ERR_ARG,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int error = MPI_Comm_split_type(MPI_COMM_WORLD, wrong ? -77 : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
       return freed(error, made);
     }},
    {"MPI_Comm_create", MPI_ERR_GROUP,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int error = create(wrong, &made);
       return freed(error, made);
     }},
    {"MPI_Cart_create", MPI_ERR_DIMS,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int dims[1] = {wrong ? -1 : 1}, periods[1] = {0};
       const int error = MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made);
       return freed(error, made);
     }},
    {"MPI_Dist_graph_create_adjacent", MPI_ERR_RANK,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int peers[1] = {wrong ? 1000 : 0};
       const int error =
           MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, peers, MPI_UNWEIGHTED, 0, peers, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
       return freed(error, made);
     }},
    {"MPI_Dist_graph_create", MPI_ERR_RANK,
     [](bool wrong) {
       MPI_Comm made = MPI_COMM_NULL;
       const int source[1] = {rank()}, degree[1] = {1}, target[1] = {wrong ? 1000 : 0};
       const int error = MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
       return freed(error, made);
     }},
    {"MPI_Win_create, size", MPI_ERR_SIZE,
     [](bool wrong) {
       MPI_Win made;
       const int error = MPI_Win_create(memory, wrong ? -8 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
       return freed(error, made);
     }},
    {"MPI_Win_create, unit", MPI_ERR_DISP,
     [](bool wrong) {
       MPI_Win made;
       const int error = MPI_Win_create(memory, 8, wrong ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
       return freed(error, made);
     }},
    {"MPI_Win_create, address", MPI_ERR_BASE,
     [](bool wrong) {
       MPI_Win made;
       const int error = MPI_Win_create(wrong ? nullptr : memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
       return freed(error, made);
     }},
    {"MPI_Win_allocate", MPI_ERR_SIZE,
     [](bool wrong) {
       MPI_Win made;
       void* base;
       const int error = MPI_Win_allocate(wrong ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
       return freed(error, made);
     }},
    {"MPI_Win_allocate_shared", MPI_ERR_SIZE,
     [](bool wrong) {
       MPI_Win made;
       void* base;
       const int error = MPI_Win_allocate_shared(wrong ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
       return freed(error, made);
     }},
    {"MPIX_Win_create_notify", MPI_ERR_COUNT,
     [](bool wrong) {
       MPI_Win made;
       MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
       MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
       const int error = MPIX_Win_create_notify(made, wrong ? -1 : 3);
       freed(MPI_SUCCESS, made);
       return error;
     }},
};

TEST(Elsewhere, FaultsOfOneRankAreToldToAll) {
  ReturnErrors guard;
  for (const Call& call : kCalls)
    for (const int which : {0, ranks() - 1}) {
      SCOPED_TRACE(testing::Message() << call.name << ", wrong at rank " << which);
      const int error = call.run(rank() == which);
      EXPECT_EQ(class_of(error), rank() == which ? call.expected : MPI_ERR_ARG);
      EXPECT_EQ(call.run(false), MPI_SUCCESS);  // and all goes on
    }
}

TEST(Elsewhere, FaultsThatTheLeaderAloneSeesAreToldToItsSide) {
  if (ranks() < 2) return;
  ReturnErrors guard;
  for (const int leader : {0, 1}) {
    const bool leads = rank() == leader;
    MPI_Comm made = MPI_COMM_WORLD;
    EXPECT_EQ(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, leader, MPI_COMM_NULL, 0, 7, &made)), MPI_ERR_COMM);
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_EQ(class_of(MPI_Intercomm_create(MPI_COMM_WORLD, leader, MPI_COMM_WORLD, 1000, 7, &made)), MPI_ERR_RANK);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    made = MPI_COMM_WORLD;
    EXPECT_EQ(class_of(MPI_Intercomm_create_from_groups(all, leader, leads ? MPI_GROUP_NULL : all, 0, "elsewhere", MPI_INFO_NULL,
                                                        MPI_ERRORS_RETURN, &made)),
              MPI_ERR_GROUP);
    EXPECT_EQ(class_of(MPI_Intercomm_create_from_groups(all, leader, all, leads ? 1000 : 0, "elsewhere", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                                        &made)),
              MPI_ERR_RANK);
    // Nobody is on the other side, or on this one.
    made = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Intercomm_create_from_groups(all, leader, leads ? MPI_GROUP_EMPTY : all, 0, "elsewhere", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                               &made),
              MPI_SUCCESS);
    EXPECT_EQ(made, MPI_COMM_NULL);
    MPI_Group_free(&all);
  }
  MPI_Comm made = MPI_COMM_WORLD;
  if (rank() == 0) {
    EXPECT_EQ(
        MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, MPI_GROUP_EMPTY, 0, "elsewhere", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
        MPI_SUCCESS);
    EXPECT_EQ(made, MPI_COMM_NULL);
  }
  barrier();
}

}  // namespace
}  // namespace elsewhere_test
