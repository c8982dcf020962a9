// Pointer and keys on the Gantt chart.

function ganttPointer(chart) {
  const { canvas } = chart;
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const before = { from: chosen.from, to: chosen.to, top: chart.rows.top };
    drag = { ...placeOn(chart, event), ...before, isBox: event.shiftKey, hasMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return tellBar(chart, event);
    const now = placeOn(chart, event);
    drag.hasMoved ||= Math.hypot(now.x - drag.x, now.y - drag.y) > 4;
    if (drag.hasMoved && !drag.isBox) moveTo(chart, drag, now);
    tooltip.hide();
  });
  canvas.addEventListener("pointerup", (event) => {
    const now = placeOn(chart, event);
    if (drag && drag.isBox && drag.hasMoved) zoomInto(chart, drag, now);
    else if (drag && !drag.hasMoved) selectBar(chart, event);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => tooltip.hide());
  canvas.addEventListener("dblclick", (event) => zoomTime(0.4, timeOn(chart, placeOn(chart, event))));
  canvas.addEventListener("wheel", (event) => turnWheel(chart, event), { passive: false });
}

function placeOn({ canvas }, event) {
  const { left, top } = canvas.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

function timeOn(chart, { x }) {
  const area = ganttArea(chart);
  return chosen.from + ((x - area.left) / area.width) * (chosen.to - chosen.from);
}

function moveTo(chart, drag, now) {
  const area = ganttArea(chart);
  const by = ((drag.x - now.x) / area.width) * (drag.to - drag.from);
  chart.rows.move(drag.top + (drag.y - now.y) / chart.rows.rowHeight - chart.rows.top);
  chooseWindow(drag.from + by, drag.to + by);
}

function zoomInto(chart, start, end) {
  const [from, to] = [timeOn(chart, start), timeOn(chart, end)].sort((one, other) => one - other);
  const [first, last] = [chart.rows.rowAt(start.y), chart.rows.rowAt(end.y)].sort((one, other) => one - other);
  if (last - first > 1) chart.rows.show(first, last);
  chooseWindow(from, to);
}

// The wheel belongs to the page until the chart has the focus; with Ctrl it is meant for the chart anyway.
function turnWheel(chart, event) {
  const isMine = document.activeElement === chart.canvas || event.ctrlKey || event.metaKey;
  if (!isMine) return;
  event.preventDefault();
  const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300)));
  const place = placeOn(chart, event);
  if (event.altKey) {
    chart.rows.zoom(1 / factor, place.y);
    chart.draw();
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    shiftTime((event.deltaX || event.deltaY) / 600);
  } else {
    zoomTime(factor, timeOn(chart, place));
  }
}

function barBelow(chart, event) {
  const place = placeOn(chart, event);
  const area = ganttArea(chart);
  if (place.x < area.left || place.y > area.height) return -1;
  const row = chart.rows.rowAt(place.y);
  // The gap between two rows belongs to none.
  const inside = (row % 1) * (chart.rows.rowHeight / (chart.rows.rowHeight - rowGap(chart.rows)));
  if (inside >= 1) return -1;
  return barAt(chart.model, timeOn(chart, place), Math.floor(row) + inside, (chosen.to - chosen.from) / area.width);
}

function selectBar(chart, event) {
  const bar = barBelow(chart, event);
  chooseJob(chart.run.jobs.names[chart.model.job[bar]] ?? null);
}

function tellBar(chart, event) {
  const bar = barBelow(chart, event);
  if (bar < 0) return tooltip.hide();
  const { run, model, data } = chart;
  const job = model.job[bar];
  const node = nodeOf(model, bar);
  tooltip.show(event, [
    tooltipTitle(nameOf(run, job)),
    ...(job < 0 ? [] : ownerRows(data, run, job)),
    tooltipRow("node", run.nodes[node]),
    tooltipRow("pods here", numberText(model.pods[bar])),
    tooltipRow("from", momentText(model.began[bar])),
    tooltipRow("for", spanText(model.ended[bar] - model.began[bar])),
    tooltipRow("ended", data.endings[model.ending[bar]]),
  ]);
}

function ownerRows(data, run, job) {
  const group = groupOf(run, job);
  return [
    tooltipRow("queue", queueOf(run, job), group === null ? null : `c${data.groups[group].colour}`),
    tooltipRow("user", run.jobs.users[run.jobs.user[job]] || "-"),
    tooltipRow("pods of the job", numberText(run.jobs.pods[job])),
  ];
}

function ganttKeys(chart) {
  const rows = (by) => { chart.rows.move(by); chart.draw(); };
  const higher = (factor) => { chart.rows.zoom(factor); chart.draw(); };
  const keys = {
    ArrowLeft: () => shiftTime(-0.15),
    ArrowRight: () => shiftTime(0.15),
    ArrowUp: () => rows(-pageOfRows(chart) / 4),
    ArrowDown: () => rows(pageOfRows(chart) / 4),
    PageUp: () => rows(-pageOfRows(chart)),
    PageDown: () => rows(pageOfRows(chart)),
    "+": () => zoomTime(0.7),
    "=": () => zoomTime(0.7),
    "-": () => zoomTime(1 / 0.7),
    "[": () => higher(1 / 1.4),
    "]": () => higher(1.4),
    0: () => { chart.rows.zoom(0.0001); wholeSpan(); },
    Escape: () => chooseJob(null),
  };
  chart.canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
