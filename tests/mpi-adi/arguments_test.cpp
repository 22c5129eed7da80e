// Wrong arguments: the error class of each, and that all goes on. Source: MPI-5.0, 9.4 and each call's chapter.
#include "arguments.hpp"

namespace arguments_test {
namespace {
using namespace args;

const Wrong kMessages[] = {
    WRONG(COMM, MPI_Send(buffer, 1, I, 0, 0, MPI_COMM_NULL)),
    WRONG(COMM, MPI_Send(buffer, 1, I, 0, 0, no_comm)),
    WRONG(RANK, MPI_Send(buffer, 1, I, -5, 0, W)),
    WRONG(RANK, MPI_Send(buffer, 1, I, ranks(), 0, W)),
    WRONG(TAG, MPI_Send(buffer, 1, I, 0, -1, W)),
    WRONG(TAG, MPI_Send(buffer, 1, I, 0, MPI_ANY_TAG, W)),
    WRONG(COUNT, MPI_Send(buffer, -1, I, 0, 0, W)),
    WRONG(TYPE, MPI_Send(buffer, 1, MPI_DATATYPE_NULL, 0, 0, W)),
    WRONG(TYPE, MPI_Send(buffer, 1, no_type, 0, 0, W)),
    WRONG(TYPE, MPI_Send(buffer, 1, uncommitted, 0, 0, W)),
    WRONG(BUFFER, MPI_Send(nullptr, 1, I, 0, 0, W)),
    WRONG(COUNT, MPI_Send_c(buffer, -1, I, 0, 0, W)),
    WRONG(COUNT, MPI_Send_c(buffer, MPI_Count{1} << 60, I, 0, 0, W)),
    WRONG(RANK, MPI_Ssend(buffer, 1, I, ranks(), 0, W)),
    WRONG(TAG, MPI_Bsend(buffer, 1, I, 0, -1, W)),
    WRONG(COUNT, MPI_Rsend(buffer, -1, I, 0, 0, W)),
    WRONG(TYPE, MPI_Isend(buffer, 1, no_type, 0, 0, W, &request)),
    WRONG(ARG, MPI_Isend(buffer, 1, I, 0, 0, W, nullptr)),
    WRONG(COMM, MPI_Issend(buffer, 1, I, 0, 0, no_comm, &request)),
    WRONG(BUFFER, MPI_Ibsend(nullptr, 1, I, 0, 0, W, &request)),
    WRONG(RANK, MPI_Irsend(buffer, 1, I, -9, 0, W, &request)),
    WRONG(COMM, MPI_Recv(buffer, 1, I, 0, 0, MPI_COMM_NULL, &status)),
    WRONG(RANK, MPI_Recv(buffer, 1, I, ranks(), 0, W, &status)),
    WRONG(TAG, MPI_Recv(buffer, 1, I, 0, -7, W, &status)),
    WRONG(COUNT, MPI_Recv(buffer, -1, I, 0, 0, W, &status)),
    WRONG(TYPE, MPI_Recv(buffer, 1, uncommitted, 0, 0, W, &status)),
    WRONG(BUFFER, MPI_Recv(nullptr, 1, I, 0, 0, W, &status)),
    WRONG(ARG, MPI_Irecv(buffer, 1, I, 0, 0, W, nullptr)),
    WRONG(RANK, MPI_Irecv(buffer, 1, I, -2 - 2, 0, W, &request)),
    WRONG(RANK, MPI_Sendrecv(buffer, 1, I, ranks(), 0, other, 1, I, 0, 0, W, &status)),
    WRONG(TYPE, MPI_Sendrecv(buffer, 1, I, 0, 0, other, 1, no_type, 0, 0, W, &status)),
    WRONG(TAG, MPI_Sendrecv_replace(buffer, 1, I, 0, -1, 0, 0, W, &status)),
    WRONG(COUNT, MPI_Isendrecv(buffer, -1, I, 0, 0, other, 1, I, 0, 0, W, &request)),
    WRONG(RANK, MPI_Probe(ranks(), 0, W, &status)),
    WRONG(TAG, MPI_Iprobe(0, -9, W, &flag, &status)),
    WRONG(ARG, MPI_Iprobe(0, 0, W, nullptr, &status)),
    WRONG(COMM, MPI_Mprobe(0, 0, no_comm, &message_handle, &status)),
    WRONG(ARG, MPI_Improbe(0, 0, W, &flag, nullptr, &status)),
    WRONG(ARG, MPI_Mprobe(0, 0, W, nullptr, &status)),
    WRONG(REQUEST, MPI_Mrecv(buffer, 1, I, &(message_handle = MPI_MESSAGE_NULL), &status)),
    WRONG(REQUEST, MPI_Imrecv(buffer, 1, I, &(message_handle = reinterpret_cast<MPI_Message>(buffer)), &request)),
    WRONG(RANK, MPI_Send_init(buffer, 1, I, ranks(), 0, W, &request)),
    WRONG(TAG, MPI_Ssend_init(buffer, 1, I, 0, -1, W, &request)),
    WRONG(COUNT, MPI_Bsend_init(buffer, -1, I, 0, 0, W, &request)),
    WRONG(TYPE, MPI_Rsend_init(buffer, 1, no_type, 0, 0, W, &request)),
    WRONG(COMM, MPI_Recv_init(buffer, 1, I, 0, 0, no_comm, &request)),
    WRONG(RANK, MPI_Psend_init(buffer, 1, 1, I, ranks(), 0, W, MPI_INFO_NULL, &request)),
    WRONG(TAG, MPI_Precv_init(buffer, 1, 1, I, 0, -1, W, MPI_INFO_NULL, &request)),
    WRONG(REQUEST, MPI_Pready(0, no_request)),
    WRONG(REQUEST, MPI_Start(&bad_request)),
    WRONG(REQUEST, MPI_Startall(1, &bad_request)),
    WRONG(REQUEST, MPI_Wait(&bad_request, &status)),
    WRONG(ARG, MPI_Wait(nullptr, &status)),
    WRONG(REQUEST, MPI_Waitall(1, &bad_request, MPI_STATUSES_IGNORE)),
    WRONG(COUNT, MPI_Waitall(-1, requests, MPI_STATUSES_IGNORE)),
    WRONG(ARG, MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE)),
    WRONG(REQUEST, MPI_Waitany(1, &bad_request, &index_, &status)),
    WRONG(ARG, MPI_Waitany(1, &(request = MPI_REQUEST_NULL), nullptr, &status)),
    WRONG(REQUEST, MPI_Waitsome(1, &bad_request, &flag, ints, MPI_STATUSES_IGNORE)),
    WRONG(REQUEST, MPI_Test(&bad_request, &flag, &status)),
    WRONG(ARG, MPI_Test(&(request = MPI_REQUEST_NULL), nullptr, &status)),
    WRONG(REQUEST, MPI_Testall(1, &bad_request, &flag, MPI_STATUSES_IGNORE)),
    WRONG(REQUEST, MPI_Testany(1, &bad_request, &index_, &flag, &status)),
    WRONG(REQUEST, MPI_Testsome(1, &bad_request, &flag, ints, MPI_STATUSES_IGNORE)),
    WRONG(REQUEST, MPI_Request_free(&bad_request)),
    WRONG(REQUEST, MPI_Request_free(&(request = MPI_REQUEST_NULL))),
    WRONG(REQUEST, MPI_Request_get_status(no_request, &flag, &status)),
    WRONG(REQUEST, MPI_Cancel(&bad_request)),
    WRONG(REQUEST, MPI_Grequest_complete(no_request)),
    WRONG(ARG, MPI_Get_count(nullptr, I, ints)),
    WRONG(TYPE, MPI_Get_count(&status, no_type, ints)),
    WRONG(TYPE, MPI_Get_elements(&status, MPI_DATATYPE_NULL, ints)),
    WRONG(BUFFER, MPI_Buffer_attach(nullptr, 10)),
    WRONG(ARG, MPI_Buffer_attach(buffer, -1)),
    WRONG(ARG, MPI_Buffer_detach(nullptr, ints)),
    WRONG(COMM, MPI_Comm_attach_buffer(no_comm, buffer, 1)),
    WRONG(SESSION, MPI_Session_attach_buffer(MPI_SESSION_NULL, buffer, 1)),
};

const MPI_Datatype types_of_int[] = {I};

const Wrong kCollectives[] = {
    WRONG(COMM, MPI_Barrier(MPI_COMM_NULL)),
    WRONG(COMM, MPI_Ibarrier(no_comm, &request)),
    WRONG(ARG, MPI_Ibarrier(W, nullptr)),
    WRONG(COMM, MPI_Bcast(buffer, 1, I, 0, no_comm)),
    WRONG(ROOT, MPI_Bcast(buffer, 1, I, ranks(), W)),
    WRONG(ROOT, MPI_Bcast(buffer, 1, I, -1, W)),
    WRONG(COUNT, MPI_Bcast(buffer, -1, I, 0, W)),
    WRONG(TYPE, MPI_Bcast(buffer, 1, no_type, 0, W)),
    WRONG(TYPE, MPI_Bcast(buffer, 1, uncommitted, 0, W)),
    WRONG(BUFFER, MPI_Bcast(nullptr, 1, I, 0, W)),
    WRONG(BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, I, 0, W)),
    WRONG(ROOT, MPI_Ibcast(buffer, 1, I, ranks(), W, &request)),
    WRONG(COUNT, MPI_Bcast_init(buffer, -1, I, 0, W, MPI_INFO_NULL, &request)),
    WRONG(ROOT, MPI_Gather(buffer, 1, I, other, 1, I, -2, W)),
    WRONG(COUNT, MPI_Gather(buffer, -1, I, other, 1, I, 0, W)),
    WRONG(TYPE, MPI_Gather(buffer, 1, no_type, other, 1, I, 0, W)),
    WRONG(ROOT, MPI_Gatherv(buffer, 1, I, other, ints, ints, I, ranks(), W)),
    WRONG(ROOT, MPI_Scatter(buffer, 1, I, other, 1, I, ranks(), W)),
    WRONG(ROOT, MPI_Scatterv(buffer, ints, ints, I, other, 1, I, -1, W)),
    WRONG(COUNT, MPI_Allgather(buffer, 1, I, other, -1, I, W)),
    WRONG(TYPE, MPI_Allgather(buffer, 1, I, other, 1, no_type, W)),
    WRONG(BUFFER, MPI_Allgather(nullptr, 1, I, other, 1, I, W)),
    WRONG(ARG, MPI_Allgatherv(buffer, 1, I, other, nullptr, ints, I, W)),
    WRONG(COUNT, MPI_Alltoall(buffer, -1, I, other, 1, I, W)),
    WRONG(BUFFER, MPI_Alltoall(buffer, 1, I, MPI_IN_PLACE, 1, I, W)),
    WRONG(ARG, MPI_Alltoallv(buffer, ints, nullptr, I, other, ints, ints, I, W)),
    WRONG(ARG, MPI_Alltoallw(buffer, ints, ints, types, other, ints, ints, nullptr, W)),
    WRONG(OP, MPI_Reduce(buffer, other, 1, I, MPI_OP_NULL, 0, W)),
    WRONG(OP, MPI_Reduce(buffer, other, 1, I, no_op, 0, W)),
    WRONG(OP, MPI_Reduce(buffer, other, 1, MPI_DOUBLE, MPI_BAND, 0, W)),
    WRONG(ROOT, MPI_Reduce(buffer, other, 1, I, MPI_SUM, ranks(), W)),
    WRONG(OP, MPI_Allreduce(buffer, other, 1, I, MPI_REPLACE, W)),
    WRONG(TYPE, MPI_Allreduce(buffer, other, 1, MPI_DATATYPE_NULL, MPI_SUM, W)),
    WRONG(BUFFER, MPI_Allreduce(buffer, buffer, 1, I, MPI_SUM, W)),
    WRONG(BUFFER, MPI_Allreduce(buffer, buffer + 1, 2, I, MPI_SUM, W)),
    WRONG(BUFFER, MPI_Iallreduce(buffer + 1, buffer, 2, I, MPI_SUM, W, &request)),
    WRONG(BUFFER, MPI_Reduce(buffer, buffer + 1, 2, I, MPI_SUM, 0, S)),
    WRONG(BUFFER, MPI_Scan(buffer, buffer + 1, 2, I, MPI_SUM, W)),
    WRONG(BUFFER, MPI_Reduce_scatter_block(buffer, buffer, 1, I, MPI_SUM, W)),
    WRONG(BUFFER, MPI_Reduce_scatter(buffer, buffer, ones, I, MPI_SUM, S)),
    WRONG(BUFFER, MPI_Gather(buffer, 1, I, buffer, 1, I, 0, S)),
    WRONG(BUFFER, MPI_Gatherv(buffer + 1, 1, I, buffer, ones, ones, I, 0, S)),
    WRONG(BUFFER, MPI_Scatter(buffer, 1, I, buffer, 1, I, 0, S)),
    WRONG(BUFFER, MPI_Scatterv(buffer, ones, ones, I, buffer + 1, 1, I, 0, S)),
    WRONG(BUFFER, MPI_Allgather(buffer, 1, I, buffer, 1, I, W)),
    WRONG(BUFFER, MPI_Allgatherv(buffer, 1, I, buffer, ones, zeros, I, W)),
    WRONG(BUFFER, MPI_Alltoall(buffer, 2, I, buffer + 1, 2, I, W)),
    WRONG(BUFFER, MPI_Alltoallv(buffer, ones, zeros, I, buffer, ones, zeros, I, S)),
    WRONG(BUFFER, MPI_Alltoallw(buffer, ones, zeros, types_of_int, buffer, ones, zeros, types_of_int, S)),
    WRONG(SUCCESS, MPI_Allreduce(buffer, buffer + 2, 2, I, MPI_SUM, W)),
    WRONG(SUCCESS, MPI_Alltoallv(buffer, ones, ones, I, buffer, ones, zeros, I, S)),
    WRONG(COUNT, MPI_Iallreduce(buffer, other, -1, I, MPI_SUM, W, &request)),
    WRONG(OP, MPI_Allreduce_init(buffer, other, 1, I, no_op, W, MPI_INFO_NULL, &request)),
    WRONG(ARG, MPI_Reduce_scatter(buffer, other, nullptr, I, MPI_SUM, W)),
    WRONG(COUNT, MPI_Reduce_scatter_block(buffer, other, -1, I, MPI_SUM, W)),
    WRONG(OP, MPI_Scan(buffer, other, 1, I, MPI_OP_NULL, W)),
    WRONG(COMM, MPI_Exscan(buffer, other, 1, I, MPI_SUM, MPI_COMM_NULL)),
    WRONG(OP, MPI_Reduce_local(buffer, other, 1, I, no_op)),
    WRONG(COUNT, MPI_Reduce_local(buffer, other, -1, I, MPI_SUM)),
    WRONG(OP, MPI_Op_free(&(op = MPI_SUM))),
    WRONG(OP, MPI_Op_free(&(op = MPI_OP_NULL))),
    WRONG(OP, MPI_Op_commutative(no_op, &flag)),
    WRONG(ARG, MPI_Op_create(nullptr, 1, &op)),
    WRONG(TOPOLOGY, MPI_Neighbor_allgather(buffer, 1, I, other, 1, I, W)),
    WRONG(TOPOLOGY, MPI_Neighbor_alltoall(buffer, 1, I, other, 1, I, W)),
    WRONG(COMM, MPI_Barrier_init(no_comm, MPI_INFO_NULL, &request)),
    WRONG(ARG, MPI_Barrier_init(W, MPI_INFO_NULL, nullptr)),
    WRONG(INFO, MPI_Barrier_init(W, no_info, &request)),
    WRONG(ROOT, MPI_Gather_init(buffer, 1, I, other, 1, I, -2, W, MPI_INFO_NULL, &request)),
    WRONG(COUNT, MPI_Gatherv_init(buffer, -1, I, other, ints, ints, I, 0, W, MPI_INFO_NULL, &request)),
    WRONG(TYPE, MPI_Scatter_init(buffer, 1, I, other, 1, no_type, 0, W, MPI_INFO_NULL, &request)),
    WRONG(ROOT, MPI_Scatterv_init(buffer, ints, ints, I, other, 1, I, ranks(), W, MPI_INFO_NULL, &request)),
    WRONG(TYPE, MPI_Allgather_init(buffer, 1, uncommitted, other, 1, I, W, MPI_INFO_NULL, &request)),
    WRONG(ARG, MPI_Allgatherv_init(buffer, 1, I, other, ints, nullptr, I, W, MPI_INFO_NULL, &request)),
    WRONG(COUNT, MPI_Alltoall_init(buffer, 1, I, other, -1, I, W, MPI_INFO_NULL, &request)),
    WRONG(ARG, MPI_Alltoallv_init(buffer, nullptr, ints, I, other, ints, ints, I, W, MPI_INFO_NULL, &request)),
    WRONG(INFO, MPI_Alltoallw_init(buffer, ints, ints, types, other, ints, ints, types, W, no_info, &request)),
    WRONG(OP, MPI_Reduce_init(buffer, other, 1, I, no_op, 0, W, MPI_INFO_NULL, &request)),
    WRONG(ARG, MPI_Reduce_scatter_init(buffer, other, nullptr, I, MPI_SUM, W, MPI_INFO_NULL, &request)),
    WRONG(COUNT, MPI_Reduce_scatter_block_init(buffer, other, -1, I, MPI_SUM, W, MPI_INFO_NULL, &request)),
    WRONG(TYPE, MPI_Scan_init(buffer, other, 1, no_type, MPI_SUM, W, MPI_INFO_NULL, &request)),
    WRONG(OP, MPI_Exscan_init(buffer, other, 1, MPI_FLOAT, MPI_BOR, W, MPI_INFO_NULL, &request)),
    WRONG(TOPOLOGY, MPI_Ineighbor_alltoallw(buffer, ints, addresses, types, other, ints, addresses, types, W, &request)),
    WRONG(TOPOLOGY, MPI_Neighbor_alltoallv_init(buffer, ints, ints, I, other, ints, ints, I, W, MPI_INFO_NULL, &request)),
    WRONG(COMM, MPI_Neighbor_alltoallw(buffer, ints, addresses, types, other, ints, addresses, types, no_comm)),
};

