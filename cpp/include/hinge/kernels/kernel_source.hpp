// kernel_source.hpp: the interface through which all solvers read the kernel matrix K of n samples.
// A source has no cache; every call computes what it returns.  The cost of a row is that of its n kernel values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

// A set of columns for which several blocks of rows will be requested.  A source may derive from it to store what it
// needs for these columns (for example samples in the order in which matrix products read them).
class Columns {
 public:
  Columns(std::size_t all, Span<const std::int32_t> list) : list_(list.begin(), list.end()), all_(all) {}
  virtual ~Columns() = default;

  std::size_t size() const { return list_.empty() ? all_ : list_.size(); }
  Span<const std::int32_t> list() const { return list_; }  // empty: all columns

 private:
  std::vector<std::int32_t> list_;
  std::size_t all_;
};

// The requested part of a block of rows: all of it, or, if its first columns are the rows themselves, the upper
// triangle of that square (including the diagonal) and all columns to its right.  Entries below the diagonal are then
// unspecified.
enum class Part { all, upper };

class KernelSource {
 public:
  KernelSource() = default;
  KernelSource(const KernelSource&) = delete;
  KernelSource& operator=(const KernelSource&) = delete;
  virtual ~KernelSource() = default;

  virtual std::size_t size() const = 0;             // number of samples n
  virtual bool concurrent() const { return true; }  // whether several threads may request blocks at the same time

  // Approximate number of multiplications per kernel value; 0 if values are only read.
  virtual double cost() const { return 0; }

  // Memory that the source allocates once for blocks of rows, besides the samples.
  virtual std::size_t own_bytes() const { return 0; }

  virtual void diagonal(Span<double> out) const = 0;  // K_ii for all i

  // Bound on the error of every kernel value in double precision; 0 if the values define the matrix.  docs/math (611)
  virtual double value_error() const { return 0; }

  // Row i if it is stored in memory as double for the lifetime of the source; nullptr if it must be computed.
  virtual const double* resident(std::size_t i) const {
    (void)i;
    return nullptr;
  }

  // K[i, columns]; an empty list means all n columns.  out.size() is the number of columns.  Called by one thread at a
  // time.
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<double> out) const = 0;
  virtual void row(std::size_t i, Span<const std::int32_t> columns, Span<float> out) const = 0;

  // An empty list means all n columns.  Additional data of a derived class take at most `bytes`.
  virtual std::unique_ptr<const Columns> columns(Span<const std::int32_t> list, std::size_t bytes) const;

  // out[k] = K[which[k], columns].  The default computes row by row on one thread; sources that benefit compute the
  // rows as one block on all threads.
  virtual void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<double* const> out,
                          const Parallel& parallel, Part part = Part::all) const;
  virtual void block_rows(Span<const std::int32_t> which, const Columns& columns, Span<float* const> out,
                          const Parallel& parallel, Part part = Part::all) const;

  // out += Σ_k coef[k] K[which[k], columns] with kernel values in the precision of the fourth argument, whose value is
  // not used.  No row is stored.
  virtual void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, float,
                        Span<double> out, const Parallel& parallel) const;
  virtual void add_rows(Span<const std::int32_t> which, Span<const double> coef, const Columns& columns, double,
                        Span<double> out, const Parallel& parallel) const;

  // out[k] += Σ_l coef[l] K[which[k], which[l]] in double precision.  Sources may use the symmetry of K and compute
  // each value once; the memory for this is at most `bytes`.
  virtual void add_square(Span<const std::int32_t> which, Span<const double> coef, Span<double> out, std::size_t bytes,
                          const Parallel& parallel) const;
};

// The rows K[which[k], columns], one after another in `out`, computed on the calling thread; parallel.poll is
// respected.
void copy_rows(const KernelSource& kernel, Span<const std::int32_t> which, Span<const std::int32_t> columns,
               Span<double> out,
               const Parallel& parallel);

}  // namespace hinge
