// What the reader has chosen: a window of time, a job, and how things are shown. Charts follow by listening.

const chosen = {
  span: 1,
  from: 0,
  to: 1,
  job: null, // its name: the same job in every run
  resource: 0,
  colouring: "queue",
};

const listeners = [];

const listen = (what, hear) => listeners.push({ what, hear });

function choose(what, change) {
  Object.assign(chosen, change);
  for (const listener of listeners) if (listener.what === what) listener.hear();
}

// Never narrower than a hundred-thousandth of the whole, never beyond its ends.
function chooseWindow(from, to) {
  const length = Math.min(chosen.span, Math.max(to - from, chosen.span / 1e5));
  const start = Math.min(Math.max(0, from), chosen.span - length);
  choose("window", { from: start, to: start + length });
}

// A moment, told as exactly as the window is narrow.
function momentText(seconds) {
  const fine = (chosen.to - chosen.from) / 500;
  return tickText(fine >= 1 ? Math.round(seconds) : seconds, [seconds, seconds + fine]);
}

const wholeSpan = () => chooseWindow(0, chosen.span);

const isWholeSpan = () => chosen.to - chosen.from >= chosen.span * 0.9999;

// Around a moment, which stays where it is on the screen.
function zoomTime(factor, around = (chosen.from + chosen.to) / 2) {
  chooseWindow(around - (around - chosen.from) * factor, around + (chosen.to - around) * factor);
}

function shiftTime(part) {
  const by = (chosen.to - chosen.from) * part;
  chooseWindow(chosen.from + by, chosen.to + by);
}

const chooseJob = (name) => choose("job", { job: name });
