// glibc_2_28.cpp: functions of the C library in versions that glibc 2.28 has.
//
// A program that is linked on a newer system refers to the newest versions of exp, pow, pthread_once and others, and
// does not start on older systems.  With HINGE_MANYLINUX the linker replaces all references to these functions, also
// those of the static C++ library, by the functions below (--wrap), which refer to the oldest version.
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__x86_64__)
#define HINGE_BASE "GLIBC_2.2.5"
#define HINGE_AFFINITY "GLIBC_2.3.4"
#elif defined(__aarch64__)
#define HINGE_BASE "GLIBC_2.17"
#define HINGE_AFFINITY "GLIBC_2.17"
#else
#error "HINGE_MANYLINUX is implemented for x86_64 and aarch64"
#endif

#define HINGE_LOCAL __attribute__((visibility("hidden")))

// Defines the replacement of a function: the parameters in parentheses, with their types and without.
#define HINGE_REPLACE(result, name, version, parameters, arguments) \
  result hinge_old_##name parameters;                               \
  __asm__(".symver hinge_old_" #name ", " #name "@" version);       \
  HINGE_LOCAL result __wrap_##name parameters { return hinge_old_##name arguments; }

extern "C" {

HINGE_REPLACE(double, exp, HINGE_BASE, (double x), (x))
HINGE_REPLACE(double, log, HINGE_BASE, (double x), (x))
HINGE_REPLACE(double, pow, HINGE_BASE, (double x, double y), (x, y))
HINGE_REPLACE(double, hypot, HINGE_BASE, (double x, double y), (x, y))

// glibc 2.34 moved the functions of threads from libpthread to libc, with new versions.
HINGE_REPLACE(int, pthread_create, HINGE_BASE,
              (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
              (thread, attributes, start, argument))
HINGE_REPLACE(int, pthread_join, HINGE_BASE, (pthread_t thread, void** result), (thread, result))
HINGE_REPLACE(int, pthread_detach, HINGE_BASE, (pthread_t thread), (thread))
HINGE_REPLACE(int, pthread_once, HINGE_BASE, (pthread_once_t * once, void (*call)()), (once, call))
HINGE_REPLACE(int, pthread_key_create, HINGE_BASE, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy))
HINGE_REPLACE(int, pthread_key_delete, HINGE_BASE, (pthread_key_t key), (key))
HINGE_REPLACE(void*, pthread_getspecific, HINGE_BASE, (pthread_key_t key), (key))
HINGE_REPLACE(int, pthread_setspecific, HINGE_BASE, (pthread_key_t key, const void* value), (key, value))
HINGE_REPLACE(int, pthread_rwlock_rdlock, HINGE_BASE, (pthread_rwlock_t * lock), (lock))
HINGE_REPLACE(int, pthread_rwlock_wrlock, HINGE_BASE, (pthread_rwlock_t * lock), (lock))
HINGE_REPLACE(int, pthread_rwlock_unlock, HINGE_BASE, (pthread_rwlock_t * lock), (lock))
HINGE_REPLACE(int, pthread_setaffinity_np, HINGE_AFFINITY, (pthread_t thread, std::size_t size, const cpu_set_t* set),
              (thread, size, set))

// The C++ library tests this name to find out whether the program has threads.
HINGE_LOCAL int __wrap___pthread_key_create(pthread_key_t* key, void (*destroy)(void*)) {
  return hinge_old_pthread_key_create(key, destroy);
}

// Random bits for std::random_device; glibc 2.25 has getentropy.
HINGE_LOCAL std::uint32_t __wrap_arc4random() {
  std::uint32_t bits = 0;
  if (getentropy(&bits, sizeof bits) != 0) std::abort();
  return bits;
}

// Waits until a time of the given clock.  glibc 2.28 has only pthread_cond_timedwait, which uses the real-time clock;
// the C++ library of that time converted in the same way.  An early wake-up is allowed: callers check the time.
HINGE_LOCAL int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                              const timespec* until) {
  timespec real = *until;
  if (clock != CLOCK_REALTIME) {
    timespec now{}, now_real{};
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &now_real);
    real.tv_sec = now_real.tv_sec + (until->tv_sec - now.tv_sec);
    real.tv_nsec = now_real.tv_nsec + (until->tv_nsec - now.tv_nsec);
    constexpr long kSecond = 1000000000L;
    while (real.tv_nsec >= kSecond) ++real.tv_sec, real.tv_nsec -= kSecond;
    while (real.tv_nsec < 0) --real.tv_sec, real.tv_nsec += kSecond;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

// The C++ library reads this variable of glibc 2.32 to omit atomic operations in programs with one thread.
HINGE_LOCAL char __libc_single_threaded = 0;

}  // extern "C"
