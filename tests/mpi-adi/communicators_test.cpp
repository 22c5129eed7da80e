// Groups, communicators, intercommunicators, their attributes, infos and error handlers. Source: MPI-5.0, 7, 9.3, 10.
#include <algorithm>
#include <numeric>
#include <string>

#include "ranks.hpp"

namespace communicators_test {
namespace {

// Everybody tells everybody: the messages of this communicator arrive, and only there.
void expect_to_work(MPI_Comm comm) {
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  for (int distance = 0; distance < size; ++distance) {
    const int to = (me + distance) % size, from = (me + size - distance) % size, sent = me * 1000 + distance;
    int got = -1;
    MPI_Status status;
    MPI_Sendrecv(&sent, 1, MPI_INT, to, 9, &got, 1, MPI_INT, from, 9, comm, &status);
    EXPECT_EQ(got, from * 1000 + distance);
    EXPECT_EQ(status.MPI_SOURCE, from);
  }
}

int rank_in(MPI_Comm comm) {
  int value;
  MPI_Comm_rank(comm, &value);
  return value;
}
int ranks_of(MPI_Comm comm) {
  int value;
  MPI_Comm_size(comm, &value);
  return value;
}
int comparison(MPI_Comm one, MPI_Comm other) {
  int result;
  MPI_Comm_compare(one, other, &result);
  return result;
}
int comparison(MPI_Group one, MPI_Group other) {
  int result;
  MPI_Group_compare(one, other, &result);
  return result;
}
std::vector<int> world_ranks(MPI_Group group) {
  int size;
  MPI_Group all;
  MPI_Group_size(group, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  std::vector<int> own(static_cast<size_t>(size)), result(own.size());
  std::iota(own.begin(), own.end(), 0);
  MPI_Group_translate_ranks(group, size, own.data(), all, result.data());
  MPI_Group_free(&all);
  return result;
}

TEST(Groups, AreBuiltByRanksAndRanges) {
  MPI_Group all, some, others;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  std::vector<int> even, odd, down;
  for (int i = 0; i < ranks(); ++i) (i % 2 ? odd : even).push_back(i);
  MPI_Group_incl(all, static_cast<int>(even.size()), even.data(), &some);
  EXPECT_EQ(world_ranks(some), even);
  int mine;
  MPI_Group_rank(some, &mine);
  EXPECT_EQ(mine, rank() % 2 ? MPI_UNDEFINED : rank() / 2);
  MPI_Group_excl(all, static_cast<int>(even.size()), even.data(), &others);
  EXPECT_EQ(world_ranks(others), odd);
  EXPECT_EQ(odd.empty(), others == MPI_GROUP_EMPTY);

  MPI_Group united, common, left_over, backwards;
  MPI_Group_union(some, others, &united);
  EXPECT_EQ(comparison(united, all), ranks() < 3 ? MPI_IDENT : MPI_SIMILAR);
  MPI_Group_intersection(all, some, &common);
  EXPECT_EQ(comparison(common, some), MPI_IDENT);
  MPI_Group_difference(all, some, &left_over);
  EXPECT_EQ(comparison(left_over, others), MPI_IDENT);
  int range[1][3] = {{ranks() - 1, 0, -1}};
  MPI_Group_range_incl(all, 1, range, &backwards);
  for (int i = ranks() - 1; i >= 0; --i) down.push_back(i);
  EXPECT_EQ(world_ranks(backwards), down);
  EXPECT_EQ(comparison(backwards, all), ranks() == 1 ? MPI_IDENT : MPI_SIMILAR);
  int none[1][3] = {{0, ranks() - 1, 1}};
  MPI_Group nobody;
  MPI_Group_range_excl(all, 1, none, &nobody);
  EXPECT_EQ(nobody, MPI_GROUP_EMPTY);
  EXPECT_EQ(comparison(nobody, all), MPI_UNEQUAL);
  for (MPI_Group* group : {&all, &some, &others, &united, &common, &left_over, &backwards, &nobody}) {
    EXPECT_EQ(MPI_Group_free(group), MPI_SUCCESS);
    EXPECT_EQ(*group, MPI_GROUP_NULL);
  }
}

TEST(Groups, RefuseRanksThatAreNotTheirs) {
  ReturnErrors guard;
  MPI_Group all, made;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const int beyond[1] = {ranks()}, twice[2] = {0, 0};
  int still[1][3] = {{0, 0, 0}}, size;
  EXPECT_EQ(MPI_Group_incl(all, 1, beyond, &made), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Group_excl(all, 2, twice, &made), MPI_ERR_RANK);
  EXPECT_EQ(MPI_Group_range_incl(all, 1, still, &made), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP);
  EXPECT_EQ(MPI_Group_size(reinterpret_cast<MPI_Group>(&size), &size), MPI_ERR_GROUP);
  MPI_Group_free(&all);
}

TEST(Communicators, DuplicatesAreCongruentAndKeepTheirMessagesApart) {
  MPI_Comm copy;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
  EXPECT_EQ(comparison(copy, MPI_COMM_WORLD), MPI_CONGRUENT);
  EXPECT_EQ(comparison(copy, copy), MPI_IDENT);
  const int in_world = 1, in_copy = 2;
  int first = 0, second = 0;
  MPI_Request requests[2];
  MPI_Irecv(&first, 1, MPI_INT, left(), 3, copy, &requests[0]);
  MPI_Irecv(&second, 1, MPI_INT, left(), 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&in_world, 1, MPI_INT, right(), 3, MPI_COMM_WORLD);
  MPI_Send(&in_copy, 1, MPI_INT, right(), 3, copy);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 1);
  expect_to_work(copy);
  EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
  EXPECT_EQ(copy, MPI_COMM_NULL);
}

TEST(Communicators, SplitsAreOrderedByKeyAndThenByRank) {
  MPI_Comm half, backwards, none;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, 0, &half);
  EXPECT_EQ(rank_in(half), rank() / 2);
  EXPECT_EQ(ranks_of(half), (ranks() + 1 - rank() % 2) / 2);
  expect_to_work(half);
  MPI_Comm_split(MPI_COMM_WORLD, 7, -rank(), &backwards);
  EXPECT_EQ(rank_in(backwards), ranks() - 1 - rank());
  EXPECT_EQ(comparison(backwards, MPI_COMM_WORLD), ranks() == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  expect_to_work(backwards);
  MPI_Comm_split(half, rank() < 2 ? 0 : MPI_UNDEFINED, 0, &none);
  EXPECT_EQ(none == MPI_COMM_NULL, rank() >= 2);
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
  MPI_Comm_free(&half);
  MPI_Comm_free(&backwards);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  expect_to_work(node);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
  MPI_Comm guided, unguided;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &guided);
  EXPECT_EQ(comparison(guided, node), MPI_CONGRUENT);
  MPI_Comm_free(&guided);
  MPI_Info_set(info, "mpi_hw_resource_type", "some_unknown_part");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &guided);
  EXPECT_EQ(guided, MPI_COMM_NULL);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &unguided);
  EXPECT_EQ(unguided == MPI_COMM_NULL, ranks_of(node) == ranks());
  if (unguided != MPI_COMM_NULL) MPI_Comm_free(&unguided);
  MPI_Info_free(&info);
  MPI_Comm_free(&node);
}

