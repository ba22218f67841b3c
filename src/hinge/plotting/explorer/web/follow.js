// Exact path of a small problem, computed in the browser after an edit.

const MAX_SEGMENTS = 4000;  // segments before the rest of the path is left out
const TOUCHING = 1e-12;      // relative difference up to which a variable is at its bound
const TIES = 1 - 1e-12;     // events at the same distance, up to rounding errors, are handled one after the other

// Distance from the solution at θ, in `direction`, to the next event: {length, changes: [[variable, place], …]}.
function nextEvent(K, n, parametric, solution, derivative, direction) {
  const { beta, places, mu, values } = solution, rates = parametric.rates();
  const r = reducedGradient(K, n, values, beta, mu), m = beta.length;
  const image = imageOf(K, n, derivative.beta), dr = new Float64Array(m);
  for (let v = 0; v < m; v++) {
    const g = parametric.group[v];
    dr[v] = rates.linear[v] + image[v % n] + (g >= 0 ? derivative.mu[g] : 0);
  }
  let length = Infinity, changes = [];
  const consider = (distance, change) => {
    if (distance < length * TIES) { length = Math.max(0, distance); changes = [change]; }
  };
  for (let v = 0; v < m; v++) {
    if (values.lower[v] === values.upper[v] && rates.lower[v] === rates.upper[v]) continue;
    if (places[v] === MARGIN) {
      const toLower = direction * (derivative.beta[v] - rates.lower[v]), toUpper = direction * (derivative.beta[v] - rates.upper[v]);
      if (toLower < 0) consider((values.lower[v] - beta[v]) / toLower, [v, LOWER]);
      if (toUpper > 0) consider((values.upper[v] - beta[v]) / toUpper, [v, UPPER]);
    } else if (derivative.fixed[parametric.group[v]] !== true) {
      const slope = direction * dr[v];
      if (places[v] === LOWER && slope < 0) consider(Math.max(0, r[v]) / -slope, [v, MARGIN]);
      if (places[v] === UPPER && slope > 0) consider(Math.max(0, -r[v]) / slope, [v, MARGIN]);
    }
  }
  // A group without margin variables: its multiplier is free until the interval of admissible values is empty.
  for (let g = 0; g < parametric.groups; g++) {
    if (derivative.fixed[g] !== true) continue;
    for (let i = 0; i < m; i++) {
      if (parametric.group[i] !== g || places[i] !== LOWER) continue;
      for (let j = 0; j < m; j++) {
        if (parametric.group[j] !== g || places[j] !== UPPER) continue;
        const distance = r[i] - r[j], slope = direction * (dr[i] - dr[j]);
        if (slope < 0) {
          const step = Math.max(0, distance) / -slope;
          if (step < length * TIES) { length = step; changes = [[i, MARGIN], [j, MARGIN]]; }
        }
      }
    }
  }
  return { length, changes };
}

// Derivative of (β, μ) with respect to θ for fixed places; null if the system is singular.
function derivativeOf(K, n, parametric, places) {
  const rates = parametric.rates(), solved = stationary(K, n, { ...rates, group: parametric.group }, places, new Float64Array(places.length));
  if (!solved) return null;
  const fixed = solved.mu.map((value) => value === null);
  return { beta: solved.beta, mu: solved.mu.map((value) => value ?? 0), fixed };
}

// Move margin variables that stay at a bound to this bound. If no other variable is left in the margin set, the multiplier
// is not unique, and its middle is used.
function settleAtBounds(parametric, solution, derivative) {
  const { beta, values } = solution, places = solution.places.slice(), rates = parametric.rates();
  let changed = false;
  for (let v = 0; v < places.length; v++) {
    if (places[v] !== MARGIN) continue;
    const size = TOUCHING * (Math.abs(values.upper[v]) + Math.abs(values.lower[v]));
    const speed = TOUCHING * (1 + Math.abs(rates.upper[v]) + Math.abs(rates.lower[v]));
    if (Math.abs(beta[v] - values.upper[v]) <= size && Math.abs(derivative.beta[v] - rates.upper[v]) <= speed) places[v] = UPPER;
    else if (Math.abs(beta[v] - values.lower[v]) <= size && Math.abs(derivative.beta[v] - rates.lower[v]) <= speed) places[v] = LOWER;
    changed ||= places[v] !== MARGIN;
  }
  return changed ? places : null;
}

