// arena.hpp: memory for many rows of one length, taken in pieces of some megabytes and given back all at once.
// On Linux the pieces ask for huge pages: at 4 KB a page, faults cost as much as the kernel values written there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace hinge {

template <class T>
class Arena {
 public:
  explicit Arena(std::size_t length) { reshape(length); }

  // Forget all rows; from now on they have this length.  Memory that is there is used again.
  void reshape(std::size_t length) {
    stride_ = std::max<std::size_t>(16, (length + 15) / 16 * 16);
    current_ = used_ = 0;
  }

  T* row() {
    while (current_ < pieces_.size() && used_ + stride_ > pieces_[current_].size) ++current_, used_ = 0;
    if (current_ == pieces_.size()) grow();
    T* const out = pieces_[current_].memory.get() + used_;
    used_ += stride_;
    return out;
  }

 private:
  static constexpr std::size_t kPiece = std::size_t(16) << 20, kHuge = std::size_t(2) << 20, kSmall = 1 << 16;

  // Pieces double up to their full size: a small problem takes little.
  void grow() {
    const std::size_t wanted = pieces_.empty() ? kSmall : std::min(kPiece, 2 * pieces_.back().size * sizeof(T));
    const std::size_t bytes = std::max(wanted, stride_ * sizeof(T));
    const std::size_t unit = bytes >= kHuge ? kHuge : 64;
    const std::size_t size = (bytes + unit - 1) / unit * unit;
    void* const memory = std::aligned_alloc(unit, size);
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == kHuge) madvise(memory, size, MADV_HUGEPAGE);  // a wish; nothing depends on it
#endif
    pieces_.push_back({std::unique_ptr<T[], Free>(static_cast<T*>(memory)), size / sizeof(T)});
    used_ = 0;
  }

  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  struct Piece {
    std::unique_ptr<T[], Free> memory;
    std::size_t size;
  };

  std::size_t stride_ = 0, current_ = 0, used_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace hinge
