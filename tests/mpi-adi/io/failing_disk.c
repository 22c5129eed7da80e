/* failing_disk.c: loaded before the C library, it makes every read, write and synchronization of a file at a position fail with EIO, but
 * reads of shared memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static long fail(void) {
    errno = EIO;
    return -1;
}
static int is_on_disk(int fd) {
    struct stat file, memory;
    return fstat(fd, &file) != 0 || stat("/dev/shm", &memory) != 0 || file.st_dev != memory.st_dev;
}
ssize_t pread64(int fd, void *buf, size_t count, off64_t offset) {
    return is_on_disk(fd) ? fail() : syscall(SYS_pread64, fd, buf, count, offset);
}
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
