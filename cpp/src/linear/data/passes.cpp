// passes.cpp: see the header.
#include "linear/data/passes.hpp"

#include <algorithm>
#include <cmath>

#include "hinge/solvers/linear.hpp"
#include "linear/data/rows.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr double kMinParallelValues = 200'000;  // passes over fewer values run on one thread
constexpr std::size_t kSampledRows = 64;         // rows from which the partition of the columns is estimated

template <class Storage>
class PassesOf final : public LinearPasses {
 public:
  PassesOf(const Storage& data, const Samples& samples, const Parallel& parallel, std::size_t release_bytes)
      : rows_(data), samples_(samples), parallel_(parallel), n_(data.rows), d_(data.features) {
    if constexpr (IsCsr<Storage>::value) {
      stored_ = static_cast<double>(data.start[n_]);
    } else {
      stored_ = static_cast<double>(n_) * static_cast<double>(d_);
    }
    const double per_row = std::max(1.0, stored_ / std::max<double>(1, static_cast<double>(n_)));
    poll_rows_ = static_cast<std::size_t>(std::max(1.0, 50'000 / per_row));
    if (release_bytes > 0) {  // bound on the memory of each thread
      release_ = static_cast<std::size_t>(std::max(1.0, static_cast<double>(release_bytes) / 8 / (12 * per_row)));
    }
  }

  std::size_t rows() const override { return n_; }
  std::size_t features() const override { return d_; }
  double stored() const override { return stored_; }
  const Parallel& parallel() const override { return parallel_; }

  void squared_norms(Span<double> out) override {
    each_part([&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) out[i] = rows_.squared_norm(i);
    });
  }

  void margins(Span<const double> w, Span<double> out) override {
    each_part([&](std::size_t first, std::size_t last) { rows_.dots(first, last, w.data(), out.data() + first); });
  }

  void combine(Span<const double> beta, Span<double> out) override {
    if constexpr (IsCsr<Storage>::value) {
      if (by_columns()) return combine_columns(beta, out);
    }
    add_up(n_, stored_, d_, out, [&](std::size_t first, std::size_t last, double* sum) {
      rows_.adds(first, last, beta.data() + first, sum);
    }, true);
  }

  double curvature(Span<const std::uint32_t> list, Span<const double> s, Span<const double> v,
                   Span<double> out) override {
    std::vector<double> sum(d_ + 1);
    add_list(list.size(), d_ + 1, sum, [&](std::size_t k, double* total) {
      if (k + 2 < list.size()) rows_.prefetch(list[k + 2]);
      const double q = s[k] * rows_.dot(list[k], v.data());
      rows_.add(list[k], q, total);
      total[d_] += q;
    });
    std::copy(sum.begin(), sum.end() - 1, out.begin());
    return sum[d_];
  }

  void moments(Span<const std::uint32_t> list, Span<const double> s, Span<double> first,
               Span<double> second) override {
    std::vector<double> sum(2 * d_);
    add_list(list.size(), 2 * d_, sum, [&](std::size_t k, double* total) {
      double* square = total + d_;
      rows_.each(list[k], [&](std::size_t j, double x) {
        total[j] += s[k] * x;
        square[j] += s[k] * x * x;
      });
    });
    std::copy(sum.begin(), sum.begin() + static_cast<std::ptrdiff_t>(d_), first.begin());
    std::copy(sum.begin() + static_cast<std::ptrdiff_t>(d_), sum.end(), second.begin());
  }

  void combine_list(Span<const std::uint32_t> list, Span<const double> s, Span<double> out) override {
    add_list(list.size(), d_, out, [&](std::size_t k, double* sum) { rows_.add(list[k], s[k], sum); });
  }

  void hessian(Span<const std::uint32_t> list, Span<const double> s, std::size_t stride, std::vector<double>& out,
               bool add) override {
    ++count;
    const double per_row = stored_ / std::max<double>(1, static_cast<double>(n_));
    visited += static_cast<double>(list.size()) * per_row * per_row / (IsCsr<Storage>::value ? 2 : 8);
    const double worth = static_cast<double>(list.size()) * per_row * per_row / static_cast<double>(stride * stride);
    const std::size_t parts =
        list.size() < 1000 ? 1 : static_cast<std::size_t>(std::min(4.0, std::max(1.0, worth / 4)));
    std::vector<std::vector<double>> sums(parts);
    run_tasks(parts, parallel_, [&] {
      return [&](std::size_t c, Poller& poller) {
        if (c == 0 && add) {
          sums[0] = std::move(out);
        } else {
          sums[c].assign(stride * stride, 0.0);
        }
        const std::size_t first = list.size() * c / parts, last = list.size() * (c + 1) / parts;
        outer(list.subspan(first, last - first), s.subspan(first, last - first), stride, sums[c].data(), poller);
      };
    });
    out = std::move(sums[0]);
    for (std::size_t c = 1; c < parts; ++c)
      for (std::size_t k = 0; k < out.size(); ++k) out[k] += sums[c][k];
  }

 private:
  // Whether to partition the columns instead of the rows: with very many features separate sums per thread would
  // dominate. The sums are bit-identical to those of one thread.
  bool by_columns() const {
    return release_ == 0 && parallel_.threads > 1 && stored_ >= 2 * kMinParallelValues &&
           stored_ < 2 * (3.0 * static_cast<double>(d_) + 1);
  }

  void combine_columns(Span<const double> beta, Span<double> out) {
    ++count;
    visited += stored_;
    if (cuts_.empty()) cut_columns();
    const auto& csr = rows_.data();
    run_tasks(cuts_.size() - 1, parallel_, [&] {
      return [&](std::size_t c, Poller& poller) {
        const std::size_t first = cuts_[c], last = cuts_[c + 1];
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(first), out.begin() + static_cast<std::ptrdiff_t>(last),
                  0.0);
        for (std::size_t i = 0; i < n_; ++i) {
          if (i % 256 == 0) poller.poll();
          if (beta[i] == 0) continue;
          const auto *from = csr.index + csr.start[i], *to = csr.index + csr.start[i + 1];
          from = std::lower_bound(from, to, first,
                                  [](auto index, std::size_t at) { return static_cast<std::size_t>(index) < at; });
          const auto* value = csr.values + (from - csr.index);
          for (; from < to && static_cast<std::size_t>(*from) < last; ++from, ++value)
            out[static_cast<std::size_t>(*from)] += beta[i] * static_cast<double>(*value);
        }
      };
    });
  }

