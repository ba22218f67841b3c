// thread_pool.hpp: worker threads for many short jobs.
//
// Workers are started with the first job and live as long as the pool.  Between two jobs a worker polls for the next
// one for a fraction of a millisecond, yielding its processor, and then sleeps.  Handing over a job costs a few µs;
// starting a thread costs about 50 µs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace hinge {

class ThreadPool {
 public:
  explicit ThreadPool(int workers) : max_workers_(workers > 0 ? workers : 0) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() {
    closing_.store(true);
    announce_job();
    for (std::thread& worker : workers_) worker.join();
  }

  // Starts the workers if they are not running.  Returns their number: fewer than requested if the system has no more.
  std::size_t start() {
    if (started_) return workers_.size();
    started_ = true;
    try {
      workers_.reserve(static_cast<std::size_t>(max_workers_));
      for (int k = 0; k < max_workers_; ++k) {
        workers_.emplace_back([this] { serve(); });
        move_to_other_processor(workers_.back());
      }
    } catch (const std::system_error&) {  // thread limit of the system: continue with the workers that exist
    }
    return workers_.size();
  }

  // Calls job() on up to `max_workers` workers while the calling thread runs own_job(), and waits until all calls have
  // returned.  Neither may throw.  A worker that has not begun when own_job() returns does not take part.
  template <class OwnJob, class Job>
  void run(std::size_t max_workers, OwnJob own_job, Job job) {
    start();
    job_ = [](void* argument) { (*static_cast<Job*>(argument))(); };
    argument_ = &job;
    const int slots = static_cast<int>(max_workers);
    finished_.store(0, std::memory_order_relaxed);
    open_slots_.store(slots, std::memory_order_release);
    announce_job();
    own_job();
    wait_until_finished(slots - open_slots_.exchange(0, std::memory_order_acq_rel));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kIdlePolling{300};  // an idle worker then sleeps until the next job
  static constexpr std::chrono::microseconds kFinishPolling{50};  // the caller then sleeps until the workers finish
  static constexpr int kPollsPerClock = 64;                       // polls between two readings of the clock

  // A new thread often starts on the processor of its parent and waits there for milliseconds, longer than most jobs.
  // It is moved to another processor once, and may then be scheduled anywhere.
  static void move_to_other_processor(std::thread& worker) {
#if defined(__linux__)
    cpu_set_t all, others;
    const int current = sched_getcpu();
    if (current < 0 || sched_getaffinity(0, sizeof all, &all) != 0) return;
    others = all;
    CPU_CLR(static_cast<std::size_t>(current), &others);
    if (CPU_COUNT(&others) == 0) return;
    pthread_setaffinity_np(worker.native_handle(), sizeof others, &others);
    pthread_setaffinity_np(worker.native_handle(), sizeof all, &all);
#else
    static_cast<void>(worker);
#endif
  }

  // A worker that was preempted during its job resumes at the next timer tick, milliseconds later.  Sleeping instead of
  // polling leaves this processor to it.
  void wait_until_finished(int joined) {
    const auto until = Clock::now() + kFinishPolling;
    do {
      for (int k = 0; k < kPollsPerClock; ++k)
        if (finished_.load(std::memory_order_acquire) >= joined) return;
    } while (Clock::now() < until);
    std::unique_lock<std::mutex> lock(mutex_);
    caller_waits_.store(true);
    job_finished_.wait(lock, [&] { return finished_.load() >= joined; });
    caller_waits_.store(false);
  }

  void announce_job() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_number_.fetch_add(1, std::memory_order_release);
    }
    if (sleeping_.load() > 0) job_announced_.notify_all();
  }

  void serve() {
    for (std::uint64_t last = 0;;) {
      last = wait_for_job(last);
      if (closing_.load()) return;
      int open = open_slots_.load(std::memory_order_acquire);
      while (open > 0 && !open_slots_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel)) {
      }
      if (open <= 0) continue;
      job_(argument_);
      finished_.fetch_add(1);
      if (!caller_waits_.load()) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      job_finished_.notify_one();
    }
  }

  // Returns the number of a job later than `last`.
  std::uint64_t wait_for_job(std::uint64_t last) {
    const auto until = Clock::now() + kIdlePolling;
    do {
      for (int k = 0; k < kPollsPerClock; ++k) {
        const std::uint64_t current = job_number_.load(std::memory_order_acquire);
        if (current != last) return current;
        std::this_thread::yield();
      }
    } while (Clock::now() < until);
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleeping_;
    job_announced_.wait(lock, [&] { return job_number_.load() != last; });
    --sleeping_;
    return job_number_.load();
  }

  const int max_workers_;
  bool started_ = false;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable job_announced_, job_finished_;
  void (*job_)(void*) = nullptr;
  void* argument_ = nullptr;
  std::atomic<std::uint64_t> job_number_{0};
  std::atomic<int> sleeping_{0}, finished_{0};
  std::atomic<int> open_slots_{0};  // workers that may still join the current job
  std::atomic<bool> closing_{false}, caller_waits_{false};
};

}  // namespace hinge
