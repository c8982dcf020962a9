// Charts in which all runs lie over each other, one colour each: waits, utilisation and waiting work.

const RUN_COLOURS = 6;

const runColour = ({ number }) => `k${number % RUN_COLOURS}`;

function overlaidCharts(data, ends) {
  const host = (name) => document.getElementById(`overlaid-${name}-chart`);
  overlaidWaits(data, host("waits"), ends);
  if (!data.runs.some((run) => run.end)) {
    for (const name of ["use", "backlog"]) host(name).append(nothing("No time passed: there is nothing to draw."));
    return;
  }
  overlaidUse(data, host("use"));
  overlaidBacklog(data, host("backlog"));
}

function overlaidWaits(data, host, ends) {
  if (!data.runs.some((run) => run.waits.queue[0].started)) return host.append(nothing("No job started."));
  const curves = data.runs.map(waitsOfAllJobs);
  const said = curves.map((curve) => `${curve.label}: ${curve.note}`).join("; ");
  waitChart(null, host, curves, ends, `Distribution of waits. ${said}`);
}

// Parts of all jobs and not of those that started: else a run that leaves jobs waiting would look quick.
function waitsOfAllJobs(run) {
  const curve = run.waits.queue[0];
  const part = curve.started / (curve.started + curve.neverStarted || 1);
  const note = `p50 ${spanText(run.overlaid.p50 ?? NaN)}, p95 ${spanText(run.overlaid.p95 ?? NaN)}`;
  return { ...curve, label: run.label, colour: runColour(run), share: curve.share.map((value) => value * part), note };
}

function overlaidUse(data, host) {
  const usedBy = ({ series }) => summedUp(series.used[chosen.resource]);
  const capacityOf = ({ series }) => series.capacity[chosen.resource];
  const sum = (column) => column.reduce((total, value) => total + value, 0);
  overlaidOverTime(data, host, {
    what: "Utilisation over time",
    valuesOf: (run) => usedBy(run).map((value, bin) => value / capacityOf(run)[bin]),
    textOf: percentText,
    topOf: () => 1,
    titleOf: () => `${data.resources[chosen.resource].label} in use`,
    noteOf: (run) => `${percentText(sum(usedBy(run)) / sum(capacityOf(run)))} on average`,
  });
}

function overlaidBacklog(data, host) {
  const valuesOf = ({ overlaid }) => overlaid.backlog[chosen.resource];
  const most = (column) => column.reduce((top, value) => Math.max(top, value), 0);
  overlaidOverTime(data, host, {
    what: "Waiting work over time",
    valuesOf,
    textOf: numberText,
    topOf: () => Math.max(...data.runs.map((run) => most(valuesOf(run)))) * 1.04 || 1,
    titleOf: () => `${columnTitle(data.resources[chosen.resource])} waited for`,
    noteOf: (run) => `${numberText(most(valuesOf(run)))} at most`,
  });
}

function overlaidOverTime(data, host, { what, valuesOf, textOf, topOf, titleOf, noteOf }) {
  const legend = element("div", { class: "legend" });
  const said = (run) => `${run.label} (${noteOf(run)})`;
  const paint = (svg, inside, box, x) => {
    legend.replaceChildren(...data.runs.map((run) => lineKey(runColour(run), said(run))));
    const y = linear(0, topOf(), box.bottom, box.top);
    svg.append(verticalAxis(y, roundTicks(0, topOf(), 4), textOf, box, titleOf()));
    for (const run of data.runs) {
      const values = valuesOf(run);
      const { per, first, last } = visibleBuckets(run, values.length);
      const line = stepPath(values.subarray(first, last), (bin) => x((bin + first) * per), y);
      inside.append(shape("path", { class: `curve ${runColour(run)}`, d: line }));
    }
  };
  const told = (run, time) => (time > run.end ? "ended" : textOf(valuesOf(run)[bucketAt(run, valuesOf(run).length, time)]));
  const tell = (time) => data.runs.map((run) => tooltipRow(run.label, told(run, time), runColour(run)));
  timeChart(null, host, 270, () => `${what}: ${data.runs.map(said).join("; ")}`, paint, tell);
  host.append(legend);
}