  // Partitions the columns into parts with about the same number of values.
  void cut_columns() {
    const auto& csr = rows_.data();
    std::vector<std::size_t> seen;
    for (std::size_t i = 0; i < n_; i += std::max<std::size_t>(1, n_ / kSampledRows))
      for (auto k = csr.start[i]; k < csr.start[i + 1]; ++k) seen.push_back(static_cast<std::size_t>(csr.index[k]));
    std::sort(seen.begin(), seen.end());
    const std::size_t parts = static_cast<std::size_t>(parallel_.threads);
    cuts_.assign(parts + 1, d_);
    cuts_[0] = 0;
    for (std::size_t c = 1; c < parts && !seen.empty(); ++c) cuts_[c] = seen[seen.size() * c / parts];
  }

  // Sums work(k, sum) over a list of rows.
  template <class Work>
  void add_list(std::size_t size, std::size_t width, Span<double> out, Work work) {
    add_up(size, share(size), width, out, [&](std::size_t first, std::size_t last, double* sum) {
      for (std::size_t k = first; k < last; ++k) work(k, sum);
    });
  }

  double share(std::size_t count_of_rows) const {
    return stored_ * static_cast<double>(count_of_rows) / std::max(1.0, static_cast<double>(n_));
  }

  // Calls work(first, last) for a partition of the rows.  Nothing is summed, so any partition gives the same result.
  template <class Work>
  void each_part(Work work) {
    ++count;
    visited += stored_;
    const std::size_t parts = stored_ < kMinParallelValues ? 1 : std::min<std::size_t>(64, n_);
    run_tasks(parts, parallel_, [&] {
      return [&](std::size_t c, Poller& poller) {
        const std::size_t first = n_ * c / parts, last = n_ * (c + 1) / parts;
        visit(first, last, poller, true, work);
      };
    });
  }

  template <class Work>
  void visit(std::size_t first, std::size_t last, Poller& poller, bool consecutive, Work work) {
    std::size_t held = first;  // first row whose pages have not been released
    const auto release_until = [&](std::size_t until) {
      if (release_ && consecutive && until > held) release_rows(samples_, held, until);
      held = until;
    };
    for (std::size_t i = first; i < last;) {
      poller.poll();
      const std::size_t stop = std::min(last, i + (release_ ? std::min(poll_rows_, release_) : poll_rows_));
      work(i, stop);
      i = stop;
      if (i - held >= release_) release_until(i);
    }
    release_until(last);
  }

