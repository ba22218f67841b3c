// huge_pages.hpp: large blocks of memory, in huge pages if possible.
// With pages of 4 KB, page faults cost as much as computing the kernel values that are stored there.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#elif defined(_WIN32)
#include <malloc.h>
#endif

namespace hinge {

// Uninitialized memory for at least `count` values.
template <class T>
class Pages {
  static_assert(std::is_trivial_v<T>);

 public:
  Pages() = default;
  explicit Pages(std::size_t count) {
    const std::size_t unit = count * sizeof(T) >= kHugePage ? kHugePage : kCacheLine;
    const std::size_t bytes = (count * sizeof(T) + unit - 1) / unit * unit;
#if defined(_WIN32)
    memory_.reset(static_cast<T*>(_aligned_malloc(bytes, unit)));
#else
    memory_.reset(static_cast<T*>(std::aligned_alloc(unit, bytes)));
#endif
    if (!memory_) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == kHugePage) madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a hint; failure has no consequence
#endif
    size_ = bytes / sizeof(T);
  }

  T* data() const { return memory_.get(); }
  std::size_t size() const { return memory_ ? size_ : 0; }

 private:
  static constexpr std::size_t kHugePage = std::size_t(2) << 20, kCacheLine = 64;

  struct Free {
#if defined(_WIN32)
    void operator()(T* p) const { _aligned_free(p); }
#else
    void operator()(T* p) const { std::free(p); }
#endif
  };

  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace hinge
