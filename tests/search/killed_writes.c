// Ends the process at the k-th call that changes files, as kill -9 would: before the call, or in the middle of a write.
// Preloaded, it stands before the functions of the C library (Linux); `kill_at` sets k.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static long calls_left = -1;
static int writes_half = 0;

void kill_at(long call, int half) {
  calls_left = call;
  writes_half = half;
}

static int is_due(void) { return calls_left >= 0 && calls_left-- == 0; }

static void end_now(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define INSTEAD_OF_WRITE(result, name, parameters, arguments, half_arguments) \
  result name parameters {                                                    \
    if (is_due()) {                                                           \
      if (writes_half) REAL(name) half_arguments;                             \
      end_now();                                                              \
    }                                                                         \
    return REAL(name) arguments;                                              \
  }

#define INSTEAD_OF(name, parameters, arguments) \
  int name parameters {                         \
    if (is_due()) end_now();                    \
    return REAL(name) arguments;                \
  }

// What is in the system's cache outlives the process, so that there is nothing to wait for.
#define INSTEAD_OF_SYNC(name)  \
  int name(int file) {         \
    (void)file;                \
    if (is_due()) end_now();   \
    return 0;                  \
  }

INSTEAD_OF_WRITE(ssize_t, write, (int file, const void* data, size_t n), (file, data, n), (file, data, n / 2))
INSTEAD_OF_WRITE(ssize_t, pwrite, (int file, const void* data, size_t n, off_t at), (file, data, n, at),
                 (file, data, n / 2, at))
INSTEAD_OF_WRITE(ssize_t, pwrite64, (int file, const void* data, size_t n, off64_t at), (file, data, n, at),
                 (file, data, n / 2, at))
INSTEAD_OF(ftruncate, (int file, off_t length), (file, length))
INSTEAD_OF(ftruncate64, (int file, off64_t length), (file, length))
INSTEAD_OF_SYNC(fsync)
INSTEAD_OF_SYNC(fdatasync)
INSTEAD_OF(unlink, (const char* path), (path))
INSTEAD_OF(rename, (const char* from, const char* to), (from, to))
