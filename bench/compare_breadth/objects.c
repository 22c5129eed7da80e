/* Making and freeing objects: communicators, groups, topologies, windows, datatypes, operations, attributes. */
#include <stdlib.h>

#include "kinds.h"

static MPI_Group world;
static MPI_Comm half;
static int key;
static double kept[64];

static void comm_dup(void) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_free(&made);
}
static void comm_idup(void) {
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&made);
}
static void comm_split(void) {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &made);
    MPI_Comm_free(&made);
}
static void comm_split_type(void) {
    MPI_Comm made;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &made);
    MPI_Comm_free(&made);
}
static void comm_create(void) {
    MPI_Comm made;
    MPI_Comm_create(MPI_COMM_WORLD, world, &made);
    MPI_Comm_free(&made);
}
static void comm_create_group(void) {
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, world, kTag, &made);
    MPI_Comm_free(&made);
}
static void comm_compare(void) {
    int result;
    MPI_Comm_compare(MPI_COMM_WORLD, half, &result);
}
static void intercomm(void) {
    MPI_Comm made;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, kTag, &made);
    MPI_Comm_free(&made);
}
static void intercomm_merge(void) {
    MPI_Comm made, merged;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, kTag, &made);
    MPI_Intercomm_merge(made, me % 2, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&made);
}
static void cart_create(void) {
    const int whole[] = {1};
    MPI_Comm made;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, whole, 0, &made);
    MPI_Comm_free(&made);
}
static void dist_graph(void) {
    MPI_Comm made;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    MPI_Comm_free(&made);
}
static void group_calls(void) {
    MPI_Group part, more;
    MPI_Group_incl(world, 1, &right, &part);
    MPI_Group_union(world, part, &more);
    MPI_Group_free(&part);
    MPI_Group_free(&more);
}
static void group_translate(void) {
    const int all[] = {0, 1};
    int there[2];
    MPI_Group_translate_ranks(world, 2, all, world, there);
}

static void win_create(void) {
    MPI_Win made;
    MPI_Win_create(kept, sizeof kept, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_free(&made);
}
static void win_allocate(void) {
    MPI_Win made;
    void *base;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
    MPI_Win_free(&made);
}
static void win_shared(void) {
    MPI_Win made;
    void *base;
    MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made);
    MPI_Win_free(&made);
}
static void win_dynamic(void) {
    MPI_Win made;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_attach(made, kept, sizeof kept);
    MPI_Win_detach(made, kept);
    MPI_Win_free(&made);
}

static void commit_and_free(MPI_Datatype type) {
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
}
static void type_vector(void) {
    MPI_Datatype made;
    MPI_Type_vector(16, 2, 5, MPI_DOUBLE, &made);
    commit_and_free(made);
}
static void type_indexed(void) {
    int lengths[kCount], at[kCount];
    MPI_Datatype made;
    for (int i = 0; i < kCount; ++i) lengths[i] = 1 + i % 3, at[i] = 7 * i;
    MPI_Type_indexed(kCount, lengths, at, MPI_DOUBLE, &made);
    commit_and_free(made);
}
static void type_struct(void) {
    const int lengths[] = {1, 3};
    const MPI_Aint at[] = {0, 8};
    const MPI_Datatype of[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype made;
    MPI_Type_create_struct(2, lengths, at, of, &made);
    commit_and_free(made);
}
static void type_subarray(void) {
    const int sizes[] = {16, 16, 16}, parts[] = {8, 8, 8}, from[] = {4, 4, 4};
    MPI_Datatype made;
    MPI_Type_create_subarray(3, sizes, parts, from, MPI_ORDER_C, MPI_DOUBLE, &made);
    commit_and_free(made);
}
static void type_dup(void) {
    MPI_Datatype made;
    MPI_Type_dup(MPI_DOUBLE, &made);
    MPI_Type_free(&made);
}
static void add(void *in, void *into, int *count, MPI_Datatype *type) { (void)in, (void)into, (void)count, (void)type; }
static void op_create(void) {
    MPI_Op made;
    MPI_Op_create(add, 1, &made);
    MPI_Op_free(&made);
}
static void info_calls(void) {
    MPI_Info made;
    char value[16];
    int flag;
    MPI_Info_create(&made);
    MPI_Info_set(made, "key", "value");
    MPI_Info_get(made, "key", sizeof value - 1, value, &flag);
    MPI_Info_free(&made);
}
static void attributes(void) {
    void *value;
    int flag;
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, kept);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
}
static void handle(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }
static void errhandler(void) {
    MPI_Errhandler made;
    MPI_Comm_create_errhandler(handle, &made);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, made);
    MPI_Errhandler_free(&made);
}

static void get_world(void) { MPI_Comm_group(MPI_COMM_WORLD, &world); }
static void free_world(void) { MPI_Group_free(&world); }
static void make_half(void) { MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half); }
static void free_half(void) { MPI_Comm_free(&half); }
static void make_key(void) { MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL); }
static void free_key(void) { MPI_Comm_free_keyval(&key); }

const struct Kind objects[] = {
    {"comm-dup", comm_dup, NULL, NULL},
    {"comm-idup", comm_idup, NULL, NULL},
    {"comm-split", comm_split, NULL, NULL},
    {"comm-split-type", comm_split_type, NULL, NULL},
    {"comm-create", comm_create, get_world, free_world},
    {"comm-create-group", comm_create_group, get_world, free_world},
    {"comm-compare", comm_compare, make_half, free_half},
    {"intercomm-create", intercomm, make_half, free_half},
    {"intercomm-merge", intercomm_merge, make_half, free_half},
    {"cart-create", cart_create, NULL, NULL},
    {"dist-graph-create", dist_graph, NULL, NULL},
    {"group-union", group_calls, get_world, free_world},
    {"group-translate", group_translate, get_world, free_world},
    {"win-create", win_create, NULL, NULL},
    {"win-allocate", win_allocate, NULL, NULL},
    {"win-allocate-shared", win_shared, NULL, NULL},
    {"win-dynamic", win_dynamic, NULL, NULL},
    {"type-vector", type_vector, NULL, NULL},
    {"type-indexed", type_indexed, NULL, NULL},
    {"type-struct", type_struct, NULL, NULL},
    {"type-subarray", type_subarray, NULL, NULL},
    {"type-dup", type_dup, NULL, NULL},
    {"op-create", op_create, NULL, NULL},
    {"info", info_calls, NULL, NULL},
    {"attributes", attributes, make_key, free_key},
    {"errhandler", errhandler, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
