// Puts the page together: controls, legends, and a chart per run in every row.

function showPage() {
  const data = pageData();
  chosen.span = chosen.to = data.span || 1;
  document.documentElement.style.setProperty("--columns", Math.min(3, data.runs.length));
  document.documentElement.dataset.runs = data.runs.length;
  themeButton();
  windowControls();
  selectionPanel(data);
  legends(data);
  controls(data);
  charts(data);
  causeParts(data);
  jobsTable(data);
  openWhatIsAskedFor();
  printOnPaper();
  addEventListener("scroll", () => tooltip.hide(), { passive: true });
  document.documentElement.dataset.ready = "yes";
}

// One of several: a row of buttons, the chosen one pressed.
function switchButtons(host, names, pressed, press) {
  const buttons = names.map((name, at) => {
    const button = element("button", { type: "button", "aria-pressed": at === pressed }, name);
    button.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", other === button));
      press(at);
    });
    return button;
  });
  host.append(...buttons);
  return buttons;
}

function controls(data) {
  const names = data.resources.map((resource) => resource.label);
  const hosts = document.querySelectorAll(".controls[id$=-resource]");
  const switches = [...hosts].map((host) =>
    switchButtons(host, names, 0, (resource) => choose("resource", { resource })));
  // All rows of buttons choose the same thing.
  const press = (button, at) => button.setAttribute("aria-pressed", at === chosen.resource);
  listen("resource", () => switches.forEach((row) => row.forEach(press)));
  const titles = COLOURINGS.map((name) => `by ${name}`);
  const colour = (at) => choose("colouring", { colouring: COLOURINGS[at] });
  switchButtons(document.getElementById("gantt-colouring"), titles, 0, colour);
}

const key = (colour, text) => element("span", {}, element("i", { class: `swatch c${colour}` }), text);

function legends(data) {
  const queues = () => data.groups.map(({ name, colour }) => key(colour, name));
  for (const legend of document.querySelectorAll("[data-legend=queue]")) legend.append(...queues());
  const capacity = element("span", {}, element("i", { class: "key-line capacity-key" }), "capacity");
  document.querySelector("#use .legend").append(capacity);
  const away = () => key("away", "node out of service");
  const gantt = document.getElementById("gantt-legend");
  const fill = () => gantt.replaceChildren(...ganttKeysOf(data, queues), away());
  listen("colouring", fill);
  fill();
  document.getElementById("heat-legend").append(element("span", {}, "0%", element("i", { class: "ramp" }), "100%"), away());
}

function ganttKeysOf(data, queues) {
  if (chosen.colouring === "queue") return queues();
  if (chosen.colouring === "ending") return data.endings.map((name, at) => key(ENDING_COLOURS[at], name));
  return [element("span", {}, "neighbouring jobs have different colours")];
}

// A figure per run: its label where there are several, the chart, and what it says in words.
function figure(data, run, row, caption) {
  const label = data.runs.length > 1 ? [element("h4", {}, run.label)] : [];
  const made = element("figure", {}, ...label);
  document.getElementById(row).append(made);
  const inside = element("div");
  made.append(inside, element("figcaption", {}, caption ?? ""));
  return inside;
}

const nothing = (text) => element("p", { class: "nothing" }, text);

function charts(data) {
  const tops = topsOf(data);
  if (data.runs.length > 1) overlaidCharts(data, tops.wait);
  for (const run of data.runs) {
    timeCharts(data, run, tops);
    waitCharts(data, run, tops);
    nodeCharts(data, run);
  }
}

// The same scale for all runs, or they could not be compared.
function topsOf(data) {
  const highest = (column) => column.reduce((top, value) => Math.max(top, value || 0), 0);
  const most = (columns) => Math.max(0, ...columns.map(highest));
  const over = (columnsOf) => most(data.runs.flatMap(columnsOf)) * 1.04;
  const { series } = data.runs[0];
  return {
    use: series.capacity.map((_, at) => over((run) => [run.series.capacity[at], summedUp(run.series.used[at])])),
    waiting: over((run) => [summedUp(run.series.waiting)]),
    running: over((run) => [summedUp(run.series.running)]),
    share: Math.max(0.05, over((run) => [...run.series.share, ...run.series.deserved, ...run.series.entitled])),
    wait: [data.shortestWait, Math.max(60, over((run) => run.waits.queue.map((curve) => curve.seconds)))],
  };
}

