// span.hpp: a pointer and a length (std::span is C++20).  Owns nothing.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace hinge {

template <class T>
class Span {
 public:
  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

  template <class U, class = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, U>>>
  Span(std::vector<U>& v) noexcept : data_(v.data()), size_(v.size()) {}

  template <class U, class = std::enable_if_t<std::is_same_v<T, const U>>>
  Span(const std::vector<U>& v) noexcept : data_(v.data()), size_(v.size()) {}

  template <class U, class = std::enable_if_t<std::is_same_v<T, const U>>, class = void>
  constexpr Span(Span<U> other) noexcept : data_(other.data()), size_(other.size()) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  constexpr Span subspan(std::size_t offset, std::size_t count) const noexcept { return {data_ + offset, count}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hinge
