// The use of every node over time, as colours from none to all.

function heatChart(data, run, host) {
  const rows = Math.ceil(run.nodes.length / run.heat.nodesPerRow);
  const height = Math.min(420, Math.max(60, rows * 18)) + GANTT_BOTTOM;
  const canvas = element("canvas", { role: "img", "aria-label": `Use of ${counted(run.nodes.length, "node")} over time` });
  host.append(element("div", {}, canvas));
  const chart = { data, run, canvas, height, width: 0, rows: new RowView(rows, height - GANTT_BOTTOM) };
  const draw = oncePerFrame(() => chart.width && drawHeat(chart));
  onWidth(canvas.parentElement, (width) => { chart.width = width; draw(); });
  for (const what of ["window", "resource", "theme"]) listen(what, draw);
  onPoint(canvas, (event) => tellHeat(chart, event));
}

function drawHeat(chart) {
  const { run, canvas, rows } = chart;
  const context = sharpContext(canvas, chart.width, chart.height);
  const area = ganttArea(chart);
  const { buckets } = run.heat;
  const sheet = new OffscreenCanvas(buckets, rows.nodes);
  sheet.getContext("2d").putImageData(heatImage(run, rows.nodes), 0, 0);
  context.fillStyle = colourOf("--grid").css;
  context.fillRect(area.left, area.top, area.width, area.height);
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  context.imageSmoothingEnabled = false;
  const per = area.width / (chosen.to - chosen.from);
  context.drawImage(sheet, area.left - chosen.from * per, area.top, run.end * per, rows.rowHeight * rows.nodes);
  context.restore();
  nameHeatRows(context, chart, area);
  ganttTimeAxis(context, chart, area);
}

function heatImage(run, rows) {
  const { buckets, full, away, cells } = run.heat;
  const image = new ImageData(buckets, rows);
  const colours = heatColours(full);
  const missing = colourOf("--away");
  cells[chosen.resource].forEach((value, cell) => {
    const { red, green, blue } = value === away ? missing : colours[value];
    image.data.set([red, green, blue, 255], cell * 4);
  });
  return image;
}

function heatColours(full) {
  const stops = [0, 1, 2, 3, 4].map((number) => colourOf(`--heat${number}`));
  return Array.from({ length: full + 1 }, (_, value) => {
    const place = (value / full) * (stops.length - 1);
    const below = Math.min(stops.length - 2, Math.floor(place));
    return mixed(stops[below + 1], stops[below], place - below);
  });
}

function nameHeatRows(context, chart, area) {
  const { run, rows } = chart;
  const names = Array.from({ length: rows.nodes }, (_, row) => run.nodes[row * run.heat.nodesPerRow] ?? "");
  nameRows(context, { run: { nodes: names }, rows: new RowView(rows.nodes, rows.height) }, area);
}

function tellHeat(chart, event) {
  const { run, rows } = chart;
  const { buckets, nodesPerRow, full, away, cells } = run.heat;
  const place = placeOn(chart, event);
  const time = timeOn(chart, place);
  const row = Math.floor(rows.rowAt(place.y));
  const bucket = Math.floor((time / run.end) * buckets);
  const isOutside = row < 0 || row >= rows.nodes || place.x < ganttArea(chart).left;
  if (isOutside || bucket < 0 || bucket >= buckets) return tooltip.hide();
  const value = cells[chosen.resource][row * buckets + bucket];
  const { label } = chart.data.resources[chosen.resource];
  const nodes = run.nodes.slice(row * nodesPerRow, (row + 1) * nodesPerRow);
  tooltip.show(event, [
    tooltipTitle(nodes.length > 1 ? `${nodes[0]} to ${nodes.at(-1)}` : nodes[0]),
    tooltipRow("at", momentText(time)),
    tooltipRow(`${label} in use`, value === away ? "out of service" : percentText(value / full)),
  ]);
}
