// One job of a run: its times in seconds, NaN for what never came, and what is said about it.

const inSeconds = (milliseconds) => (milliseconds < 0 ? NaN : milliseconds / 1000);
const submittedOf = (run, job) => run.jobs.submitted[job] / 1000;
const waitOf = (run, job) => inSeconds(run.jobs.wait[job]);
const ranOf = (run, job) => inSeconds(run.jobs.ran[job]);
const startedOf = (run, job) => submittedOf(run, job) + waitOf(run, job);
const endedOf = (run, job) => startedOf(run, job) + ranOf(run, job);
// A job that was refused may have named a queue that is not there.
const queueOf = (run, job) => run.queues[run.jobs.queue[job]] ?? "-";
const groupOf = (run, job) => run.groupOfQueue[run.jobs.queue[job]] ?? null;

const nameOf = (run, job) => run.jobs.names[job] ?? "a pod of no job";

// The row of the selected job; -1 where there is none, or this run does not have it.
function selectedRow(run) {
  if (chosen.job === null) return -1;
  run.rowOfName ??= new Map(run.jobs.names.map((name, row) => [name, row]));
  return run.rowOfName.get(chosen.job) ?? -1;
}

function requestText(data, run, job) {
  const amounts = run.jobs.requests[run.jobs.request[job]];
  const parts = data.resources.map((resource, at) => (amounts[at] ? amountText(amounts[at], resource.unit) : ""));
  return parts.filter(Boolean).join(", ") || "nothing";
}

const amountText = (amount, unit) => `${numberText(amount)} ${amount === 1 ? unit.replace(/s$/, "") : unit}`;

function jobFacts(data, run, job) {
  const { users, user, state, pods, evictions, failures, restarts } = run.jobs;
  return [
    ["queue", queueOf(run, job)],
    ["user", users[user[job]] || "-"],
    ["state", data.states[state[job]]],
    ["pods", numberText(pods[job])],
    ["asks for", requestText(data, run, job)],
    ["submitted", spanText(submittedOf(run, job))],
    ["waited", spanText(waitOf(run, job))],
    ...(run.causes ? [["waited for", waitedForText(run, job)]] : []),
    ["start to end", spanText(ranOf(run, job))],
    ["slowdown", numberText(run.jobs.slowdown[job])],
    ["evicted pods", numberText(evictions[job])],
    ["failed pods", numberText(failures[job])],
    ["restarts", numberText(restarts[job])],
  ];
}

// The panel that tells about the selected job, in all runs that have it.
function selectionPanel(data) {
  const panel = document.getElementById("selection");
  listen("job", () => {
    panel.hidden = chosen.job === null;
    if (panel.hidden) return;
    const close = element("button", { type: "button", class: "close", "aria-label": "Leave the selection" }, "✕");
    close.addEventListener("click", () => chooseJob(null));
    const zoom = element("button", { type: "button" }, "Show its time");
    zoom.addEventListener("click", () => showTimeOf(data));
    panel.replaceChildren(element("h2", {}, chosen.job), close, ...data.runs.flatMap((run) => factsOf(data, run)), zoom);
  });
}

function factsOf(data, run) {
  const job = selectedRow(run);
  const title = data.runs.length > 1 ? [element("h3", {}, run.label)] : [];
  if (job < 0) return data.runs.length > 1 ? [...title, element("p", {}, "not in this run")] : [];
  const list = element("dl");
  for (const [name, value] of jobFacts(data, run, job)) list.append(element("dt", {}, name), element("dd", {}, value));
  return [...title, list];
}

// From its submission to its end in whichever run, with a little room on both sides.
function showTimeOf(data) {
  const times = data.runs.map((run) => [run, selectedRow(run)]).filter(([, job]) => job >= 0).flatMap(([run, job]) => [
    submittedOf(run, job),
    Number.isFinite(endedOf(run, job)) ? endedOf(run, job) : run.end,
  ]);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const room = (to - from) * 0.1 || 1;
  chooseWindow(from - room, to + room);
}
