// The map of tensors by iterations, on one canvas. Each cell has a key; the greater key is the worse cell. A pixel has the
// greatest key of all the cells that it covers, so no zoom hides a fault.
const KEY_ZERO = 1, KEY_MINUS = 0xd000, KEY_PLUS = 0xe000, KEY_NAN = 0xf000, KEY_VALUE = 0x1000;
const LABEL = 12.5, MOST_LINES = 44, GUTTER = 236, FONT = '11px ui-monospace, "DejaVu Sans Mono", monospace';
/** @type {View} */
const view = {statistic: 0, colour: 'change', rank: -1, from: 0, to: 1, top: 0, bottom: 1, tensor: -1, column: -1, finding: -1,
  rows: [], lines: [], met: new Map(), keys: null, table: null, drag: null};

// Keys of all tensors for the chosen statistic, colour and rank; of all ranks the worst.
function prepare() {
  const ranks = run.ranks.length, n = run.iterations.length, statistic = run.statistics[view.statistic];
  const keys = new Uint16Array(run.tensors.length * n), changes = new Int16Array(n);
  let least = 0x7fff, most = 0;
  if (view.colour === 'size') {
    for (let i = 0; i < run.cells; ++i) {
      const code = statistic.codes[i] & 0x7fff;
      if (code >= FIRST_CODE) { if (code < least) least = code; if (code > most) most = code; }
    }
  }
  const spread = 0x3fff / Math.max(1, most - least);
  for (let tensor = 0; tensor < run.tensors.length; ++tensor) {
    for (let rank = 0; rank < ranks; ++rank) {
      if (view.rank >= 0 && rank !== view.rank) continue;
      const base = cell_of(tensor, rank, 0), against = view.colour === 'ranks' ? reference_of(rank) : -1;
      const other = against < 0 ? -1 : cell_of(tensor, against, 0);
      if (view.colour === 'change') changes_of(statistic, base, changes);
      for (let column = 0; column < n; ++column) {
        const fault = run.faults[base + column], code = statistic.codes[base + column] & 0x7fff;
        let key = 0;
        if (fault >= NAN) key = fault === NAN ? KEY_NAN : fault === UP ? KEY_PLUS : KEY_MINUS;
        else if (code === ZERO) key = KEY_ZERO;
        else if (code >= FIRST_CODE) {
          if (view.colour === 'change') { const c = changes[column]; key = KEY_VALUE + Math.min(0x3fff, Math.abs(c)) * 2 + (c < 0 ? 1 : 0); }
          else if (other >= 0 && (run.flags[base + column] & DIFFERS)) {
            const b = statistic.codes[other + column] & 0x7fff, apart = b >= FIRST_CODE ? Math.abs(code - b) * statistic.step * 256 : 0x3fff;
            key = KEY_VALUE + Math.min(0x3fff, Math.round(0x40 + apart)) * 2 + (code < b ? 1 : 0);
          } else key = KEY_VALUE + (view.colour === 'size' ? Math.round((code - least) * spread) * 2 : 0);
        }
        const place = tensor * n + column;
        if (key > keys[place]) keys[place] = key;
      }
    }
  }
  view.keys = keys;
  view.table = colour_table();
}

/** @returns {number[]} */
function mixed(a, b, share) { return a.map((x, i) => Math.round(x + (b[i] - x) * share)); }
function rgb(name) {
  const text = css(name);
  return [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16));
}
/** @param {number[]} colour */
const packed = ([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0;
const CIVIDIS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]];

// The colour of each key. A change of less than a factor of two has next to no colour: a calm run is a calm picture.
function colour_table() {
  const table = new Uint32Array(0x10000), blank = rgb('blank'), up = rgb('up'), down = rgb('down');
  table.fill(packed(rgb('missing')));
  table.fill(packed(rgb('zero')), KEY_ZERO, KEY_ZERO + 1);
  for (let size = 0; size < 0x4000; ++size) {
    let plus = blank, minus = blank;
    if (view.colour === 'change') {
      const share = Math.min(1, Math.max(0, size / 256 - 1) / 5) ** .8;
      plus = mixed(blank, up, share);
      minus = mixed(blank, down, share);
    } else if (view.colour === 'ranks' && size) {
      const share = Math.min(1, .22 + Math.max(0, size - 0x40) / 256 / 3);
      plus = mixed(blank, up, share);
      minus = mixed(blank, down, share);
    } else if (view.colour === 'size') {
      const x = size / 0x3fff * 5, i = Math.min(4, Math.floor(x));
      plus = minus = mixed(CIVIDIS[i], CIVIDIS[i + 1], x - i);
    }
    table[KEY_VALUE + size * 2] = packed(plus);
    table[KEY_VALUE + size * 2 + 1] = packed(minus);
  }
  table.fill(packed(rgb('infinity')), KEY_MINUS, KEY_NAN);
  table.fill(packed(rgb('fault')), KEY_NAN);
  return table;
}

