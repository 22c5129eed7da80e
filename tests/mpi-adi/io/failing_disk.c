/* failing_disk.c: loaded before the C library, it makes every read, write and synchronization of a file at a position fail with EIO. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

#pragma GCC visibility push(default)

static long fail(void) {
    errno = EIO;
    return -1;
}
ssize_t pread64(int fd, void *buf, size_t count, off64_t offset) { return (void)fd, (void)buf, (void)count, (void)offset, fail(); }
ssize_t pwrite64(int fd, const void *buf, size_t count, off64_t offset) { return (void)fd, (void)buf, (void)count, (void)offset, fail(); }
ssize_t preadv64(int fd, const struct iovec *v, int count, off64_t offset) { return (void)fd, (void)v, (void)count, (void)offset, fail(); }
ssize_t pwritev64(int fd, const struct iovec *v, int count, off64_t offset) { return (void)fd, (void)v, (void)count, (void)offset, fail(); }
ssize_t preadv64v2(int fd, const struct iovec *v, int count, off64_t offset, int flags) {
    return (void)fd, (void)v, (void)count, (void)offset, (void)flags, fail();
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    return (void)fd, (void)mode, (void)offset, (void)length, (int)fail();
}
int fdatasync(int fd) { return (void)fd, (int)fail(); }

#pragma GCC visibility pop
