// Arrays of the embedded data, searches in sorted arrays, and the solution of small dense systems.

const SINGULAR = 1e-12;       // pivots below this share of the largest entry are rounding errors
const CONTRADICTION = 1e-9;   // right-hand sides above this share of the largest one contradict equations without pivot
const TYPES = { f8: Float64Array, i8: Int8Array, i4: Int32Array };

// Typed array from {type, data}, where data are its little-endian bytes in base64.
function decode(array) {
  const text = atob(array.data), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[array.type](bytes.buffer);
}

// Replace every encoded array in a tree of objects by a typed array.
function decodeAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.data === "string" && value.type in TYPES) return decode(value);
  if (Array.isArray(value)) return value.map(decodeAll);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decodeAll(part)]));
}

// Number of entries of a sorted array that are at most `value`.
function countUpTo(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1; else high = middle;
  }
  return low;
}

// Solve Ax = b by Gaussian elimination with complete pivoting; A (n × n, rows) and b are overwritten. If A is singular,
// the unknowns that the equations do not determine are zero. Null if the equations contradict each other.
function solveDense(A, b, n) {
  const order = Array.from({ length: n }, (_, i) => i);
  let largest = 0, size = 0, rank = n;
  for (let i = 0; i < n * n; i++) largest = Math.max(largest, Math.abs(A[i]));
  for (let i = 0; i < n; i++) size = Math.max(size, Math.abs(b[i]));
  for (let k = 0; k < n; k++) {
    let row = k, column = k;
    for (let i = k; i < n; i++) {
      for (let j = k; j < n; j++) if (Math.abs(A[i * n + j]) > Math.abs(A[row * n + column])) { row = i; column = j; }
    }
    if (Math.abs(A[row * n + column]) <= SINGULAR * largest) { rank = k; break; }
    if (row !== k) {
      for (let j = 0; j < n; j++) [A[k * n + j], A[row * n + j]] = [A[row * n + j], A[k * n + j]];
      [b[k], b[row]] = [b[row], b[k]];
    }
    if (column !== k) {
      for (let i = 0; i < n; i++) [A[i * n + k], A[i * n + column]] = [A[i * n + column], A[i * n + k]];
      [order[k], order[column]] = [order[column], order[k]];
    }
    for (let i = k + 1; i < n; i++) {
      const factor = A[i * n + k] / A[k * n + k];
      if (factor === 0) continue;
      for (let j = k; j < n; j++) A[i * n + j] -= factor * A[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (let i = rank; i < n; i++) if (Math.abs(b[i]) > CONTRADICTION * size) return null;
  const x = new Float64Array(n);
  for (let i = rank - 1; i >= 0; i--) {
    let sum = b[i];
    for (let j = i + 1; j < rank; j++) sum -= A[i * n + j] * x[order[j]];
    x[order[i]] = sum / A[i * n + i];
  }
  return x;
}
