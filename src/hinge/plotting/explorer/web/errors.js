// Errors along a path that was computed in the browser.

// Decision values Kβ + b at points, for kernel values K (points × n).
function decide(K, n, model) {
  const m = K.length / n, out = new Float64Array(m).fill(model.intercept);
  for (let i = 0; i < m; i++) {
    let s = 0;
    for (let j = 0; j < n; j++) s += K[i * n + j] * model.coefficients[j];
    out[i] += s;
  }
  return out;
}

// Error rate as a step function, or the mean squared error at the ends and in the middle of every segment.
function errorAlong(path, K, y, page) {
  const n = page.y.length, m = y.length, knots = [], values = [];
  if (m === 0) return null;
  const at = (solution) => decide(K, n, interpret(solution, page));
  for (const segment of path.segments) {
    const first = at(segment.first), last = at(segment.last), width = segment.stop - segment.start;
    if (page.task === "regression") {
      for (const t of [0, 0.5]) {
        let sum = 0;
        for (let i = 0; i < m; i++) sum += ((1 - t) * first[i] + t * last[i] - y[i]) ** 2;
        knots.push(segment.start + t * width);
        values.push(sum / m);
      }
      continue;
    }
    let wrong = 0;
    const changes = [];
    for (let i = 0; i < m; i++) {
      const before = first[i] !== 0 ? first[i] > 0 : last[i] > 0, after = last[i] !== 0 ? last[i] > 0 : before;
      if (before !== (y[i] > 0)) wrong++;
      if (before !== after) {
        changes.push([segment.start + (first[i] / (first[i] - last[i])) * width, after !== (y[i] > 0) ? 1 : -1]);
      }
    }
    changes.sort((a, b) => a[0] - b[0]);
    knots.push(segment.start);
    values.push(wrong / m);
    for (const [theta, step] of changes) { wrong += step; knots.push(theta); values.push(wrong / m); }
  }
  knots.push(path.segments[path.segments.length - 1].stop);
  if (page.task === "regression") {
    const last = at(path.segments[path.segments.length - 1].last);
    values.push(last.reduce((sum, f, i) => sum + (f - y[i]) ** 2, 0) / m);
  }
  return { knots, values };
}

// Value at θ of a step function {knots, values}, a piecewise quadratic {knots, coefficients}, or a polyline.
function evaluateError(error, theta) {
  const { knots, values, coefficients } = error, last = knots.length - 2;
  const k = Math.min(Math.max(countUpTo(knots, theta) - 1, 0), last), t = theta - knots[k];
  if (coefficients) return coefficients[3 * k] + t * (coefficients[3 * k + 1] + t * coefficients[3 * k + 2]);
  if (values.length < knots.length) return values[k];
  const width = knots[k + 1] - knots[k];
  return width > 0 ? values[k] + (t / width) * (values[k + 1] - values[k]) : values[k];
}

// A line of a chart.
function errorLine(error, colour, name) {
  if (!error.coefficients) return { x: error.knots, y: error.values, colour, name, steps: error.values.length < error.knots.length };
  const x = [];
  for (let k = 0; k + 1 < error.knots.length; k++) {
    for (let s = 0; s < 4; s++) x.push(error.knots[k] + (s / 4) * (error.knots[k + 1] - error.knots[k]));
  }
  x.push(error.knots[error.knots.length - 1]);
  return { x, y: x.map((theta) => evaluateError(error, theta)), colour, name, steps: false };
}

// Interval of the smallest value (the longest one, on the scale of the axis) and a point inside.
function bestOf(error, axis) {
  const { knots } = error;
  if (error.coefficients || error.values.length === knots.length) {
    let best = { low: knots[0], high: knots[0], theta: knots[0], error: Infinity };
    for (let k = 0; k + 1 < knots.length; k++) {
      const candidates = [knots[k], knots[k + 1]];
      if (error.coefficients && error.coefficients[3 * k + 2] > 0) {
        const t = -error.coefficients[3 * k + 1] / (2 * error.coefficients[3 * k + 2]);
        if (t > 0 && knots[k] + t < knots[k + 1]) candidates.push(knots[k] + t);
      }
      for (const theta of candidates) {
        const value = evaluateError(error, theta);
        if (value < best.error) best = { low: theta, high: theta, theta, error: value };
      }
    }
    return best;
  }
  let smallest = Infinity, best = null;
  const wide = (k) => axis.share(knots[k + 1]) - axis.share(knots[k]) > 1e-12;
  error.values.forEach((value, k) => { if (wide(k)) smallest = Math.min(smallest, value); });
  for (let k = 0; k < error.values.length; k++) {
    if (error.values[k] !== smallest || !wide(k)) continue;
    let end = k;
    while (end + 1 < error.values.length && (error.values[end + 1] === smallest || !wide(end + 1))) end++;
    const width = axis.share(knots[end + 1]) - axis.share(knots[k]);
    if (!best || width > best.width) best = { low: knots[k], high: knots[end + 1], width, error: smallest };
    k = end;
  }
  return { ...best, theta: axis.at(0.5 * (axis.share(best.low) + axis.share(best.high))) };
}
