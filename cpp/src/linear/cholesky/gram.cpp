// gram.cpp: see the header.
#include "linear/cholesky/gram.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <variant>

#include "linear/cholesky/loops.hpp"
#include "linear/data/rows.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kSparseTask = 16, kDenseTask = 32;  // new rows per task
constexpr std::size_t kPanelFeatures = 256, kPanelRows = 64;        // features and known rows per panel

// The stored values of some rows by feature; within a feature in the order of the rows.
class ByFeature {
 public:
  template <class Storage>
  ByFeature(const Rows<Storage>& rows, std::size_t features, const std::vector<std::uint32_t>& list)
      : start_(features + 1, 0) {
    for (std::uint32_t i : list) rows.each(i, [&](std::size_t j, double) { ++start_[j + 1]; });
    for (std::size_t j = 0; j < features; ++j) start_[j + 1] += start_[j];
    place_.resize(start_[features]), value_.resize(start_[features]);
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t p = 0; p < list.size(); ++p)
      rows.each(list[p], [&](std::size_t j, double v) {
        place_[next[j]] = static_cast<std::uint32_t>(p);
        value_[next[j]++] = v;
      });
  }
  // sums[p] += factor · value of row p, for rows up to `last`; returns their number.
  std::size_t add(std::size_t feature, double factor, std::size_t last, double* sums) const {
    const std::size_t first = start_[feature], end = start_[feature + 1];
    std::size_t k = first;
    for (; k < end && place_[k] <= last; ++k) sums[place_[k]] += factor * value_[k];
    return k - first;
  }

 private:
  std::vector<std::size_t> start_;
  std::vector<std::uint32_t> place_;
  std::vector<double> value_;
};

template <class Storage>
class GramOf final : public LinearGram {
 public:
  GramOf(const Storage& data, const Parallel& parallel)
      : rows_(data), n_(data.rows), d_(data.features), parallel_(parallel), place_(data.rows, kUnknown) {}

  void require(std::vector<std::uint32_t>& list) override {
    std::size_t fresh = 0;
    for (std::uint32_t i : list) fresh += place_[i] == kUnknown;
    if (known_.size() + fresh > kMaxStoredSamples) {
      for (std::uint32_t i : known_) place_[i] = kUnknown;
      known_.clear(), products_.clear();
    }
    const std::size_t before = known_.size();
    for (std::uint32_t i : list) {
      if (place_[i] != kUnknown) continue;
      place_[i] = static_cast<std::uint32_t>(known_.size());
      known_.push_back(i);
    }
    std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; });
    if (known_.size() == before) return;
    for (std::size_t p = before; p < known_.size(); ++p) products_.emplace_back(p + 1, 0.0);
    add(before);
  }

  void read(Span<const std::uint32_t> list, std::size_t k, double* out) const override {
    const double* row = products_[place_[list[k]]].data();
    for (std::size_t l = 0; l <= k; ++l) out[l] = row[place_[list[l]]];
  }

  double work_of_all() const override {
    if constexpr (!IsCsr<Storage>::value) {
      return kDenseWork * 0.5 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(d_);
    } else {
      std::vector<std::uint32_t> count(d_, 0);
      for (std::size_t i = 0; i < n_; ++i) rows_.each(i, [&](std::size_t j, double) { ++count[j]; });
      double sum = 0;
      for (std::uint32_t c : count) sum += 0.5 * static_cast<double>(c) * static_cast<double>(c);
      return kSparseWork * sum;
    }
  }

 private:
  // Computes the rows of products from `before` on.
  void add(std::size_t before) {
    const std::size_t fresh = known_.size() - before;
    if constexpr (IsCsr<Storage>::value) {
      const ByFeature known(rows_, d_, known_);
      std::vector<double> made(fresh, 0.0);
      run_tasks((fresh + kSparseTask - 1) / kSparseTask, parallel_, [&] {
        return [&](std::size_t c, Poller& poller) {
          for (std::size_t p = before + c * kSparseTask; p < std::min(before + (c + 1) * kSparseTask, known_.size());
               ++p) {
            poller.poll();
            std::size_t count = 0;
            rows_.each(known_[p], [&](std::size_t j, double v) { count += known.add(j, v, p, products_[p].data()); });
            made[p - before] = static_cast<double>(count);
          }
        };
      });
      for (double count : made) work += kSparseWork * count;
    } else {
      run_tasks((fresh + kDenseTask - 1) / kDenseTask, parallel_, [&] {
        return [&](std::size_t c, Poller& poller) {
          const std::size_t first = before + c * kDenseTask;
          by_panels(first, std::min(kDenseTask, known_.size() - first), poller);
        };
      });
      const double all = static_cast<double>(known_.size()), old = static_cast<double>(before);
      work += kDenseWork * 0.5 * (all * all - old * old) * static_cast<double>(d_);
    }
  }

  // Computes `count` rows of products from `first` on, in panels of features and blocks of known rows.
  void by_panels(std::size_t first, std::size_t count, Poller& poller) {
    std::vector<double> new_rows(count * kPanelFeatures), known_rows(kPanelRows * kPanelFeatures),
        sums(count * (first + count), 0.0);
    const std::size_t width = first + count;
    for (std::size_t j = 0; j < d_; j += kPanelFeatures) {
      const std::size_t depth = std::min(kPanelFeatures, d_ - j);
      copy(first, count, j, depth, -1.0, new_rows);
      for (std::size_t p = 0; p < width; p += kPanelRows) {
        poller.poll();
        const std::size_t some = std::min(kPanelRows, width - p);
        copy(p, some, j, depth, 1.0, known_rows);
        factor_loops().subtract_products(new_rows.data(), count, known_rows.data(), some, kPanelFeatures, depth,
                                         sums.data() + p, width);
      }
    }
    for (std::size_t r = 0; r < count; ++r)
      std::copy_n(sums.data() + r * width, first + r + 1, products_[first + r].data());
  }

  void copy(std::size_t first, std::size_t count, std::size_t feature, std::size_t depth, double sign,
            std::vector<double>& out) const {
    if constexpr (!IsCsr<Storage>::value)
      for (std::size_t r = 0; r < count; ++r)
        for (std::size_t k = 0; k < depth; ++k)
          out[r * kPanelFeatures + k] = sign * static_cast<double>(rows_.data().row(known_[first + r])[feature + k]);
  }

  static constexpr double kSparseWork = 1.0, kDenseWork = 0.1;  // work per product of two values

  Rows<Storage> rows_;
  std::size_t n_, d_;
  Parallel parallel_;
  std::vector<std::uint32_t> place_;  // position of a sample among the known ones
  std::vector<std::uint32_t> known_;
  std::vector<std::vector<double>> products_;  // products of each known sample with those before it and with itself
};

}  // namespace

std::unique_ptr<LinearGram> make_gram(const Samples& samples, const Parallel& parallel) {
  return std::visit(
      [&](const auto& data) -> std::unique_ptr<LinearGram> {
        return std::make_unique<GramOf<std::decay_t<decltype(data)>>>(data, parallel);
      },
      samples);
}

}  // namespace hinge