function timeCharts(data, run, tops) {
  const { captions } = run;
  const useHost = figure(data, run, "use-charts", captions.use);
  if (!run.end) {
    const hosts = ["waiting-charts", "running-charts", "share-charts"].map((row) => figure(data, run, row));
    for (const host of [useHost, ...hosts]) host.append(nothing("No time passed in this run: there is nothing to draw."));
    return;
  }
  const resource = () => data.resources[chosen.resource];
  stackedChart(data, run, useHost, {
    seriesOf: ({ series }) => series.used[chosen.resource],
    ceilingOf: ({ series }) => series.capacity[chosen.resource],
    topOf: () => tops.use[chosen.resource],
    titleOf: () => `${columnTitle(resource())} in use`,
    unitOf: () => resource().unit,
    describe: () => captions.use,
  });
  for (const kind of ["waiting", "running"]) {
    stackedChart(data, run, figure(data, run, `${kind}-charts`, captions[kind]), {
      seriesOf: ({ series }) => series[kind],
      topOf: () => tops[kind],
      titleOf: () => `jobs ${kind}`,
      unitOf: () => "jobs",
      describe: () => captions[kind],
    });
  }
  shareCharts(data, run, tops);
}

function shareCharts(data, run, tops) {
  const several = element("div", { class: "several" });
  figure(data, run, "share-charts", run.captions.shares).append(several);
  data.groups.forEach(({ name, colour }, group) => {
    const host = element("div", {}, element("div", { class: "legend" }, key(colour, name)));
    several.append(host);
    shareChart(data, run, host, group, tops.share);
  });
}

function waitCharts(data, run, tops) {
  for (const kind of ["queue", "size"]) {
    const host = figure(data, run, `${kind}-waits`, kind === "queue" ? run.captions.waits : "");
    const label = `Waits by ${kind}. ${run.captions.waits}`;
    if (run.waits[kind][0].started) waitChart(run, host, run.waits[kind], tops.wait, label);
    else host.append(nothing("No job started."));
  }
}

function nodeCharts(data, run) {
  const gantt = figure(data, run, "gantt-charts", run.captions.gantt);
  const heat = figure(data, run, "heat-charts", run.captions.heat);
  if (run.nodes.length && run.end) {
    ganttChart(data, run, gantt);
    heatChart(data, run, heat);
  } else {
    gantt.append(nothing("There were no nodes, or no time passed."));
    heat.append(nothing("There were no nodes, or no time passed."));
  }
}

function windowControls() {
  const text = document.getElementById("window-text");
  const act = (id, what) => document.getElementById(id).addEventListener("click", what);
  act("earlier", () => shiftTime(-0.5));
  act("later", () => shiftTime(0.5));
  act("closer", () => zoomTime(0.5));
  act("farther", () => zoomTime(2));
  act("everything", wholeSpan);
  const say = () => {
    text.textContent = [chosen.from, chosen.to].map(isWholeSpan() ? spanText : momentText).join(" – ");
    document.getElementById("everything").disabled = isWholeSpan();
  };
  listen("window", say);
  say();
}

// A link to a part that is folded opens it.
function openWhatIsAskedFor() {
  const open = (id) => {
    const target = id && document.getElementById(id);
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  for (const link of document.querySelectorAll("a[href^='#']")) {
    link.addEventListener("click", () => open(link.hash.slice(1)));
  }
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  open(location.hash.slice(1));
}

const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function themeButton() {
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    choose("theme", {});
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => choose("theme", {}));
}

// Charts are drawn for the width and the colours that they are seen in: for paper they are drawn again.
function printOnPaper() {
  const root = document.documentElement;
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    root.dataset.printing = "yes";
    drawAtOnce();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.printing;
    if (theme === undefined) delete root.dataset.theme;
    else root.dataset.theme = theme;
    drawAtOnce();
  });
}

function drawAtOnce() {
  drawing.isAtOnce = true;
  lookAtWidths();
  choose("theme", {});
  drawing.isAtOnce = false;
}

showPage();
