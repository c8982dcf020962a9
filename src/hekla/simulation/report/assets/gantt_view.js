// What of the Gantt chart lies in view: which rows, which bars of a row, and which bar is below the pointer.

// Bars are ordered by node and beginning. Ends are not in order, but the latest end so far is: with it, both ends
// of what a row shows are found by halving.
function ganttModel(run) {
  const { firstOfNode, began, length, tick } = run.gantt;
  const ended = new Float64Array(began.length);
  const latest = new Float64Array(began.length);
  for (let bar = 0; bar < began.length; bar++) {
    began[bar] *= tick;
    ended[bar] = began[bar] + length[bar] * tick;
  }
  for (let node = 0; node + 1 < firstOfNode.length; node++) {
    let end = -Infinity;
    for (let bar = firstOfNode[node]; bar < firstOfNode[node + 1]; bar++) latest[bar] = end = Math.max(end, ended[bar]);
  }
  return { ...run.gantt, began, ended, latest, barsOfJob: barsByJob(run) };
}

// The bars of each job, one after another: those of job j are order[first[j]] to order[first[j + 1]].
// Pods may belong to no job; that is -1.
function barsByJob(run) {
  const { job } = run.gantt;
  const first = new Int32Array(run.jobs.names.length + 1);
  for (let bar = 0; bar < job.length; bar++) if (job[bar] >= 0) first[job[bar] + 1]++;
  for (let row = 1; row < first.length; row++) first[row] += first[row - 1];
  const order = new Int32Array(job.length);
  const next = first.slice();
  for (let bar = 0; bar < job.length; bar++) if (job[bar] >= 0) order[next[job[bar]]++] = bar;
  return { first, order };
}

const nodeOf = ({ firstOfNode }, bar) => firstWhere(firstOfNode.length, (row) => firstOfNode[row] > bar) - 1;

function barsInView(model, node, from, to) {
  const { firstOfNode, began, latest } = model;
  const [start, end] = [firstOfNode[node], firstOfNode[node + 1]];
  const first = firstWhere(end, (bar) => latest[bar] > from, start);
  return [first, firstWhere(end, (bar) => began[bar] >= to, first)];
}

// Rows in view: the first one, which may be cut, and how high each is.
class RowView {
  constructor(nodes, height) {
    this.nodes = Math.max(1, nodes);
    this.height = height;
    this.top = 0; // in rows
    this.rowHeight = this.smallest();
  }

  // All rows fit; with few nodes they are not stretched beyond what reads well.
  smallest() {
    return Math.min(this.height / this.nodes, 44);
  }

  first() {
    return Math.floor(this.top);
  }

  last() {
    return Math.min(this.nodes, Math.ceil(this.top + this.height / this.rowHeight));
  }

  placeOf(node) {
    return (node - this.top) * this.rowHeight;
  }

  rowAt(place) {
    return this.top + place / this.rowHeight;
  }

  move(rows) {
    this.top = Math.min(Math.max(0, this.top + rows), Math.max(0, this.nodes - this.height / this.rowHeight));
  }

  zoom(factor, place = this.height / 2) {
    const row = this.rowAt(place);
    this.rowHeight = Math.min(Math.max(this.rowHeight * factor, this.smallest()), 160);
    this.top = row - place / this.rowHeight;
    this.move(0);
  }

  show(first, last) {
    this.rowHeight = Math.min(Math.max(this.height / Math.max(1, last - first), this.smallest()), 160);
    this.top = first;
    this.move(0);
  }
}

// The bar at a time and a row; bars that are narrower than a pixel are found from a pixel away.
function barAt(model, time, row, tolerance) {
  const node = Math.floor(row);
  if (node < 0 || node + 1 >= model.firstOfNode.length) return -1;
  const slot = (row - node) * model.slots;
  const [first, end] = barsInView(model, node, time - tolerance, time + tolerance);
  let found = -1;
  for (let bar = first; bar < end; bar++) {
    const isThere = model.ended[bar] >= time - tolerance;
    if (isThere && slot >= model.slot[bar] && slot < model.slot[bar] + model.height[bar]) found = bar;
  }
  return found;
}