TEST(Communicators, OfGroupsAreMadeByAllOrByTheirMembersAlone) {
  MPI_Group all, upper;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int range[1][3] = {{ranks() - 1, ranks() / 2, -1}};
  MPI_Group_range_incl(all, 1, range, &upper);
  MPI_Comm by_all, by_members;
  MPI_Comm_create(MPI_COMM_WORLD, upper, &by_all);
  EXPECT_EQ(by_all == MPI_COMM_NULL, rank() < ranks() / 2);
  if (rank() >= ranks() / 2) {
    MPI_Comm_create_group(MPI_COMM_WORLD, upper, 5, &by_members);
    EXPECT_EQ(rank_in(by_all), ranks() - 1 - rank());
    EXPECT_EQ(comparison(by_all, by_members), MPI_CONGRUENT);
    expect_to_work(by_members);
    expect_to_work(by_all);
    MPI_Comm_free(&by_members);
    MPI_Comm_free(&by_all);
  }
  MPI_Group_free(&upper);
  MPI_Group_free(&all);
}

TEST(Communicators, ManyAreMadeAndFreedInDisjointGroupsAtOnce) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, 0, &half);
  std::vector<MPI_Comm> copies;
  for (int i = 0; i < 40 + 20 * (rank() % 2); ++i) {  // the halves get out of step
    MPI_Comm copy;
    ASSERT_EQ(MPI_Comm_dup(half, &copy), MPI_SUCCESS);
    if (i % 3 == 0) MPI_Comm_free(&copy);
    else copies.push_back(copy);
  }
  MPI_Comm across;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &across), MPI_SUCCESS);
  expect_to_work(across);
  for (MPI_Comm& copy : copies) {
    expect_to_work(copy);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_free(&across);
  MPI_Comm_free(&half);
}