  // out = Σ work(first, last, sum) over a partition of `size` items with `values` stored values.
  template <class Work>
  void add_up(std::size_t size, double values, std::size_t width, Span<double> out, Work work,
              bool consecutive = false) {
    ++count;
    visited += values;
    const double worth = std::min(values / kMinParallelValues, values / (3.0 * static_cast<double>(width) + 1));
    const std::size_t parts = std::max<std::size_t>(1, std::min<std::size_t>(8, static_cast<std::size_t>(worth)));
    std::vector<std::vector<double>> sums(parts);
    run_tasks(parts, parallel_, [&] {
      return [&](std::size_t c, Poller& poller) {
        double* sum = out.data();
        if (c > 0) {
          sums[c].assign(width, 0.0);
          sum = sums[c].data();
        } else {
          std::fill(out.begin(), out.end(), 0.0);
        }
        visit(size * c / parts, size * (c + 1) / parts, poller, consecutive,
             [&](std::size_t first, std::size_t last) { work(first, last, sum); });
      };
    });
    for (std::size_t c = 1; c < parts; ++c)
      for (std::size_t k = 0; k < width; ++k) out[k] += sums[c][k];
  }

  void outer(Span<const std::uint32_t> list, Span<const double> s, std::size_t stride, double* h, Poller& poller) {
    if constexpr (IsCsr<Storage>::value) {
      const auto& csr = rows_.data();
      for (std::size_t k = 0; k < list.size(); ++k) {
        if (k % 64 == 0) poller.poll();
        const auto first = csr.start[list[k]], last = csr.start[list[k] + 1];
        for (auto a = first; a < last; ++a) {
          const double factor = s[k] * static_cast<double>(csr.values[a]);
          double* line = h + stride * static_cast<std::size_t>(csr.index[a]);
          for (auto b = a; b < last; ++b) line[csr.index[b]] += factor * static_cast<double>(csr.values[b]);
          line[d_] += factor;
        }
        h[stride * d_ + d_] += s[k];
      }
    } else {
      const LinearOps& ops = linear_ops();
      std::vector<double> rows(8 * stride);
      double scale[8];
      for (std::size_t k = 0; k < list.size(); k += 8) {
        if (k % 64 == 0) poller.poll();
        for (std::size_t r = 0; r < 8; ++r) {
          const bool there = k + r < list.size();
          scale[r] = there ? s[k + r] : 0.0;
          const auto* x = rows_.data().row(list[there ? k + r : k]);
          for (std::size_t j = 0; j < d_; ++j) rows[r * stride + j] = static_cast<double>(x[j]);
          rows[r * stride + d_] = 1;
        }
        ops.rank8(rows.data(), scale, stride, h);
      }
    }
  }

  Rows<Storage> rows_;
  const Samples& samples_;
  Parallel parallel_;
  std::size_t n_, d_, poll_rows_ = 1, release_ = 0;
  double stored_ = 0;
  std::vector<std::size_t> cuts_;  // first column of every part, and the end
};

}  // namespace

std::unique_ptr<LinearPasses> make_passes(const Samples& samples, const Parallel& parallel,
                                          std::size_t release_bytes) {
  return std::visit(
      [&](const auto& data) -> std::unique_ptr<LinearPasses> {
        using Storage = std::decay_t<decltype(data)>;
        return std::make_unique<PassesOf<Storage>>(data, samples, parallel, release_bytes);
      },
      samples);
}

void release_rows(const Samples& samples, std::size_t first, std::size_t last) {
  std::visit(
      [&](const auto& data) {
        if constexpr (IsCsr<std::decay_t<decltype(data)>>::value) {
          const auto from = data.start[first], to = data.start[last], all = data.start[data.rows];
          release_pages(data.values + from, data.values + to, data.values, data.values + all);
          release_pages(data.index + from, data.index + to, data.index, data.index + all);
        } else {
          release_pages(data.row(first), data.row(last), data.row(0), data.row(data.rows));
        }
      },
      samples);
}

void linear_products(const Samples& samples, Span<const double> weights, std::size_t models,
                     const Parallel& parallel, Span<double> out) {
  std::visit(
      [&](const auto& data) {
        const Rows<std::decay_t<decltype(data)>> rows(data);
        const std::size_t parts = std::min<std::size_t>(64, (data.rows + 255) / 256);
        run_tasks(parts, parallel, [&] {
          return [&](std::size_t c, Poller& poller) {
            const std::size_t first = data.rows * c / parts, last = data.rows * (c + 1) / parts;
            for (std::size_t i = first; i < last; ++i) {
              if (i % 64 == 0) poller.poll();
              for (std::size_t m = 0; m < models; ++m)
                out[i * models + m] = rows.dot(i, weights.data() + m * data.features);
            }
          };
        });
      },
      samples);
}

}  // namespace hinge