const Wrong kCommunicators[] = {
    WRONG(COMM, MPI_Comm_rank(MPI_COMM_NULL, ints)),
    WRONG(ARG, MPI_Comm_rank(W, nullptr)),
    WRONG(COMM, MPI_Comm_size(no_comm, ints)),
    WRONG(ARG, MPI_Comm_size(W, nullptr)),
    WRONG(COMM, MPI_Comm_compare(W, no_comm, ints)),
    WRONG(COMM, MPI_Comm_group(no_comm, &group)),
    WRONG(ARG, MPI_Comm_group(W, nullptr)),
    WRONG(COMM, MPI_Comm_remote_size(W, ints)),
    WRONG(COMM, MPI_Comm_remote_group(W, &group)),
    WRONG(COMM, MPI_Comm_test_inter(MPI_COMM_NULL, &flag)),
    WRONG(COMM, MPI_Comm_dup(no_comm, &comm)),
    WRONG(ARG, MPI_Comm_dup(W, nullptr)),
    WRONG(INFO, MPI_Comm_dup_with_info(W, no_info, &comm)),
    WRONG(COMM, MPI_Comm_idup(MPI_COMM_NULL, &comm, &request)),
    WRONG(ARG, MPI_Comm_idup(W, &comm, nullptr)),
    WRONG(ARG, MPI_Comm_split(W, -5, 0, &comm)),
    WRONG(COMM, MPI_Comm_split(no_comm, 0, 0, &comm)),
    WRONG(ARG, MPI_Comm_split_type(W, 12345, 0, MPI_INFO_NULL, &comm)),
    WRONG(GROUP, MPI_Comm_create(W, MPI_GROUP_NULL, &comm)),
    WRONG(GROUP, MPI_Comm_create(W, no_group, &comm)),
    WRONG(GROUP, MPI_Comm_create_group(W, no_group, 0, &comm)),
    WRONG(GROUP, MPI_Comm_create_group(W, MPI_GROUP_NULL, 0, &comm)),
    WRONG(TAG, MPI_Comm_create_group(W, MPI_GROUP_EMPTY, -1, &comm)),
    WRONG(INFO, MPI_Comm_idup_with_info(W, no_info, &comm, &request)),
    WRONG(INFO, MPI_Comm_split_type(W, MPI_COMM_TYPE_SHARED, 0, no_info, &comm)),
    WRONG(COMM, MPI_Comm_free(&(comm = MPI_COMM_NULL))),
    WRONG(COMM, MPI_Comm_free(&(comm = W))),
    WRONG(ARG, MPI_Comm_free(nullptr)),
    WRONG(COMM, MPI_Comm_disconnect(&(comm = no_comm))),
    WRONG(COMM, MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, no_comm, &comm, ints)),
    WRONG(ARG, MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, W, nullptr, ints)),
    WRONG(ROOT, MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, ranks(), W, &comm, ints)),
    WRONG(ARG, MPI_Comm_spawn(nullptr, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, W, &comm, ints)),
    WRONG(INFO, MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, no_info, 0, W, &comm, ints)),
    WRONG(ARG, MPI_Comm_spawn_multiple(0, nullptr, MPI_ARGVS_NULL, ints, &info, 0, W, &comm, ints)),
    WRONG(ROOT, MPI_Comm_accept("x", MPI_INFO_NULL, ranks(), W, &comm)),
    WRONG(ARG, MPI_Comm_accept("x", MPI_INFO_NULL, 0, W, nullptr)),
    WRONG(ROOT, MPI_Comm_connect("x", MPI_INFO_NULL, -1, W, &comm)),
    WRONG(PORT, MPI_Comm_connect(nullptr, MPI_INFO_NULL, 0, S, &comm)),
    WRONG(INFO, MPI_Comm_accept("x", no_info, 0, W, &comm)),
    WRONG(INFO, MPI_Comm_connect("x", no_info, 0, W, &comm)),
    WRONG(INFO, MPI_Publish_name("a", no_info, "x")),
    WRONG(INFO, MPI_Unpublish_name("a", no_info, "x")),
    WRONG(INFO, MPI_Lookup_name("a", no_info, text)),
    WRONG(ARG, MPI_Comm_get_parent(nullptr)),
    WRONG(INFO, MPI_Open_port(no_info, text)),
    WRONG(ARG, MPI_Open_port(MPI_INFO_NULL, nullptr)),
    WRONG(PORT, MPI_Close_port("x")),
    WRONG(SERVICE, MPI_Publish_name(nullptr, MPI_INFO_NULL, "x")),
    WRONG(COMM, MPI_Comm_set_name(no_comm, "x")),
    WRONG(ARG, MPI_Comm_set_name(W, nullptr)),
    WRONG(ARG, MPI_Comm_get_name(W, text, nullptr)),
    WRONG(INFO, MPI_Comm_set_info(W, no_info)),
    WRONG(ARG, MPI_Comm_get_info(W, nullptr)),
    WRONG(COMM, MPI_Intercomm_create(MPI_COMM_SELF, 0, no_comm, 0, 0, &comm)),
    WRONG(RANK, MPI_Intercomm_create(W, ranks(), W, 0, 0, &comm)),
    WRONG(ARG, MPI_Intercomm_create(W, 0, W, 0, 0, nullptr)),
    WRONG(ARG, MPI_Intercomm_merge(W, 0, nullptr)),
    WRONG(COMM, MPI_Intercomm_merge(W, 0, &comm)),
    WRONG(GROUP, MPI_Group_size(MPI_GROUP_NULL, ints)),
    WRONG(GROUP, MPI_Group_rank(no_group, ints)),
    WRONG(ARG, MPI_Group_size(MPI_GROUP_EMPTY, nullptr)),
    WRONG(GROUP, MPI_Group_compare(MPI_GROUP_EMPTY, no_group, ints)),
    WRONG(GROUP, MPI_Group_union(no_group, MPI_GROUP_EMPTY, &group)),
    WRONG(GROUP, MPI_Group_intersection(MPI_GROUP_EMPTY, MPI_GROUP_NULL, &group)),
    WRONG(GROUP, MPI_Group_difference(no_group, no_group, &group)),
    WRONG(RANK, MPI_Group_incl(MPI_GROUP_EMPTY, 1, &(ints[0] = 0), &group)),
    WRONG(GROUP, MPI_Group_excl(no_group, 0, ints, &group)),
    WRONG(GROUP, MPI_Group_translate_ranks(no_group, 0, ints, MPI_GROUP_EMPTY, ints)),
    WRONG(GROUP, MPI_Group_free(&(group = MPI_GROUP_NULL))),
    WRONG(KEYVAL, MPI_Comm_set_attr(W, 99999, buffer)),
    WRONG(KEYVAL, MPI_Comm_get_attr(W, MPI_KEYVAL_INVALID, buffer, &flag)),
    WRONG(KEYVAL, MPI_Comm_delete_attr(W, 99999)),
    WRONG(KEYVAL, MPI_Comm_free_keyval(&(ints[0] = 99999))),
    WRONG(COMM, MPI_Comm_get_attr(no_comm, MPI_TAG_UB, buffer, &flag)),
    WRONG(ARG, MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, nullptr, nullptr)),
    WRONG(ERRHANDLER, MPI_Comm_set_errhandler(W, no_errhandler)),
    WRONG(COMM, MPI_Comm_get_errhandler(no_comm, &errhandler)),
    WRONG(ERRHANDLER, MPI_Errhandler_free(&(errhandler = MPI_ERRHANDLER_NULL))),
    WRONG(ARG, MPI_Comm_create_errhandler(nullptr, &errhandler)),
    WRONG(COMM, MPI_Comm_call_errhandler(MPI_COMM_NULL, MPI_ERR_ARG)),
    WRONG(ARG, MPI_Error_class(-1, ints)),
    WRONG(ARG, MPI_Error_string(1 << 30, text, ints)),
    WRONG(INFO, MPI_Info_set(MPI_INFO_NULL, "a", "b")),
    WRONG(INFO, MPI_Info_get_nkeys(no_info, ints)),
    WRONG(INFO, MPI_Info_dup(no_info, &info)),
    WRONG(INFO, MPI_Info_free(&(info = MPI_INFO_NULL))),
    WRONG(ARG, MPI_Info_create(nullptr)),
    WRONG(SESSION, MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, ints)),
    WRONG(GROUP, MPI_Comm_create_from_group(no_group, "x", MPI_INFO_NULL, noted, &comm)),
};

