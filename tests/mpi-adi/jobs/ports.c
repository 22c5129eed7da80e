/* ports.c: processes of one job that meet by ports, by published names and by sockets; on three ranks or more. Where one rank waits for
 * another to open or publish, it is told by a message: nothing here depends on time. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mpi-adi/mpi.h"

static int failures, rank, size;
#define EXPECT(holds)                                                                   \
    do {                                                                                \
        if (!(holds)) {                                                                 \
            ++failures;                                                                 \
            fprintf(stderr, "rank %d: ports.c:%d: not so: %s\n", rank, __LINE__, #holds); \
        }                                                                               \
    } while (0)

/* The other side is one process: a number goes there and back, and both merge. */
static void talk(MPI_Comm inter, int accepts, int number) {
    int value = accepts ? 0 : number, answer = 0, remote = 0;
    MPI_Comm both;
    EXPECT(MPI_Comm_remote_size(inter, &remote) == MPI_SUCCESS && remote == 1);
    if (accepts) {
        MPI_Recv(&value, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
        answer = value + 1;
        MPI_Send(&answer, 1, MPI_INT, 0, 4, inter);
    } else {
        MPI_Send(&value, 1, MPI_INT, 0, 3, inter);
        MPI_Recv(&answer, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE);
    }
    EXPECT(value == number && answer == number + 1);
    EXPECT(MPI_Intercomm_merge(inter, accepts, &both) == MPI_SUCCESS);
    MPI_Comm_size(both, &remote);
    EXPECT(remote == 2);
    MPI_Comm_free(&both);
    EXPECT(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
}

/* Rank 0 has two ports; ranks 1 and 2 connect to one each, and rank 0 accepts them in the other order, several times. */
static void several_ports(void) {
    char port[2][MPI_MAX_PORT_NAME] = {"", ""};
    MPI_Comm inter;
    if (rank == 0) {
        for (int i = 0; i < 2; ++i) EXPECT(MPI_Open_port(MPI_INFO_NULL, port[i]) == MPI_SUCCESS);
        EXPECT(strcmp(port[0], port[1]) != 0);
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int round = 0; round < 20; ++round) {
        if (rank == 0) {
            for (int i = 1; i >= 0; --i) {
                EXPECT(MPI_Comm_accept(port[i], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
                talk(inter, 1, round * 10 + i);
            }
        } else if (rank <= 2) {
            EXPECT(MPI_Comm_connect(port[rank - 1], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
            talk(inter, 0, round * 10 + rank - 1);
        }
    }
    if (rank == 0)
        for (int i = 0; i < 2; ++i) EXPECT(MPI_Close_port(port[i]) == MPI_SUCCESS);
}

/* All other ranks together connect to rank 0, which only their root knows by name; with collectives over both sides. */
static void groups_and_names(void) {
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm part, inter;
    int sum = 0, mine = rank + 1, remote;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &part);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        EXPECT(MPI_Publish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
        EXPECT(MPI_Publish_name("ocean", MPI_INFO_NULL, port) == MPI_ERR_SERVICE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPI_Lookup_name("ocean", MPI_INFO_NULL, found) == MPI_SUCCESS);
    EXPECT(rank != 0 || strcmp(port, found) == 0);
    if (rank == 1) EXPECT(MPI_Publish_name("ocean", MPI_INFO_NULL, found) == MPI_ERR_SERVICE);
    if (rank == 1) EXPECT(MPI_Unpublish_name("ocean", MPI_INFO_NULL, found) == MPI_ERR_SERVICE);
    if (rank == 0) EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &inter) == MPI_SUCCESS);
    else EXPECT(MPI_Comm_connect(rank == size - 1 ? found : "", MPI_INFO_NULL, size - 2, part, &inter) == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &remote);
    EXPECT(remote == (rank == 0 ? size - 1 : 1));
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
    EXPECT(sum == (rank == 0 ? size * (size + 1) / 2 - 1 : 1));
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&part);
    if (rank == 0) {
        EXPECT(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port) == MPI_SUCCESS);
        EXPECT(MPI_Unpublish_name("ocean", MPI_INFO_NULL, port) == MPI_ERR_SERVICE);
        MPI_Close_port(port);
        EXPECT(MPI_Publish_name("left", MPI_INFO_NULL, "nowhere") == MPI_SUCCESS); /* its end takes it away */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(MPI_Lookup_name("ocean", MPI_INFO_NULL, found) == MPI_ERR_NAME);
}

/* Calls that cannot succeed are told to all ranks of the communicator. */
static void errors(void) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter = MPI_COMM_SELF;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Close_port(port);
    EXPECT(MPI_Close_port(port) == MPI_ERR_PORT && MPI_Close_port("x") == MPI_ERR_PORT);
    EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_ERR_PORT && inter == MPI_COMM_NULL);
    EXPECT(MPI_Comm_accept("portunus-port:another:0:1", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_ERR_PORT);
    EXPECT(MPI_Comm_connect("nowhere", MPI_INFO_NULL, 1, MPI_COMM_WORLD, &inter) == MPI_ERR_PORT);
    EXPECT(MPI_Comm_connect(port, MPI_INFO_NULL, -1, MPI_COMM_WORLD, &inter) == MPI_ERR_ROOT);
    EXPECT(MPI_Lookup_name("", MPI_INFO_NULL, port) == MPI_ERR_NAME);
    EXPECT(MPI_Publish_name("", MPI_INFO_NULL, port) == MPI_ERR_SERVICE);
}

/* Ranks 0 and 1 by a socket. */
static void join(void) {
    struct sockaddr_in place = {.sin_family = AF_INET};
    socklen_t length = sizeof place;
    MPI_Comm inter = MPI_COMM_SELF;
    if (rank > 1) return;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (rank == 0) {
        if (bind(fd, (struct sockaddr *)&place, sizeof place) != 0 || listen(fd, 1) != 0) exit(2);
        getsockname(fd, (struct sockaddr *)&place, &length);
        MPI_Send(&place, sizeof place, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        int listener = fd;
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Recv(&place, sizeof place, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (connect(fd, (struct sockaddr *)&place, sizeof place) != 0) exit(2);
    }
    EXPECT(MPI_Comm_join(fd, &inter) == MPI_SUCCESS && inter != MPI_COMM_NULL);
    talk(inter, rank == 0, 77);
    char after = 'a'; /* the socket is the program's again, with nothing in it */
    if (rank == 0) EXPECT(write(fd, &after, 1) == 1);
    else EXPECT(read(fd, &after, 1) == 1 && after == 'a');
    close(fd);
    EXPECT(MPI_Comm_join(-1, &inter) == MPI_ERR_ARG);
}

/* A client gives up where nobody accepts in the time that it has; the port is as good as before. */
static void patience(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    if (rank == 0) EXPECT(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) EXPECT(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter) == MPI_ERR_PORT && inter == MPI_COMM_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_set(info, "timeout", "1000");
    if (rank == 0) EXPECT(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    if (rank == 1) EXPECT(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    if (rank <= 1) talk(inter, rank == 0, 5);
    if (rank == 0) EXPECT(MPI_Close_port(port) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (size < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    several_ports();
    groups_and_names();
    errors();
    patience();
    join();
    int *number, there;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &there);
    EXPECT(getenv("PTL_APPNUM") ? there && *number == 0 : !there); /* only ptlrun tells it */
    /* A port ends with MPI at its owner: whoever has knocked there, or does so later, is refused. */
    char last[MPI_MAX_PORT_NAME] = "";
    MPI_Comm nobody;
    if (rank == 0) EXPECT(MPI_Open_port(MPI_INFO_NULL, last) == MPI_SUCCESS);
    MPI_Bcast(last, sizeof last, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1) EXPECT(MPI_Comm_connect(last, MPI_INFO_NULL, 0, MPI_COMM_SELF, &nobody) == MPI_ERR_PORT && nobody == MPI_COMM_NULL);
    MPI_Finalize();
    return failures != 0;
}
