// huge_pages.hpp: memory of some megabytes that is written to soon.
// On Linux it asks for huge pages: at 4 KB a page, faults cost as much as the kernel values written there.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hinge {

// Room for at least `count` values, not initialised.
template <class T>
class Pages {
  static_assert(std::is_trivial_v<T>);

 public:
  Pages() = default;
  explicit Pages(std::size_t count) {
    const std::size_t unit = count * sizeof(T) >= kHuge ? kHuge : kLine;
    const std::size_t bytes = (count * sizeof(T) + unit - 1) / unit * unit;
    memory_.reset(static_cast<T*>(std::aligned_alloc(unit, bytes)));
    if (!memory_) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == kHuge) madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a wish; nothing depends on it
#endif
    size_ = bytes / sizeof(T);
  }

  T* data() const { return memory_.get(); }
  std::size_t size() const { return memory_ ? size_ : 0; }

 private:
  static constexpr std::size_t kHuge = std::size_t(2) << 20, kLine = 64;

  struct Free {
    void operator()(T* p) const { std::free(p); }
  };

  std::unique_ptr<T[], Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace hinge
