// The page: state, controls and drawing.

const THEMES = {
  light: { background: "#ffffff", ink: "#1c1c1c", faint: "#8a8a8a", positive: "#0072b2", negative: "#d55e00", accent: "#7b3294" },
  dark: { background: "#16181c", ink: "#ececec", faint: "#8d939c", positive: "#56b4e9", negative: "#e69f00", accent: "#d7a6f0" },
};
const IDLE = 90;            // milliseconds without a change before the certificate is computed
const SHOWN_SAMPLES = 80;   // coefficients drawn in the chart
const CHART_POINTS = 400;   // values of the parameter at which they are evaluated
const PICK_RADIUS = 16;     // pixels

function startExplorer(root, encoded) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`), host = root.matches("main") ? root : root.querySelector("main");
  const page = decodeAll(encoded), n0 = page.y.length;
  page.d = page.d || 1;
  page.kernel = page.program ? makeKernel(page.program, page.d) : null;
  page.parametric = new Parametric(page.parametric);
  page.path = new StoredPath(page.parametric, page.pieces);
  page.centre = page.task === "regression" ? page.y.reduce((a, b) => a + b, 0) / n0 : 0;
  page.original = { X: page.X, y: page.y, parametric: page.parametric, path: page.path, sign: page.sign,
                    training: page.training, error: page.error, K: page.K };
  const axis = new Axis(page.low, page.high), editor = new Editor(page), view = new PlaneView(part("plane"));
  const charts = { errors: new Chart(part("errors"), axis, page.task === "regression" ? "squared error" : "error rate"),
                   coefficients: new Chart(part("coefficients"), axis, "dual variables") };
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let theme = dark.matches ? "dark" : "light", model = null, selected = -1, tool = "select", edited = false;
  let frame = 0, idle = 0, playing = 0, drag = null, best = null, breakpoints = [], frameTimes = [];
  const canEdit = page.editable && page.kernel !== null && n0 <= EDIT_LIMIT;

  // ---- the model at a value of the parameter

  const kernelOfSamples = () => (page.K ??= kernelMatrix(page.kernel, page.X, page.y.length, page.X, page.y.length));
  const solutionAt = (theta) => interpret(page.path.solution(theta), page);
  function setTheta(theta) {
    model = solutionAt(Math.min(page.high, Math.max(page.low, theta)));
    part("slider").value = String(Math.round(1e5 * axis.share(model.theta)));
    request();
  }
  function request() {
    if (!frame) frame = requestAnimationFrame(render);
    clearTimeout(idle);
    idle = setTimeout(showCertificate, IDLE);
  }
  function newPath() {
    breakpoints = page.path.breakpoints();
    best = page.error ? bestOf(page.error, axis) : null;
    part("best").disabled = !best;
    const lines = [];
    if (page.training) lines.push(errorLine(page.training, PALETTE[0], "training"));
    if (page.error) lines.push(errorLine(page.error, PALETTE[1], "validation"));
    part("errors").hidden = !lines.length;
    charts.errors.set(lines, best && [best.low, best.high]);
    charts.coefficients.set(coefficientLines(), null);
    prepareCharts();
  }
  function coefficientLines() {
    const n = page.y.length, step = Math.max(1, Math.ceil(breakpoints.length / CHART_POINTS));
    const thetas = breakpoints.filter((_, k) => k % step === 0 || k === breakpoints.length - 1);
    const every = Math.max(1, Math.ceil(n / SHOWN_SAMPLES)), shown = [];
    for (let i = 0; i < n; i += every) shown.push({ i, x: thetas, y: [], colour: PALETTE[(i / every) % PALETTE.length] });
    for (const theta of thetas) {
      const { coefficients } = solutionAt(theta);
      for (const line of shown) line.y.push(page.task === "regression" ? coefficients[line.i] : Math.abs(coefficients[line.i]));
    }
    charts.coefficients.label = every > 1 ? `dual variables of every ${every}th sample` : "dual variables";
    if (step > 1) charts.coefficients.label += `, at every ${step}th breakpoint`;
    return shown;
  }

  // ---- drawing

  function colours() { return THEMES[theme]; }
  function prepareCharts() {
    for (const chart of Object.values(charts)) {
      if (chart.canvas.hidden) continue;
      chart.resize();
      chart.prepare(colours());
    }
    request();
  }
  function setPlane() {
    if (!page.planes.length) return;
    const plane = page.planes[Number(part("planes").value) || 0];
    if (edited && view.grid) page.box = view.grid.box; else page.box = null;
    view.grid = new Grid(page, plane);
    page.projected = view.grid.project(page.X);
    part("planenote").textContent = plane.note;
  }
  function render(now) {
    frame = 0;
    const began = performance.now();
    part("theta").textContent = `${model.theta.toPrecision(6)}`;
    if (view.grid) view.draw(model, page, colours(), selected);
    for (const chart of Object.values(charts)) if (!chart.canvas.hidden) chart.draw(model.theta, colours());
    showSets();
    frameTimes.push(performance.now() - began);
    if (frameTimes.length > 500) frameTimes = frameTimes.slice(-200);
    if (playing) {
      const share = axis.share(model.theta) + (now - playing) / 8000;
      playing = now;
      if (share >= 1) stopPlaying(); else setTheta(axis.at(share));
    }
  }
  function showSets() {
    const counts = [0, 0, 0], total = model.sets.length;
    for (const s of model.sets) counts[s]++;
    const names = ["α = 0", "margin", "bound"], tones = ["#767676", "#00694a", "#8c3f00"];
    part("sets").setAttribute("aria-label", names.map((name, k) => `${name}: ${counts[k]}`).join(", "));
    part("sets").replaceChildren(...counts.map((count, k) => {
      const bar = document.createElement("span");
      bar.style.cssText = `flex: ${Math.max(count, 0.06 * total * (count > 0))} 1 0; background: ${tones[k]}; display: ${count ? "block" : "none"}`;
      bar.textContent = `${names[k]}: ${count}`;
      bar.title = bar.textContent;
      return bar;
    }));
    if (selected >= 0 && selected < total) {
      part("sample").textContent = `sample ${selected}: target ${label(page.y[selected])}, coefficient ${model.coefficients[selected].toPrecision(8)}, ` +
        ["α = 0", "on the margin", "at the bound"][model.sets[selected]];
    } else part("sample").textContent = canEdit || view.grid ? "Select a sample to see its coefficient." : "";
  }
  function label(y) { return page.classes ? page.classes[y > 0 ? 1 : 0] : String(Number(y.toPrecision(6))); }
  function showCertificate() {
    const rows = [["intercept", model.intercept.toPrecision(10)],
                  ["support vectors", String(model.coefficients.reduce((c, a) => c + (a !== 0), 0))]];
    if (page.training) rows.push(["training error", evaluateError(page.training, model.theta).toPrecision(6)]);
    if (page.error) {
      rows.push(["validation error", evaluateError(page.error, model.theta).toPrecision(6)]);
      rows.push(["smallest validation error", `${best.error.toPrecision(6)} at ${page.parameter} = ` +
        (best.low === best.high ? best.theta.toPrecision(5) : `[${best.low.toPrecision(5)}, ${best.high.toPrecision(5)}]`)]);
    }
    if (page.K || page.kernel) {
      const c = certificateNow();
      rows.push(["primal objective", c.primal.toPrecision(10)], ["dual objective", c.dual.toPrecision(10)],
                ["gap", c.gap.toExponential(1)], ["norm ‖w‖", c.norm.toPrecision(6)]);
    }
    part("table").replaceChildren(...rows.map(([name, value]) => {
      const row = document.createElement("tr"), cells = [name, value].map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      });
      row.append(...cells);
      return row;
    }));
  }
  const certificateNow = () => certificate(kernelOfSamples(), page.y.length, page.path.solution(model.theta));

  // ---- editing

  function edit(X, y, final) {
    const start = y.length === page.y.length ? page.path.solution(model.theta).beta : null;
    if (page.task === "classification" && !(y.some((v) => v > 0) && y.some((v) => v < 0))) {
      part("status").textContent = "A classification problem needs samples of both classes.";
      return false;
    }
    const solution = editor.apply(X, y, model.theta, start);
    edited = true;
    if (final) {
      page.path = computePath(page.K, y.length, page.parametric, model.theta, page.low, page.high, solution.beta);
      page.training = errorAlong(page.path, page.K, y, page);
      if (page.validation) {
        const { X: Z, y: z } = page.validation;
        page.error = errorAlong(page.path, kernelMatrix(page.kernel, Z, z.length, X, y.length), z, page);
      }
    } else {
      page.path = new ComputedPath(page.parametric, page.K, [{ start: page.low, stop: page.high, first: solution, last: solution, places: solution.places }]);
    }
    model = interpret(solution, page);
    setPlane();
    if (final) newPath();
    part("status").textContent = final ? `${y.length} samples, ${breakpoints.length} breakpoints, KKT violation ` +
      violationOf(page.K, y.length, solution).toExponential(1) : "";
    part("reset").disabled = false;
    request();
    return true;
  }
  const rowsOf = (X) => Array.from({ length: X.length / page.d }, (_, i) => Array.from(X.subarray(i * page.d, (i + 1) * page.d)));
  const pack = (rows, y, final = true) => edit(Float64Array.from(rows.flat()), Float64Array.from(y), final);
  const actions = {
    add: (x, y) => (page.y.length >= EDIT_LIMIT ? full() : pack([...rowsOf(page.X), x], [...page.y, y])),
    move: (i, x, final = true) => { const rows = rowsOf(page.X); rows[i] = x; return pack(rows, page.y, final); },
    remove: (i) => { selected = -1; return pack(rowsOf(page.X).filter((_, k) => k !== i), page.y.filter((_, k) => k !== i)); },
    relabel: (i, y) => { const targets = Array.from(page.y); targets[i] = y ?? -targets[i]; return pack(rowsOf(page.X), targets); },
    reset: () => {
      Object.assign(page, page.original);
      edited = false;
      selected = -1;
      part("reset").disabled = true;
      part("status").textContent = "";
      model = solutionAt(model.theta);
      setPlane();
      newPath();
    },
  };
  function full() {
    part("status").textContent = `Samples can be added up to ${EDIT_LIMIT}.`;
    return false;
  }

  // ---- controls

  function stopPlaying() { playing = 0; part("play").textContent = "play"; }
  function togglePlaying() {
    if (playing) { stopPlaying(); return; }
    if (axis.share(model.theta) > 0.999) setTheta(page.low);
    playing = performance.now();
    part("play").textContent = "pause";
    request();
  }
  function neighbour(direction) {
    const tolerance = 1e-12 * Math.abs(model.theta);
    const next = direction > 0 ? breakpoints.find((b) => b > model.theta + tolerance)
      : breakpoints.findLast((b) => b < model.theta - tolerance);
    if (next !== undefined) setTheta(next);
  }
  function pick(x, y) {
    let nearest = -1, distance = PICK_RADIUS;
    page.projected.forEach((point, i) => {
      const [a, b] = view.toScreen(point), far = Math.hypot(a - x, b - y);
      if (far < distance) { distance = far; nearest = i; }
    });
    return nearest;
  }
  function position(event) {
    const box = part("plane").getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  function featuresAt(x, y) {
    const { origin, u, v } = view.grid.plane, [s, t] = view.toPlane(x, y);
    return origin.map((o, k) => o + s * u[k] + t * v[k]);
  }
  function pressed(event) {
    const [x, y] = position(event), i = pick(x, y);
    if (tool === "positive" || tool === "negative") actions.add(featuresAt(x, y), tool === "positive" ? 1 : -1);
    else if (tool === "add") actions.add(featuresAt(x, y), Number(part("target").value));
    else if (i >= 0 && tool === "delete") actions.remove(i);
    else if (i >= 0 && tool === "relabel") actions.relabel(i, page.task === "regression" ? Number(part("target").value) : undefined);
    else {
      selected = i;
      if (i >= 0 && tool === "move") { drag = i; part("plane").setPointerCapture(event.pointerId); }
    }
    request();
  }
  function dragged(event) {
    if (drag === null) return;
    const [x, y] = position(event);
    actions.move(drag, featuresAt(x, y), false);
  }
  function released(event) {
    if (drag === null) return;
    const [x, y] = position(event), i = drag;
    drag = null;
    actions.move(i, featuresAt(x, y));
  }
  function buildTools() {
    const tools = part("tools");
    if (!canEdit) {
      tools.textContent = page.kernel && page.editable ? `Samples can be edited up to n = ${EDIT_LIMIT}.` : "";
      return;
    }
    const names = page.task === "classification"
      ? [["select", "select"], ["move", "move"], ["positive", `add ${page.classes[1]}`], ["negative", `add ${page.classes[0]}`], ["delete", "delete"], ["relabel", "relabel"]]
      : [["select", "select"], ["move", "move"], ["add", "add"], ["delete", "delete"], ["relabel", "set target"]];
    for (const [name, text] of names) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.dataset.tool = name;
      button.setAttribute("aria-pressed", String(name === tool));
      button.addEventListener("click", () => {
        tool = name;
        for (const other of tools.querySelectorAll("[data-tool]")) other.setAttribute("aria-pressed", String(other === button));
      });
      tools.append(button);
    }
    if (page.task === "regression") {
      const target = document.createElement("input");
      Object.assign(target, { type: "number", step: "any", value: String(Number(page.centre.toPrecision(4))) });
      target.dataset.part = "target";
      target.setAttribute("aria-label", "target of an added sample");
      target.style.width = "7em";
      tools.append(target);
    }
    const reset = document.createElement("button");
    Object.assign(reset, { type: "button", textContent: "reset", disabled: true });
    reset.dataset.part = "reset";
    reset.addEventListener("click", actions.reset);
    tools.append(reset);
  }
  function keyPressed(event) {
    if (event.target.matches("input[type=number], select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const commands = { "[": () => neighbour(-1), "]": () => neighbour(1), b: () => best && setTheta(best.theta), p: togglePlaying,
                       Escape: () => { selected = -1; request(); }, Delete: () => canEdit && selected >= 0 && actions.remove(selected) };
    if (event.target === part("plane")) {
      Object.assign(commands, { ArrowLeft: () => neighbour(-1), ArrowRight: () => neighbour(1),
        ArrowUp: () => choose(1), ArrowDown: () => choose(-1), Home: () => setTheta(page.low), End: () => setTheta(page.high) });
    }
    const command = commands[event.key] ?? commands[event.key.toLowerCase?.()];
    if (command) { command(); event.preventDefault(); }
  }
  function choose(step) { selected = (selected + step + page.y.length) % page.y.length; request(); }
  function chartPointer(chart) {
    const move = (event) => {
      if (event.buttons || event.type === "pointerdown") setTheta(chart.thetaAt(event.clientX - chart.canvas.getBoundingClientRect().left));
    };
    chart.canvas.addEventListener("pointerdown", (event) => { chart.canvas.setPointerCapture(event.pointerId); move(event); });
    chart.canvas.addEventListener("pointermove", move);
  }
  function applyTheme() { host.dataset.theme = theme; if (root.ownerDocument.body.contains(host) && host.parentElement === document.body) document.body.style.background = colours().background; }
  function resized() {
    if (view.grid) view.resize();
    prepareCharts();
  }

  part("title").textContent = page.title;
  part("name").textContent = page.symbol;
  page.planes.forEach((plane, k) => part("planes").append(new Option(plane.name, String(k))));
  part("planelabel").hidden = page.planes.length < 2;
  part("planepanel").hidden = !page.planes.length;
  if (!page.planes.length) root.querySelector(".panels").style.gridTemplateColumns = "minmax(0, 1fr)";
  buildTools();
  applyTheme();
  part("slider").addEventListener("input", (event) => { stopPlaying(); setTheta(axis.at(Number(event.target.value) / 1e5)); });
  part("slider").setAttribute("aria-label", page.symbol);
  part("previous").addEventListener("click", () => neighbour(-1));
  part("next").addEventListener("click", () => neighbour(1));
  part("best").addEventListener("click", () => setTheta(best.theta));
  part("play").addEventListener("click", togglePlaying);
  part("theme").addEventListener("click", () => { theme = theme === "dark" ? "light" : "dark"; applyTheme(); prepareCharts(); });
  part("planes").addEventListener("change", () => { setPlane(); view.resize(); request(); });
  part("plane").addEventListener("pointerdown", pressed);
  part("plane").addEventListener("pointermove", dragged);
  part("plane").addEventListener("pointerup", released);
  host.addEventListener("keydown", keyPressed);
  for (const chart of Object.values(charts)) chartPointer(chart);
  new ResizeObserver(resized).observe(host);

  model = solutionAt(page.error ? bestOf(page.error, axis).theta : axis.at(0.5));
  setPlane();
  if (view.grid) view.resize();
  newPath();
  setTheta(model.theta);

  return {  // for scripts and tests
    setTheta,
    theta: () => model.theta,
    coefficients: () => Array.from(model.coefficients),
    intercept: () => model.intercept,
    indexSets: () => [0, 1, 2].map((s) => Array.from(model.sets.keys()).filter((i) => model.sets[i] === s)),
    decision: (rows) => Array.from(decide(kernelMatrix(page.kernel, Float64Array.from(rows.flat()), rows.length, page.X, page.y.length), page.y.length, model)),
    certificate: certificateNow,
    errors: () => ({ training: page.training && evaluateError(page.training, model.theta), validation: page.error && evaluateError(page.error, model.theta), best }),
    breakpoints: () => breakpoints,
    samples: () => ({ X: rowsOf(page.X), y: Array.from(page.y) }),
    frameTimes: () => frameTimes,
    ...actions,
  };
}
