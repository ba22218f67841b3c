// The exact path: data of the parametric problem and its solution at any value of the parameter.

const LOWER = 0, UPPER = 1, MARGIN = 2;

// min ½βᵀKβ + c(θ)ᵀβ with Σ_{v ∈ g} β_v = e_g(θ) and lo(θ) ≤ β ≤ hi(θ). Arrays hold the values at 0, then the rates.
class Parametric {
  constructor(data) {
    Object.assign(this, data);
    this.size = this.group.length;
    this.groups = this.total.length / 2;
  }
  at(theta) {
    const line = (a) => {
      const n = a.length / 2, out = new Float64Array(n);
      for (let i = 0; i < n; i++) out[i] = theta === 0 || a[n + i] === 0 ? a[i] : a[i] + theta * a[n + i];
      return out;
    };
    return { linear: line(this.linear), lower: line(this.lower), upper: line(this.upper), total: line(this.total),
             group: this.group };
  }
  rates() {
    const half = (a) => a.subarray(a.length / 2);
    return { linear: half(this.linear), lower: half(this.lower), upper: half(this.upper), total: half(this.total) };
  }
}

// Segments on which the solution is linear, as Python stores them: values and rates of the margin variables, and the
// changes of the places of all variables.
class StoredPath {
  constructor(parametric, pieces) {
    Object.assign(this, pieces);
    this.parametric = parametric;
    this.count = this.start.length;
    this.current = -1;
    this.applied = 0;
    this.placeOf = new Int8Array(parametric.size);
  }
  // Places of the variables in segment k. Moving forward applies the changes since the last call.
  places(k) {
    if (k < this.current) { this.applied = 0; this.placeOf.fill(0); }
    const end = countUpTo(this.changed_at, k);
    for (; this.applied < end; this.applied++) this.placeOf[this.changed[this.applied]] = this.place[this.applied];
    this.current = k;
    return this.placeOf;
  }
  segment(theta) { return Math.min(Math.max(countUpTo(this.start, theta) - 1, 0), this.count - 1); }
  distance(k, theta) { return Math.min(theta, this.stop[k]) - this.start[k]; }
  solution(theta) {
    const { parametric } = this, k = this.segment(theta), values = parametric.at(theta), places = this.places(k);
    const beta = new Float64Array(parametric.size), step = this.distance(k, theta);
    for (let v = 0; v < beta.length; v++) beta[v] = places[v] === LOWER ? values.lower[v] : values.upper[v];
    for (let e = this.offset[k]; e < this.offset[k + 1]; e++) {
      const v = this.margin[e];
      beta[v] = Math.min(Math.max(this.value[e] + step * this.rate[e], values.lower[v]), values.upper[v]);
    }
    return { theta, values, beta, places: places.slice(), mu: this.multipliers(theta) };
  }
  multiplierIn(k, g, theta) {
    const e = k * this.parametric.groups + g;
    return this.mu[e] + this.distance(k, theta) * this.mu_rate[e];
  }
  // μ at θ; where it jumps, the middle of its one-sided limits, because every value between them is optimal.
  multipliers(theta) {
    const { groups, group } = this.parametric, k = this.segment(theta);
    const all = (s) => Array.from({ length: groups }, (_, g) => this.multiplierIn(s, g, theta));
    const mu = all(k), tolerance = 1e-13 * Math.abs(theta);
    let first = countUpTo(this.start, theta - tolerance);
    while (first > 0 && this.start[first - 1] >= theta - tolerance) first--;
    const last = this.segment(theta + tolerance);
    if (first !== last || first === 0) return mu;
    const before = all(last - 1), after = all(last), held = new Set();
    for (let e = this.offset[last - 1]; e < this.offset[last]; e++) held.add(group[this.margin[e]]);
    return mu.map((_, g) => 0.5 * (after[g] + (held.has(g) ? before[g] : 2 * before[g] - after[g])));
  }
  breakpoints() { return Array.from(new Set([...this.start, this.stop[this.count - 1]])).sort((a, b) => a - b); }
}

