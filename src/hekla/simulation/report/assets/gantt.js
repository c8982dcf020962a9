// The Gantt chart of one run: a canvas that follows the window of time, with rows of its own to move through.

const GANTT_HEIGHT = 520;
const GANTT_BOTTOM = 40;
const COLOURINGS = ["queue", "job", "ending"];
const ENDING_COLOURS = [2, 4, 3, 1, 6, 0]; // done, evicted, lost, failed, stopped, cut

function ganttChart(data, run, host) {
  const model = ganttModel(run);
  const said = { role: "application", "aria-roledescription": "chart", "aria-label": ganttLabel(run) };
  const canvas = element("canvas", { tabindex: 0, ...said });
  const status = element("span", { "aria-live": "polite" });
  const buttons = element("div", { class: "small-buttons" });
  host.append(element("div", { class: "gantt-box" }, canvas), buttons);
  const height = Math.min(GANTT_HEIGHT, Math.max(120, run.nodes.length * 44 + GANTT_BOTTOM + 4));
  const rows = new RowView(run.nodes.length, height - GANTT_BOTTOM);
  const chart = { data, run, model, canvas, status, rows, height, width: 0 };
  chart.draw = oncePerFrame(() => chart.width && drawGantt(chart));
  addRowButtons(chart, buttons);
  onWidth(canvas.parentElement, (width) => { chart.width = width; chart.draw(); });
  for (const what of ["window", "job", "colouring", "theme"]) listen(what, chart.draw);
  listen("job", () => bringIntoView(chart));
  ganttPointer(chart);
  ganttKeys(chart);
}

function ganttLabel(run) {
  const bars = run.gantt.job.length;
  const size = `${counted(bars, "bar")} on ${counted(run.nodes.length, "node")} over ${spanText(run.end)}`;
  return `Gantt chart: ${size}. The table of jobs below has the same jobs as text.`;
}

function addRowButtons(chart, buttons) {
  const act = (text, what) => {
    const button = element("button", { type: "button" }, text);
    button.addEventListener("click", () => { what(); chart.draw(); });
    buttons.append(button);
  };
  act("Higher rows", () => chart.rows.zoom(1.6));
  act("Lower rows", () => chart.rows.zoom(1 / 1.6));
  act("↑ Rows", () => chart.rows.move(-pageOfRows(chart)));
  act("↓ Rows", () => chart.rows.move(pageOfRows(chart)));
  buttons.append(chart.status);
}

const pageOfRows = (chart) => (0.8 * chart.rows.height) / chart.rows.rowHeight;

function ganttArea(chart) {
  const left = chart.width < 560 ? 62 : 96;
  return { left, top: 0, width: Math.floor(chart.width - left - 8), height: chart.height - GANTT_BOTTOM };
}

function drawGantt(chart) {
  const started = performance.now();
  const { canvas, model, rows, run } = chart;
  const area = ganttArea(chart);
  const context = sharpContext(canvas, chart.width, chart.height);
  const colours = ganttColours(chart);
  context.fillStyle = colours.background.css;
  context.fillRect(area.left, area.top, area.width, area.height);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  const painted = paintBars(context, model, rows, area, colours);
  paintAway(context, chart, area);
  nameBars(context, model, rows, area, run, colours);
  paintSelected(context, chart, area, colours);
  context.restore();
  nameRows(context, chart, area);
  ganttTimeAxis(context, chart, area);
  sayRows(chart);
  // For tests that inspect the page.
  canvas.dataset.bars = painted;
  canvas.dataset.milliseconds = (performance.now() - started).toFixed(1);
}

// A context in pixels of the style sheet, on a canvas as fine as the screen.
function sharpContext(canvas, width, height) {
  // Paper is finer than most screens.
  const least = document.documentElement.dataset.printing ? 2 : 1;
  const ratio = Math.min(3, Math.max(least, devicePixelRatio || 1));
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
}

// Which colour a bar has, and all colours in the forms that painting needs. While a job is selected all others fade.
function ganttColours({ data, run, model }) {
  const background = colourOf("--grid");
  const isFaded = selectedRow(run) >= 0;
  const rgb = Array.from({ length: 9 }, (_, number) => mixed(colourOf(`--c${number}`), background, isFaded ? 0.3 : 1));
  const [css, text] = [rgb.map((colour) => colour.css), rgb.map(readableOn)];
  return { background, rgb, css, text, of: colouringRule(data, run, model) };
}

function colouringRule(data, run, model) {
  const colourOfQueue = run.groupOfQueue.map((group) => data.groups[group].colour);
  return {
    queue: (bar) => colourOfQueue[run.jobs.queue[model.job[bar]]] ?? 8,
    job: (bar) => (model.job[bar] < 0 ? 8 : model.job[bar] % 8),
    ending: (bar) => ENDING_COLOURS[model.ending[bar]],
  }[chosen.colouring];
}