const Wrong kTopologies[] = {
    WRONG(COMM, MPI_Cart_create(no_comm, 1, &(ints[0] = 1), &flag, 0, &comm)),
    WRONG(ARG, MPI_Cart_create(W, 1, nullptr, &flag, 0, &comm)),
    WRONG(DIMS, MPI_Cart_create(W, 1, &(ints[0] = -1), &flag, 0, &comm)),
    WRONG(TOPOLOGY, MPI_Cart_coords(W, 0, 1, ints)),
    WRONG(TOPOLOGY, MPI_Cart_rank(W, ints, &flag)),
    WRONG(TOPOLOGY, MPI_Cart_shift(W, 0, 1, ints, &flag)),
    WRONG(TOPOLOGY, MPI_Cart_get(W, 1, ints, ints, ints)),
    WRONG(TOPOLOGY, MPI_Cart_sub(W, ints, &comm)),
    WRONG(TOPOLOGY, MPI_Cartdim_get(W, ints)),
    WRONG(COMM, MPI_Topo_test(no_comm, ints)),
    WRONG(DIMS, MPI_Dims_create(7, 1, &(ints[0] = 2))),
    WRONG(ARG, MPI_Graph_create(W, 1, nullptr, ints, 0, &comm)),
    WRONG(ARG, MPI_Graph_create(W, 1, ints, ints, 0, nullptr)),
    WRONG(INFO, MPI_Dist_graph_create(W, 0, ints, ints, ints, ints, no_info, 0, &comm)),
    WRONG(INFO, MPI_Dist_graph_create_adjacent(W, 0, ints, ints, 0, ints, ints, no_info, 0, &comm)),
    WRONG(RANK, MPI_Dist_graph_create_adjacent(W, 1, &(ints[0] = -7), ints, 0, ints, ints, MPI_INFO_NULL, 0, &comm)),
    WRONG(TOPOLOGY, MPI_Dist_graph_neighbors(W, 1, ints, ints, 1, ints, ints)),
    WRONG(TOPOLOGY, MPI_Graph_get(W, 1, 1, ints, ints)),
    WRONG(TOPOLOGY, MPI_Graph_neighbors(W, 0, 1, ints)),
    WRONG(DIMS, MPI_Cart_map(W, 1, &(ints[0] = -1), ints, &flag)),
    WRONG(TOPOLOGY, MPI_Graphdims_get(W, ints, &flag)),
    WRONG(TOPOLOGY, MPI_Graph_neighbors_count(W, 0, ints)),
    WRONG(TOPOLOGY, MPI_Dist_graph_neighbors_count(W, ints, &index_, &flag)),
};

