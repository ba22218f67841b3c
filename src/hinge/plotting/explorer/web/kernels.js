// Kernel functions k(x, z) of rows of flat arrays: k(X, row of X, Z, row of Z).

function binomial(n, k) {
  let value = 1;
  for (let i = 1; i <= k; i++) value = (value * (n - k + i)) / i;
  return value;
}

// Centered B-spline of odd degree q.  SVR tutorial (32)
function bspline(q, t) {
  let sum = 0, factorial = 1;
  for (let i = 2; i <= q; i++) factorial *= i;
  for (let k = 0; k <= q + 1; k++) {
    const base = (q + 1) / 2 - k - Math.abs(t);  // symmetric: the sum for −|t| has the fewest terms
    if (base > 0) sum += (k % 2 ? -1 : 1) * binomial(q + 1, k) * base ** q;
  }
  return Math.max(0, sum / factorial);
}

function makeKernel(program, d) {
  const dot = (X, i, Z, j) => { let s = 0; for (let k = 0; k < d; k++) s += X[i * d + k] * Z[j * d + k]; return s; };
  const squared = (X, i, Z, j) => {
    let s = 0;
    for (let k = 0; k < d; k++) { const t = X[i * d + k] - Z[j * d + k]; s += t * t; }
    return s;
  };
  const absolute = (X, i, Z, j) => { let s = 0; for (let k = 0; k < d; k++) s += Math.abs(X[i * d + k] - Z[j * d + k]); return s; };
  const leaves = {
    linear: () => dot,
    polynomial: (p) => (X, i, Z, j) => (p.gamma * dot(X, i, Z, j) + p.coef0) ** p.degree,
    rbf: (p) => (X, i, Z, j) => Math.exp(-p.gamma * squared(X, i, Z, j)),
    sigmoid: (p) => (X, i, Z, j) => Math.tanh(p.gamma * dot(X, i, Z, j) + p.coef0),
    laplacian: (p) => (X, i, Z, j) => Math.exp(-p.gamma * absolute(X, i, Z, j)),
    bspline: (p) => (X, i, Z, j) => bspline(p.degree, Math.sqrt(p.gamma * squared(X, i, Z, j))),
  };
  const stack = [];
  for (const node of program) {
    if (node.name in leaves) { stack.push(leaves[node.name](node)); continue; }
    if (node.name === "scale") { const f = stack.pop(); stack.push((...a) => node.gamma * f(...a)); continue; }
    const second = stack.pop(), first = stack.pop();
    stack.push(node.name === "sum" ? (...a) => first(...a) + second(...a) : (...a) => first(...a) * second(...a));
  }
  return stack.pop();
}

// Kernel matrix (m × n, rows) of the rows of Z with those of X.
function kernelMatrix(kernel, Z, m, X, n) {
  const K = new Float64Array(m * n);
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) K[i * n + j] = kernel(Z, i, X, j);
  return K;
}
