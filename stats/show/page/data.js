'use strict';
// Unpacks the data of the file. A cell is one tensor on one rank in one iteration: cell = (tensor * ranks + rank) *
// iterations + iteration. If two runs are compared, each rank of the second run is one more rank ("lane"). If the run
// is too large, a column covers several iterations. Each statistic has a plane of 16-bit codes: the sign in the top
// bit, below it the logarithm in steps. Codes below FIRST_CODE are values without a logarithm. The file stores the
// difference of each code from the one before. Another plane of bytes has the fault of a cell, and whether it differs
// in a bit from the rank or run that it is compared with.
const MISSING = 0, ZERO = 1, NAN = 2, UP = 3, DOWN = 4, FIRST_CODE = 16;
// Flags beside it.
const DIFFERS = 8, ALSO_INF = 16, HAS_ROW = 32, COMPARED = 64;
const FAULTS = ['', '', 'NaN', '+Inf', '-Inf'];
// A parameter, its gradient and its optimizer's state have one name.
const KINDS = new Map([['Parameter', 'param'], ['Gradient', 'grad'], ['ParameterUpdate', 'update'], ['ModuleBuffer', 'buffer'], ['OptimizerState', 'state']]);
const PAST = 50, FEWEST = 50;  // a tensor's past: its values older than 50 iterations, from where there are 50 of them

async function inflated(id) {
  const text = atob(document.getElementById(id).textContent.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @type {Run} */
const run = Object.create(null);  // the head's fields, and the planes

async function read_run() {
  const [head, faults, exponents] = await Promise.all(['head', 'faults', 'exponents'].map(inflated));
  Object.assign(run, JSON.parse(new TextDecoder().decode(head)));
  run.flags = faults.map(fault => fault & ~7);
  for (let i = 0; i < faults.length; ++i) faults[i] &= 7;
  run.faults = faults;
  run.cells = run.tensors.length * run.ranks.length * run.iterations.length;
  await Promise.all(run.statistics.map(async (statistic, index) => {
    const bytes = await inflated('plane' + index), codes = new Uint16Array(run.cells);
    for (let i = 0, code = 0; i < run.cells; ++i) {
      const folded = bytes[i] << 8 | bytes[i + run.cells];
      code += folded & 1 ? -(folded + 1 >> 1) : folded >> 1;
      codes[i] = code;
    }
    statistic.codes = codes;
  }));
  run.tensors = run.tensors.map(([type, name, io, dtype, shape, most]) => ({type, name, io, dtype, shape, most, side: io.split('.')[0], slot: Number(io.split('.')[1])}));
  run.exact = new Map(run.exact.map(([cell, ...values]) => [cell, values]));
  run.exponent_codes = exponents;
  let offset = 0;
  run.exponents = run.exponents.map(([tensor, lane, lowest, binades]) => {
    const series = {tensor, lane, lowest, binades, offset};
    offset += (1 + binades) * run.iterations.length;
    return series;
  });
  const seen = new Map();
  run.tensors.forEach((tensor, index) => {
    const kind = KINDS.get(tensor.type), io = tensor.io === 'output.0' ? '' : ' ' + tensor.io;
    tensor.label = tensor.name + '  ' + (kind ? kind + io : tensor.io);
    tensor.short = tensor.name + (kind ? ' ' + kind : '') + io;  // where there is little room
    tensor.key = `${tensor.type} ${tensor.label} ${tensor.io} ${tensor.dtype}`.toLowerCase();
    for (const label of [tensor.label, tensor.name + '  ' + tensor.io]) {
      if (!seen.has(label)) seen.set(label, index);
    }
  });
  run.by_label = seen;
}

// The greatest finite value of its dtype; 0: none is known.
const limit_of = tensor => Object.hasOwn(run.limits, tensor.dtype) ? run.limits[tensor.dtype] : 0;

// The lane that a lane is held against; -1: none.
function reference_of(lane) {
  if (run.lane_runs[lane] === 0) return lane === 0 || run.runs.length ? -1 : 0;
  return run.ranks.findIndex((rank, other) => run.lane_runs[other] === 0 && rank === run.ranks[lane]);
}
const lane_name = lane => (run.runs.length ? run.runs[run.lane_runs[lane]] + ', ' : '') + 'rank ' + run.ranks[lane];
const iteration_name = column => run.pooled > 1 ? `${run.iterations[column]}–${column + 1 < run.iterations.length ? run.iterations[column + 1] - 1 : 'end'}` : String(run.iterations[column]);

const cell_of = (tensor, rank, column) => (tensor * run.ranks.length + rank) * run.iterations.length + column;

const has_row = cell => run.flags[cell] & HAS_ROW;

// Decodes a value: it is within half a step of the measured one.
function value_of(statistic, code) {
  const size = code & 0x7fff;
  if (size === ZERO) return 0;
  if (size === UP) return Infinity;
  if (size === DOWN) return -Infinity;
  if (size < FIRST_CODE) return NaN;
  const value = 2 ** (statistic.low + (size - FIRST_CODE) * statistic.step);
  return code & 0x8000 ? -value : value;
}

// A value as text. Exact ones are kept for the cells around findings; others are marked as rounded.
function told(index, cell) {
  const statistic = run.statistics[index], code = statistic.codes[cell], exact = run.exact.get(cell);
  if (exact && exact[index] && ((code & 0x7fff) >= FIRST_CODE || code === ZERO)) return exact[index];
  if (code === MISSING) return '';
  if (code === ZERO) return '0';
  if (code === NAN) return 'NaN';
  if (code === UP) return '+Inf';
  if (code === DOWN) return '-Inf';
  return '≈ ' + short(value_of(statistic, code));
}

function short(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace('e+', 'e').replace(/-/g, '−');
  return String(Number(value.toPrecision(3))).replace('-', '−');
}

// How far each value of a row lies from the median of the tensor's own past, in log2 times 256. The codes are counted,
// and the median moves with the counts.
const counts = new Uint32Array(0x8000);
function changes_of(statistic, base, out) {
  const codes = statistic.codes, n = run.iterations.length, scale = statistic.step * 256;
  let median = FIRST_CODE, below = 0, total = 0, low = 0x7fff;
  const add = i => {
    const code = codes[base + i] & 0x7fff;
    if (code < FIRST_CODE) return;
    ++counts[code];
    ++total;
    if (code < median) ++below;
    if (total === 1) { median = code; below = 0; }
    const half = (total - 1) >> 1;
    while (below > half) below -= counts[--median];
    while (below + counts[median] <= half) below += counts[median++];
  };
  const first = Math.min(n, PAST);
  for (let i = 0; i < first; ++i) add(i);
  let entered = first;
  const at_first = median, any = total;
  // Until enough values are older than 50 iterations, the first 50 are the past.
  for (let i = 0; i < first; ++i) { const code = codes[base + i] & 0x7fff; if (code >= FIRST_CODE) counts[code] = 0; }
  median = FIRST_CODE; below = 0; total = 0; entered = 0;
  for (let i = 0; i < n; ++i) {
    while (entered < i - PAST) add(entered++);
    const past = total >= FEWEST ? median : any ? at_first : 0;
    const code = codes[base + i] & 0x7fff;
    out[i] = code < FIRST_CODE || !past ? 0 : Math.max(-32767, Math.min(32767, Math.round((code - past) * scale)));
  }
  for (let i = 0; i < entered; ++i) { const code = codes[base + i] & 0x7fff; if (code >= FIRST_CODE) counts[code] = 0; }
}
