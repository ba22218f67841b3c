// steps.cpp: see the header.
#include "linear/newton/steps.hpp"

#include <algorithm>
#include <cmath>

#include "linear/start/subsample.hpp"

namespace hinge {
namespace {

constexpr int kRoundedSteps = 40;  // on the losses rounded off, at most: bands around a point short of their optimum are the wrong ones

constexpr double kSettled = 0.1;   // relative gap of a point where most samples stand already where they will
constexpr double kRoundedSlack = 1.0;  // ½‖w − Xᵀβ‖² there, over what the losses are from their rounded forms
constexpr double kLost = 0.5;          // of the gap before: what a round leaves where its band was the wrong one
constexpr double kFar = 1e3;           // mean of |⟨w, x_i⟩|: its last digits are those of the losses
constexpr double kBandPart = 0.8;      // of the gap that would do: what is asked of a band, the others keep the rest

bool is_far(const std::vector<double>& f) {
  double sum = 0;
  for (double v : f) sum += std::fabs(v);
  return sum > kFar * static_cast<double>(f.size());
}

}  // namespace

NewtonPoint LinearSteps::start() const {
  NewtonPoint point;
  point.w = s_.w, point.f = s_.f, point.b = s_.offset;
  point.beta.resize(s_.n), point.g.resize(s_.d);
  return point;
}

Outcome LinearSteps::run(double budget) {
  if (s_.smooth) return smooth(budget);
  if (!s_.few_features() || banded_ || s_.choice().crowded()) return multipliers(budget);
  return bands(s_.last.relative() <= kSettled);
}

// Where w must be Xᵀβ, the certificate is that of β.
bool LinearSteps::settle_expansion(const std::vector<double>& beta) {
  if (!s_.options.expansion) return false;
  s_.beta = beta;
  s_.passes->combine(s_.beta, s_.w);
  s_.look(0.0);
  return true;
}

// The certificate of a point of Newton's method.  What was carried along from step to step proves nothing: f and g are
// then computed anew.
void LinearSteps::settle(NewtonPoint& point) {
  if (settle_expansion(point.beta)) return;
  LinearState::Sight sight = s_.see(point.f, point.beta);
  if (s_.likely_proven(point.w, sight, point.slack) && (newton_.carried() || is_far(point.f))) {
    newton_.settle(point);
    s_.passes->margins(point.w, point.f);
    sight = s_.see(point.f, point.beta);
  }
  s_.adopt(point.w, point.beta, point.slack, sight, newton_.carried());
}

// `moved`: point.f has been carried along, too.
void LinearSteps::settle(BandPoint& point, bool moved) {
  if (settle_expansion(point.beta)) return;
  LinearState::Sight sight = s_.see(point.f, point.beta);
  if (moved && s_.likely_proven(point.w, sight, point.slack())) {
    s_.passes->margins(point.w, point.f);
    sight = s_.see(point.f, point.beta);
  }
  s_.adopt(point.w, point.beta, point.slack(), sight);
}

Outcome LinearSteps::smooth(double budget) {
  NewtonPoint point = start();
  const double began = s_.passes->visited;
  newton_.look(s_.losses.arrays(), point);
  for (;;) {
    settle(point);
    if (s_.proven()) return Outcome::solved;
    if (s_.spent()) return Outcome::spent;
    if (s_.passes->visited - began > budget) return Outcome::undecided;
    const double target = 0.5 * s_.wanted() * (s_.options.expansion ? 1e-5 : 1.0);
    const bool gained = newton_.step(s_.losses.arrays(), target, point, s_.tracker);
    ++s_.best.newton_steps;
    if (gained) continue;
    settle(point);
    return s_.proven() ? Outcome::solved : Outcome::stuck;
  }
}

// Proximal steps on β, each of them a smooth problem with ridge D = width / C_i and anchor β.   (115)
Outcome LinearSteps::multipliers(double budget) {
  NewtonPoint point = start();
  const double began = s_.passes->visited;
  Losses smoothed(s_.problem);
  std::vector<double> anchor = s_.beta;
  double residual = 0, count = 0;
  for (std::size_t i = 0; i < s_.n; ++i) {
    const double r = std::fabs(s_.problem.target[i] - s_.f[i] - s_.offset) - s_.problem.tube;
    if (r > 0) residual += r, count += 1;
  }
  double width = count > 0 ? 0.2 * residual / count : 1.0, before = s_.last.gap;
  for (int idle = 0; idle < 8;) {
    smoothed.anchor(width, anchor);
    newton_.look(smoothed.arrays(), point);
    const double target = std::max(0.25 * s_.wanted(), 0.02 * before) * (s_.options.expansion ? 1e-5 : 1.0);
    for (int inner = 0; inner < 50 && point.slack > target; ++inner) {
      if (s_.spent() || s_.passes->visited - began > budget) break;
      const bool gained = newton_.step(smoothed.arrays(), 0.5 * target, point, s_.tracker);
      ++s_.best.newton_steps;
      if (!gained) break;
    }
    newton_.settle(point);
    settle(point);
    if (s_.proven()) return Outcome::solved;
    if (s_.spent()) return Outcome::spent;
    if (s_.passes->visited - began > budget) return Outcome::undecided;
    anchor = point.beta;
    if (s_.last.gap > 0.2 * before) width *= 0.3;
    idle = s_.last.gap < 0.9 * before ? 0 : idle + 1;
    before = std::min(before, s_.last.gap);
  }
  return Outcome::stuck;
}

Outcome LinearSteps::from_fewer() {
  CoarseStart coarse =
      start_from_fewer(s_.samples, s_.problem, s_.smooth, s_.parallel, s_.options.seed, s_.tracker);
  s_.passes->visited += coarse.work;
  if (coarse.w.empty()) return Outcome::undecided;
  s_.w = coarse.w, s_.offset = coarse.b;
  s_.passes->margins(s_.w, s_.f);
  if (!s_.smooth) return bands(false);
  newton_.borrow(std::move(coarse.curvature));
  return smooth(INFINITY);
}

void LinearSteps::take_slack(BandPoint& point) {
  s_.passes->combine(point.beta, point.g);
  for (std::size_t j = 0; j < s_.d; ++j) point.g[j] = point.w[j] - point.g[j];
}

// `settled`: the point of the state has a dual point that belongs to it, so most samples stand where they will.
Outcome LinearSteps::bands(bool settled) {
  banded_ = true;
  LinearBand band(s_.samples, s_.problem, *s_.passes, s_.parallel, s_.tracker);
  BandPoint point;
  point.w = s_.w, point.f = s_.f, point.b = s_.offset;
  double width = band.width_of(point, kBandShare);
  band.most = s_.steps_left();
  if (settled) {
    point.beta = s_.beta, point.g.resize(s_.d);
    take_slack(point);
  } else {
    band.smooth_out(point, width, kRoundedSlack, kRoundedSteps);
  }
  double before = INFINITY;
  for (int round = 0; round < 6; ++round, width *= 0.3) {
    s_.best.newton_steps += band.steps;
    band.steps = 0, band.most = s_.steps_left();
    if (round > 0 || !settled) take_slack(point);  // what rounds have carried along may be far from it
    settle(point, round == 0 && !settled);
    if (s_.proven()) return Outcome::solved;
    if (s_.spent()) return Outcome::spent;
    if (s_.last.relative() > kSettled && s_.last.gap > kLost * before) break;
    before = s_.last.gap;
    point.b = s_.offset;
    band.round(point, width, kBandPart * s_.wanted() * (s_.options.expansion ? 1e-5 : 1.0));
    s_.passes->margins(point.w, point.f);
  }
  s_.back_to_best();
  return Outcome::undecided;
}

}  // namespace hinge
