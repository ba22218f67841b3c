// Decision values on a grid of points of a plane through the feature space, drawn as an image with contours.

const KERNEL_VALUES = 6e6;  // stored kernel values of grid points; limits the memory and the time of a frame

class Grid {
  constructor(page, plane) {
    const { X, d } = page, n = X.length / d;
    this.page = page;
    this.plane = plane;
    this.side = Math.max(24, Math.min(100, Math.floor(Math.sqrt(KERNEL_VALUES / Math.max(1, n)))));
    const points = this.project(X), box = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [s, t] of [...points, ...(page.validation ? this.project(page.validation.X) : [])]) {
      box[0] = Math.min(box[0], s); box[1] = Math.max(box[1], s);
      box[2] = Math.min(box[2], t); box[3] = Math.max(box[3], t);
    }
    for (const k of [0, 2]) {
      const margin = 0.08 * (box[k + 1] - box[k]) || 1;
      box[k] -= margin; box[k + 1] += margin;
    }
    this.box = page.box ?? box;
    const count = this.side * this.side;
    this.points = new Float64Array(count * d);
    for (let r = 0; r < this.side; r++) {
      for (let c = 0; c < this.side; c++) {
        const s = this.box[0] + (c / (this.side - 1)) * (this.box[1] - this.box[0]);
        const t = this.box[2] + (r / (this.side - 1)) * (this.box[3] - this.box[2]);
        for (let k = 0; k < d; k++) {
          this.points[(r * this.side + c) * d + k] = plane.origin[k] + s * plane.u[k] + t * plane.v[k];
        }
      }
    }
    this.columns = new Array(n).fill(null);
    this.values = new Float32Array(count);
  }
  project(X) {
    const { d } = this.page, { origin, u, v } = this.plane, out = [];
    for (let i = 0; i < X.length / d; i++) {
      let s = 0, t = 0;
      for (let k = 0; k < d; k++) { const x = X[i * d + k] - origin[k]; s += u[k] * x; t += v[k] * x; }
      out.push([s, t]);
    }
    return out;
  }
  column(i) {
    if (!this.columns[i]) {
      const { kernel, X } = this.page, column = new Float32Array(this.values.length);
      for (let p = 0; p < column.length; p++) column[p] = kernel(this.points, p, X, i);
      this.columns[i] = column;
    }
    return this.columns[i];
  }
  forget(i) { this.columns[i] = null; }
  // Decision values of a model; four columns at a time, so that the sums are read and written less often.
  evaluate(model) {
    const { values } = this, support = [];
    values.fill(model.intercept);
    model.coefficients.forEach((a, i) => { if (a !== 0) support.push(i); });
    let k = 0;
    for (; k + 3 < support.length; k += 4) {
      const [a, b, c, d] = support.slice(k, k + 4).map((i) => this.column(i));
      const [p, q, r, s] = support.slice(k, k + 4).map((i) => model.coefficients[i]);
      for (let j = 0; j < values.length; j++) values[j] += p * a[j] + q * b[j] + r * c[j] + s * d[j];
    }
    for (; k < support.length; k++) {
      const a = this.column(support[k]), p = model.coefficients[support[k]];
      for (let j = 0; j < values.length; j++) values[j] += p * a[j];
    }
    return values;
  }
}

// Line segments of the contour f = level, in units of grid cells.
function contour(values, side, level) {
  const lines = [];
  for (let r = 0; r + 1 < side; r++) {
    for (let c = 0; c + 1 < side; c++) {
      const at = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]];
      const f = at.map(([x, y]) => values[y * side + x] - level), cuts = [];
      for (let e = 0; e < 4; e++) {
        const g = (e + 1) % 4;
        if (f[e] > 0 !== f[g] > 0) {
          const t = f[e] / (f[e] - f[g]);
          cuts.push([at[e][0] + t * (at[g][0] - at[e][0]), at[e][1] + t * (at[g][1] - at[e][1])]);
        }
      }
      for (let k = 0; k + 1 < cuts.length; k += 2) lines.push([cuts[k], cuts[k + 1]]);
    }
  }
  return lines;
}

