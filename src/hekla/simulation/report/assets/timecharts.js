// Charts over time, drawn as SVG: bands stacked by queue, and a queue's share against what it deserved.

const MARGIN = { left: 56, right: 12, top: 22, bottom: 40 };

// A chart that fits its host's width and is drawn anew when the window of time or the job changes. Without a run
// of its own no job is marked in it.
// paint(svg, box, x) draws what lies in the box; tell(time) says what stands in the tooltip.
function timeChart(run, host, height, describe, paint, tell) {
  const plot = element("div", { class: "plot" });
  host.append(plot);
  let width = 0;
  const draw = oncePerFrame(() => {
    if (!width) return;
    const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const x = linear(chosen.from, chosen.to, box.left, box.right);
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe() });
    const clip = `clip-${(timeChart.count = (timeChart.count ?? 0) + 1)}`;
    const inside = shape("g", { "clip-path": `url(#${clip})` });
    const [across, down] = [Math.max(0, box.right - box.left), box.bottom - box.top + 4];
    const frame = { x: box.left, y: box.top - 4, width: across, height: down };
    svg.append(shape("clipPath", { id: clip }, shape("rect", frame)));
    paint(svg, inside, box, x);
    svg.append(inside, timeAxis(x, chosen.from, chosen.to, box), ...(run ? jobMarks(run, box, x) : []));
    plot.replaceChildren(svg);
    plot.scale = x;
    plot.box = box;
  });
  onWidth(plot, (known) => { width = known; draw(); });
  for (const what of ["window", "job", "resource"]) listen(what, draw);
  followPointer(plot, tell);
  return draw;
}

// When the selected job was submitted, started and ended.
function jobMarks(run, box, x) {
  const job = selectedRow(run);
  if (job < 0) return [];
  const moments = [["submitted", submittedOf(run, job)], ["started", startedOf(run, job)], ["ended", endedOf(run, job)]];
  return moments.filter(([, at]) => at >= chosen.from && at <= chosen.to).map(([what, at], row) => {
    const place = x(at);
    const mark = shape("g", {}, shape("title", {}, `${run.jobs.names[job]} ${what}: ${momentText(at)}`));
    // What would stick out to the right stands to the left of its line.
    const [side, along] = place > box.right - 70 ? [-4, "end"] : [4, "start"];
    const where = { x: place + side, y: box.top + 11 + 13 * row, "text-anchor": along };
    mark.append(
      shape("line", { class: "of-job", x1: place, x2: place, y1: box.top, y2: box.bottom }),
      shape("text", { class: "of-job-text", ...where }, what),
    );
    return mark;
  });
}

// A hair line and a tooltip below the pointer; dragging marks a part to look at, a double click shows everything.
function followPointer(plot, tell) {
  let start = null;
  const timeAt = (event) => {
    const { left, width } = plot.firstChild.getBoundingClientRect();
    const place = ((event.clientX - left) / width) * plot.firstChild.viewBox.baseVal.width;
    return Math.min(chosen.to, Math.max(chosen.from, plot.scale.invert(place)));
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || !plot.scale) return;
    start = timeAt(event);
    plot.setPointerCapture(event.pointerId);
  });
  onPoint(plot, (event) => {
    if (!plot.scale) return;
    const time = timeAt(event);
    markTime(plot, start ?? time, time);
    tooltip.show(event, [tooltipTitle(`at ${momentText(time)}`), ...tell(time)]);
  });
  plot.addEventListener("pointerup", (event) => {
    const end = start === null ? null : timeAt(event);
    const isWide = end !== null && Math.abs(plot.scale(end) - plot.scale(start)) > 5;
    if (isWide) chooseWindow(Math.min(start, end), Math.max(start, end));
    start = null;
  });
  plot.addEventListener("dblclick", wholeSpan);
}

// Tells about a place while a mouse is over it. What a finger has touched stays told until it touches again:
// it hides what it points at.
function onPoint(host, tell) {
  const leave = () => {
    host.querySelector(".mark")?.remove();
    tooltip.hide();
  };
  const ofTouch = (act) => (event) => event.pointerType === "touch" && act(event);
  host.addEventListener("pointermove", tell);
  host.addEventListener("pointerdown", ofTouch(tell));
  host.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && leave());
  document.addEventListener("pointerdown", ofTouch(leave), { capture: true });
}

