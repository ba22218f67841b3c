// Exact solution of small quadratic programs: sequential minimal optimization, then an active-set method.

const SMO_STEPS = 20000;    // steps before the active-set method takes over
const CORRECTIONS = 2000;   // changes of the active set before the solution of SMO is returned

// Move β into its bounds and its sums to the totals.
function feasible(values, beta) {
  const { lower, upper, group, total } = values, sums = Float64Array.from(total);
  for (let v = 0; v < beta.length; v++) {
    beta[v] = Math.min(Math.max(beta[v], lower[v]), upper[v]);
    if (group[v] >= 0) sums[group[v]] -= beta[v];
  }
  for (let v = 0; v < beta.length; v++) {
    const g = group[v];
    if (g < 0 || sums[g] === 0) continue;
    const step = sums[g] > 0 ? Math.min(sums[g], upper[v] - beta[v]) : Math.max(sums[g], lower[v] - beta[v]);
    beta[v] += step;
    sums[g] -= step;
  }
  return beta;
}

// Steps on the pair with the largest violation in each group, until the violation is at most `tolerance`.
function minimizePairs(K, n, values, beta, tolerance) {
  const { linear, lower, upper, group } = values, m = beta.length, groups = Math.max(-1, ...group) + 1;
  const image = imageOf(K, n, beta);
  const move = (v, step) => {
    beta[v] += step;
    for (let i = 0, row = (v % n) * n; i < n; i++) image[i] += step * K[row + i];
  };
  for (let count = 0; count < SMO_STEPS; count++) {
    let worst = tolerance, pair = null;
    for (let g = -1; g < groups; g++) {
      let up = -1, down = -1;
      const gradient = (v) => linear[v] + image[v % n];
      for (let v = 0; v < m; v++) {
        if (group[v] !== g) continue;
        if (beta[v] < upper[v] && (up < 0 || gradient(v) < gradient(up))) up = v;
        if (beta[v] > lower[v] && (down < 0 || gradient(v) > gradient(down))) down = v;
      }
      if (g < 0) {
        if (up >= 0 && -gradient(up) > worst) { worst = -gradient(up); pair = [up, -1]; }
        if (down >= 0 && gradient(down) > worst) { worst = gradient(down); pair = [-1, down]; }
      } else if (up >= 0 && down >= 0 && gradient(down) - gradient(up) > worst) {
        worst = gradient(down) - gradient(up);
        pair = [up, down];
      }
    }
    if (!pair) return;
    const [up, down] = pair, entry = (v, w) => K[(v % n) * n + (w % n)];
    const curvature = up < 0 ? entry(down, down) : down < 0 ? entry(up, up)
      : entry(up, up) + entry(down, down) - 2 * entry(up, down);
    let step = curvature > 0 ? worst / curvature : Infinity;
    if (up >= 0) step = Math.min(step, upper[up] - beta[up]);
    if (down >= 0) step = Math.min(step, beta[down] - lower[down]);
    if (!(step > 0) || step === Infinity) return;
    const landing = (v, bound) => { if (Math.abs(beta[v] - bound) <= 1e-15 * Math.abs(bound)) beta[v] = bound; };
    if (up >= 0) { move(up, step); landing(up, upper[up]); }
    if (down >= 0) { move(down, -step); landing(down, lower[down]); }
  }
}

// β and μ that are stationary for the margin variables, all others at their bounds. Margin variables that the equations
// do not determine keep the values of `start`. Null if no values are stationary.
function stationary(K, n, values, places, start) {
  const { linear, lower, upper, group, total } = values, m = places.length, margin = [];
  const beta = new Float64Array(m), groups = total.length, used = new Array(groups).fill(false);
  for (let v = 0; v < m; v++) {
    beta[v] = places[v] === MARGIN ? start[v] : places[v] === LOWER ? lower[v] : upper[v];
    if (places[v] === MARGIN) { margin.push(v); if (group[v] >= 0) used[group[v]] = true; }
  }
  const image = imageOf(K, n, beta), rows = [], count = margin.length;
  for (let g = 0; g < groups; g++) if (used[g]) rows.push(g);
  const size = count + rows.length, A = new Float64Array(size * size), b = new Float64Array(size);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < count; j++) A[i * size + j] = K[(margin[i] % n) * n + (margin[j] % n)];
    b[i] = -linear[margin[i]] - image[margin[i] % n];
    rows.forEach((g, r) => { if (group[margin[i]] === g) A[i * size + count + r] = A[(count + r) * size + i] = 1; });
  }
  rows.forEach((g, r) => {
    b[count + r] = total[g];
    for (let v = 0; v < m; v++) if (group[v] === g) b[count + r] -= beta[v];
  });
  const x = size ? solveDense(A, b, size) : b;
  if (!x) return null;
  margin.forEach((v, i) => { beta[v] += x[i]; });
  const mu = new Array(groups).fill(null);
  rows.forEach((g, r) => { mu[g] = x[count + r]; });
  return { beta, mu, margin };
}

