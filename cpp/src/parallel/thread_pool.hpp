// thread_pool.hpp: helper threads for many short pieces of work.  They are started with the first piece and stay until the
// crew goes; between two pieces they look for the next one for a fraction of a millisecond (and let others go first),
// then sleep.  Handing over costs a few µs, where starting a thread costs some 50.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "hinge/parallel.hpp"

namespace hinge {

class Crew {
 public:
  explicit Crew(int helpers) : wanted_(helpers > 0 ? helpers : 0) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    over_.store(true);
    announce();
    for (std::thread& helper : helpers_) helper.join();
  }

  // help() by up to `most` helpers while the calling thread does mine(); neither may throw.  Helpers that have not
  // begun when mine() is done are not waited for.
  template <class Mine, class Help>
  void together(std::size_t most, Mine mine, Help help) {
    start();
    work_ = [](void* work) { (*static_cast<Help*>(work))(); };
    argument_ = &help;
    const int places = static_cast<int>(most);
    done_.store(0, std::memory_order_relaxed);
    places_.store(places, std::memory_order_release);
    announce();
    mine();
    wait_for(places - places_.exchange(0, std::memory_order_acq_rel));
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Work = void (*)(void*);

  void start() {
    if (started_) return;
    started_ = true;
    try {
      helpers_.reserve(static_cast<std::size_t>(wanted_));
      for (int k = 0; k < wanted_; ++k) {
        helpers_.emplace_back([this] { serve(); });
        move_away(helpers_.back());
      }
    } catch (const std::system_error&) {  // no more threads to be had: those there are will do
    }
  }

  // A new thread often begins on the processor of its parent, and waits there for milliseconds: longer than most
  // pieces of work.  It is sent elsewhere once, and may then go where the system likes.
  static void move_away(std::thread& helper) {
#if defined(__linux__)
    cpu_set_t all, others;
    const int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof all, &all) != 0) return;
    others = all;
    CPU_CLR(static_cast<std::size_t>(here), &others);
    if (CPU_COUNT(&others) == 0) return;
    pthread_setaffinity_np(helper.native_handle(), sizeof others, &others);
    pthread_setaffinity_np(helper.native_handle(), sizeof all, &all);
#else
    static_cast<void>(helper);
#endif
  }

  // A helper that has begun and lost its processor comes back with the next tick of the clock, milliseconds later.
  // Who sleeps instead of asking again and again leaves it this processor.
  void wait_for(int joined) {
    const auto until = Clock::now() + std::chrono::microseconds(50);
    do {
      for (int k = 0; k < 64; ++k)
        if (done_.load(std::memory_order_acquire) >= joined) return;
    } while (Clock::now() < until);
    std::unique_lock<std::mutex> lock(guard_);
    awaited_.store(true);
    all_done_.wait(lock, [&] { return done_.load() >= joined; });
    awaited_.store(false);
  }

  void announce() {
    {
      const std::lock_guard<std::mutex> lock(guard_);
      piece_.fetch_add(1, std::memory_order_release);
    }
    if (asleep_.load() > 0) bell_.notify_all();
  }

  void serve() {
    for (std::uint64_t seen = 0;;) {
      seen = wait_beyond(seen);
      if (over_.load()) return;
      int free = places_.load(std::memory_order_acquire);
      while (free > 0 && !places_.compare_exchange_weak(free, free - 1, std::memory_order_acq_rel)) {
      }
      if (free <= 0) continue;
      work_(argument_);
      done_.fetch_add(1);
      if (!awaited_.load()) continue;
      const std::lock_guard<std::mutex> lock(guard_);
      all_done_.notify_one();
    }
  }

  std::uint64_t wait_beyond(std::uint64_t seen) {
    const auto until = Clock::now() + std::chrono::microseconds(300);
    do {
      for (int k = 0; k < 64; ++k) {
        const std::uint64_t now = piece_.load(std::memory_order_acquire);
        if (now != seen) return now;
        std::this_thread::yield();
      }
    } while (Clock::now() < until);
    std::unique_lock<std::mutex> lock(guard_);
    ++asleep_;
    bell_.wait(lock, [&] { return piece_.load() != seen; });
    --asleep_;
    return piece_.load();
  }

  int wanted_;
  bool started_ = false;
  std::vector<std::thread> helpers_;
  std::mutex guard_;
  std::condition_variable bell_, all_done_;
  Work work_ = nullptr;
  void* argument_ = nullptr;
  std::atomic<std::uint64_t> piece_{0};
  std::atomic<int> asleep_{0}, places_{0}, done_{0};  // places: open ones of the piece at hand
  std::atomic<bool> over_{false}, awaited_{false};
};

struct CrewParallel {
  Parallel plain;
  Crew* crew = nullptr;
};

// As run_tasks of parallel.hpp, but with the threads of a crew.
template <class MakeTask>
void run_tasks(std::size_t count, const CrewParallel& parallel, MakeTask make_task) {
  if (count == 0) return;
  const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(1, parallel.plain.threads)));
  if (threads == 1 || !parallel.crew) return run_tasks(count, parallel.plain, make_task);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex guard;
  const auto work = [&](const std::function<void()>* poll) noexcept {
    try {
      Pulse pulse(stop, poll);
      auto task = make_task();
      for (std::size_t i = next++; i < count; i = next++) {
        pulse.beat();
        task(i, pulse);
      }
    } catch (const Stopped&) {
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  const std::function<void()>* poll = parallel.plain.poll ? &parallel.plain.poll : nullptr;
  parallel.crew->together(threads - 1, [&] { work(poll); }, [&] { work(nullptr); });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hinge