// Segments from `theta` to `end`. Where the solution is degenerate, the problem is solved again a little further.
function followPath(K, n, parametric, solution, theta, end) {
  const direction = Math.sign(end - theta), segments = [], smallest = 1e-9 * Math.max(Math.abs(theta), Math.abs(end));
  let current = { ...solution, theta }, short = 0, width = 10 * smallest;
  const jump = (from) => {
    const target = direction * (from + direction * width - end) >= 0 ? end : from + direction * width;
    width *= 2;
    const solved = solveProblem(K, n, parametric.at(target), current.beta);
    segments.push({ from, to: target, first: current, last: solved, places: solved.places });
    current = { ...solved, theta: target };
    return target;
  };
  while (direction * (end - theta) > 0 && segments.length < MAX_SEGMENTS) {
    let derivative = derivativeOf(K, n, parametric, current.places);
    const settled = derivative && settleAtBounds(parametric, current, derivative);
    if (settled) {
      current = { ...current, places: settled };
      derivative = derivativeOf(K, n, parametric, settled);
    }
    const event = derivative && nextEvent(K, n, parametric, current, derivative, direction);
    short = event && event.length <= smallest ? short + 1 : 0;
    if (!event || short > 5) { theta = jump(theta); short = 0; continue; }
    const target = direction * (theta + direction * event.length - end) >= 0 ? end : theta + direction * event.length;
    const guess = current.beta.map((b, v) => b + (target - theta) * derivative.beta[v]);
    const values = parametric.at(target), solved = stationary(K, n, values, current.places, guess);
    if (!solved) { theta = jump(theta); continue; }
    const last = { values, beta: solved.beta, places: current.places,
                   mu: completeMultipliers(K, n, values, solved.beta, current.places, solved.mu) };
    width = 10 * smallest;
    if (target !== theta) segments.push({ from: theta, to: target, first: current, last, places: current.places });
    const places = current.places.slice();
    if (target !== end) for (const [v, place] of event.changes) places[v] = place;
    current = { ...last, places, theta: target };
    theta = target;
    if (short > 2 || violationOf(K, n, current) > 1e-7) {
      const solved2 = solveProblem(K, n, values, last.beta);
      current = { ...solved2, theta };
    }
  }
  return segments;
}

// Largest violation of the optimality conditions, relative to the linear term.
function violationOf(K, n, { values, beta, mu, places }) {
  const r = reducedGradient(K, n, values, beta, mu);
  let worst = 0, scale = 1e-300;
  for (let v = 0; v < beta.length; v++) {
    scale = Math.max(scale, Math.abs(values.linear[v]));
    if (values.lower[v] === values.upper[v]) continue;
    worst = Math.max(worst, places[v] === LOWER ? -r[v] : places[v] === UPPER ? r[v] : Math.abs(r[v]));
  }
  return worst / scale;
}

// The whole path through the solution at θ.
function computePath(K, n, parametric, theta, low, high, start) {
  const solution = { ...solveProblem(K, n, parametric.at(theta), start), theta };
  const down = followPath(K, n, parametric, solution, theta, low).map((s) => (
    { start: s.to, stop: s.from, first: s.last, last: s.first, places: s.places }));
  const up = followPath(K, n, parametric, solution, theta, high).map((s) => (
    { start: s.from, stop: s.to, first: s.first, last: s.last, places: s.places }));
  const all = [...down.reverse(), ...up];
  return new ComputedPath(parametric, K, all.length ? all : [{ start: low, stop: high, first: solution, last: solution, places: solution.places }]);
}