function markTime(plot, from, to) {
  plot.querySelector(".mark")?.remove();
  const [left, right] = [from, to].map(plot.scale).sort((one, other) => one - other);
  const { top, bottom } = plot.box;
  const hair = { class: "hair", x1: plot.scale(to), x2: plot.scale(to), y1: top, y2: bottom };
  const brush = { class: "brush", x: left, y: top, width: right - left, height: bottom - top };
  const mark = shape("g", { class: "mark" }, shape("line", hair));
  if (right - left > 1) mark.append(shape("rect", brush));
  plot.firstChild.append(mark);
}

// Which buckets of a series lie in the window, one more on either side.
function visibleBuckets(run, size) {
  const per = run.end / size;
  const first = Math.max(0, Math.floor(chosen.from / per) - 1);
  return { per, first, last: Math.min(size, Math.ceil(chosen.to / per) + 1) };
}

// All rows together, bucket by bucket.
const summedUp = (rows) => (rows[0] ?? new Float32Array(0)).map((_, bin) => rows.reduce((sum, row) => sum + row[bin], 0));

const bucketAt = (run, size, time) => Math.min(size - 1, Math.floor((time / run.end) * size));

// Bands on top of each other, one per queue group or other `groups`; `ceiling` is a line that they are held against.
function stackedChart(data, run, host, settings) {
  const { groups = data.groups, seriesOf, ceilingOf, titleOf, unitOf, describe, topOf } = settings;
  const paint = (svg, inside, box, x) => {
    const rows = seriesOf(run);
    const y = linear(0, topOf() || 1, box.bottom, box.top);
    svg.append(verticalAxis(y, roundTicks(0, topOf() || 1, 4), numberText, box, titleOf()));
    const size = rows[0]?.length ?? 0;
    const { per, first, last } = visibleBuckets(run, size);
    const place = (bin) => x((bin + first) * per);
    let lows = new Float64Array(Math.max(0, last - first));
    rows.forEach((row, group) => {
      const highs = lows.map((low, bin) => low + row[first + bin]);
      inside.append(shape("path", { class: `band c${groups[group].colour}`, d: bandPath(lows, highs, place, y) }));
      lows = highs;
    });
    const ceiling = ceilingOf?.(run);
    if (ceiling) inside.append(shape("path", { class: "capacity", d: stepPath(ceiling.subarray(first, last), place, y) }));
  };
  const tell = (time) => {
    const rows = seriesOf(run);
    const bin = bucketAt(run, rows[0].length, time);
    const line = ({ name, colour }, group) => tooltipRow(name, numberText(rows[group][bin]), `c${colour}`);
    const lines = groups.map(line).reverse();
    const total = rows.reduce((sum, row) => sum + row[bin], 0);
    const ceiling = ceilingOf?.(run);
    const was = ceiling ? [tooltipRow("capacity", numberText(ceiling[bin]))] : [];
    return [...lines, tooltipRow(`together, ${unitOf()}`, numberText(total)), ...was];
  };
  timeChart(run, host, 250, () => describe(run), paint, tell);
}

// One small chart for one queue group.
function shareChart(data, run, host, group, top) {
  const { share, deserved, entitled } = run.series;
  const [held, due, owed] = [share[group], deserved[group], entitled[group]];
  const paint = (svg, inside, box, x) => {
    const y = linear(0, top, box.bottom, box.top);
    svg.append(verticalAxis(y, roundTicks(0, top, 3), percentText, box, "of the cluster"));
    const { per, first, last } = visibleBuckets(run, held.length);
    const place = (bin) => x((bin + first) * per);
    const part = (row) => row.subarray(first, last);
    const none = part(owed).map(() => 0);
    inside.append(
      shape("path", { class: "entitled", d: bandPath(none, part(owed).map((value) => value || 0), place, y) }),
      shape("path", { class: `curve c${data.groups[group].colour}`, d: stepPath(part(held), place, y) }),
      shape("path", { class: "deserved-line", d: stepPath(part(due), place, y) }),
    );
  };
  const tell = (time) => {
    const bin = bucketAt(run, held.length, time);
    const colour = `c${data.groups[group].colour}`;
    return [
      tooltipRow("held", percentText(held[bin]), colour),
      tooltipRow("deserved", percentText(due[bin])),
      tooltipRow("entitled to", percentText(owed[bin])),
    ];
  };
  const mean = held.reduce((sum, value) => sum + value, 0) / (held.length || 1);
  const said = `Share of queue ${data.groups[group].name} over time: ${percentText(mean)} of the cluster on average`;
  timeChart(run, host, 180, () => said, paint, tell);
}