TEST(Communicators, AreDuplicatedWithoutWaitingForOthers) {
  MPI_Comm copies[3];
  MPI_Request requests[3];
  // No rank can complete these before its neighbour has begun, which it does after a message.
  for (int i = 0; i < 3; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
  const int mine = rank();
  int got = -1;
  MPI_Sendrecv(&mine, 1, MPI_INT, right(), 6, &got, 1, MPI_INT, left(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT_EQ(got, left());
  ASSERT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  for (MPI_Comm& copy : copies) {
    EXPECT_EQ(comparison(copy, MPI_COMM_WORLD), MPI_CONGRUENT);
    expect_to_work(copy);
    MPI_Comm_free(&copy);
  }
}

// One rank waits for the duplicate while the others are in a call that waits for that rank: they take their steps all the same.
TEST(Communicators, AreDuplicatedWhileOthersWaitInOtherCalls) {
  const int me = rank(), before = left();
  for (int way = 0; way < 2; ++way) {
    MPI_Comm copy;
    MPI_Request request;
    ASSERT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request), MPI_SUCCESS);
    if (me == 0) {
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    if (way == 0) {
      ASSERT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      if (me != 0) {
        ASSERT_EQ(MPI_Probe(before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      MPI_Request sent;
      ASSERT_EQ(MPI_Isend(nullptr, 0, MPI_INT, right(), 5, MPI_COMM_WORLD, &sent), MPI_SUCCESS);
      ASSERT_EQ(MPI_Recv(nullptr, 0, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    if (me != 0) {
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
  }
}

TEST(Communicators, MayBeFreedWhileTheirMessagesAreUnderWay) {
  const Bytes mine = message(rank(), 1, 100'000), theirs = message(left(), 1, 100'000);
  Bytes room = room_for(theirs);
  MPI_Comm copy, next;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Request requests[2];
  MPI_Irecv(room.data(), 100'000, MPI_BYTE, left(), 0, copy, &requests[0]);
  MPI_Isend(mine.data(), 100'000, MPI_BYTE, right(), 0, copy, &requests[1]);
  MPI_Comm_free(&copy);
  MPI_Comm_dup(MPI_COMM_WORLD, &next);
  expect_to_work(next);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(room, theirs);
  MPI_Comm_free(&next);
}

TEST(Communicators, HaveNamesInfosAndErrorHandlersOfTheirOwn) {
  char name[MPI_MAX_OBJECT_NAME];
  int length, flag;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  EXPECT_STREQ(name, "MPI_COMM_WORLD");
  MPI_Info info, used;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Comm copy;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy);
  MPI_Comm_get_name(copy, name, &length);
  EXPECT_EQ(length, 0);
  MPI_Comm_set_name(copy, "twin");
  MPI_Comm_get_name(copy, name, &length);
  EXPECT_EQ(std::string(name), "twin");
  MPI_Comm_get_info(copy, &used);
  char value[8];
  MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &flag);
  EXPECT_TRUE(flag);
  EXPECT_STREQ(value, "true");
  MPI_Info_free(&used);
  MPI_Info_free(&info);

  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  int unused = 0;
  EXPECT_EQ(MPI_Send(&unused, 1, MPI_INT, 99, 0, copy), MPI_ERR_RANK);
  MPI_Comm inherits;
  MPI_Comm_dup(copy, &inherits);
  EXPECT_EQ(MPI_Send(&unused, 1, MPI_INT, 99, 0, inherits), MPI_ERR_RANK);
  MPI_Comm_free(&inherits);
  MPI_Comm_free(&copy);
}

int handled_code;
MPI_Comm handled_comm;
void remember(MPI_Comm* comm, int* code, ...) {
  handled_comm = *comm;
  handled_code = *code;
}

TEST(Communicators, CallTheUsersErrorHandler) {
  MPI_Errhandler handler, set;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_SELF, &copy);
  MPI_Comm_create_errhandler(remember, &handler);
  MPI_Comm_set_errhandler(copy, handler);
  MPI_Comm_get_errhandler(copy, &set);
  EXPECT_EQ(set, handler);
  MPI_Errhandler_free(&set);
  MPI_Errhandler_free(&handler);
  EXPECT_EQ(handler, MPI_ERRHANDLER_NULL);
  int unused = 0;
  EXPECT_EQ(MPI_Send(&unused, -1, MPI_INT, 0, 0, copy), MPI_ERR_COUNT);
  EXPECT_EQ(handled_comm, copy);
  EXPECT_EQ(handled_code, MPI_ERR_COUNT);
  MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
  EXPECT_EQ(handled_code, MPI_ERR_OTHER);
  MPI_Comm_free(&copy);
}

int copies, deletions;
int copy_number(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  ++copies;
  *static_cast<void**>(out) = static_cast<char*>(in) + *static_cast<int*>(extra);
  *flag = 1;
  return MPI_SUCCESS;
}
int count_deletion(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

TEST(Attributes, AreCopiedAndDeletedAsTheirKeySays) {
  char memory[4];
  int step = 2, counted, shared, alone, flag;
  MPI_Comm_create_keyval(copy_number, count_deletion, &counted, &step);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &shared, nullptr);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &alone, nullptr);
  MPI_Comm first, second;
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  for (int key : {counted, shared, alone}) MPI_Comm_set_attr(first, key, memory);
  MPI_Comm_dup(first, &second);
  EXPECT_EQ(copies, 1);
  char* value = nullptr;
  MPI_Comm_get_attr(second, counted, static_cast<void*>(&value), &flag);
  EXPECT_TRUE(flag);
  EXPECT_EQ(value, memory + 2);
  MPI_Comm_get_attr(second, shared, static_cast<void*>(&value), &flag);
  EXPECT_TRUE(flag);
  EXPECT_EQ(value, memory);
  MPI_Comm_get_attr(second, alone, static_cast<void*>(&value), &flag);
  EXPECT_FALSE(flag);
  MPI_Comm_set_attr(first, counted, memory + 1);
  EXPECT_EQ(deletions, 1);
  MPI_Comm_delete_attr(first, counted);
  EXPECT_EQ(deletions, 2);
  const int lasting = counted;
  for (int* key : {&counted, &shared, &alone}) MPI_Comm_free_keyval(key);
  EXPECT_EQ(counted, MPI_KEYVAL_INVALID);
  MPI_Comm_free(&first);
  MPI_Comm_set_attr(second, lasting, memory);  // a key lives on with its last attribute, which goes, and has its functions still
  EXPECT_EQ(deletions, 3);
  MPI_Comm_free(&second);
  EXPECT_EQ(deletions, 4);
}

TEST(Infos, KeepKeysInTheOrderOfSetting) {
  MPI_Info info, copy;
  MPI_Info_create(&info);
  MPI_Info_set(info, "b", "1");
  MPI_Info_set(info, "a", "two");
  MPI_Info_set(info, "b", "three");
  int count, flag, length = 3;
  char key[MPI_MAX_INFO_KEY], value[8];
  MPI_Info_get_nkeys(info, &count);
  EXPECT_EQ(count, 2);
  MPI_Info_get_nthkey(info, 0, key);
  EXPECT_STREQ(key, "b");
  MPI_Info_dup(info, &copy);
  EXPECT_EQ(MPI_Info_delete(info, "b"), MPI_SUCCESS);
  MPI_Info_get_string(copy, "b", &length, value, &flag);
  EXPECT_TRUE(flag);
  EXPECT_EQ(length, 6);
  EXPECT_STREQ(value, "th");
  MPI_Info_get_valuelen(info, "b", &length, &flag);
  EXPECT_FALSE(flag);
  MPI_Info_free(&info);
  MPI_Info_free(&copy);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Info_set(MPI_INFO_ENV, "a", "b"), MPI_ERR_INFO);
  EXPECT_EQ(MPI_Info_free(&info), MPI_ERR_INFO);
}

TEST(ErrorCodes, OfUsersHaveClassesAndStrings) {
  int error_class, code, found, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "the cheese is old");
  EXPECT_GT(error_class, MPI_ERR_LASTCODE);
  MPI_Error_class(code, &found);
  EXPECT_EQ(found, error_class);
  MPI_Error_string(code, text, &length);
  EXPECT_STREQ(text, "the cheese is old");
  int *last, flag;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, static_cast<void*>(&last), &flag);
  EXPECT_EQ(*last, code);
  ReturnErrors guard;
  EXPECT_EQ(MPI_Remove_error_class(code), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_EQ(MPI_Error_class(code, &found), MPI_ERR_ARG);
}

// The lower half and the upper half of the ranks, led by their last ones.
MPI_Comm make_intercomm() {
  const int half = ranks() / 2;
  const bool upper = rank() >= half;
  MPI_Comm side, both;
  MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &side);
  EXPECT_EQ(MPI_Intercomm_create(side, ranks_of(side) - 1, MPI_COMM_WORLD, upper ? half - 1 : ranks() - 1, 11, &both), MPI_SUCCESS);
  MPI_Comm_free(&side);
  return both;
}

TEST(Intercommunicators, ConnectTwoGroups) {
  if (ranks() < 2) return;
  const int half = ranks() / 2;
  const bool upper = rank() >= half;
  MPI_Comm both = make_intercomm(), copy, merged, part;
  int flag, remote;
  MPI_Comm_test_inter(both, &flag);
  EXPECT_TRUE(flag);
  MPI_Comm_remote_size(both, &remote);
  EXPECT_EQ(remote, upper ? half : ranks() - half);
  EXPECT_EQ(ranks_of(both), upper ? ranks() - half : half);
  MPI_Group far;
  MPI_Comm_remote_group(both, &far);
  EXPECT_EQ(world_ranks(far)[0], upper ? 0 : half);
  MPI_Group_free(&far);

  MPI_Comm_dup(both, &copy);
  EXPECT_EQ(comparison(copy, both), MPI_CONGRUENT);
  for (MPI_Comm comm : {both, copy}) {  // the first ranks of the sides swap their ranks in the world
    if (rank_in(comm) != 0) continue;
    const int mine = rank();
    int theirs = -1;
    MPI_Status status;
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &theirs, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status);
    EXPECT_EQ(theirs, upper ? 0 : half);
    EXPECT_EQ(status.MPI_SOURCE, 0);
  }
  MPI_Intercomm_merge(copy, !upper, &merged);
  EXPECT_EQ(rank_in(merged), upper ? rank() - half : rank() + ranks() - half);
  expect_to_work(merged);
  MPI_Comm_split(both, rank_in(both), 0, &part);  // pairs; the last one of the larger side has no partner
  if (part != MPI_COMM_NULL) {
    MPI_Comm_remote_size(part, &remote);
    EXPECT_EQ(remote, 1);
    MPI_Comm_free(&part);
  } else {
    EXPECT_EQ(rank(), ranks() - 1);
  }
  for (MPI_Comm* comm : {&both, &copy, &merged}) MPI_Comm_free(comm);
}

TEST(Communicators, RefuseWhatIsNone) {
  ReturnErrors guard;
  int value;
  MPI_Comm made;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  MPI_Comm freed = made;
  MPI_Comm_free(&made);
  EXPECT_EQ(MPI_Comm_size(freed, &value), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_free(&made), MPI_ERR_COMM);
  made = MPI_COMM_WORLD;
  EXPECT_EQ(MPI_Comm_free(&made), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &made), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Comm_remote_size(MPI_COMM_WORLD, &value), MPI_ERR_COMM);
  EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
}

}  // namespace
}  // namespace communicators_test
