// Why jobs waited: what bound them, and what was idle because of it.

const NO_DEMAND = { name: "no job asked for it", colour: 8, why: "because no job asked for it" };

function causeParts(data) {
  const legend = document.getElementById("causes-legend");
  if (!legend) return;
  const keys = [...data.causes, NO_DEMAND].map(({ name, colour }) => key(colour, name));
  legend.append(...keys);
  const tops = causeTops(data);
  for (const run of data.runs) causeCharts(data, run, tops);
}

function causeTops(data) {
  const known = data.runs.filter((run) => run.causes && run.end);
  const over = (rowsOf) => known.reduce((top, run) => Math.max(top, highestSum(rowsOf(run))), 0) * 1.04;
  return {
    waiting: over((run) => run.causes.waiting),
    idle: data.resources.map((_, at) => over((run) => run.causes.idle[at])),
  };
}

function highestSum(rows) {
  let top = 0;
  for (let bin = 0; bin < (rows[0]?.length ?? 0); bin++) top = Math.max(top, rows.reduce((sum, row) => sum + row[bin], 0));
  return top;
}

function causeCharts(data, run, tops) {
  const hosts = ["causes", "idle"].map((name) => figure(data, run, `${name}-charts`, run.captions[name]));
  if (!run.causes || !run.end) {
    for (const host of hosts) host.append(nothing(run.end ? "It was not watched why jobs waited." : "No time passed."));
    return;
  }
  const resource = () => data.resources[chosen.resource];
  stackedChart(data, run, hosts[0], {
    groups: data.causes,
    seriesOf: ({ causes }) => causes.waiting,
    topOf: () => tops.waiting,
    titleOf: () => "jobs waiting",
    unitOf: () => "jobs",
    describe: () => run.captions.causes,
  });
  stackedChart(data, run, hosts[1], {
    groups: [...data.causes, NO_DEMAND],
    seriesOf: ({ causes }) => causes.idle[chosen.resource],
    topOf: () => tops.idle[chosen.resource],
    titleOf: () => `${columnTitle(resource())} idle`,
    unitOf: () => resource().unit,
    describe: () => run.captions.idle,
  });
}

// What a job waited for, the longest first: "no room 3.2 min, admission limit (overcommit) 45 s".
function waitedForText(run, job) {
  const told = run.causes.names.map((name, at) => [name, run.causes.ofJobs[at][job] / 1000]);
  const some = told.filter(([, seconds]) => seconds > 0).sort((one, other) => other[1] - one[1]);
  return some.map(([name, seconds]) => `${name} ${spanText(seconds)}`).join(", ") || "nothing";
}
