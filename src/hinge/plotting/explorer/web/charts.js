// Line charts over the parameter, with a marker at its present value.

const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

class Chart {
  constructor(canvas, axis, label) {
    Object.assign(this, { canvas, axis, label, lines: [], band: null, low: 0, high: 1, marker: null });
    this.context = canvas.getContext("2d");
    this.stored = document.createElement("canvas");
  }
  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    for (const c of [this.canvas, this.stored]) {
      c.width = Math.round(this.width * ratio);
      c.height = Math.round(this.height * ratio);
      c.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.left = 48; this.right = 12; this.top = 22; this.bottom = 24;
  }
  // lines: [{x, y, colour, name, steps}], y values at x; `steps` lines keep y[k] up to x[k + 1].
  set(lines, band) {
    this.lines = lines;
    this.band = band;
    let low = Infinity, high = -Infinity;
    for (const { y } of lines) for (const value of y) { low = Math.min(low, value); high = Math.max(high, value); }
    if (!(high > low)) { low -= 0.5; high += 0.5; }
    this.low = Math.min(low, 0 <= low && low < 0.5 * high ? 0 : low);
    this.high = high + 0.04 * (high - this.low);
  }
  x(theta) { return this.left + this.axis.share(theta) * (this.width - this.left - this.right); }
  y(value) { return this.height - this.bottom - ((value - this.low) / (this.high - this.low)) * (this.height - this.top - this.bottom); }
  thetaAt(x) { return this.axis.at((x - this.left) / (this.width - this.left - this.right)); }
  // Draw everything that does not depend on the present value.
  prepare(colours) {
    const g = this.stored.getContext("2d"), { left, top, width, height, right, bottom } = this;
    g.clearRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.strokeStyle = g.fillStyle = colours.faint;
    g.lineWidth = 1;
    if (this.band) {
      g.globalAlpha = 0.25;
      g.fillStyle = colours.accent;
      g.fillRect(this.x(this.band[0]), top, Math.max(2, this.x(this.band[1]) - this.x(this.band[0])), height - top - bottom);
      g.globalAlpha = 1;
    }
    g.beginPath();
    g.moveTo(left, top); g.lineTo(left, height - bottom); g.lineTo(width - right, height - bottom);
    g.stroke();
    g.fillStyle = colours.ink;
    g.textAlign = "right";
    for (const value of [this.low, this.high]) g.fillText(short(value), left - 5, this.y(value) + (value === this.low ? 0 : 9));
    for (const theta of this.axis.ticks()) {
      const x = this.x(theta);
      g.fillStyle = colours.ink;
      g.textAlign = x < left + 20 ? "left" : x > width - right - 20 ? "right" : "center";
      g.fillText(short(theta), x, height - 8);
      g.fillStyle = colours.faint;
      g.fillRect(x, height - bottom, 1, 4);
    }
    g.fillStyle = colours.ink;
    g.textAlign = "left";
    g.fillText(this.label, left, 13);
    let place = left + g.measureText(this.label).width + 16;
    for (const line of this.lines) {
      g.strokeStyle = line.colour;
      g.lineWidth = line.name ? 2 : 1;
      g.beginPath();
      line.x.forEach((theta, k) => {
        if (k && line.steps) g.lineTo(this.x(theta), this.y(line.y[k - 1]));
        const y = line.y[Math.min(k, line.y.length - 1)];
        if (k) g.lineTo(this.x(theta), this.y(y)); else g.moveTo(this.x(theta), this.y(y));
      });
      g.stroke();
      if (!line.name) continue;
      g.fillStyle = line.colour;
      g.fillRect(place, 5, 12, 8);
      g.fillStyle = colours.ink;
      g.fillText(line.name, place + 16, 13);
      place += g.measureText(line.name).width + 32;
    }
  }
  draw(theta, colours) {
    const g = this.context;
    g.clearRect(0, 0, this.width, this.height);
    g.drawImage(this.stored, 0, 0, this.width, this.height);
    g.strokeStyle = colours.accent;
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(this.x(theta), this.top);
    g.lineTo(this.x(theta), this.height - this.bottom);
    g.stroke();
  }
}

// The axis of the parameter: logarithmic if all values are positive and their ratio is large.
class Axis {
  constructor(low, high) {
    this.low = low;
    this.high = high;
    this.logarithmic = low > 0 && high / low > 5;
  }
  share(theta) {
    if (this.high === this.low) return 0;
    return this.logarithmic ? Math.log(theta / this.low) / Math.log(this.high / this.low) : (theta - this.low) / (this.high - this.low);
  }
  at(share) {
    const s = Math.min(1, Math.max(0, share));
    if (s === 0) return this.low;
    if (s === 1) return this.high;
    return this.logarithmic ? this.low * (this.high / this.low) ** s : this.low + s * (this.high - this.low);
  }
  ticks() {
    if (!this.logarithmic) return [0, 0.25, 0.5, 0.75, 1].map((s) => this.at(s));
    const out = [], first = Math.ceil(Math.log10(this.low) - 1e-9), last = Math.floor(Math.log10(this.high) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / 6));
    for (let e = first; e <= last; e += step) out.push(10 ** e);
    return out.length > 1 ? out : [this.low, this.high];
  }
}

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e4 || size < 1e-3 ? value.toExponential(1).replace("e+", "e") : String(Number(value.toPrecision(3)));
}
