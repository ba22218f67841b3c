// kernel_source.hpp: the one door through which every solver sees the kernel matrix.
// A source owns no cache; a row costs what its kernel costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// Columns of the matrix that many blocks of rows will be asked for.  A source may keep in it what it needs for them
// (samples in the order in which products read them).
class Columns {
 public:
  Columns(std::size_t all, Span<const std::int32_t> list) : list_(list.begin(), list.end()), all_(all) {}
  virtual ~Columns() = default;

  std::size_t size() const { return list_.empty() ? all_ : list_.size(); }
  Span<const std::int32_t> list() const { return list_; }  // empty: all

 private:
  std::vector<std::int32_t> list_;
  std::size_t all_;
};

// What of a block of rows is asked for: all of it, or, where its first columns are the rows themselves, what lies on the
// diagonal of this square and right of it.  The rest then holds anything: K is symmetric.
enum class Part { all, upper };

class KernelSource {
 public:
  KernelSource() = default;
  KernelSource(const KernelSource&) = delete;
  KernelSource& operator=(const KernelSource&) = delete;
  virtual ~KernelSource() = default;

  virtual std::size_t size() const = 0;  // number of samples n
  virtual bool concurrent() const { return true; }  // whether blocks may be asked for by several threads at a time

  // About how many multiplications a kernel value costs; 0 if it is only read.
  virtual double cost() const { return 0; }

  // Memory that blocks of rows take once and for all, beside the samples: these in another form.
  virtual std::size_t own_bytes() const { return 0; }

  virtual void diagonal(Span<double> out) const = 0;  // K_ii for all i

  // Row i where it lies in memory in double for as long as the source lives; nullptr where it must be made.
  virtual const double* resident(std::size_t i) const {
    (void)i;
    return nullptr;
  }

  // K[i, columns]; an empty list of columns means all n.  out.size() is the number of columns.  One thread at a time.
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const = 0;
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const = 0;

  // An empty list means all n.  What is kept beyond the list takes at most `bytes`.
  virtual std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const {
    (void)bytes;
    return std::make_unique<Columns>(size(), list);
  }

  // K[which, columns], out[k] receiving row which[k].  Sources that gain from it make them as one block, on all threads.
  virtual void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                          const Parallel& parallel, Part part = Part::all) const {
    (void)part;
    one_by_one(which, columns, out, parallel);
  }
  virtual void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                          const Parallel& parallel, Part part = Part::all) const {
    (void)part;
    one_by_one(which, columns, out, parallel);
  }

  // out += Σ_k coef[k] K[which[k], columns], the values computed in the precision of T and forgotten at once.
  virtual void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float,
                        Span<double> out, const Parallel& parallel) const {
    add_one_by_one<float>(which, coef, columns, out, parallel);
  }
  virtual void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double,
                        Span<double> out, const Parallel& parallel) const {
    add_one_by_one<double>(which, coef, columns, out, parallel);
  }

  // out[k] += Σ_l coef[l] K[which[k], which[l]] in double precision.  A source that can makes each value once for both of
  // its places; what it keeps for that takes at most `bytes`.
  virtual void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                          const Parallel& parallel) const {
    if (!which.empty()) add_rows(which, coef, *columns(which, bytes), double{}, out, parallel);
  }

 private:
  template <class T>
  void add_one_by_one(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns,
                      Span<double> out, const Parallel& parallel) const {
    std::vector<T> values(columns.size());
    T* const row[] = {values.data()};
    for (std::size_t k = 0; k < which.size(); ++k) {
      block_rows(which.subspan(k, 1), columns, Span<T* const>(row, 1), parallel);
      for (std::size_t j = 0; j < values.size(); ++j) out[j] += coef[k] * static_cast<double>(values[j]);
    }
  }

  template <class T>
  void one_by_one(Span<const std::int32_t> which, const Columns& columns, Span<T* const> out,
                  const Parallel& parallel) const {
    const Parallel alone{1, parallel.poll};  // a source may not be safe for several threads
    run_tasks(which.size(), alone, [&] {
      return [&](std::size_t k, Pulse&) {
        row(static_cast<std::size_t>(which[k]), columns.list(), Span<T>(out[k], columns.size()));
      };
    });
  }
};

}  // namespace hinge
