// linear_compact.cpp: see the header.
#include "linear_compact.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "linear_ops.hpp"

namespace hinge {
namespace {

constexpr double kWorthValues = 100'000;  // fewer are soon read as they are
constexpr std::size_t kFewestFeatures = 16, kLooks = 256, kParts = 64, kBeat = 64;
constexpr double kShare = 0.5;  // of the memory of the samples

template <class T>
std::int32_t nonzeros(const T* row, std::size_t features) {
  std::int32_t count = 0;
  for (std::size_t k = 0; k < features; ++k) count += row[k] != 0;
  return count;
}

template <class T>
bool small_enough(double count, double of) {
  return count * (sizeof(T) + sizeof(std::int32_t)) <= kShare * sizeof(T) * of;
}

// Some rows tell whether it is worth counting all of them.
template <class T>
bool mostly_zeros(const Dense<T>& from) {
  const std::size_t step = std::max<std::size_t>(1, from.rows / kLooks);
  double count = 0, looked = 0;
  for (std::size_t i = 0; i < from.rows; i += step, looked += 1) count += nonzeros(from.row(i), from.features);
  return small_enough<T>(count, looked * static_cast<double>(from.features));
}

}  // namespace

Samples CompactRows::of(const Samples& samples, const CrewParallel& parallel) {
  Samples view = samples;
  std::visit(
      [&](const auto& data) {
        if constexpr (!IsCsr<std::decay_t<decltype(data)>>::value) make(data, parallel, view);
      },
      samples);
  return view;
}

template <class T>
bool CompactRows::make(const Dense<T>& from, const CrewParallel& parallel, Samples& view) {
  const std::size_t n = from.rows, d = from.features;
  const double all = static_cast<double>(n) * static_cast<double>(d);
  if (d < kFewestFeatures || all < kWorthValues || !mostly_zeros(from)) return false;
  const auto each_row = [&](auto work) {
    run_tasks(kParts, parallel, [&] {
      return [&](std::size_t c, Pulse& pulse) {
        for (std::size_t i = n * c / kParts; i < n * (c + 1) / kParts; ++i) {
          if (i % kBeat == 0) pulse.beat();
          work(i);
        }
      };
    });
  };
  const std::size_t words = (d + 63) / 64;
  const Pages<std::uint64_t> bits(n * words);  // where the values are: the rows themselves are read once
  start_ = Pages<std::int32_t>(n + 1);
  std::int32_t* start = start_.data();
  start[0] = 0;
  each_row([&, &ops = linear_ops()](std::size_t i) {
    start[i + 1] = static_cast<std::int32_t>(hinge::bits(ops, from.row(i), d, bits.data() + i * words));
  });
  double count = 0;
  for (std::size_t i = 1; i <= n; ++i) count += start[i];
  if (!small_enough<T>(count, all) || count > std::numeric_limits<std::int32_t>::max()) return false;
  for (std::size_t i = 1; i <= n; ++i) start[i] += start[i - 1];

  values_ = Pages<char>(static_cast<std::size_t>(count) * sizeof(T));
  index_ = Pages<std::int32_t>(static_cast<std::size_t>(count));
  T* values = reinterpret_cast<T*>(values_.data());
  std::int32_t* index = index_.data();
  each_row([&](std::size_t i) {
    const T* row = from.row(i);
    std::int32_t at = start[i];
    for (std::size_t k = 0; k < words; ++k) {
      for (std::uint64_t left = bits.data()[i * words + k]; left != 0; left &= left - 1, ++at) {
        const std::size_t column = 64 * k + static_cast<std::size_t>(__builtin_ctzll(left));
        values[at] = row[column];
        index[at] = static_cast<std::int32_t>(column);
      }
    }
  });
  view = Csr<T, std::int32_t>{values, index, start, n, d};
  return true;
}

}  // namespace hinge