const Wrong kDatatypes[] = {
    WRONG(TYPE, MPI_Type_contiguous(1, no_type, &type)),
    WRONG(COUNT, MPI_Type_contiguous(-1, I, &type)),
    WRONG(ARG, MPI_Type_contiguous(1, I, nullptr)),
    WRONG(COUNT, MPI_Type_vector(-1, 1, 1, I, &type)),
    WRONG(TYPE, MPI_Type_create_hvector(1, 1, 1, MPI_DATATYPE_NULL, &type)),
    WRONG(COUNT, MPI_Type_indexed(-1, ints, ints, I, &type)),
    WRONG(TYPE, MPI_Type_create_hindexed(0, ints, addresses, no_type, &type)),
    WRONG(COUNT, MPI_Type_create_indexed_block(-1, 1, ints, I, &type)),
    WRONG(COUNT, MPI_Type_create_struct(-1, ints, addresses, types, &type)),
    WRONG(TYPE, MPI_Type_create_resized(no_type, 0, 4, &type)),
    WRONG(TYPE, MPI_Type_dup(no_type, &type)),
    WRONG(TYPE, MPI_Type_commit(&(type = MPI_DATATYPE_NULL))),
    WRONG(TYPE, MPI_Type_free(&(type = MPI_INT))),
    WRONG(TYPE, MPI_Type_free(&(type = no_type))),
    WRONG(TYPE, MPI_Type_size(no_type, ints)),
    WRONG(ARG, MPI_Type_size(I, nullptr)),
    WRONG(TYPE, MPI_Type_get_extent(no_type, &address, &address)),
    WRONG(TYPE, MPI_Type_get_true_extent(MPI_DATATYPE_NULL, &address, &address)),
    WRONG(TYPE, MPI_Type_get_envelope(no_type, ints, ints, ints, ints)),
    WRONG(TYPE, MPI_Type_get_contents(MPI_INT, 1, 1, 1, ints, addresses, types)),
    WRONG(TYPE, MPI_Type_get_name(no_type, text, ints)),
    WRONG(ARG, MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type)),
    WRONG(KEYVAL, MPI_Type_set_attr(I, 99999, buffer)),
    WRONG(TYPE, MPI_Pack(buffer, 1, no_type, other, 64, ints, W)),
    WRONG(COUNT, MPI_Pack(buffer, -1, I, other, 64, ints, W)),
    WRONG(COMM, MPI_Pack(buffer, 1, I, other, 64, ints, no_comm)),
    WRONG(TYPE, MPI_Pack(buffer, 1, uncommitted, other, 64, &(ints[0] = 0), W)),
    WRONG(TRUNCATE, MPI_Pack(buffer, 64, I, other, 64, &(ints[0] = 0), W)),
    WRONG(ARG, MPI_Pack_c(buffer, 1, I, other, 64, nullptr, W)),
    WRONG(TYPE, MPI_Unpack_c(buffer, 64, &count, other, 1, MPI_DATATYPE_NULL, W)),
    WRONG(TYPE, MPI_Pack_size_c(1, no_type, W, &count)),
    WRONG(TYPE, MPI_Unpack(buffer, 64, ints, other, 1, no_type, W)),
    WRONG(TYPE, MPI_Pack_size(1, no_type, W, ints)),
    WRONG(COUNT, MPI_Pack_size(-1, I, W, ints)),
    WRONG(TYPE, MPI_Pack_external("external32", buffer, 1, no_type, other, 64, &address)),
};