const shape = {};  // of the map on the screen: left, width, height
function measure_map() {
  const width = by_id('heat').clientWidth, rows = Math.max(1, view.bottom - view.top);
  shape.left = width < 700 ? 140 : GUTTER;
  shape.width = Math.max(50, width - shape.left - 4);
  const least = rows <= MOST_LINES ? rows * LABEL : 280;  // that many labels have room
  shape.height = Math.max(60, Math.min(rows * 16, Math.max(least, Math.min(560, window.innerHeight - by_id('heat').offsetTop - 50))));
}

// A canvas of the size it has on the screen, in its own pixels.
function sized(canvas, height) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + 'px';
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  context.direction = 'ltr';
  return context;
}

function paint() {
  measure_map();
  const canvas = by_id('heat'), context = sized(canvas, shape.height + 22), ratio = window.devicePixelRatio || 1;
  const width = Math.round(shape.width * ratio), height = Math.round(shape.height * ratio), n = run.iterations.length;
  const columns = view.to - view.from, rows = view.bottom - view.top;
  const pooled = new Uint16Array(width * height), line = new Uint16Array(columns);
  for (let y = 0; y < height && rows > 0; ++y) {
    const first = Math.floor(y * rows / height), last = Math.max(first + 1, Math.floor((y + 1) * rows / height));
    if (y > 0 && rows < height && first === Math.floor((y - 1) * rows / height)) {
      pooled.copyWithin(y * width, (y - 1) * width, y * width);
      continue;
    }
    line.fill(0);
    for (let row = first; row < last; ++row) {
      for (const tensor of view.lines[view.top + row].tensors) {
        const base = tensor * n + view.from;
        for (let i = 0; i < columns; ++i) if (view.keys[base + i] > line[i]) line[i] = view.keys[base + i];
      }
    }
    for (let x = 0; x < width; ++x) {
      const begin = Math.floor(x * columns / width), end = Math.max(begin + 1, Math.floor((x + 1) * columns / width));
      let key = 0;
      for (let i = begin; i < end; ++i) if (line[i] > key) key = line[i];
      pooled[y * width + x] = key;
    }
  }
  const image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const hatch = [packed(mixed(rgb('fault'), rgb('hatch'), .35)), packed(mixed(rgb('infinity'), rgb('hatch'), .75))], dot = packed(rgb('dot')), wide = Math.max(2, Math.round(2 * ratio));
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const key = pooled[y * width + x], place = y * width + x;
      pixels[place] = view.table[key];
      // NaN is hatched, Inf is striped, missing is dotted: shapes beside colours.
      if (!key && x % 5 === 0 && y % 5 === 0) pixels[place] = dot;
      if (key >= KEY_NAN ? (x + y) % 9 === 0 : key >= KEY_PLUS ? y % 4 === 0 : key >= KEY_MINUS && x % 4 === 0) pixels[place] = hatch[key >= KEY_NAN ? 0 : 1];
    }
  }
  // A fault of one pixel is made as large as an eye needs.
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const key = pooled[y * width + x];
      if (key < KEY_MINUS || (x > 0 && pooled[y * width + x - 1] >= KEY_MINUS && y > 0 && pooled[(y - 1) * width + x] >= KEY_MINUS)) continue;
      for (let dy = 0; dy <= wide && y + dy < height; ++dy) for (let dx = 0; dx <= wide && x + dx < width; ++dx) {
        const place = (y + dy) * width + x + dx;
        if (pooled[place] < KEY_MINUS) pixels[place] = view.table[key];
      }
    }
  }
  context.putImageData(image, Math.round(shape.left * ratio), 0);
  labels(context, rows);
  x_axis(context, shape.left, shape.width, shape.height);
  by_id('heat').setAttribute('aria-label', `Map of ${many(view.rows.length, 'tensor')} by ${many(n, 'iteration')}. ${by_id('verdict').querySelector('.lead').textContent}`);
  paint_cursor(context, columns, rows);
}

function fitted(context, text, width) {
  const most = Math.max(4, Math.floor(width / context.measureText('0').width));
  text = printable(text);
  return text.length > most ? '…' + text.slice(1 - most) : text;
}

function labels(context, rows) {
  const step = shape.height / Math.max(1, rows);
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  let last = -20;
  const chosen = view.tensor < 0 ? -1 : line_of(view.tensor) - view.top;
  for (let row = 0; row < rows; ++row) {
    const y = Math.max(6, Math.min(shape.height - 6, (row + .5) * step)), line = view.lines[view.top + row];
    if (row !== chosen && (y - last < LABEL - .1 || (chosen >= 0 && Math.abs((chosen + .5) * step - y) < LABEL - .1))) continue;
    if (row !== chosen) last = y;
    context.fillStyle = css(row === chosen ? 'link' : is_folded(line.node) ? 'ink' : 'soft');
    const text = shape.left < 200 && !is_folded(line.node) ? run.tensors[line.tensors[0]].short : label_of(line);
    context.fillText((row === chosen && !is_folded(line.node) ? '• ' : '') + fitted(context, text, shape.left - (row === chosen ? 30 : 12)), shape.left - 8, y);
  }
}

