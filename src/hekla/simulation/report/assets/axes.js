// Axes of the drawn charts: where a value lies, and the marks that say so.

function linear(low, high, start, end) {
  const per = (end - start) / (high - low || 1);
  const scale = (value) => start + (value - low) * per;
  scale.invert = (place) => low + (place - start) / per;
  return scale;
}

function logarithmic(low, high, start, end) {
  const inner = linear(Math.log10(low), Math.log10(high), start, end);
  const scale = (value) => inner(Math.log10(Math.max(value, low)));
  scale.invert = (place) => 10 ** inner.invert(place);
  return scale;
}

// Pixels from one moment to the next: the longest label is "1 d 12 h".
const ROOM_OF_MOMENT = 65;

function timeAxis(x, from, to, box) {
  const ticks = timeTicks(from, to, (box.right - box.left) / ROOM_OF_MOMENT);
  return horizontalAxis(ticks.map((tick) => [x(tick), tickText(tick, ticks)]), box, timeTitle(ticks));
}

function horizontalAxis(marks, box, title) {
  const group = shape("g", { class: "axis" });
  for (const [place, text] of marks) {
    group.append(
      shape("line", { x1: place, x2: place, y1: box.bottom, y2: box.bottom + 4 }),
      shape("text", { x: place, y: box.bottom + 17, "text-anchor": anchor(place, box) }, text),
    );
  }
  const middle = (box.left + box.right) / 2;
  group.append(
    shape("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    shape("text", { class: "axis-title", x: middle, y: box.bottom + 33, "text-anchor": "middle" }, title),
  );
  return group;
}

const gridLine = (place, { top, bottom }) =>
  shape("g", { class: "axis" }, shape("line", { class: "grid", x1: place, x2: place, y1: top, y2: bottom }));

// The outermost marks must not stick out of the picture.
function anchor(place, box) {
  if (place > box.right - 16) return "end";
  return place < box.left + 12 ? "start" : "middle";
}

function verticalAxis(y, ticks, textOf, box, title) {
  const group = shape("g", { class: "axis" });
  for (const tick of ticks) {
    group.append(
      shape("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }),
      shape("text", { x: box.left - 6, y: y(tick) + 4, "text-anchor": "end" }, textOf(tick)),
    );
  }
  group.append(shape("text", { class: "axis-title", x: 2, y: 12 }, title));
  return group;
}

// One curve through the tops of bars: what is drawn is the mean over each bar's width.
function stepPath(values, x, y) {
  let path = "";
  let isDrawing = false;
  for (let bin = 0; bin < values.length; bin++) {
    if (!Number.isFinite(values[bin])) {
      isDrawing = false;
      continue;
    }
    const top = y(values[bin]).toFixed(1);
    path += `${isDrawing ? "V" + top : `M${x(bin).toFixed(1)} ${top}`}H${x(bin + 1).toFixed(1)}`;
    isDrawing = true;
  }
  return path;
}

// The area between two such curves.
function bandPath(lows, highs, x, y) {
  const last = highs.length;
  if (!last) return "";
  let path = `M${x(0).toFixed(1)} ${y(lows[0]).toFixed(1)}`;
  for (let bin = 0; bin < last; bin++) path += `V${y(highs[bin]).toFixed(1)}H${x(bin + 1).toFixed(1)}`;
  for (let bin = last - 1; bin >= 0; bin--) path += `V${y(lows[bin]).toFixed(1)}H${x(bin).toFixed(1)}`;
  return path + "Z";
}