const Wrong kWindows[] = {
    WRONG(COMM, MPI_Win_create(buffer, 4, 1, MPI_INFO_NULL, no_comm, &win)),
    WRONG(SIZE, MPI_Win_create(buffer, -4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win)),
    WRONG(DISP, MPI_Win_create(buffer, 4, 0, MPI_INFO_NULL, MPI_COMM_SELF, &win)),
    WRONG(INFO, MPI_Win_create(buffer, 4, 1, no_info, MPI_COMM_SELF, &win)),
    WRONG(SIZE, MPI_Win_create(buffer, -4, 1, MPI_INFO_NULL, W, &win)),
    WRONG(INFO, MPI_Win_create(buffer, 4, 1, no_info, W, &win)),
    WRONG(ARG, MPI_Win_create(buffer, 4, 1, MPI_INFO_NULL, W, nullptr)),
    WRONG(SIZE, MPI_Win_allocate(-4, 1, MPI_INFO_NULL, W, static_cast<void*>(types), &win)),
    WRONG(DISP, MPI_Win_allocate_shared(4, 0, MPI_INFO_NULL, W, static_cast<void*>(types), &win)),
    WRONG(INFO, MPI_Win_create_dynamic(no_info, W, &win)),
    WRONG(COMM, MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_NULL, static_cast<void*>(types), &win)),
    WRONG(WIN, MPI_Win_free(&(win = MPI_WIN_NULL))),
    WRONG(WIN, MPI_Win_fence(0, MPI_WIN_NULL)),
    WRONG(WIN, MPI_Win_fence(0, no_win)),
    WRONG(WIN, MPI_Put(buffer, 1, I, 0, 0, 1, I, no_win)),
    WRONG(WIN, MPI_Get(buffer, 1, I, 0, 0, 1, I, MPI_WIN_NULL)),
    WRONG(WIN, MPI_Accumulate(buffer, 1, I, 0, 0, 1, I, MPI_SUM, no_win)),
    WRONG(WIN, MPI_Rput(buffer, 1, I, 0, 0, 1, I, no_win, &request)),
    WRONG(WIN, MPI_Fetch_and_op(buffer, other, I, 0, 0, MPI_SUM, no_win)),
    WRONG(WIN, MPI_Compare_and_swap(buffer, other, ints, I, 0, 0, no_win)),
    WRONG(WIN, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, no_win)),
    WRONG(WIN, MPI_Win_unlock(0, no_win)),
    WRONG(WIN, MPI_Win_lock_all(0, no_win)),
    WRONG(WIN, MPI_Win_flush(0, no_win)),
    WRONG(WIN, MPI_Win_sync(no_win)),
    WRONG(WIN, MPI_Win_post(MPI_GROUP_EMPTY, 0, no_win)),
    WRONG(WIN, MPI_Win_complete(no_win)),
    WRONG(WIN, MPI_Win_get_group(no_win, &group)),
    WRONG(WIN, MPI_Win_set_name(no_win, "x")),
    WRONG(WIN, MPI_Win_set_errhandler(no_win, MPI_ERRORS_RETURN)),
    WRONG(WIN, MPI_Win_get_attr(no_win, MPI_WIN_BASE, buffer, &flag)),
    WRONG(WIN, MPIX_Win_create_notify(no_win, 1)),
    WRONG(WIN, MPIX_Win_free_notify(no_win)),
    WRONG(WIN, MPIX_Put_notify(buffer, 1, I, 0, 0, 1, I, no_win, 0)),
    WRONG(WIN, MPIX_Get_notify(buffer, 1, I, 0, 0, 1, I, MPI_WIN_NULL, 0)),
    WRONG(WIN, MPIX_Win_get_notify(no_win, 0, &count)),
    WRONG(WIN, MPIX_Win_set_notify(no_win, 0, 0)),
    WRONG(WIN, MPIX_Win_wait_notify(no_win, 0, 0)),
    WRONG(WIN, MPIX_Win_test_notify(no_win, 0, 0, &flag)),
};