// Path computed in the browser after an edit: the solutions at both ends of every segment.
class ComputedPath {
  constructor(parametric, K, segments) {
    this.parametric = parametric;
    this.K = K;
    this.segments = segments;
    this.start = Float64Array.from(segments, (s) => s.start);
  }
  solution(theta) {
    const k = Math.min(Math.max(countUpTo(this.start, theta) - 1, 0), this.segments.length - 1);
    const s = this.segments[k], width = s.stop - s.start, t = width > 0 ? Math.min(1, (theta - s.start) / width) : 0;
    const values = this.parametric.at(theta), beta = s.first.beta.map((b, v) => (1 - t) * b + t * s.last.beta[v]);
    for (let v = 0; v < beta.length; v++) {
      if (s.places[v] === LOWER) beta[v] = values.lower[v];
      else if (s.places[v] === UPPER) beta[v] = values.upper[v];
    }
    const used = new Set(), n = Math.sqrt(this.K.length);  // groups whose multiplier the margin variables determine
    s.places.forEach((place, v) => { if (place === MARGIN) used.add(this.parametric.group[v]); });
    const mu = s.first.mu.map((m, g) => (used.has(g) ? (1 - t) * m + t * s.last.mu[g] : null));
    return { theta, values, beta, places: s.places, mu: completeMultipliers(this.K, n, values, beta, s.places, mu) };
  }
  breakpoints() { return [...this.start, this.segments[this.segments.length - 1].stop]; }
}

// What a solution means for the model: coefficients and intercept of f(x) = Σ βᵢ k(xᵢ, x) + b, and the index sets.
function interpret(solution, page) {
  const { beta, mu, places } = solution, n = page.y.length, rows = beta.length / n;
  const ratio = page.parameter === "nu" && page.task === "classification" ? 0.5 * (mu[1] - mu[0]) : 1;
  const coefficients = new Float64Array(n), sets = new Int8Array(n);  // 0: αᵢ = 0, 1: on the margin, 2: at its bound
  for (let v = 0; v < beta.length; v++) {
    const i = v % n;
    coefficients[i] += beta[v] / ratio;
    const atZero = rows === 1 && page.task === "regression" ? -1 : page.sign[v] > 0 ? LOWER : UPPER;
    sets[i] = places[v] === MARGIN ? 1 : places[v] !== atZero && sets[i] !== 1 ? 2 : sets[i];
  }
  const mean = mu.length ? mu.reduce((a, b) => a + b, 0) / mu.length : 0;
  return { ...solution, coefficients, sets, intercept: mean / ratio };
}

// Kβ per sample for signed variables β; K is n × n.
function imageOf(K, n, beta) {
  const sums = new Float64Array(n), out = new Float64Array(n);
  for (let v = 0; v < beta.length; v++) sums[v % n] += beta[v];
  for (let j = 0; j < n; j++) {
    const s = sums[j];
    if (s !== 0) for (let i = 0, row = j * n; i < n; i++) out[i] += s * K[row + i];
  }
  return out;
}

// Primal value, dual value and gap: r = Kβ + c + μ is the gradient of the Lagrangian, and its minimum over the bounds is
// a lower bound on the optimum. Rounding errors are not included.
function certificate(K, n, { beta, mu, values }) {
  const image = imageOf(K, n, beta);
  let quadratic = 0, linear = 0, gap = 0;
  for (let v = 0; v < beta.length; v++) {
    quadratic += 0.5 * beta[v] * image[v % n];
    linear += values.linear[v] * beta[v];
    const r = image[v % n] + values.linear[v] + (values.group[v] >= 0 ? mu[values.group[v]] : 0);
    const best = r > 0 ? values.lower[v] : values.upper[v];
    if (r !== 0) gap += r * (beta[v] - best);
  }
  const dual = -(quadratic + linear);
  return { primal: dual + gap, dual, gap, norm: Math.sqrt(Math.max(0, 2 * quadratic)) };
}
