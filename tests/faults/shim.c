/* File calls that fail, are cut short, are lost or are recorded; preloaded below Python and SQLite.
 *
 * A program arms it (fault_arm) with a folder, a kind and a number n: the nth call of that kind on
 * a file in the folder fails, once or from then on. fault_log records every change and sync, so
 * that the states a power cut may leave can be rebuilt (test_power_cut in test_nth_failure.py).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NONE, FAIL_EIO, FAIL_ENOSPC, FAIL_EMFILE, SHORT_WRITE, TORN_WRITE, LOST_SYNC, KILL, FAIL_READ
};
enum { OPENING, CHANGING, WRITING, SYNCING, READING };

static char root[PATH_MAX];
static int kind, forever, log_fd = -1;
static long wanted, seen, hits;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

void fault_arm(const char *folder, int which, long n, int for_good)
{
    strncpy(root, folder, sizeof root - 1);
    kind = which, wanted = n, forever = for_good, seen = hits = 0;
}
long fault_count(void) { return seen; }
long fault_hits(void) { return hits; }
void fault_log(int descriptor) { log_fd = descriptor; }

static int within(const char *path) { return *root && !strncmp(path, root, strlen(root)); }

static const char *path_of(int descriptor)
{
    static char path[PATH_MAX];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    return path;
}

static void record(char what, const char *path, int64_t offset, const void *data, uint32_t size)
{
    if (log_fd < 0) return;
    uint32_t length = strlen(path);
    __typeof__(&write) put = REAL(write);
    if (put(log_fd, &what, 1) + put(log_fd, &length, 4) + put(log_fd, path, length) +
            put(log_fd, &offset, 8) + put(log_fd, &size, 4) + (size ? put(log_fd, data, size) : 0) < 0)
        abort();
}
void fault_mark(long number) { record('A', "", number, NULL, 0); }

/* Whether this call is the one: then errno is set. */
static int is_hit(int what)
{
    int counts = kind == FAIL_EIO    ? what != OPENING && what != READING
                 : kind == FAIL_ENOSPC ? what == CHANGING || what == WRITING
                 : kind == FAIL_EMFILE ? what == OPENING
                 : kind == SHORT_WRITE || kind == TORN_WRITE ? what == WRITING
                 : kind == LOST_SYNC ? what == SYNCING
                 : kind == FAIL_READ ? what == READING
                 : kind == KILL && what != READING;
    if (!counts) return 0;
    seen++;
    if (seen != wanted && !(forever && seen > wanted)) return 0;
    hits++;
    if (kind == KILL) kill(getpid(), SIGKILL);
    errno = kind == FAIL_ENOSPC ? ENOSPC : kind == FAIL_EMFILE ? EMFILE : EIO;
    return 1;
}

static ssize_t written(int fd, const void *data, size_t size, int64_t offset, const char *path)
{
    __typeof__(&pwrite64) put = REAL(pwrite64);
    if (is_hit(WRITING)) {
        if (kind != SHORT_WRITE && kind != TORN_WRITE) return -1;
        if (size > 1) size /= 2;
        if (put(fd, data, size, offset) < 0) return -1;
        record('W', path, offset, data, size);
        if (kind == TORN_WRITE) kill(getpid(), SIGKILL);
        return size;
    }
    ssize_t done = put(fd, data, size, offset);
    if (done > 0) record('W', path, offset, data, done);
    return done;
}

ssize_t write(int fd, const void *data, size_t size)
{
    int error = errno;
    const char *path = fd == log_fd ? "" : path_of(fd);
    errno = error;
    if (!within(path)) return REAL(write)(fd, data, size);
    int64_t at = lseek64(fd, 0, SEEK_CUR);
    ssize_t done = written(fd, data, size, at, path);
    if (done > 0) lseek64(fd, at + done, SEEK_SET);
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    const char *path = path_of(fd);
    if (!within(path)) return REAL(pwrite64)(fd, data, size, offset);
    return written(fd, data, size, offset, path);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite64(fd, data, size, offset);
}

