/* Preloaded into a process (LD_PRELOAD), it lets the n-th call of a kind fail, or slows locks down.

   fault_arm(kind, n) counts calls of that kind from now on and lets the n-th fail; fault_disarm() stops this and returns
   how many calls there were. Kinds: write, fsync, rename, mmap, malloc (of at least 32 KiB). Only writes
   to regular files are counted. SLOW_LOCKS=1 in the environment makes every mutex wait 100 us once it is locked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { kNone, kWrite, kFsync, kRename, kMmap, kMalloc };
static const size_t kLarge = 32 << 10;
static int armed = kNone;
static long left, count;

static int kind_of(const char* name) {
  const char* names[] = {"", "write", "fsync", "rename", "mmap", "malloc"};
  for (int kind = kWrite; kind <= kMalloc; ++kind)
    if (strcmp(name, names[kind]) == 0) return kind;
  return kNone;
}

void fault_arm(const char* kind, long n) {
  count = 0;
  left = n;
  __atomic_store_n(&armed, kind_of(kind), __ATOMIC_SEQ_CST);
}

long fault_disarm(void) {
  __atomic_store_n(&armed, kNone, __ATOMIC_SEQ_CST);
  return count;
}

static int fails(int kind) {
  if (__atomic_load_n(&armed, __ATOMIC_RELAXED) != kind) return 0;
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  return __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) == 0;
}

#define NEXT(type, name)                                     \
  static type next = NULL;                                   \
  if (!next) next = (type)dlsym(RTLD_NEXT, name)

typedef ssize_t (*Write)(int, const void*, size_t);
ssize_t write(int fd, const void* data, size_t n) {
  NEXT(Write, "write");
  struct stat status;  // pipes and event descriptors wake threads up: they are not files
  if (fd > 2 && armed == kWrite && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && fails(kWrite))
    return errno = ENOSPC, -1;
  return next(fd, data, n);
}

typedef int (*Fsync)(int);
int fsync(int fd) {
  NEXT(Fsync, "fsync");
  if (fails(kFsync)) return errno = EIO, -1;
  return next(fd);
}

typedef int (*Rename)(const char*, const char*);
int rename(const char* from, const char* to) {
  NEXT(Rename, "rename");
  if (fails(kRename)) return errno = EIO, -1;
  return next(from, to);
}

typedef long (*Syscall)(long, long, long, long, long, long, long);
long syscall(long number, ...) {
  NEXT(Syscall, "syscall");
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2 && fails(kRename)) return errno = EIO, -1;
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

typedef void* (*Mmap)(void*, size_t, int, int, int, off_t);
void* mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset) {
  NEXT(Mmap, "mmap");
  if (fd > 2 && fails(kMmap)) return errno = ENOMEM, MAP_FAILED;
  return next(at, n, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t n, int protection, int flags, int fd, off_t offset) {
  return mmap(at, n, protection, flags, fd, offset);
}

extern void* __libc_malloc(size_t);
void* malloc(size_t n) {
  if (n >= kLarge && fails(kMalloc)) return errno = ENOMEM, NULL;
  return __libc_malloc(n);
}

typedef int (*Lock)(pthread_mutex_t*);
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  NEXT(Lock, "pthread_mutex_lock");
  static int slow = -1;
  const int result = next(mutex);
  if (slow < 0) slow = getenv("SLOW_LOCKS") != NULL;
  if (slow) usleep(100);
  return result;
}
