// Distributions of waits: which part of the jobs waited how long at most, on a logarithmic axis.

// `ends` are those of the axis; waits that are shorter than the first are drawn at the left edge.
function waitChart(run, host, curves, ends, label) {
  const plot = element("div", { class: "plot" });
  const legend = element("div", { class: "legend" }, ...curves.map(curveKey));
  host.append(plot, legend);
  let width = 0;
  const draw = oncePerFrame(() => width && plot.replaceChildren(waitPicture(run, curves, ends, width, label, plot)));
  onWidth(plot, (known) => { width = known; draw(); });
  if (run) listen("job", draw);
  onPoint(plot, (event) => tellWaits(event, plot, curves));
}

function waitPicture(run, curves, ends, width, label, plot) {
  const height = 270;
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const x = logarithmic(...ends, box.left, box.right);
  const y = linear(0, 1, box.bottom, box.top);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const times = waitMarks(ends, x);
  const text = (seconds) => (seconds === ends[0] ? `≤ ${roundSpanText(seconds)}` : roundSpanText(seconds));
  svg.append(
    verticalAxis(y, [0, 0.25, 0.5, 0.75, 1], percentText, box, "part of the jobs"),
    ...times.slice(1).map((seconds) => gridLine(x(seconds), box)),
    horizontalAxis(times.map((seconds) => [x(seconds), text(seconds)]), box, "wait until the first start (logarithmic)"),
    ...curves.map((curve) => shape("path", { class: `curve ${curveClass(curve)}`, d: curvePath(curve, x, y, box) })),
    ...(run ? waitMark(run, box, x) : []),
  );
  plot.scale = x;
  plot.box = box;
  return svg;
}

// Times that people think in, those that tell most first.
const MARKS_OF_WAITS = [
  ...[1, 60, 3600, 86400, 864000, 8640000],
  ...[0.1, 10, 600, 21600],
  ...[0.3, 3, 30, 180, 1800, 7200, 43200, 259200, 2592000],
  ...[5, 20, 300, 1200, 14400, 172800, 432000],
];

const ROOM_OF_MARK = 52;

// The beginning, and of the other times as many as there is room for.
function waitMarks([shortest, longest], x) {
  const shown = [shortest];
  for (const seconds of MARKS_OF_WAITS) {
    const hasRoom = shown.every((other) => Math.abs(x(other) - x(seconds)) >= ROOM_OF_MARK);
    if (seconds > shortest && seconds <= longest && hasRoom) shown.push(seconds);
  }
  return shown.sort((one, other) => one - other);
}

// Sizes have an order, and so have their colours; queues have none.
const queueOrSize = ({ number, isSize }) => (number === null ? "call" : isSize ? `s${number}` : `c${number}`);
const curveColour = (curve) => curve.colour ?? queueOrSize(curve);
const curveClass = (curve) => curve.colour ?? `${queueOrSize(curve)} d${(curve.number ?? 0) % 4}`;

function curveKey(curve) {
  const waits = curve.neverStarted ? `, ${numberText(curve.neverStarted)} never started` : "";
  return lineKey(curveClass(curve), `${curve.label} (${curve.note ?? numberText(curve.started)}${waits})`);
}

function lineKey(colour, text) {
  const line = shape("path", { class: `curve ${colour}`, d: "M1 6H25" });
  return element("span", {}, shape("svg", { width: 26, height: 12, "aria-hidden": "true" }, line), text);
}

function curvePath({ seconds, share }, x, y, box) {
  let path = `M${box.left} ${y(0).toFixed(1)}`;
  for (let at = 0; at < seconds.length; at++) path += `H${x(seconds[at]).toFixed(1)}V${y(share[at]).toFixed(1)}`;
  return seconds.length ? `${path}H${box.right}` : "";
}

function waitMark(run, box, x) {
  const job = selectedRow(run);
  if (job < 0 || !Number.isFinite(waitOf(run, job))) return [];
  const place = x(waitOf(run, job));
  return [shape("line", { class: "of-job", x1: place, x2: place, y1: box.top, y2: box.bottom })];
}

function tellWaits(event, plot, curves) {
  if (!plot.scale) return;
  const { left, width } = plot.firstChild.getBoundingClientRect();
  const seconds = plot.scale.invert(((event.clientX - left) / width) * plot.firstChild.viewBox.baseVal.width);
  const rows = curves.map((curve) => tooltipRow(curve.label, percentText(shareWithin(curve, seconds)), curveColour(curve)));
  markTime(plot, seconds, seconds);
  tooltip.show(event, [tooltipTitle(`waited ${spanText(seconds)} or less`), ...rows]);
}

function shareWithin({ seconds, share }, limit) {
  const after = firstWhere(seconds.length, (at) => seconds[at] > limit);
  return after ? share[after - 1] : 0;
}

// The first index that a rule holds for, where it holds for all that follow too.
function firstWhere(size, rule, start = 0) {
  let [low, high] = [start, size];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rule(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