// Parts that lie in each other's gaps do not overlap, nor do those that types place from MPI_BOTTOM on.
TEST(Arguments, OfBuffersThatLieBetweenEachOther) {
  int both[8] = {0, 1, 2, 3, 4, 5, 6, 7}, one = 1, none = 0, places[2][2] = {{0, 2}, {1, 3}};
  MPI_Datatype even, odd, here, there;
  MPI_Type_indexed(2, ones, places[0], I, &even);
  MPI_Type_indexed(2, ones, places[1], I, &odd);
  MPI_Aint from, to;
  MPI_Get_address(&both[4], &from);
  MPI_Get_address(&both[6], &to);
  MPI_Type_create_hindexed(1, ones, &from, I, &here);
  MPI_Type_create_hindexed(1, ones, &to, I, &there);
  for (MPI_Datatype* each : {&even, &odd, &here, &there}) MPI_Type_commit(each);
  MPI_Comm_set_errhandler(S, MPI_ERRORS_RETURN);
  EXPECT_EQ(MPI_Alltoallw(both, &one, &none, &even, both, &one, &none, &odd, S), MPI_SUCCESS);
  EXPECT_TRUE(both[1] == 0 && both[3] == 2);
  EXPECT_EQ(MPI_Alltoallw(MPI_BOTTOM, &one, &none, &here, MPI_BOTTOM, &one, &none, &there, S), MPI_SUCCESS);
  EXPECT_EQ(both[6], 4);
  both[6] = 6;
  EXPECT_EQ(MPI_Allgather(MPI_BOTTOM, 1, here, MPI_BOTTOM, 1, there, S), MPI_SUCCESS);
  EXPECT_EQ(both[6], 4);
  EXPECT_EQ(MPI_Alltoallw(both, &one, &none, &even, both, &one, &none, &even, S), MPI_ERR_BUFFER);
  MPI_Comm_set_errhandler(S, MPI_ERRORS_ARE_FATAL);
  for (MPI_Datatype* each : {&even, &odd, &here, &there}) MPI_Type_free(each);
}

// A continuation request, and a function for it.
MPI_Request cont_request;
int go_on(int, void*) { return MPI_SUCCESS; }
void* failed[1];
MPI_Request& null_request() { return request = MPI_REQUEST_NULL; }
const Wrong kContinuations[] = {
    WRONG(ARG, MPIX_Continue_init(0, 0, &request, MPI_INFO_NULL)),
    WRONG(ARG, MPIX_Continue_init(-2, 0, &request, MPI_INFO_NULL)),
    WRONG(ARG, MPIX_Continue_init(-1, 77, &request, MPI_INFO_NULL)),
    WRONG(ARG, MPIX_Continue_init(-1, 0, nullptr, MPI_INFO_NULL)),
    WRONG(INFO, MPIX_Continue_init(-1, 0, &request, no_info)),
    WRONG(REQUEST, MPIX_Continue(&null_request(), go_on, nullptr, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL)),
    WRONG(REQUEST, MPIX_Continue(&null_request(), go_on, nullptr, 0, MPI_STATUS_IGNORE, no_request)),
    WRONG(SUCCESS, MPIX_Continue_init(-1, MPIX_CONT_PERSISTENT, &cont_request, MPI_INFO_NULL)),
    WRONG(REQUEST, MPIX_Continue(&(request = no_request), go_on, nullptr, 0, MPI_STATUS_IGNORE, cont_request)),
    WRONG(REQUEST, MPIX_Continue(&(request = cont_request), go_on, nullptr, 0, MPI_STATUS_IGNORE, cont_request)),
    WRONG(ARG, MPIX_Continue(nullptr, go_on, nullptr, 0, MPI_STATUS_IGNORE, cont_request)),
    WRONG(ARG, MPIX_Continue(&null_request(), nullptr, nullptr, 0, MPI_STATUS_IGNORE, cont_request)),
    WRONG(ARG, MPIX_Continue(&null_request(), go_on, nullptr, 1, MPI_STATUS_IGNORE, cont_request)),
    WRONG(COUNT, MPIX_Continueall(-1, requests, go_on, nullptr, 0, MPI_STATUSES_IGNORE, cont_request)),
    WRONG(ARG, MPIX_Continueall(1, nullptr, go_on, nullptr, 0, MPI_STATUSES_IGNORE, cont_request)),
    WRONG(ARG, MPIX_Continue_get_failed(cont_request, nullptr, failed)),
    WRONG(COUNT, MPIX_Continue_get_failed(cont_request, &(index_ = -1), failed)),
    WRONG(ARG, MPIX_Continue_get_failed(cont_request, &(index_ = 1), nullptr)),
    WRONG(ARG, MPIX_Continue_get_fd(cont_request, nullptr)),
    WRONG(SUCCESS, MPI_Start(&cont_request)),
    WRONG(REQUEST, MPI_Start(&cont_request)),
    WRONG(SUCCESS, MPI_Wait(&cont_request, MPI_STATUS_IGNORE)),
    WRONG(SUCCESS, MPI_Request_free(&cont_request)),
    WRONG(REQUEST, MPIX_Continue_get_fd(cont_request, &flag)),
};
TEST(Arguments, OfContinuations) { expect_errors(kContinuations); }

