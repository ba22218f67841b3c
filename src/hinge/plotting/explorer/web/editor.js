// Changes of the samples: the parametric problem and the kernel matrix follow from the data of the first problem.

const EDIT_LIMIT = 300;  // samples up to which problems are solved in the browser

class Editor {
  constructor(page) { this.page = page; }

  // Variables of a sample with target y, as rows of (linear, lower, upper) at 0 and their rates, group and sign.
  template(y) {
    const { page } = this, p = page.original.parametric, n = page.original.y.length, rows = p.size / n;
    let like = 0;
    if (page.task === "classification") like = Math.max(0, page.original.y.findIndex((label) => label > 0 === y > 0));
    const shift = page.task === "regression" ? page.original.y[like] - y : 0, out = [];
    for (let r = 0; r < rows; r++) {
      const v = r * n + like, pair = (a, add = 0) => [a[v] + add, a[p.size + v]];
      out.push({ linear: pair(p.linear, shift), lower: pair(p.lower), upper: pair(p.upper), group: p.group[v], sign: page.original.sign[v] });
    }
    return out;
  }
  // Set the samples (flat X and targets y) and solve at θ, from the coefficients β if their number is unchanged.
  apply(X, y, theta, start) {
    const { page } = this, n = y.length, templates = Array.from(y, (value) => this.template(value));
    const rows = templates[0].length, size = n * rows;
    const data = { linear: new Float64Array(2 * size), lower: new Float64Array(2 * size), upper: new Float64Array(2 * size),
                   total: page.original.parametric.total, group: new Int8Array(size) };
    page.sign = new Float64Array(size);
    templates.forEach((template, i) => template.forEach((variable, r) => {
      const v = r * n + i;
      for (const key of ["linear", "lower", "upper"]) { data[key][v] = variable[key][0]; data[key][size + v] = variable[key][1]; }
      data.group[v] = variable.group;
      page.sign[v] = variable.sign;
    }));
    page.X = X;
    page.y = y;
    page.K = kernelMatrix(page.kernel, X, n, X, n);
    page.parametric = new Parametric(data);
    const initial = start && start.length === size ? start : new Float64Array(size);
    return { ...solveProblem(page.K, n, page.parametric.at(theta), initial), theta };
  }
}
