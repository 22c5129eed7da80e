/* lacks.c: a rank all of whose system calls that take a descriptor, memory, a port, a thread or a watch can be refused, one at a time.
 *
 * LACKS=n: the n-th such call of rank 0, after main has begun, is refused. Rank 0 prints how many there were. The functions of the C library
 * are replaced for all libraries of the process, libfabric and libpmix among them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static atomic_long calls, refused = -1;

/* Lacks of libpmix and its libevent are theirs to tell. libfabric's net tells nobody of a connection that it cannot watch, and does not
 * find out, either. */
static int is_ours(const void *caller, const char *what) {
    Dl_info of;
    if (!dladdr(caller, &of) || !of.dli_fname || strstr(of.dli_fname, "libpmix") || strstr(of.dli_fname, "libevent")) return 0;
    return !strstr(of.dli_fname, "libfabric") || strcmp(what, "epoll_ctl") != 0;
}
static int is_refused_to(const void *caller, const char *what) {
    if (!is_ours(caller, what) || atomic_fetch_add(&calls, 1) + 1 != atomic_load(&refused)) return 0;
    fprintf(stderr, "refused: %s\n", what);
    return 1;
}
#define is_refused() is_refused_to(__builtin_return_address(0), __func__)
static int refuse(int error) {
    errno = error;
    return -1;
}

#pragma GCC visibility push(default)
int socket(int domain, int type, int protocol) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_socket, domain, type, protocol); }
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
    struct pollfd called = {fd, POLLIN, 0};
    if (poll(&called, 1, 0) == 1 && is_refused()) return refuse(EMFILE); /* the caller waits in the backlog */
    return (int)syscall(SYS_accept4, fd, address, size, flags);
}
int epoll_create1(int flags) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_epoll_create1, flags); }
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
    return operation == EPOLL_CTL_ADD && is_refused() ? refuse(ENOSPC) : (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}
int timerfd_create(int clock, int flags) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_timerfd_create, clock, flags); }
int eventfd(unsigned count, int flags) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_eventfd2, count, flags); }
int memfd_create(const char *name, unsigned flags) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_memfd_create, name, flags); }
int socketpair(int domain, int type, int protocol, int fds[2]) {
    return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_socketpair, domain, type, protocol, fds);
}
int bind(int fd, const struct sockaddr *address, socklen_t size) {
    return is_refused() ? refuse(ENOBUFS) : (int)syscall(SYS_bind, fd, address, size);
}
int listen(int fd, int backlog) { return is_refused() ? refuse(ENOBUFS) : (int)syscall(SYS_listen, fd, backlog); }
int dup(int fd) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_dup, fd); }
int pipe2(int fds[2], int flags) { return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_pipe2, fds, flags); }
int ftruncate(int fd, off_t length) { return is_refused() ? refuse(ENOSPC) : (int)syscall(SYS_ftruncate, fd, length); }
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return is_refused() ? (void *)(intptr_t)refuse(ENOMEM) : (void *)syscall(SYS_mmap, at, length, protection, flags, fd, offset);
}
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    return is_refused() ? refuse(EMFILE) : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int shm_open(const char *name, int flags, mode_t mode) {
    static int (*real)(const char *, int, mode_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "shm_open");
    return is_refused() ? refuse(EMFILE) : real(name, flags, mode);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *arg) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return is_refused() ? EAGAIN : real(thread, attributes, start, arg);
}

#pragma GCC visibility pop

int main(int argc, char **argv) {
    const char *which = getenv("LACKS"), *rank = getenv("PMIX_RANK");
    if (which && rank && rank[0] == '0') atomic_store(&refused, atol(which) + atomic_load(&calls));
    const long before = atomic_load(&calls);
    MPI_Init(&argc, &argv);
    MPI_Comm all;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    int one = 1, sum, me;
    for (int i = 0; i < 10; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, &sum, 0, MPI_INT, all);
    MPI_Comm_rank(all, &me);
    if (me == 0) printf("%ld calls, and a sum of %d\n", atomic_load(&calls) - before, sum);
    MPI_Comm_free(&all);
    MPI_Finalize();
    return 0;
}
