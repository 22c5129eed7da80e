/* Blocking sends and receives, probes, derived types. A round is an exchange with the neighbours on a ring, or goes once around it. */
#include <stdlib.h>

#include "kinds.h"

static MPI_Request request;
static MPI_Datatype type;
static char packed[2 * kCount * sizeof(double)];
static double *strided;
static void *attached;

static void receive(void) { MPI_Recv(received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void start_send(void) { MPI_Isend(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD, &request); }
static void start_receive(void) { MPI_Irecv(received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, &request); }
static void finish(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

typedef int Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
static void around(Send *send) {
    if (me != 0) receive();
    send(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD);
    if (me == 0) receive();
}
static void send_receive(void) { around(MPI_Send); }
static void ssend(void) { around(MPI_Ssend); }
static void bsend(void) { around(MPI_Bsend); }
static void rsend(void) {
    start_receive();
    MPI_Barrier(MPI_COMM_WORLD); /* the receive is there */
    MPI_Rsend(sent, kCount, MPI_DOUBLE, right, kTag, MPI_COMM_WORLD);
    finish();
}
static void sendrecv(void) {
    MPI_Sendrecv(sent, kCount, MPI_DOUBLE, right, kTag, received, kCount, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sendrecv_replace(void) {
    MPI_Sendrecv_replace(sent, kCount, MPI_DOUBLE, right, kTag, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sendrecv_self(void) {
    MPI_Sendrecv(sent, kCount, MPI_DOUBLE, me, kTag, received, kCount, MPI_DOUBLE, me, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sendrecv_null(void) {
    MPI_Sendrecv(sent, kCount, MPI_DOUBLE, MPI_PROC_NULL, kTag, received, kCount, MPI_DOUBLE, MPI_PROC_NULL, kTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}
static void sendrecv_long(void) {
    enum { kLong = 32768 }; /* 256 KiB */
    MPI_Sendrecv(strided, kLong, MPI_DOUBLE, right, kTag, strided + kLong, kLong, MPI_DOUBLE, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void any_source(void) {
    start_send();
    MPI_Recv(received, kCount, MPI_DOUBLE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    finish();
}
static void any_tag(void) {
    MPI_Status status;
    start_send();
    MPI_Recv(received, kCount, MPI_DOUBLE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    finish();
}
static void probe(void) {
    MPI_Status status;
    start_send();
    MPI_Probe(left, kTag, MPI_COMM_WORLD, &status);
    receive();
    finish();
}
static void iprobe(void) {
    start_send();
    for (int flag = 0; !flag;) MPI_Iprobe(left, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    receive();
    finish();
}
static void mprobe(void) {
    MPI_Message message;
    start_send();
    MPI_Mprobe(left, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(received, kCount, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    finish();
}
static void improbe(void) {
    MPI_Message message;
    MPI_Request taken;
    start_send();
    for (int flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(received, kCount, MPI_DOUBLE, &message, &taken);
    MPI_Wait(&taken, MPI_STATUS_IGNORE);
    finish();
}
static void one_of_type(void) {
    MPI_Sendrecv(strided, 1, type, right, kTag, strided + 32768, 1, type, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void pack(void) {
    int place = 0;
    MPI_Pack(strided, 1, type, packed, sizeof packed, &place, MPI_COMM_WORLD);
    MPI_Sendrecv_replace(packed, place, MPI_PACKED, right, kTag, left, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    place = 0;
    MPI_Unpack(packed, sizeof packed, &place, strided, 1, type, MPI_COMM_WORLD);
}

static void make_room(void) { strided = calloc(2 * 32768, sizeof *strided); }
static void free_room(void) { free(strided); }
static void commit(void) {
    MPI_Type_commit(&type);
    make_room();
}
static void make_vector(void) {
    MPI_Type_vector(kCount, 1, 8, MPI_DOUBLE, &type);
    commit();
}
static void make_indexed(void) {
    int lengths[kCount], at[kCount];
    for (int i = 0; i < kCount; ++i) lengths[i] = 1, at[i] = i * (i + 1);
    MPI_Type_indexed(kCount, lengths, at, MPI_DOUBLE, &type);
    commit();
}
static void make_struct(void) {
    const int lengths[] = {1, 3, 8};
    const MPI_Aint at[] = {0, 8, 64};
    const MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype whole;
    MPI_Type_create_struct(3, lengths, at, of, &whole);
    MPI_Type_contiguous(4, whole, &type);
    MPI_Type_free(&whole);
    commit();
}
static void make_subarray(void) {
    const int sizes[] = {8, 8, 8}, parts[] = {4, 2, 2}, from[] = {1, 3, 2};
    MPI_Type_create_subarray(3, sizes, parts, from, MPI_ORDER_C, MPI_DOUBLE, &type);
    commit();
}
static void free_type(void) {
    MPI_Type_free(&type);
    free_room();
}
static void attach(void) {
    enum { kBytes = 1 << 20 };
    attached = malloc(kBytes);
    MPI_Buffer_attach(attached, kBytes);
}
static void detach(void) {
    int size;
    MPI_Buffer_detach(&attached, &size);
    free(attached);
}

const struct Kind point_to_point[] = {
    {"send-recv", send_receive, NULL, NULL},
    {"ssend", ssend, NULL, NULL},
    {"bsend", bsend, attach, detach},
    {"barrier-rsend", rsend, NULL, NULL},
    {"sendrecv", sendrecv, NULL, NULL},
    {"sendrecv-replace", sendrecv_replace, NULL, NULL},
    {"sendrecv-self", sendrecv_self, NULL, NULL},
    {"sendrecv-null", sendrecv_null, NULL, NULL},
    {"sendrecv-256k", sendrecv_long, make_room, free_room},
    {"any-source", any_source, NULL, NULL},
    {"any-tag", any_tag, NULL, NULL},
    {"probe", probe, NULL, NULL},
    {"iprobe", iprobe, NULL, NULL},
    {"mprobe", mprobe, NULL, NULL},
    {"improbe", improbe, NULL, NULL},
    {"vector", one_of_type, make_vector, free_type},
    {"indexed", one_of_type, make_indexed, free_type},
    {"struct", one_of_type, make_struct, free_type},
    {"subarray", one_of_type, make_subarray, free_type},
    {"pack-unpack", pack, make_vector, free_type},
    {NULL, NULL, NULL, NULL},
};
