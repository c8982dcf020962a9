// The table of jobs. Only the rows in view exist; a hundred thousand scroll as well as ten.

const ROW_HEIGHT = 30;
const ROWS_AROUND = 8;
const ROWS_PRINTED = 60;

function jobColumns(data) {
  const text = (title, of) => ({ title, of, show: String, isText: true });
  const value = (title, of, show = numberText) => ({ title, of, show, isText: false });
  return [
    text("Job", (run, job) => run.jobs.names[job]),
    text("Queue", queueOf),
    text("User", (run, job) => run.jobs.users[run.jobs.user[job]] || "-"),
    text("State", (run, job) => data.states[run.jobs.state[job]]),
    value("Submitted", submittedOf, spanText),
    value("Waited", waitOf, spanText),
    value("Start to end", ranOf, spanText),
    value("Slowdown", (run, job) => run.jobs.slowdown[job]),
    value("Pods", (run, job) => run.jobs.pods[job]),
    ...data.resources.slice(0, 3).map((resource, at) =>
      value(columnTitle(resource), (run, job) => run.jobs.requests[run.jobs.request[job]][at])),
    value("Evicted pods", (run, job) => run.jobs.evictions[job]),
    value("Failed pods", (run, job) => run.jobs.failures[job]),
    value("Restarts", (run, job) => run.jobs.restarts[job]),
  ];
}

const columnTitle = ({ label, unit }) => (label.toLowerCase() === unit.toLowerCase() ? unit : `${label}, ${unit}`);

function jobsTable(data) {
  const box = document.getElementById("jobs-box");
  const table = document.getElementById("jobs-table");
  const shown = { run: data.runs[0], rows: [], sorted: 4, isDown: false, isPrinting: false };
  const list = { data, box, table, columns: jobColumns(data), ...shown };
  list.draw = oncePerFrame(() => drawRows(list));
  table.tHead.append(headRow(list));
  box.addEventListener("scroll", list.draw);
  new ResizeObserver(list.draw).observe(box);
  box.addEventListener("keydown", (event) => moveSelection(list, event));
  table.tBodies[0].addEventListener("click", (event) => selectRow(list, event));
  listen("job", () => { scrollToSelected(list); list.draw(); });
  jobFilters(list);
  if (data.runs.length > 1) {
    const showRun = (number) => { list.run = data.runs[number]; fillQueues(list); filterRows(list); };
    switchButtons(document.getElementById("jobs-run"), data.runs.map((run) => run.label), 0, showRun);
  }
  filterRows(list);
  const print = (isPrinting) => () => drawRows(Object.assign(list, { isPrinting }));
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));
}

function headRow(list) {
  const row = element("tr");
  list.columns.forEach((column, at) => {
    const button = element("button", { type: "button" }, column.title);
    const head = element("th", { scope: "col", class: column.isText ? "text" : "" }, button);
    button.addEventListener("click", () => sortBy(list, at));
    row.append(head);
  });
  return row;
}

function sortBy(list, column) {
  list.isDown = list.sorted === column ? !list.isDown : !list.columns[column].isText && column > 4;
  list.sorted = column;
  sortRows(list);
  list.box.scrollTop = 0;
}

function sortRows(list) {
  const { of, isText } = list.columns[list.sorted];
  const sign = list.isDown ? -1 : 1;
  const keys = new Map(list.rows.map((job) => [job, of(list.run, job)]));
  const compare = isText
    ? (one, other) => (keys.get(one) < keys.get(other) ? -sign : keys.get(one) > keys.get(other) ? sign : one - other)
    : (one, other) => byNumber(keys.get(one), keys.get(other), sign) || one - other;
  list.rows.sort(compare);
  [...list.table.tHead.rows[0].cells].forEach((head, at) => {
    if (at === list.sorted) head.setAttribute("aria-sort", list.isDown ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
    head.firstChild.textContent = list.columns[at].title + (at === list.sorted ? (list.isDown ? " ▼" : " ▲") : "");
  });
  list.draw();
}

// What never came goes last, whichever way round.
function byNumber(one, other, sign) {
  if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(one) - Number.isNaN(other);
  return (one - other) * sign;
}

function jobFilters(list) {
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => filterRows(list));
  fillQueues(list);
  fillSelect(document.getElementById("filter-state"), "all states", list.data.states);
}