#define READ(call) return within(path_of(fd)) && is_hit(READING) ? -1 : (call)
ssize_t read(int fd, void *data, size_t size) { READ(REAL(read)(fd, data, size)); }
ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    READ(REAL(pread64)(fd, data, size, offset));
}
ssize_t pread(int fd, void *data, size_t size, off_t offset) { return pread64(fd, data, size, offset); }

ssize_t sendfile64(int to, int from, off64_t *offset, size_t size)
{
    if (within(path_of(from)) && is_hit(READING)) return -1;
    if (within(path_of(to)) && is_hit(WRITING)) {
        if (kind == TORN_WRITE) kill(getpid(), SIGKILL);
        if (kind != SHORT_WRITE) return -1;
        size = size > 1 ? size / 2 : size;
    }
    return REAL(sendfile64)(to, from, offset, size);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t size)
{
    return sendfile64(to, from, offset, size);
}

static int synced(int fd, int (*sync)(int))
{
    const char *path = path_of(fd);
    if (within(path)) {
        if (is_hit(SYNCING)) return kind == LOST_SYNC ? 0 : -1;
        record('S', path, 0, NULL, 0);
    }
    return sync(fd);
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

static int truncated(int fd, off64_t size)
{
    const char *path = path_of(fd);
    if (within(path)) {
        if (is_hit(CHANGING)) return -1;
        record('T', path, size, NULL, 0);
    }
    return REAL(ftruncate64)(fd, size);
}
int ftruncate64(int fd, off64_t size) { return truncated(fd, size); }
int ftruncate(int fd, off_t size) { return truncated(fd, size); }

int rename(const char *from, const char *to)
{
    if (within(to)) {
        if (is_hit(CHANGING)) return -1;
        record('R', from, 0, to, strlen(to));
    }
    return REAL(rename)(from, to);
}
int unlink(const char *path)
{
    if (within(path)) {
        struct stat found;
        if (!lstat(path, &found)) {
            if (is_hit(CHANGING)) return -1;
            record('U', path, 0, NULL, 0);
        }
    }
    return REAL(unlink)(path);
}
int unlinkat(int folder, const char *name, int flags)
{
    char path[PATH_MAX];
    const char *parent = *name == '/' || folder == AT_FDCWD ? "" : path_of(folder);
    snprintf(path, sizeof path, *parent ? "%s/%s" : "%s%s", parent, name);
    struct stat found;
    if (within(path) && !lstat(path, &found)) {
        if (is_hit(CHANGING)) return -1;
        record('U', path, 0, NULL, 0);
    }
    return REAL(unlinkat)(folder, name, flags);
}
int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
    if (within(path_of(fd)) && is_hit(CHANGING)) return errno;
    return REAL(posix_fallocate64)(fd, offset, size);
}
int posix_fallocate(int fd, off_t offset, off_t size) { return posix_fallocate64(fd, offset, size); }
int mkdir(const char *path, mode_t mode)
{
    if (within(path)) {
        if (is_hit(CHANGING)) return -1;
        record('D', path, 0, NULL, 0);
    }
    return REAL(mkdir)(path, mode);
}

static int opened(int folder, const char *path, int flags, mode_t mode)
{
    if (within(path)) {
        struct stat found;
        int exists = !stat(path, &found);
        if (is_hit(OPENING)) return -1;
        if ((flags & O_CREAT) && !exists) {
            if (is_hit(CHANGING)) return -1;
            record('C', path, 0, NULL, 0);
        }
        if (exists && (flags & O_TRUNC)) record('T', path, 0, NULL, 0);
    }
    return REAL(openat64)(folder, path, flags, mode);
}
#define MODE(flags) (((flags) & (O_CREAT | O_TMPFILE)) ? va_arg(list, mode_t) : 0)
#define OPEN(name, given, folder)                                                                  \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = MODE(flags);                                                                 \
        va_end(list);                                                                              \
        return opened(folder, path, flags, mode);                                                  \
    }
int open(const char *path, int flags, ...) OPEN(open, flags, AT_FDCWD)
int open64(const char *path, int flags, ...) OPEN(open64, flags, AT_FDCWD)
int openat(int folder, const char *path, int flags, ...) OPEN(openat, flags, folder)