TEST(Arguments, OfMessagesAndRequests) { expect_errors(kMessages); }
TEST(Arguments, OfCollectives) { expect_errors(kCollectives); }
TEST(Arguments, OfCommunicatorsAndTheirLike) { expect_errors(kCommunicators); }
TEST(Arguments, OfTopologies) { expect_errors(kTopologies); }
TEST(Arguments, OfDatatypes) { expect_errors(kDatatypes); }
TEST(Arguments, OfWindowHandles) { expect_errors(kWindows); }

const Wrong kInAWindow[] = {
    WRONG(RMA_SYNC, MPI_Put(buffer, 1, I, 0, 0, 1, I, win)),
    // A fence begins no epoch before there is an access.
    WRONG(SUCCESS, MPI_Win_fence(0, win)),
    WRONG(SUCCESS, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)),
    WRONG(SUCCESS, MPI_Win_unlock(0, win)),
    WRONG(RMA_SYNC, MPI_Put(buffer, 1, I, 0, 0, 1, I, win)),
    WRONG(SUCCESS, MPI_Win_fence(0, win)),
    WRONG(SUCCESS, MPI_Put(buffer, 1, I, 0, 0, 1, I, win)),
    WRONG(RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)),
    WRONG(RMA_SYNC, MPI_Win_lock_all(0, win)),
    WRONG(RMA_SYNC, MPI_Win_start(MPI_GROUP_EMPTY, 0, win)),
    WRONG(SUCCESS, MPI_Win_fence(MPI_MODE_NOSUCCEED, win)),
    WRONG(SUCCESS, MPI_Win_start(MPI_GROUP_EMPTY, 0, win)),
    WRONG(RMA_SYNC, MPI_Win_free(&win)),
    WRONG(SUCCESS, MPI_Win_complete(win)),
    WRONG(SUCCESS, MPI_Win_lock_all(0, win)),
    WRONG(RMA_SYNC, MPI_Win_free(&win)),
    WRONG(SUCCESS, MPI_Win_unlock_all(win)),
    WRONG(RMA_SYNC, MPI_Win_unlock(0, win)),
    WRONG(RMA_SYNC, MPI_Win_complete(win)),
    WRONG(GROUP, MPI_Win_start(no_group, 0, win)),
    WRONG(GROUP, MPI_Win_post(no_group, 0, win)),
    WRONG(RMA_SYNC, MPI_Win_wait(win)),
    WRONG(RMA_SYNC, MPI_Win_test(win, &flag)),
    WRONG(RMA_SYNC, MPI_Win_unlock_all(win)),
    WRONG(RMA_SYNC, MPI_Win_flush(0, win)),
    WRONG(RMA_SYNC, MPI_Win_flush_local_all(win)),
    WRONG(INFO, MPI_Win_set_info(win, no_info)),
    WRONG(ARG, MPI_Win_get_info(win, nullptr)),
    WRONG(ARG, MPI_Win_get_group(win, nullptr)),
    WRONG(ARG, MPI_Win_set_name(win, nullptr)),
    WRONG(ARG, MPI_Win_get_name(win, nullptr, ints)),
    WRONG(ARG, MPI_Win_get_errhandler(win, nullptr)),
    WRONG(KEYVAL, MPI_Win_get_attr(win, 99999, addresses, &flag)),
    WRONG(ARG, MPI_Win_get_attr(win, MPI_WIN_BASE, nullptr, &flag)),
    WRONG(RMA_FLAVOR, MPI_Win_attach(win, buffer, 4)),
    WRONG(LOCKTYPE, MPI_Win_lock(12345, 0, 0, win)),
    WRONG(RANK, MPI_Win_lock(MPI_LOCK_SHARED, 7, 0, win)),
    WRONG(SUCCESS, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)),
    WRONG(RANK, MPI_Put(buffer, 1, I, 7, 0, 1, I, win)),
    WRONG(COUNT, MPI_Put(buffer, -1, I, 0, 0, 1, I, win)),
    WRONG(TYPE, MPI_Put(buffer, 1, no_type, 0, 0, 1, I, win)),
    WRONG(TYPE, MPI_Get(buffer, 1, I, 0, 0, 1, no_type, win)),
    WRONG(RMA_RANGE, MPI_Get(buffer, 1, I, 0, -1, 1, I, win)),
    WRONG(OP, MPI_Accumulate(buffer, 1, I, 0, 0, 1, I, no_op, win)),
    WRONG(OP, MPI_Fetch_and_op(buffer, other, I, 0, 0, no_op, win)),
    WRONG(TYPE, MPI_Fetch_and_op(buffer, other, no_type, 0, 0, MPI_SUM, win)),
    WRONG(TYPE, MPI_Accumulate(buffer, 1, no_type, 0, 0, 1, I, MPI_SUM, win)),
    WRONG(TYPE, MPI_Get_accumulate(buffer, 1, I, other, 1, no_type, 0, 0, 1, I, MPI_SUM, win)),
    WRONG(OP, MPI_Rget_accumulate(buffer, 1, I, other, 1, I, 0, 0, 1, I, MPI_OP_NULL, win, &request)),
    WRONG(TYPE, MPI_Raccumulate(buffer, 1, I, 0, 0, 1, uncommitted, MPI_SUM, win, &request)),
    WRONG(RANK, MPI_Rget(buffer, 1, I, 7, 0, 1, I, win, &request)),
    WRONG(RANK, MPI_Win_flush(7, win)),
    WRONG(ARG, MPI_Rput(buffer, 1, I, 0, 0, 1, I, win, nullptr)),
    WRONG(RMA_SYNC, MPI_Win_free(&win)),
    WRONG(TYPE, MPI_Compare_and_swap(buffer, other, ints, MPI_DOUBLE, 0, 0, win)),
    WRONG(TYPE, MPI_Compare_and_swap(buffer, other, ints, MPI_2INT, 0, 0, win)),
    WRONG(TYPE, MPI_Compare_and_swap(buffer, other, ints, MPI_C_COMPLEX, 0, 0, win)),
    WRONG(ERRHANDLER, MPI_Win_set_errhandler(win, no_errhandler)),
    WRONG(KEYVAL, MPI_Win_set_attr(win, 99999, buffer)),
    WRONG(WIN, MPIX_Win_free_notify(win)),
    WRONG(WIN, MPIX_Put_notify(buffer, 1, I, 0, 0, 1, I, win, 0)),
    WRONG(WIN, MPIX_Win_wait_notify(win, 0, 0)),
    WRONG(COUNT, MPIX_Win_create_notify(win, -1)),
    WRONG(SUCCESS, MPIX_Win_create_notify(win, 2)),
    WRONG(WIN, MPIX_Win_create_notify(win, 2)),
    WRONG(ARG, MPIX_Put_notify(buffer, 1, I, 0, 0, 1, I, win, 2)),
    WRONG(ARG, MPIX_Get_notify(buffer, 1, I, 0, 0, 1, I, win, -1)),
    WRONG(RANK, MPIX_Put_notify(buffer, 1, I, 7, 0, 1, I, win, 0)),
    WRONG(COUNT, MPIX_Put_notify(buffer, -1, I, 0, 0, 1, I, win, 0)),
    WRONG(TYPE, MPIX_Put_notify(buffer, 1, no_type, 0, 0, 1, I, win, 0)),
    WRONG(BUFFER, MPIX_Put_notify(nullptr, 1, I, 0, 0, 1, I, win, 0)),
    WRONG(TYPE, MPIX_Get_notify(buffer, 1, I, 0, 0, 1, no_type, win, 0)),
    WRONG(RMA_RANGE, MPIX_Get_notify(buffer, 1, I, 0, -1, 1, I, win, 0)),
    WRONG(ARG, MPIX_Win_get_notify(win, 2, &count)),
    WRONG(ARG, MPIX_Win_get_notify(win, 0, nullptr)),
    WRONG(ARG, MPIX_Win_set_notify(win, -1, 0)),
    WRONG(ARG, MPIX_Win_wait_notify(win, 2, 0)),
    WRONG(ARG, MPIX_Win_test_notify(win, 0, 0, nullptr)),
    WRONG(SUCCESS, MPI_Win_unlock(0, win)),
    WRONG(RMA_SYNC, MPIX_Put_notify(buffer, 1, I, 0, 0, 1, I, win, 0)),
};

