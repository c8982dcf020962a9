// What the page carries: one JSON document, whose long columns are packed (see charts.py).

function pageData() {
  const data = JSON.parse(document.getElementById("data").textContent);
  data.runs.forEach((run, number) => unpackRun(run, number));
  return data;
}

function unpackRun(run, number) {
  run.number = number;
  run.jobs = unpacked(run.jobs);
  run.gantt = unpacked(run.gantt);
  run.series = unpacked(run.series);
  run.heat = unpacked(run.heat);
  run.waits = unpacked(run.waits);
  run.causes = unpacked(run.causes);
  run.overlaid = unpacked(run.overlaid ?? {});
}

// The same thing with every packed column in it turned into numbers.
function unpacked(thing) {
  if (Array.isArray(thing)) return thing.map(unpacked);
  if (thing === null || typeof thing !== "object") return thing;
  if ("packed" in thing) return UNPACK[thing.packed](bytesOf(thing.bytes), thing.size);
  return Object.fromEntries(Object.entries(thing).map(([name, part]) => [name, unpacked(part)]));
}

const UNPACK = {
  bytes: (bytes) => bytes,
  floats: (bytes) => new Float32Array(bytes.buffer),
  varints,
  deltas: (bytes, size) => summed(varints(bytes, size)),
};

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  return bytes;
}

// Seven bits per byte, lowest first, the sign in the lowest bit. Amounts exceed 32 bits, hence no shifts.
function varints(bytes, size) {
  const values = new Float64Array(size);
  let at = 0;
  for (let row = 0; row < size; row++) {
    let value = 0, place = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * place;
      place *= 128;
    } while (byte & 128);
    values[row] = value % 2 ? -(value + 1) / 2 : value / 2;
  }
  return values;
}

function summed(values) {
  for (let row = 1; row < values.length; row++) values[row] += values[row - 1];
  return values;
}