// Interval [low, high] of the multiplier of a group without margin variables.
function multiplierInterval(K, n, values, beta, places, g) {
  const image = imageOf(K, n, beta);
  let low = -Infinity, high = Infinity;
  for (let v = 0; v < beta.length; v++) {
    if (values.group[v] !== g || places[v] === MARGIN || values.lower[v] === values.upper[v]) continue;
    const r = -(values.linear[v] + image[v % n]);
    if (places[v] === LOWER) low = Math.max(low, r); else high = Math.min(high, r);
  }
  return [low, high];
}

function completeMultipliers(K, n, values, beta, places, mu) {
  return mu.map((value, g) => {
    if (value !== null) return value;
    const [low, high] = multiplierInterval(K, n, values, beta, places, g);
    return low === -Infinity ? (high === Infinity ? 0 : high) : high === Infinity ? low : 0.5 * (low + high);
  });
}

// Gradient of the Lagrangian.
function reducedGradient(K, n, values, beta, mu) {
  const image = imageOf(K, n, beta);
  return beta.map((_, v) => values.linear[v] + image[v % n] + (values.group[v] >= 0 ? mu[values.group[v]] : 0));
}

// Solve the problem `values` exactly, from the initial point `beta`.
function solveProblem(K, n, values, start) {
  const beta = feasible(values, Float64Array.from(start)), m = beta.length;
  let scale = 1e-300;
  for (let v = 0; v < m; v++) scale = Math.max(scale, Math.abs(values.linear[v]));
  minimizePairs(K, n, values, beta, 1e-7 * scale);
  const { lower, upper } = values, places = new Int8Array(m);
  for (let v = 0; v < m; v++) places[v] = beta[v] <= lower[v] ? LOWER : beta[v] >= upper[v] ? UPPER : MARGIN;
  for (let count = 0; count < CORRECTIONS; count++) {
    const trial = stationary(K, n, values, places, beta);
    if (!trial) break;
    let length = 1, blocking = -1;
    for (const v of trial.margin) {
      const step = trial.beta[v] - beta[v], room = step > 0 ? upper[v] - beta[v] : lower[v] - beta[v];
      if (step !== 0 && room / step < length) { length = Math.max(0, room / step); blocking = v; }
    }
    for (let v = 0; v < m; v++) beta[v] += length * (trial.beta[v] - beta[v]);
    if (blocking >= 0) {
      places[blocking] = trial.beta[blocking] > beta[blocking] || upper[blocking] - beta[blocking] < beta[blocking] - lower[blocking] ? UPPER : LOWER;
      continue;
    }
    beta.set(trial.beta);
    const mu = completeMultipliers(K, n, values, beta, places, trial.mu);
    const r = reducedGradient(K, n, values, beta, mu);
    let worst = 1e-11 * scale, entering = -1;
    for (let v = 0; v < m; v++) {
      if (places[v] === MARGIN || lower[v] === upper[v]) continue;
      const violation = places[v] === LOWER ? -r[v] : r[v];
      if (violation > worst) { worst = violation; entering = v; }
    }
    if (entering < 0) return { theta: null, values, beta, mu, places };
    places[entering] = MARGIN;
  }
  minimizePairs(K, n, values, beta, 1e-12 * scale);  // singular system: accurate to the tolerance of SMO
  for (let v = 0; v < m; v++) places[v] = beta[v] <= lower[v] ? LOWER : beta[v] >= upper[v] ? UPPER : MARGIN;
  const mu = new Array(values.total.length).fill(null), image = imageOf(K, n, beta), counts = mu.map(() => 0), sums = mu.map(() => 0);
  for (let v = 0; v < m; v++) {
    const g = values.group[v];
    if (places[v] === MARGIN && g >= 0) { counts[g]++; sums[g] -= values.linear[v] + image[v % n]; }
  }
  counts.forEach((count, g) => { if (count) mu[g] = sums[g] / count; });
  return { theta: null, values, beta, mu: completeMultipliers(K, n, values, beta, places, mu), places };
}