// Keys of one kind of object are none of another's.
int comm_key, type_key, win_key, key;
#define OF_ANOTHER_KIND(Kind, object, foreign)                                                                                            \
  WRONG(KEYVAL, MPI_##Kind##_set_attr(object, foreign, buffer)), WRONG(KEYVAL, MPI_##Kind##_get_attr(object, foreign, addresses, &flag)), \
      WRONG(KEYVAL, MPI_##Kind##_delete_attr(object, foreign)), WRONG(KEYVAL, MPI_##Kind##_free_keyval(&(key = foreign)))
const Wrong kKeys[] = {
    OF_ANOTHER_KIND(Comm, W, type_key), OF_ANOTHER_KIND(Comm, W, win_key),   OF_ANOTHER_KIND(Type, I, comm_key),
    OF_ANOTHER_KIND(Type, I, win_key),  OF_ANOTHER_KIND(Win, win, comm_key), OF_ANOTHER_KIND(Win, win, type_key),
};

TEST(Arguments, OfKeys) {
  int room = 0;
  MPI_Win_create(&room, sizeof room, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  for (int i = 0; i < 20; ++i) {  // whatever numbers they have
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, nullptr);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, nullptr);
    expect_errors(kKeys, win);
    MPI_Comm_free_keyval(&comm_key);
    if (i % 2) MPI_Type_free_keyval(&type_key);
    if (i % 3) MPI_Win_free_keyval(&win_key);
  }
  MPI_Win_free(&win);
}

bool is_kept = true;
int delete_unless_kept(MPI_Win, int, void*, void*) { return is_kept ? MPI_ERR_OTHER : MPI_SUCCESS; }
int told;
void on_error(MPI_Win*, int* code, ...) { told = *code; }

// An error of a function that deletes an attribute is an error of the call (MPI-5.0, 6.7).
TEST(Arguments, ThatAWindowsAttributeMayNotBeDeletedIsTold) {
  int room = 0, value = 0;
  MPI_Errhandler handler;
  MPI_Win_create(&room, sizeof room, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_create_errhandler(on_error, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_unless_kept, &win_key, nullptr);
  EXPECT_EQ(MPI_Win_set_attr(win, win_key, &value), MPI_SUCCESS);
  for (const auto& call : {+[] { return MPI_Win_set_attr(win, win_key, &told); }, +[] { return MPI_Win_delete_attr(win, win_key); }}) {
    told = MPI_SUCCESS;
    const int code = call();
    EXPECT_EQ(code, told);
    EXPECT_EQ(class_of(code), MPI_ERR_OTHER);
  }
  is_kept = false;
  MPI_Errhandler_free(&handler);
  MPI_Win_free_keyval(&win_key);
  MPI_Win_free(&win);
}

// In a ring of this rank alone: two neighbours.
const Wrong kAmongNeighbours[] = {
    WRONG(COUNT, MPI_Neighbor_allgather(buffer, -1, I, other, 1, I, comm)),
    WRONG(TYPE, MPI_Neighbor_allgather(buffer, 1, I, other, 1, no_type, comm)),
    WRONG(BUFFER, MPI_Neighbor_allgather(buffer, 1, I, nullptr, 1, I, comm)),
    WRONG(ARG, MPI_Neighbor_allgatherv(buffer, 1, I, other, nullptr, ints, I, comm)),
    WRONG(TYPE, MPI_Neighbor_alltoall(buffer, 1, uncommitted, other, 1, I, comm)),
    WRONG(ARG, MPI_Neighbor_alltoallv(buffer, ints, nullptr, I, other, ints, ints, I, comm)),
    WRONG(ARG, MPI_Neighbor_alltoallw(buffer, ints, addresses, nullptr, other, ints, addresses, types, comm)),
    WRONG(BUFFER, MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, I, other, 1, I, comm)),
    WRONG(ARG, MPI_Ineighbor_allgather(buffer, 1, I, other, 1, I, comm, nullptr)),
    WRONG(INFO, MPI_Neighbor_alltoall_init(buffer, 1, I, other, 1, I, comm, no_info, &request)),
    WRONG(COUNT, MPI_Neighbor_allgatherv_init(buffer, -1, I, other, ints, ints, I, comm, MPI_INFO_NULL, &request)),
};

TEST(Arguments, OfCollectivesAmongNeighbours) {
  const int all = 1;
  MPI_Cart_create(MPI_COMM_SELF, 1, &all, &all, 0, &comm);
  expect_errors(kAmongNeighbours, comm);
  MPI_Comm_free(&comm);
}

TEST(Arguments, OfCallsOnAWindow) {
  int room[4] = {};
  MPI_Win_create(room, sizeof room, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &win);
  expect_errors(kInAWindow, win);
  MPI_Win_free(&win);
}

}  // namespace
}  // namespace arguments_test
