// Lines over iterations: a tensor's card, and the strip above the map. Both have the map's range of iterations.
const LINE_COLOURS = ['#2b8cc9', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00'];
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];

// A rank has a colour; with several runs, the second run is dashed.
const line_colour = lane => LINE_COLOURS[(run.runs.length ? run.ranks[lane] : lane) % LINE_COLOURS.length];
const line_dash = lane => run.runs.length ? (run.lane_runs[lane] ? [6, 3] : []) : DASHES[Math.min(lane, DASHES.length - 1)];

// Draws a statistic of a tensor, each rank a line. Values above zero have a logarithmic axis; values of both signs have one
// that is linear around zero. NaN and Inf stand above the lines as marks: × and triangles.
function draw_lines(context, box, tensor, index, options = {}) {
  const statistic = run.statistics[index], columns = view.to - view.from, base = options.ranks || run.ranks.map((_, rank) => rank);
  const sizes = [], marks = [];
  let signed = false;
  const lines = base.map(rank => {
    const line = new Float64Array(columns);
    for (let i = 0; i < columns; ++i) {
      const cell = cell_of(tensor, rank, view.from + i), code = statistic.codes[cell], fault = run.faults[cell];
      const value = value_of(statistic, code);
      line[i] = Number.isFinite(value) ? value : NaN;
      if (Number.isFinite(value) && value !== 0) { sizes.push(Math.abs(value)); signed = signed || value < 0; }
      if (code === NAN || code === UP || code === DOWN) marks.push([i, code, rank]);
      else if (fault >= NAN) marks.push([i, fault, rank]);
    }
    return line;
  });
  sizes.sort((a, b) => a - b);
  const middle = sizes.length ? sizes[sizes.length >> 1] : 1;
  const scaled = value => signed ? Math.asinh(value / middle) : value > 0 ? Math.log10(value) : NaN;
  let low = Infinity, high = -Infinity;
  for (const line of lines) for (const value of line) { const y = scaled(value); if (y < low) low = y; if (y > high) high = y; }
  const limit = options.limit && sizes.length && sizes[sizes.length - 1] > options.limit / 64 ? options.limit : 0;
  if (limit) high = Math.max(high, scaled(limit));
  if (!(low <= high)) { low = -1; high = 1; }
  const pad = Math.max((high - low) * .08, signed ? .05 : .02);
  low -= pad; high += pad;
  const head = marks.length ? 14 : 2;
  const x_of = i => box.left + (i + .5) * box.width / columns, y_of = value => box.top + head + (high - scaled(value)) / (high - low) * (box.height - head - 2);
  context.strokeStyle = css('line');
  context.lineWidth = 1;
  context.strokeRect(box.left + .5, box.top + .5, box.width - 1, box.height - 1);
  y_axis(context, box, low, high, signed, middle, y_of, options.few);
  if (limit) {
    context.strokeStyle = css('warn');
    context.setLineDash([4, 4]);
    context.beginPath(); context.moveTo(box.left, y_of(limit)); context.lineTo(box.left + box.width, y_of(limit)); context.stroke();
    context.setLineDash([]);
    context.fillStyle = css('warn');
    context.textAlign = 'left'; context.textBaseline = 'top';
    context.fillText(`${run.tensors[tensor].dtype} ends at ${short(limit)}`, box.left + 6, y_of(limit) + 3);
  }
  lines.forEach((line, index) => {
    context.strokeStyle = line_colour(base[index]);
    context.lineWidth = 1.4;
    context.fillStyle = line_colour(base[index]);
    context.setLineDash(line_dash(base[index]));
    context.beginPath();
    let open = false;
    for (let i = 0; i < columns; ++i) {
      const y = y_of(line[i]);
      if (Number.isNaN(y)) { open = false; continue; }
      if (!open && Number.isNaN(y_of(line[i + 1]))) context.fillRect(x_of(i) - 1.5, y - 1.5, 3, 3);  // between gaps
      if (open) context.lineTo(x_of(i), y); else { context.moveTo(x_of(i), y); context.lineTo(x_of(i) + .8, y); }
      open = true;
    }
    context.stroke();
    context.setLineDash([]);
  });
  draw_marks(context, marks, x_of, box.top + 8);
  const column = view.column - view.from;
  if (view.column >= 0 && column >= 0 && column < columns) {
    context.fillStyle = css('ink');
    context.globalAlpha = .35;
    context.fillRect(x_of(column), box.top, 1, box.height);
    context.globalAlpha = 1;
  }
}