function mixed(colour, other, part) {
  const mix = (name) => Math.round(colour[name] * part + other[name] * (1 - part));
  const [red, green, blue] = ["red", "green", "blue"].map(mix);
  return { red, green, blue, css: `rgb(${red} ${green} ${blue})` };
}

const readableOn = ({ red, green, blue }) => (red * 0.299 + green * 0.587 + blue * 0.114 > 140 ? "#000" : "#fff");

function paintAway(context, { model, rows }, area) {
  const per = area.width / (chosen.to - chosen.from);
  context.fillStyle = colourOf("--away").css;
  for (const [node, began, ended] of model.away) {
    if (node < rows.first() || node >= rows.last() || ended <= chosen.from || began >= chosen.to) continue;
    const left = area.left + Math.max(0, began - chosen.from) * per;
    const right = area.left + Math.min(area.width, (ended - chosen.from) * per);
    context.fillRect(left, area.top + rows.placeOf(node), right - left, Math.max(0.6, rows.rowHeight - rowGap(rows)));
  }
}

function paintSelected(context, { run, model, rows }, area, colours) {
  const job = selectedRow(run);
  if (job < 0) return;
  const { first, order } = model.barsOfJob;
  const per = area.width / (chosen.to - chosen.from);
  const accent = colourOf("--ink").css;
  for (let at = first[job]; at < first[job + 1]; at++) {
    const bar = order[at];
    const node = nodeOf(model, bar);
    if (model.ended[bar] < chosen.from || model.began[bar] > chosen.to) continue;
    if (node < rows.first() || node >= rows.last()) continue;
    const box = barBox(model, rows, area, per, bar, node);
    const [width, height] = [Math.max(3, box.width), Math.max(2, box.height)];
    context.fillStyle = accent;
    context.fillRect(box.left - 1, box.top - 1, width + 2, height + 2);
    context.fillStyle = colourOf(`--c${colours.of(bar)}`).css;
    if (height > 3) context.fillRect(box.left + 0.5, box.top + 0.5, width - 1, height - 1);
  }
}

function nameRows(context, { run, rows }, area) {
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillStyle = colourOf("--soft").css;
  const step = Math.max(1, Math.ceil(13 / rows.rowHeight));
  for (let node = Math.ceil(rows.first() / step) * step; node < rows.last(); node += step) {
    const place = area.top + rows.placeOf(node) + Math.min(rows.rowHeight, rows.rowHeight - rowGap(rows)) / 2;
    if (place < 6 || place > area.height - 5) continue;
    context.fillText(shortened(context, run.nodes[node], area.left - 8), area.left - 5, place);
  }
}

// Names of nodes differ at their ends, mostly.
function shortened(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length - 1;
  while (kept > 1 && context.measureText("…" + text.slice(-kept)).width > width) kept--;
  return "…" + text.slice(-kept);
}

function ganttTimeAxis(context, chart, area) {
  const per = area.width / (chosen.to - chosen.from);
  const line = colourOf("--line").css;
  const bottom = area.top + area.height;
  const ticks = timeTicks(chosen.from, chosen.to, area.width / ROOM_OF_MOMENT);
  const alignments = { start: "left", end: "right", middle: "center" };
  context.fillStyle = colourOf("--soft").css;
  context.strokeStyle = line;
  context.textBaseline = "top";
  context.font = "12px system-ui, sans-serif";
  for (const tick of ticks) {
    const place = area.left + (tick - chosen.from) * per;
    context.textAlign = alignments[anchor(place, { left: area.left, right: area.left + area.width })];
    context.fillText(tickText(tick, ticks), place, bottom + 7);
    context.fillRect(place, bottom, 1, 4);
  }
  context.textAlign = "center";
  context.fillText(timeTitle(ticks), area.left + area.width / 2, bottom + 23);
}

function sayRows({ run, rows, status }) {
  const [first, last] = [rows.first() + 1, Math.min(rows.last(), run.nodes.length)];
  status.textContent = `nodes ${numberText(first)} to ${numberText(last)} of ${numberText(run.nodes.length)}`;
}

// A job that was selected elsewhere is looked for: its first bar comes into view, unless another one is.
function bringIntoView({ run, model, rows }) {
  const job = selectedRow(run);
  if (job < 0) return;
  const { first, order } = model.barsOfJob;
  const nodes = Array.from(order.subarray(first[job], first[job + 1]), (bar) => nodeOf(model, bar));
  const isInView = nodes.some((node) => node >= rows.first() && node < rows.last());
  if (nodes.length && !isInView) rows.move(nodes[0] - rows.top - 2);
}
