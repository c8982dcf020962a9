// Distributions of waits: which part of the jobs waited how long at most, on a logarithmic axis.

// `ends` are those of the axis; waits that are shorter than the first are drawn at the left edge.
function waitChart(run, host, curves, ends, label) {
  const plot = element("div", { class: "plot" });
  const legend = element("div", { class: "legend" }, ...curves.map(curveKey));
  host.append(plot, legend);
  let width = 0;
  const draw = oncePerFrame(() => width && plot.replaceChildren(waitPicture(run, curves, ends, width, label, plot)));
  onWidth(plot, (known) => { width = known; draw(); });
  listen("job", draw);
  plot.addEventListener("pointermove", (event) => tellWaits(event, plot, curves));
  plot.addEventListener("pointerleave", () => tooltip.hide());
}

function waitPicture(run, curves, ends, width, label, plot) {
  const height = 270;
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const x = logarithmic(...ends, box.left, box.right);
  const y = linear(0, 1, box.bottom, box.top);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const text = (seconds) => (seconds === ends[0] ? `≤ ${seconds} s` : spanText(seconds));
  const marks = waitMarks(ends, box.right - box.left).map((seconds) => [x(seconds), text(seconds)]);
  svg.append(
    verticalAxis(y, [0, 0.25, 0.5, 0.75, 1], percentText, box, "part of the jobs"),
    horizontalAxis(marks, box, "wait until the first start (logarithmic)"),
    ...curves.map((curve) => shape("path", { class: `curve ${curveClass(curve)}`, d: curvePath(curve, x, y, box) })),
    ...waitMark(run, box, x),
  );
  plot.scale = x;
  return svg;
}

// Round times rather than powers of ten: minutes and hours are what people wait for.
function waitMarks([shortest, longest], width) {
  const all = [0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];
  const shown = all.filter((seconds) => seconds >= shortest && seconds <= longest);
  return width < 420 ? shown.filter((_, at) => at % 2 === 0) : shown;
}

// Sizes have an order, and so have their colours; queues have none.
const curveColour = ({ number, isSize }) => (number === null ? "call" : isSize ? `s${number}` : `c${number}`);
const curveClass = (curve) => `${curveColour(curve)} d${(curve.number ?? 0) % 4}`;

function curveKey(curve) {
  const line = shape("path", { class: `curve ${curveClass(curve)}`, d: "M1 5H25" });
  const picture = shape("svg", { width: 26, height: 10, "aria-hidden": "true" }, line);
  const waits = curve.neverStarted ? `, ${numberText(curve.neverStarted)} never started` : "";
  return element("span", {}, picture, `${curve.label} (${numberText(curve.started)}${waits})`);
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