// Iterations at round numbers, the same for every picture of the page.
function x_axis(context, left, width, y) {
  const columns = view.to - view.from, count = Math.max(2, Math.floor(width / 90));
  let step = 1;
  for (const next of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5]) { step = next; if (columns / next <= count) break; }
  context.fillStyle = css('soft');
  context.textAlign = 'center';
  context.textBaseline = 'top';
  for (let column = view.from; column < view.to; ++column) {
    const iteration = run.iterations[column], before = column > 0 ? run.iterations[column - 1] : iteration - 1;
    if (Math.floor(iteration / step) === Math.floor(before / step)) continue;
    const x = left + (column - view.from + .5) * width / columns;
    context.fillRect(x, y, 1, 4);
    context.fillText(String(run.iterations[column]), Math.max(left + 8, Math.min(left + width - 14, x)), y + 6);
  }
}

function paint_cursor(context, columns, rows) {
  context.strokeStyle = css('ink');
  context.lineWidth = 1.5;
  const row = line_of(view.tensor) - view.top, column = view.column - view.from;
  if (view.tensor >= 0 && row >= 0 && row < rows && column >= 0 && column < columns) {
    const w = shape.width / columns, h = shape.height / rows;
    const wide = Math.max(9, w + 4), tall = Math.max(9, h + 2);
    context.strokeRect(shape.left + (column + .5) * w - wide / 2, (row + .5) * h - tall / 2, wide, tall);
  }
  if (view.drag) {
    const [x, y] = [Math.min(view.drag.x, view.drag.to_x), Math.min(view.drag.y, view.drag.to_y)];
    context.strokeRect(x, y, Math.abs(view.drag.to_x - view.drag.x), Math.abs(view.drag.to_y - view.drag.y));
  }
}

// The cell under a place of the map; null beside it.
function cell_under(event) {
  const box = by_id('heat').getBoundingClientRect(), x = event.clientX - box.left - shape.left, y = event.clientY - box.top;
  if (y < 0 || y >= shape.height || x >= shape.width) return null;
  const row = view.top + Math.floor(y * (view.bottom - view.top) / shape.height);
  const column = view.from + Math.floor(Math.max(0, x) * (view.to - view.from) / shape.width);
  return row < view.lines.length ? {tensor: worst_of(view.lines[row], column), column, row, is_label: x < 0} : null;
}

// The worst rank in a cell that covers several ranks.
function worst_rank(tensor, column) {
  if (view.rank >= 0) return view.rank;
  let worst = 0, most = -1;
  for (let rank = 0; rank < run.ranks.length; ++rank) {
    const cell = cell_of(tensor, rank, column), fault = run.faults[cell];
    const weight = fault >= NAN ? 1e6 - fault : run.statistics[view.statistic].codes[cell] & 0x7fff;
    if (weight > most) { most = weight; worst = rank; }
  }
  return worst;
}

function read_out(tensor, column) {
  const rank = worst_rank(tensor, column), cell = cell_of(tensor, rank, column), fault = run.faults[cell];
  const values = run.statistics.map((s, i) => [s.name, told(i, cell)]).filter(([, text], i) => text && (!is_cast(i) || i === view.statistic)).map(([name, text]) => `${name} ${text}`);
  by_id('readout').replaceChildren(name_of(run.tensors[tensor].label, 90), ` — iteration ${iteration_name(column)}, ${lane_name(rank)}: `,
    fault >= NAN ? element('span', {class: 'nan'}, 'holds ' + FAULTS[fault] + (values.length ? '; ' : '')) : '',
    values.join(', ') || (fault >= NAN ? '' : has_row(cell) ? 'not measured' : 'no row'));
}

// The legend names the colours and shapes that are drawn.
function show_legend() {
  const sample = (name, draw) => {
    const canvas = element('canvas', {width: 22, height: 12, 'aria-hidden': 'true'}), context = canvas.getContext('2d');
    draw(context);
    return element('span', {}, canvas, name);
  };
  const plain = colour => context => { context.fillStyle = css(colour); context.fillRect(0, 0, 22, 12); };
  const shaped = (colour, on, mark = 'hatch') => context => {
    plain(colour)(context);
    context.fillStyle = css(mark);
    for (let y = 0; y < 12; ++y) for (let x = 0; x < 22; ++x) if (on(x, y)) context.fillRect(x, y, 1, 1);
  };
  const legend = by_id('legend');
  legend.replaceChildren();
  if (view.colour === 'change') legend.append(sample('64 × smaller', plain('down')), sample('as ever', plain('blank')), sample('64 × greater', plain('up')));
  if (view.colour === 'ranks') legend.append(sample('equal', plain('blank')), sample('smaller', plain('down')), sample('greater', plain('up')));
  if (view.colour === 'size') {
    legend.append(sample('small to great', context => CIVIDIS.forEach((c, i) => { context.fillStyle = `rgb(${c})`; context.fillRect(i * 4, 0, 4, 12); })));
  }
  legend.append(sample('NaN', shaped('fault', (x, y) => (x + y) % 6 === 0)), sample('+Inf', shaped('infinity', (x, y) => y % 4 === 0)),
    sample('−Inf', shaped('infinity', x => x % 4 === 0)), sample('zero', plain('zero')), sample('missing', shaped('missing', (x, y) => x % 5 === 2 && y % 5 === 1, 'dot')));
}