const fillQueues = (list) => fillSelect(document.getElementById("filter-queue"), "all queues", list.run.queues);

function fillSelect(select, all, names) {
  const before = select.value;
  const option = (value, text) => element("option", { value }, text);
  select.replaceChildren(option("", all), ...names.map((name) => option(name, name)));
  if (names.includes(before)) select.value = before;
}

// Every word must occur in the job's name, queue, user or state.
function filterRows(list) {
  const [words, queue, state] = ["search", "filter-queue", "filter-state"].map((id) => document.getElementById(id).value);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const { run, data } = list;
  list.rows = [];
  for (let job = 0; job < run.jobs.names.length; job++) {
    const [mine, standing] = [queueOf(run, job), data.states[run.jobs.state[job]]];
    if ((queue && mine !== queue) || (state && standing !== state)) continue;
    const user = run.jobs.users[run.jobs.user[job]];
    const all = wanted.length ? `${run.jobs.names[job]}\n${mine}\n${user}\n${standing}`.toLowerCase() : "";
    if (wanted.every((word) => all.includes(word))) list.rows.push(job);
  }
  const found = `${numberText(list.rows.length)} of ${counted(run.jobs.names.length, "job")}`;
  document.getElementById("found").textContent = found;
  list.box.scrollTop = 0;
  sortRows(list);
}

function drawRows(list) {
  const { box, table, rows, isPrinting } = list;
  const first = isPrinting ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - ROWS_AROUND);
  const inView = Math.ceil(Math.min(box.clientHeight, innerHeight) / ROW_HEIGHT) + 2 * ROWS_AROUND;
  const last = Math.min(rows.length, first + (isPrinting ? ROWS_PRINTED : inView));
  const body = [];
  for (let at = first; at < last; at++) body.push(jobRow(list, rows[at], at));
  const after = isPrinting ? 0 : rows.length - last;
  table.tBodies[0].replaceChildren(spaceRow(first), ...body, spaceRow(after));
  table.setAttribute("aria-rowcount", rows.length + 1);
  const rest = `The first ${numberText(last)} of ${counted(rows.length, "job")}; all are in the file itself.`;
  document.getElementById("print-rows").textContent = last < rows.length ? rest : "";
}

function spaceRow(rows) {
  const row = element("tr", { class: "space", "aria-hidden": "true" }, element("td", { colspan: 20 }));
  row.style.height = `${rows * ROW_HEIGHT}px`;
  return row;
}

function jobRow(list, job, at) {
  const isSelected = list.run.jobs.names[job] === chosen.job;
  const row = element("tr", { "aria-selected": isSelected, "aria-rowindex": at + 2, "data-job": job });
  for (const { of, show, isText } of list.columns) {
    const shown = show(of(list.run, job));
    row.append(element("td", isText ? { class: "text", title: shown } : {}, shown));
  }
  const group = groupOf(list.run, job);
  if (group !== null) row.cells[1].prepend(element("span", { class: `swatch c${list.data.groups[group].colour}` }));
  return row;
}

function selectRow(list, event) {
  const row = event.target.closest("tr[data-job]");
  if (!row) return;
  const name = list.run.jobs.names[row.dataset.job];
  chooseJob(name === chosen.job ? null : name);
}

// With the table in focus the arrows walk from job to job.
function moveSelection(list, event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") chooseJob(null);
  if (!by || !list.rows.length || event.target !== list.box) return;
  event.preventDefault();
  const at = list.rows.indexOf(selectedRow(list.run));
  const next = at < 0 ? 0 : Math.min(list.rows.length - 1, Math.max(0, at + by));
  chooseJob(list.run.jobs.names[list.rows[next]]);
}

function scrollToSelected(list) {
  const at = list.rows.indexOf(selectedRow(list.run));
  if (at < 0) return;
  const [top, head] = [at * ROW_HEIGHT, list.table.tHead.offsetHeight];
  const isInView = top >= list.box.scrollTop && top + ROW_HEIGHT + head <= list.box.scrollTop + list.box.clientHeight;
  if (!isInView) list.box.scrollTop = Math.max(0, top - list.box.clientHeight / 2);
}