function y_axis(context, box, low, high, signed, middle, y_of, few) {
  context.fillStyle = css('soft');
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const values = [];
  if (signed) values.push(...[low * .85 + high * .15, (low + high) / 2, low * .15 + high * .85].map(y => Math.sinh(y) * middle));
  else if (high - low < 1.2) values.push(...[.12, .5, .88].map(share => 10 ** (low + (high - low) * share)));
  else {
    const step = Math.ceil((high - low) / 4);
    for (let power = Math.ceil(low); power <= high; power += step) values.push(10 ** power);
  }
  for (const value of few ? [values[0], values[values.length - 1]] : values) context.fillText(short(value), box.left - 6, Math.max(box.top + 6, Math.min(box.top + box.height - 6, y_of(value))));
}

function draw_marks(context, marks, x_of, y) {
  let last = {};
  for (const [i, code] of marks) {
    const x = x_of(i);
    if (last[code] !== undefined && x - last[code] < 7) continue;
    last[code] = x;
    context.strokeStyle = context.fillStyle = css(code === NAN ? 'fault' : 'infinity');
    context.lineWidth = 1.8;
    context.beginPath();
    if (code === NAN) { context.moveTo(x - 3, y - 3); context.lineTo(x + 3, y + 3); context.moveTo(x + 3, y - 3); context.lineTo(x - 3, y + 3); context.stroke(); continue; }
    const d = code === UP ? 1 : -1;
    context.moveTo(x - 4, y + 3 * d); context.lineTo(x + 4, y + 3 * d); context.lineTo(x, y - 4 * d); context.fill();
  }
}

// The strip: the loss if there is one, findings and faults by iteration, and which ranks have rows.
function paint_strip() {
  measure_map();
  /** @type {[string, number, (box: any) => void][]} */
  const lanes = [];
  if (run.loss >= 0) lanes.push(['loss', 56, box => draw_lines(strip, box, run.loss, run.loss_statistic, {few: true})]);
  lanes.push(['findings', 22, box => bars(box, column => run.finding_counts[column], 'warn')]);
  lanes.push(['tensors with NaN, Inf', 22, box => bars(box, column => run.faulty[column], 'fault')]);
  if (run.ranks.length > 1 && run.ranks.length <= 16) lanes.push(['ranks with rows', Math.max(12, run.ranks.length * 5), rank_lanes]);
  const strip = sized(by_id('strip'), lanes.reduce((sum, [, height]) => sum + height + 6, 2));
  let top = 0;
  for (const [name, height, draw] of lanes) {
    const box = {left: shape.left, top, width: shape.width, height};
    draw(box);
    strip.fillStyle = css('soft');
    strip.textAlign = 'right';
    strip.textBaseline = 'middle';
    const words = shape.left < 200 ? name.replace('tensors with ', '').replace(' with rows', '') : name;
    strip.fillText(words, shape.left - (name === 'loss' ? 62 : 8), top + height / 2);
    top += height + 6;
  }
  by_id('strip').setAttribute('aria-label', 'Loss, findings, tensors with NaN or Inf, and ranks, by iteration');

  function bars(box, count, colour) {
    const columns = view.to - view.from;
    let most = 1;
    for (let i = view.from; i < view.to; ++i) most = Math.max(most, count(i));
    strip.fillStyle = css('wash');
    strip.fillRect(box.left, box.top, box.width, box.height);
    strip.fillStyle = css(colour);
    for (let i = 0; i < columns; ++i) {
      const value = count(view.from + i);
      if (!value) continue;
      const height = Math.max(4, value / most * box.height), width = Math.max(2, box.width / columns - (columns < box.width / 4 ? 1 : 0));
      strip.fillRect(box.left + i * box.width / columns, box.top + box.height - height, width, height);
    }
  }
  function rank_lanes(box) {
    const columns = view.to - view.from, height = box.height / run.ranks.length;
    run.ranks.forEach((_, rank) => {
      strip.fillStyle = css('calm');
      for (let x = 0; x < box.width; ++x) {
        const begin = view.from + Math.floor(x * columns / box.width), end = view.from + Math.max(Math.floor(x * columns / box.width) + 1, Math.floor((x + 1) * columns / box.width));
        for (let column = begin; column < end; ++column) if (run.present[rank * run.iterations.length + column]) { strip.fillRect(box.left + x, box.top + rank * height, 1, Math.max(1, height - 2)); break; }
      }
    });
  }
}
