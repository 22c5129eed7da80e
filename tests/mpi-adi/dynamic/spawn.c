/* spawn.c: processes that start others. spawn CASE [...]: the parents; their children are the same program, with "child" before the
 * case. Each case ends with nobody connected, unless it is about that. */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "talk.h"

static char* program;

/* Children of the given case, with one more argument (or NULL). */
static MPI_Comm start(const char* what, char* more, int count, MPI_Info info, int root, MPI_Comm comm) {
    char* arguments[] = {"child", (char*)what, more, NULL};
    int codes[64], error;
    MPI_Comm inter = MPI_COMM_NULL;
    for (int i = 0; i < 64; ++i) codes[i] = -1;
    error = MPI_Comm_spawn(program, arguments, count, info, root, comm, &inter, codes);
    EXPECT(error == MPI_SUCCESS);
    if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 4);
    for (int i = 0; i < 64; ++i) EXPECT(codes[i] == (i < count ? MPI_SUCCESS : -1));
    return inter;
}
static void part(MPI_Comm* comm) { EXPECT(MPI_Comm_disconnect(comm) == MPI_SUCCESS && *comm == MPI_COMM_NULL); }

static int attribute(int key) {
    int *value = NULL, there = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &there);
    return there ? *value : -1;
}

static void one(MPI_Comm parent) {
    MPI_Comm inter = parent;
    if (parent == MPI_COMM_NULL) inter = start("one", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    else EXPECT(size == 2);
    EXPECT(attribute(MPI_APPNUM) == 0 && attribute(MPI_UNIVERSE_SIZE) >= size);
    if (parent != MPI_COMM_NULL) { /* whose job has room left, whatever the machine is */
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        MPI_Comm_get_name(parent, name, &length);
        EXPECT(strcmp(name, "MPI_COMM_PARENT") == 0);
        EXPECT(attribute(MPI_UNIVERSE_SIZE) > size);
    }
    talk(inter, parent == MPI_COMM_NULL);
    if (parent == MPI_COMM_NULL) part(&inter);
    else part(&parent);
    MPI_Comm_get_parent(&parent);
    EXPECT(parent == MPI_COMM_NULL);
}

/* Started with --universe 7. */
static void universe(MPI_Comm parent) {
    MPI_Comm inter = parent;
    if (parent == MPI_COMM_NULL) inter = start("universe", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    if (parent == MPI_COMM_NULL) EXPECT(attribute(MPI_UNIVERSE_SIZE) == 7);
    else EXPECT(attribute(MPI_UNIVERSE_SIZE) > 7); /* what runs, and as much again */
    part(&inter);
}

/* More than one process has room for of its own, on fewer processors. */
static void many(MPI_Comm parent) {
    MPI_Comm inter = parent;
    if (parent == MPI_COMM_NULL) inter = start("many", NULL, 8, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    talk(inter, parent == MPI_COMM_NULL);
    part(&inter);
}

/* Two jobs of children at one time, who meet each other by a port whose name the parents know. */
static void two(MPI_Comm parent) {
    MPI_Comm children[2], sibling;
    char port[MPI_MAX_PORT_NAME] = "";
    if (parent == MPI_COMM_NULL) {
        for (int i = 0; i < 2; ++i) children[i] = start("two", i == 0 ? "a" : "b", 2 + i, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
        talk(children[1], 1);
        talk(children[0], 1);
        if (rank == 0) {
            MPI_Recv(port, sizeof port, MPI_CHAR, 0, 5, children[0], MPI_STATUS_IGNORE);
            MPI_Send(port, sizeof port, MPI_CHAR, 0, 5, children[1]);
        }
        part(&children[0]);
        part(&children[1]);
        return;
    }
    const int accepts = size == 2;
    talk(parent, 0);
    if (rank == 0 && accepts) {
        EXPECT(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Send(port, sizeof port, MPI_CHAR, 0, 5, parent);
    } else if (rank == 0) {
        MPI_Recv(port, sizeof port, MPI_CHAR, 0, 5, parent, MPI_STATUS_IGNORE);
    }
    if (accepts) EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &sibling) == MPI_SUCCESS);
    else EXPECT(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &sibling) == MPI_SUCCESS);
    part(&parent);
    talk(sibling, accepts);
    part(&sibling);
}

/* Two programs as one job: numbered in their order, each with its own arguments and application number. */
static void multiple(MPI_Comm parent, int argc, char** argv) {
    if (parent == MPI_COMM_NULL) {
        char *first[] = {"child", "multiple", "x", "", "a b", NULL}, *second[] = {"child", "multiple", "y", NULL};
        char *commands[] = {program, program}, **arguments[] = {first, second};
        int counts[] = {1, 3}, codes[4] = {-1, -1, -1, -1}, remote;
        MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        MPI_Comm inter;
        /* Only the root's arguments mean anything. */
        if (rank == size - 1)
            EXPECT(MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, size - 1, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
        else
            EXPECT(MPI_Comm_spawn_multiple(0, NULL, MPI_ARGVS_NULL, NULL, NULL, size - 1, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
        for (int i = 0; i < 4; ++i) EXPECT(codes[i] == MPI_SUCCESS);
        MPI_Comm_remote_size(inter, &remote);
        EXPECT(remote == 4);
        talk(inter, 1);
        part(&inter);
        return;
    }
    EXPECT(size == 4 && attribute(MPI_APPNUM) == (rank > 0));
    if (rank == 0) EXPECT(argc == 6 && strcmp(argv[3], "x") == 0 && strcmp(argv[4], "") == 0 && strcmp(argv[5], "a b") == 0);
    else EXPECT(argc == 4 && strcmp(argv[3], "y") == 0);
    talk(parent, 0);
    part(&parent);
}

/* A part of the ranks, whose last is the root. */
static void some(MPI_Comm parent) {
    if (parent == MPI_COMM_NULL) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &half);
        if (rank > 0) {
            int count;
            MPI_Comm_size(half, &count);
            MPI_Comm inter = start("some", NULL, 2, MPI_INFO_NULL, count - 1, half);
            talk(inter, 1);
            part(&inter);
        }
        MPI_Comm_free(&half);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    talk(parent, 0);
    part(&parent);
}

/* Children that have children, which find the first of all by a published name. */
static void nested(MPI_Comm parent, const char* depth) {
    MPI_Comm inter;
    char port[MPI_MAX_PORT_NAME] = "";
    if (parent == MPI_COMM_NULL) {
        if (rank == 0) {
            EXPECT(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
            EXPECT(MPI_Publish_name("ancestor", MPI_INFO_NULL, port) == MPI_SUCCESS);
        }
        MPI_Comm child = start("nested", "1", 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
        EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
        talk(inter, 1);
        part(&inter);
        talk(child, 1);
        part(&child);
        if (rank == 0) EXPECT(MPI_Unpublish_name("ancestor", MPI_INFO_NULL, port) == MPI_SUCCESS && MPI_Close_port(port) == MPI_SUCCESS);
        return;
    }
    if (strcmp(depth, "1") == 0) {
        MPI_Comm child = start("nested", "2", 1, MPI_INFO_NULL, 1, MPI_COMM_WORLD);
        talk(child, 1);
        part(&child);
        talk(parent, 0);
        part(&parent);
        return;
    }
    talk(parent, 0);
    part(&parent);
    EXPECT(MPI_Lookup_name("ancestor", MPI_INFO_NULL, port) == MPI_SUCCESS);
    EXPECT(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    talk(inter, 0);
    part(&inter);
}

/* The hosts and folders where children start and are sought, and how many. */
static void infos(MPI_Comm parent, const char* want) {
    if (parent != MPI_COMM_NULL) {
        char here[PATH_MAX] = "";
        EXPECT(getcwd(here, sizeof here) != NULL);
        if (want != NULL && want[0] == '/') EXPECT(strcmp(here, want) == 0);
        part(&parent);
        return;
    }
    char folder[] = "/tmp/mpi_spawn_XXXXXX", real[PATH_MAX], host[MPI_MAX_PROCESSOR_NAME], *full = program;
    char* arguments[] = {"child", "infos", NULL};
    char* name = strrchr(program, '/') + 1;
    int codes[4], length, error;
    MPI_Info info;
    MPI_Comm inter;
    EXPECT(mkdtemp(folder) != NULL && realpath(folder, real) != NULL);
    MPI_Get_processor_name(host, &length);
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", real);
    MPI_Info_set(info, "host", host);
    MPI_Info_set(info, "unknown to all", "means nothing");
    inter = start("infos", real, 1, info, 0, MPI_COMM_WORLD);
    part(&inter);
    /* By its name alone it is found in the folders of `path`. */
    name[-1] = '\0';
    char places[2 * PATH_MAX];
    snprintf(places, sizeof places, "/nowhere:%s", full);
    MPI_Info_set(info, "path", places);
    MPI_Info_delete(info, "wdir");
    EXPECT(MPI_Comm_spawn(name, arguments, 1, info, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS && codes[0] == MPI_SUCCESS);
    part(&inter);
    name[-1] = '/';
    MPI_Info_free(&info);
    /* So many of those that are wanted as `soft` allows. */
    const struct {
        const char* list;
        int most, good;
    } lists[] = {{"0:8:2", 3, 2}, {"1,7", 4, 1}, {"4:1:-3", 3, 1}, {"3", 3, 3}};
    for (int i = 0; i < 4; ++i) {
        int remote = 0;
        MPI_Info_create(&info);
        MPI_Info_set(info, "soft", lists[i].list);
        EXPECT(MPI_Comm_spawn(program, arguments, lists[i].most, info, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
        MPI_Comm_remote_size(inter, &remote);
        EXPECT(remote == lists[i].good);
        for (int j = 0; j < lists[i].most; ++j) EXPECT(codes[j] == (j < remote ? MPI_SUCCESS : MPI_ERR_SPAWN));
        part(&inter);
        MPI_Info_free(&info);
    }
    /* Requests that cannot be met are refused. */
    const struct {
        const char *key, *value;
        int error;
    } wrong[] = {{"host", "no-such-host", MPI_ERR_SPAWN}, {"wdir", "/no/such/folder", MPI_ERR_SPAWN}, {"file", "x", MPI_ERR_SPAWN},
                 {"soft", "9:8", MPI_ERR_SPAWN},          {"soft", "some", MPI_ERR_INFO_VALUE},      {"soft", "1:2:0", MPI_ERR_INFO_VALUE}};
    for (int i = 0; i < 6; ++i) {
        MPI_Info_create(&info);
        MPI_Info_set(info, wrong[i].key, wrong[i].value);
        codes[0] = MPI_SUCCESS;
        MPI_Error_class(MPI_Comm_spawn(program, arguments, 1, info, 0, MPI_COMM_WORLD, &inter, codes), &error);
        EXPECT(error == wrong[i].error && codes[0] == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
        MPI_Info_free(&info);
    }
    rmdir(folder);
}

/* A program that cannot be started is told to all, and leaves nothing behind: good children come after it. */
static void missing(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        part(&parent);
        return;
    }
    char script[] = "/tmp/mpi_spawn_XXXXXX", *good[] = {"child", "missing", NULL};
    const int made = mkstemp(script);
    EXPECT(made >= 0 && write(made, "no program\n", 11) == 11 && fchmod(made, 0700) == 0);
    close(made);
    char* bad[] = {"/no/such/program", "no-such-program-in-the-path", "/tmp", script, "/bin/true"};
    MPI_Comm inter;
    for (int i = 0; i < 5; ++i) {
        int codes[4] = {0, 0, 0, 0}, error;
        MPI_Error_class(MPI_Comm_spawn(bad[i], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), &error);
        EXPECT(error == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
        for (int j = 0; j < 4; ++j) EXPECT(codes[j] == (j < 3 ? MPI_ERR_SPAWN : 0));
        /* One of several is enough. */
        char *commands[] = {program, bad[i]}, **arguments[] = {good, NULL};
        int counts[] = {2, 1};
        MPI_Info none[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        if (i == 4) break; /* ... but one that is no MPI program makes MPI_Init fail in those that are */
        MPI_Error_class(MPI_Comm_spawn_multiple(2, commands, arguments, counts, none, 0, MPI_COMM_WORLD, &inter, codes), &error);
        EXPECT(error == MPI_ERR_SPAWN && codes[0] == MPI_ERR_SPAWN && codes[2] == MPI_ERR_SPAWN);
    }
    unlink(script);
    int codes[1], error;
    MPI_Error_class(MPI_Comm_spawn(program, good, -1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), &error);
    EXPECT(error == MPI_ERR_ARG);
    MPI_Error_class(MPI_Comm_spawn(program, good, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &inter, codes), &error);
    EXPECT(error == MPI_ERR_ROOT);
    inter = start("missing", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    part(&inter);
}

/* Lines of a file that have this word in them. */
static int lines_with(const char* path, const char* word) {
    char line[4096];
    int count = 0;
    FILE* file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) count += strstr(line, word) != NULL;
    if (file != NULL) fclose(file);
    return count;
}
static int words_in(const char* path) {
    char word[64];
    int count = 0;
    FILE* file = fopen(path, "r");
    while (file != NULL && fscanf(file, "%63s", word) == 1) ++count;
    if (file != NULL) fclose(file);
    return count;
}

/* Again and again: what this process and its launcher hold does not grow with the children that have been. */
static void again(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        talk(parent, 0);
        part(&parent);
        return;
    }
    enum { ROUNDS = 20, SETTLED = 4 };
    char family[64];
    int held[4] = {0}, now[4];
    snprintf(family, sizeof family, "/proc/%d/task/%d/children", getppid(), getppid());
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Comm inter = start("again", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
        talk(inter, 1);
        part(&inter);
        if (round + 1 != SETTLED && round + 1 != ROUNDS) continue;
        /* The last ones may still be ending, and their ends be noticed somewhat later. */
        do {
            now[0] = entries_of("/proc/self/fd");
            now[1] = entries_of("/proc/self/task");
            now[2] = lines_with("/proc/self/maps", "/portunus");
            now[3] = words_in(family);
            if (round + 1 == SETTLED && now[3] <= size + 2) memcpy(held, now, sizeof held);
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            sched_yield();
        } while (round + 1 == SETTLED ? held[3] == 0 : now[0] > held[0] || now[1] > held[1] || now[2] > held[2] || now[3] > held[3]);
        MPI_Barrier(MPI_COMM_WORLD); /* the next ones come when all have looked */
    }
}

/* Over a socket; who listens there the children are told by their arguments. */
static void join(MPI_Comm parent, const char* where) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    MPI_Comm joined;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (parent == MPI_COMM_NULL) {
        char port[16];
        EXPECT(bind(fd, (struct sockaddr*)&address, sizeof address) == 0 && listen(fd, 1) == 0);
        getsockname(fd, (struct sockaddr*)&address, &length);
        snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
        MPI_Comm inter = start("join", port, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF);
        const int one = accept(fd, NULL, NULL);
        EXPECT(MPI_Comm_join(one, &joined) == MPI_SUCCESS && joined != MPI_COMM_NULL);
        close(one);
        talk(joined, 1);
        part(&joined);
        part(&inter);
    } else {
        address.sin_port = htons((unsigned short)atoi(where));
        EXPECT(connect(fd, (struct sockaddr*)&address, sizeof address) == 0);
        EXPECT(MPI_Comm_join(fd, &joined) == MPI_SUCCESS && joined != MPI_COMM_NULL);
        talk(joined, 0);
        part(&joined);
        part(&parent);
    }
    close(fd);
}

/* Nobody disconnects: MPI_Finalize, after messages that nobody has waited for, is collective over parents and children. */
static void connected(MPI_Comm parent, const char* freed) {
    static int numbers[4][100000];
    MPI_Comm both, inter = parent;
    int number = 0;
    if (freed != NULL) return;
    if (parent == MPI_COMM_NULL) {
        inter = start("connected", NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
        MPI_Comm other = start("connected", "freed", 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
        EXPECT(MPI_Comm_free(&other) == MPI_SUCCESS);
    }
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &both);
    if (parent != MPI_COMM_NULL) MPI_Send(numbers[0], 100000, MPI_INT, 0, rank, parent);
    else if (rank == 0)
        for (int i = 0, count = 0; MPI_Comm_remote_size(inter, &count) == MPI_SUCCESS && i < count; ++i)
            MPI_Recv(numbers[i], 100000, MPI_INT, i, i, inter, MPI_STATUS_IGNORE);
    MPI_Bcast(&number, 1, MPI_INT, 0, both);
    EXPECT(MPI_Comm_free(&inter) == MPI_SUCCESS);
}

/* Children that free nothing end by MPI_Finalize, in whatever order their parents take leave. */
static void careless(MPI_Comm parent, const char* other) {
    MPI_Comm inter[2], both[2], copy;
    int place, sum = -1, all;
    for (int i = 0; i < (parent == MPI_COMM_NULL ? 2 : 1); ++i) {
        inter[i] = parent == MPI_COMM_NULL ? start("careless", i == 0 ? "first" : "second", 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD) : parent;
        MPI_Intercomm_merge(inter[i], parent != MPI_COMM_NULL, &both[i]);
        MPI_Comm_dup(both[i], &copy);
        MPI_Comm_rank(copy, &place);
        MPI_Comm_size(copy, &all);
        MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, copy);
        EXPECT(sum == all * (all - 1) / 2);
        if (parent == MPI_COMM_NULL) EXPECT(MPI_Comm_free(&copy) == MPI_SUCCESS);
    }
    if (parent != MPI_COMM_NULL) return;
    EXPECT(other == NULL);
    for (int i = 1; i >= 0; --i) {
        part(&both[i]);
        part(&inter[i]);
    }
    MPI_Comm next = start("missing", NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    part(&next);
}

/* Threads that start others, and that accept and connect each other's process, at one time. */
struct strand {
    MPI_Comm comm;
    int number;
};
static void* start_some(void* argument) {
    const struct strand* mine = argument;
    for (int round = 0; round < 3; ++round) {
        MPI_Comm inter = start("threads", mine->number ? "b" : "a", 1 + mine->number, MPI_INFO_NULL, 0, mine->comm);
        int sum = 0, one = 1;
        EXPECT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS && sum == 1 + mine->number);
        part(&inter);
    }
    return NULL;
}
static char ports[2][MPI_MAX_PORT_NAME];
static void* meet_some(void* argument) {
    const struct strand* mine = argument;
    for (int round = 0; round < 5; ++round) {
        MPI_Comm inter;
        int other = -1;
        if (mine->number == rank) EXPECT(MPI_Comm_accept(ports[rank], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
        else EXPECT(MPI_Comm_connect(ports[mine->number], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
        MPI_Sendrecv(&mine->number, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
        EXPECT(other == mine->number);
        part(&inter);
    }
    return NULL;
}
static void threads(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        int sum = 0, one = 1, remote;
        MPI_Comm_remote_size(parent, &remote);
        EXPECT(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, parent) == MPI_SUCCESS && sum == remote);
        part(&parent);
        return;
    }
    pthread_t other;
    struct strand strands[2] = {{MPI_COMM_NULL, 0}, {MPI_COMM_NULL, 1}};
    void* (*work[2])(void*) = {start_some, meet_some};
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &strands[i].comm);
        MPI_Comm_set_errhandler(strands[i].comm, MPI_ERRORS_RETURN);
    }
    MPI_Open_port(MPI_INFO_NULL, ports[rank & 1]);
    for (int i = 0; i < 2; ++i) MPI_Bcast(ports[i], MPI_MAX_PORT_NAME, MPI_CHAR, i, MPI_COMM_WORLD);
    for (int i = 0; i < 2; ++i) {
        EXPECT(pthread_create(&other, NULL, work[i], &strands[1]) == 0);
        work[i](&strands[0]);
        pthread_join(other, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Close_port(ports[rank]);
    for (int i = 0; i < 2; ++i) MPI_Comm_free(&strands[i].comm);
}

/* A child that dies: the parent that waits for its message is told, where the job goes on. */
static void killed(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        if (rank == 1) abort();
        MPI_Finalize();
        _exit(0);
    }
    int number = 0, error;
    MPI_Comm inter = start("killed", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    MPI_Error_class(MPI_Recv(&number, 1, MPI_INT, 1, 0, inter, MPI_STATUS_IGNORE), &error);
    EXPECT(error == MPI_ERR_PROC_ABORTED);
    printf("rank %d was told\n", rank);
    fflush(stdout);
}

static void speak(MPI_Comm parent) {
    if (parent == MPI_COMM_NULL) {
        printf("parent\n");
        for (int count = 2; count > 0; --count) {
            MPI_Comm inter = start("speak", NULL, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
            part(&inter);
        }
        return;
    }
    printf("child %d\n", rank);
    part(&parent);
}

/* Nobody ends by himself. */
static void stay(MPI_Comm parent) {
    if (parent == MPI_COMM_NULL) start("stay", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    int number;
    MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end_all(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL && rank == 0) MPI_Abort(parent, 7);
    stay(parent == MPI_COMM_NULL ? start("abort", NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD) : parent);
}

/* Without a launcher. */
static void alone(void) {
    int codes[1] = {0}, error;
    MPI_Comm inter;
    error = MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    MPI_Error_class(error, &error);
    EXPECT(error == MPI_ERR_SPAWN && codes[0] == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
    EXPECT(attribute(MPI_UNIVERSE_SIZE) == 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
}

int main(int argc, char** argv) {
    MPI_Comm parent;
    program = argv[0];
    int level;
    MPI_Init_thread(&argc, &argv, argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    const int is_child = argc > 1 && strcmp(argv[1], "child") == 0;
    const char* what = argc > 1 + is_child ? argv[1 + is_child] : "";
    char* more = argc > 2 + is_child ? argv[2 + is_child] : NULL;
    EXPECT(is_child == (parent != MPI_COMM_NULL));
    if (strcmp(what, "one") == 0) one(parent);
    else if (strcmp(what, "many") == 0) many(parent);
    else if (strcmp(what, "universe") == 0) universe(parent);
    else if (strcmp(what, "two") == 0) two(parent);
    else if (strcmp(what, "multiple") == 0) multiple(parent, argc, argv);
    else if (strcmp(what, "some") == 0) some(parent);
    else if (strcmp(what, "nested") == 0) nested(parent, more);
    else if (strcmp(what, "infos") == 0) infos(parent, more);
    else if (strcmp(what, "missing") == 0) missing(parent);
    else if (strcmp(what, "again") == 0) again(parent);
    else if (strcmp(what, "join") == 0) join(parent, more);
    else if (strcmp(what, "connected") == 0) connected(parent, more);
    else if (strcmp(what, "careless") == 0) careless(parent, more);
    else if (strcmp(what, "threads") == 0) threads(parent);
    else if (strcmp(what, "killed") == 0) killed(parent);
    else if (strcmp(what, "speak") == 0) speak(parent);
    else if (strcmp(what, "stay") == 0) stay(parent);
    else if (strcmp(what, "abort") == 0) end_all(parent);
    else if (strcmp(what, "alone") == 0) alone();
    else EXPECT(!"a case");
    MPI_Finalize();
    return failures != 0;
}
