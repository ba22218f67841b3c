// glibc_2_28.cpp: functions of the C library in versions that glibc 2.28 has.
//
// A program that is linked on a newer system refers to the newest versions of exp, pow, pthread_once and others, and
// does not start on older systems.  With HINGE_MANYLINUX the linker replaces all references to these functions, also
// those of the static C++ library, by the functions below (--wrap), which refer to the oldest version.
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <cstddef>

#if defined(__x86_64__)
#define HINGE_BASE "GLIBC_2.2.5"
#define HINGE_AFFINITY "GLIBC_2.3.4"
#elif defined(__aarch64__)
#define HINGE_BASE "GLIBC_2.17"
#define HINGE_AFFINITY "GLIBC_2.17"
#else
#error "HINGE_MANYLINUX is implemented for x86_64 and aarch64"
#endif

#define HINGE_OLD(name, version) __asm__(".symver hinge_old_" #name ", " #name "@" version)

extern "C" {

double hinge_old_exp(double);
double hinge_old_log(double);
double hinge_old_pow(double, double);
double hinge_old_hypot(double, double);
int hinge_old_pthread_once(pthread_once_t*, void (*)());
int hinge_old_pthread_setaffinity_np(pthread_t, std::size_t, const cpu_set_t*);
HINGE_OLD(exp, HINGE_BASE);
HINGE_OLD(log, HINGE_BASE);
HINGE_OLD(pow, HINGE_BASE);
HINGE_OLD(hypot, HINGE_BASE);
HINGE_OLD(pthread_once, HINGE_BASE);
HINGE_OLD(pthread_setaffinity_np, HINGE_AFFINITY);

#define HINGE_LOCAL __attribute__((visibility("hidden")))

HINGE_LOCAL double __wrap_exp(double x) { return hinge_old_exp(x); }
HINGE_LOCAL double __wrap_log(double x) { return hinge_old_log(x); }
HINGE_LOCAL double __wrap_pow(double x, double y) { return hinge_old_pow(x, y); }
HINGE_LOCAL double __wrap_hypot(double x, double y) { return hinge_old_hypot(x, y); }
HINGE_LOCAL int __wrap_pthread_once(pthread_once_t* once, void (*call)()) { return hinge_old_pthread_once(once, call); }
HINGE_LOCAL int __wrap_pthread_setaffinity_np(pthread_t thread, std::size_t size, const cpu_set_t* set) {
  return hinge_old_pthread_setaffinity_np(thread, size, set);
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
