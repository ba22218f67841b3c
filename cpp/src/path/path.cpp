// path.cpp: the public interface of the engine.
#include "hinge/solvers/path.hpp"

#include <utility>

#include "path/engine.hpp"

namespace hinge {

ActiveSet::ActiveSet(const Gram& gram, std::size_t slots, Span<const std::int8_t> group, std::size_t cache_bytes,
                     int threads)
    : engine_(new Engine(gram, slots, group, cache_bytes, threads)) {}
ActiveSet::ActiveSet(const Gram& gram, std::vector<std::int32_t> first, std::vector<std::int32_t> second,
                     Span<const std::int8_t> group, std::size_t cache_bytes, int threads)
    : engine_(new Engine(gram, 1, group, cache_bytes, threads, std::move(first), std::move(second))) {}
ActiveSet::~ActiveSet() = default;

PathResult ActiveSet::start(Span<const double> beta, PathData data, const PathOptions& options, RunControl& control) {
  return engine_->start(beta, std::move(data), options, control);
}
PathResult ActiveSet::follow(PathData rate, double origin, double span, PathRecord* record,
                             const PathOptions& options, RunControl& control) {
  return engine_->follow(std::move(rate), origin, span, record, options, control);
}
void ActiveSet::grow(const Gram& bigger, Span<const std::int8_t> group, PathData data) {
  engine_->grow(bigger, group, std::move(data));
}
std::size_t ActiveSet::size() const { return engine_->N; }
std::size_t ActiveSet::groups() const { return engine_->G; }
std::vector<double> ActiveSet::beta() const {
  std::vector<double> out(engine_->N);
  for (std::size_t v = 0; v < out.size(); ++v) out[v] = engine_->value(v);
  return out;
}
std::vector<double> ActiveSet::mu() const { return engine_->mu; }
const std::vector<double>& ActiveSet::f() const { return engine_->f; }
std::vector<std::int8_t> ActiveSet::places() const {
  std::vector<std::int8_t> out(engine_->N);
  for (std::size_t v = 0; v < out.size(); ++v) out[v] = static_cast<std::int8_t>(engine_->place[v]);
  return out;
}
PathData ActiveSet::data() const { return engine_->now; }
std::size_t ActiveSet::margin_size() const { return engine_->margin.size(); }
std::shared_ptr<const ActiveSet::Snapshot> ActiveSet::snapshot() const {
  return std::make_shared<Snapshot>(engine_->snapshot());
}
void ActiveSet::restore(const Snapshot& snapshot) { engine_->restore(snapshot); }

}  // namespace hinge
