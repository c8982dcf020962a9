// Numbers and times as people read them.

const UNITS_OF_TIME = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// "0.35 s", "4 min 10 s", "3 h 20 min", "12 d 4 h": two units at most.
function spanText(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) return "−" + spanText(-seconds);
  if (seconds < 10) return `${+seconds.toFixed(2)} s`;
  let rest = Math.round(seconds);
  if (rest < 60) return `${rest} s`;
  const first = UNITS_OF_TIME.findIndex(([, length]) => rest >= length);
  const [unit, length] = UNITS_OF_TIME[first];
  const [smaller, short] = UNITS_OF_TIME[first + 1];
  rest = Math.round(rest / short);
  const per = length / short;
  const [whole, part] = [Math.floor(rest / per), rest % per];
  return part ? `${whole} ${unit} ${part} ${smaller}` : `${whole} ${unit}`;
}

function numberText(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 0.01) return value.toPrecision(1);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { maximumFractionDigits: digits });
}

const percentText = (share) => (Number.isFinite(share) ? `${numberText(share * 100)} %` : "–");

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
  for (let count = Math.ceil(low / step - 1e-9); count * step <= high * (1 + 1e-9); count++) values.push(count * step);
  return values;
}

function powersOfTen(low, high) {
  const values = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); 10 ** power <= high * 1.000001; power++) values.push(10 ** power);
  return values;
}