class PlaneView {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.image = document.createElement("canvas");
  }
  resize() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.width = clientWidth;
    this.height = clientHeight;
  }
  toScreen([s, t]) {
    const [a, b, c, d] = this.grid.box;
    return [((s - a) / (b - a)) * this.width, this.height - ((t - c) / (d - c)) * this.height];
  }
  toPlane(x, y) {
    const [a, b, c, d] = this.grid.box;
    return [a + (x / this.width) * (b - a), c + (1 - y / this.height) * (d - c)];
  }
  // Draw the model; `colours` are CSS colours, `points` the projected samples.
  draw(model, page, colours, selected) {
    const { context: g, grid, width, height } = this, values = grid.evaluate(model), { side } = grid;
    this.image.width = this.image.height = side;
    const small = this.image.getContext("2d"), pixels = small.createImageData(side, side);
    const [low, high, back] = [colours.negative, colours.positive, colours.background].map(rgb);
    let largest = 1;
    if (page.task === "regression") {
      largest = 1e-300;
      for (const y of page.y) largest = Math.max(largest, Math.abs(y - page.centre));
    }
    for (let r = 0; r < side; r++) {
      for (let c = 0; c < side; c++) {
        const f = values[r * side + c] - (page.task === "regression" ? page.centre : 0);
        const share = 0.45 * Math.min(1, Math.abs(f) / largest), tone = f > 0 ? high : low;
        const p = 4 * ((side - 1 - r) * side + c);
        for (let k = 0; k < 3; k++) pixels.data[p + k] = back[k] + share * (tone[k] - back[k]);
        pixels.data[p + 3] = 255;
      }
    }
    small.putImageData(pixels, 0, 0);
    g.imageSmoothingEnabled = true;
    g.drawImage(this.image, 0, 0, width, height);
    const levels = page.task === "classification" ? [[-1, [5, 4]], [0, []], [1, [5, 4]]] : page.task === "one_class" ? [[0, []]]
      : [-0.5, 0, 0.5].map((s) => [page.centre + s * largest, []]);
    const cell = [width / (side - 1), height / (side - 1)];
    for (const [level, dash] of levels) {
      g.beginPath();
      for (const [[x1, y1], [x2, y2]] of contour(values, side, level)) {
        g.moveTo(x1 * cell[0], height - y1 * cell[1]);
        g.lineTo(x2 * cell[0], height - y2 * cell[1]);
      }
      g.setLineDash(dash);
      g.lineWidth = dash.length ? 1 : 2;
      g.strokeStyle = colours.ink;
      g.stroke();
    }
    g.setLineDash([]);
    this.drawSamples(model, page, colours, selected);
  }
  drawSamples(model, page, colours, selected) {
    const { context: g } = this, n = page.y.length, radius = n > 600 ? 2.5 : n > 200 ? 3.5 : 5;
    page.projected.forEach((point, i) => {
      const [x, y] = this.toScreen(point), positive = page.task === "regression" ? page.y[i] > page.centre : page.y[i] > 0;
      g.beginPath();
      if (positive) g.arc(x, y, radius, 0, 2 * Math.PI);
      else { g.moveTo(x, y - radius - 1); g.lineTo(x + radius + 1, y + radius); g.lineTo(x - radius - 1, y + radius); g.closePath(); }
      g.fillStyle = positive ? colours.positive : colours.negative;
      g.globalAlpha = model.sets[i] === 0 ? 0.45 : 1;
      g.fill();
      g.globalAlpha = 1;
      if (model.sets[i] !== 0) {
        g.lineWidth = model.sets[i] === 1 ? 2.5 : 1;
        g.strokeStyle = colours.ink;
        g.stroke();
      }
      if (i === selected) {
        g.beginPath();
        g.arc(x, y, radius + 6, 0, 2 * Math.PI);
        g.lineWidth = 2;
        g.strokeStyle = colours.accent;
        g.stroke();
      }
    });
  }
}

// Components of a CSS colour #rrggbb.
function rgb(colour) { return [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)); }
