// Numbers and times as people read them.

// "0.25 s", "45 s", "3.2 min", "3.2 h", "2.5 d": said as the figures say it, which Python writes.
function spanText(seconds) {
  if (!Number.isFinite(seconds)) return "-";
  const size = Math.abs(seconds);
  if (size < 120) return `${twoDigits(seconds)} s`;
  if (size < 7200) return `${twoDigits(seconds / 60)} min`;
  return size < 172800 ? `${twoDigits(seconds / 3600)} h` : `${twoDigits(seconds / 86400)} d`;
}

// Round spans in the largest unit that they are whole in: "10 s", "1 min", "6 h", "3 d".
function roundSpanText(seconds) {
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([size]) => seconds % size === 0) ?? [1, "s"];
  return `${seconds / size} ${unit}`;
}

function twoDigits(value) {
  const size = Math.abs(value);
  const digits = size >= 9.95 || !size ? 0 : size >= 0.995 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

// "0.25", "3.2", "45", "1,234".
function numberText(value) {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: size >= 99.5 ? 0 : size >= 0.95 ? 1 : 2 });
}

function timeTitle(ticks) {
  const colons = tickText(ticks.at(-1) ?? 0, ticks).split(":").length - 1;
  return "time since the start" + ["", ", hours:minutes", ", hours:minutes:seconds"][colons];
}

// A mark of an axis, as fine as its neighbours are close: "3 d 6 h", "4 h", "4:30", "4:30:05".
function tickText(seconds, ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : ticks[0] || 1;
  const last = ticks[ticks.length - 1];
  if (last < 60 || (step < 1 && last < 3600)) return `${+seconds.toFixed(3)} s`;
  if (step >= 60 && last < 7200 && step % 60 === 0) return `${Math.round(seconds / 60)} min`;
  const whole = (length) => Math.floor((seconds + 1e-6) / length);
  const [days, hours, minutes] = [whole(86400), whole(3600) % 24, whole(60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  const day = last >= 172800 && days ? `${days} d` : "";
  const hour = last >= 172800 ? hours : hours + days * 24;
  if (step >= 86400) return `${Math.round(seconds / 86400)} d`;
  if (step >= 3600) return [day, hour || !day ? `${hour} h` : ""].filter(Boolean).join(" ");
  const rest = Math.max(0, seconds - whole(60) * 60);
  const clock = `${hour}:${two(minutes)}${step < 60 ? ":" + (rest < 9.9995 ? "0" : "") + +rest.toFixed(3) : ""}`;
  return `${day} ${clock}`.trim();
}

const percentText = (share) => (Number.isFinite(share) ? `${numberText(share * 100)}%` : "-");

const counted = (count, thing) => `${numberText(count)} ${thing}${count === 1 ? "" : "s"}`;

// Round values within a range, about so many: 1, 2 or 5 times a power of ten.
function roundTicks(low, high, about) {
  const rough = (high - low) / Math.max(1, about);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  return multiples(step, low, high);
}

const STEPS_OF_TIME = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800,
  3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000,
];

function timeTicks(from, to, about) {
  const rough = (to - from) / Math.max(1, about);
  const step = STEPS_OF_TIME.find((size) => size >= rough) ?? 31536000;
  return multiples(step, from, to);
}

function multiples(step, low, high) {
  const values = [];
  // Plus nothing: else the first one may read "-0".
  for (let count = Math.ceil(low / step - 1e-9); count * step <= high * (1 + 1e-9); count++) values.push(count * step + 0);
  return values;
}
