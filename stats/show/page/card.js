// A tensor's card: its name and type, its lines, and its values around the chosen iteration. Also the table of all
// tensors.
function show_card() {
  const body = by_id('card-body'), title = by_id('card-title');
  body.replaceChildren();
  if (view.tensor < 0) {
    title.textContent = 'A tensor';
    body.append(element('p', {class: 'none'}, 'Click a cell of the map or a row of the table.'));
    show_ranks();
    return;
  }
  const tensor = run.tensors[view.tensor];
  title.replaceChildren(name_of(tensor.label, 120));
  body.append(element('p', {class: 'kinds'}, [tensor.type, tensor.dtype, tensor.shape].filter(Boolean).map(printable).join(' · ')));
  const ranks = view.rank >= 0 ? [view.rank] : run.ranks.map((_, rank) => rank);
  if (ranks.length > 1 && ranks.length <= 16) {
    const key = element('p', {class: 'kinds'});
    for (const rank of ranks) {
      const sample = element('canvas', {width: 26, height: 10, 'aria-hidden': 'true'});
      sample.className = 'sample';
      const context = sample.getContext('2d');
      context.strokeStyle = line_colour(rank);
      context.lineWidth = 2;
      context.setLineDash(line_dash(rank));
      context.beginPath(); context.moveTo(0, 5); context.lineTo(26, 5); context.stroke();
      key.append(sample, ` ${lane_name(rank)}   `);
    }
    body.append(key);
  }
  const lines = element('div', {class: 'lines'}), add = (heading, canvas) => lines.append(element('div', {}, element('h3', {}, heading), canvas));
  run.statistics.forEach((statistic, index) => {
    if (!is_shown(index)) return;
    const canvas = element('canvas', {role: 'img', 'aria-label': `${statistic.name} by iteration; its values stand in the table below`});
    canvas.dataset.statistic = String(index);
    add(statistic.name, canvas);
  });
  const lane = exponents_lane();
  if (lane >= 0) {
    const canvas = element('canvas', {role: 'img', 'aria-label': 'Exponents by iteration', 'data-lane': lane});
    add(`exponents${run.ranks.length > 1 ? ', ' + lane_name(lane) : ''}: the darker, the more elements`, canvas);
  }
  body.append(lines, exact_table());
  paint_card();
  show_ranks();
}

// A statistic that the tensor has. Counts of casts have a section of their own; one is shown where it is the map's value.
function is_shown(index) {
  if (is_cast(index) && index !== view.statistic) return false;
  const codes = run.statistics[index].codes;
  return codes.subarray(cell_of(view.tensor, 0, 0), cell_of(view.tensor + 1, 0, 0)).some(code => code !== MISSING);
}

function paint_card() {
  if (view.tensor < 0) return;
  const ranks = view.rank >= 0 ? [view.rank] : undefined;
  for (const canvas of by_id('card-body').querySelectorAll('canvas[data-statistic]')) {
    const index = Number(canvas.dataset.statistic), context = sized(canvas, 112), width = canvas.clientWidth;
    const reaches = ['max', 'min', 'absmax'].includes(run.statistics[index].name);
    draw_lines(context, {left: 64, top: 0, width: width - 66, height: 94}, view.tensor, index,
      {ranks, limit: reaches ? limit_of(run.tensors[view.tensor]) : 0});
    x_axis(context, 64, width - 66, 95);
  }
  for (const canvas of by_id('card-body').querySelectorAll('canvas[data-lane]')) draw_exponents(canvas);
}

function exact_table() {
  const shown = run.statistics.map((statistic, index) => index).filter(is_shown), rank = worst_rank(view.tensor, Math.max(0, view.column));
  const head = element('tr', {}, element('th', {scope: 'col'}, run.ranks.length > 1 ? `${lane_name(rank)}, iteration` : 'iteration'),
    ...shown.map(index => element('th', {scope: 'col', class: 'n'}, run.statistics[index].name)), element('th', {}, ''));
  const table = element('table', {}, element('thead', {}, head)), rows = element('tbody');
  const middle = view.column < 0 ? run.iterations.length - 1 : view.column;
  const has = column => has_row(cell_of(view.tensor, rank, column));
  const near = run.iterations.map((_, column) => column).filter(column => column === middle || has(column)), centre = near.indexOf(middle);
  for (const column of near.slice(Math.max(0, centre - 5), centre + 6)) {
    const cell = cell_of(view.tensor, rank, column), fault = run.faults[cell];
    rows.append(element('tr', {'aria-current': column === view.column}, element('td', {}, iteration_name(column)),
      ...shown.map(index => { const text = told(index, cell); return element('td', {class: /NaN|Inf/i.test(text) ? 'n nan' : 'n'}, text || '–'); }),
      element('td', {class: 'nan'}, fault >= NAN ? 'holds ' + FAULTS[fault] : '')));
  }
  table.append(rows);
  return element('div', {class: 'exact', tabindex: 0, role: 'region', 'aria-label': 'Values around the chosen iteration'}, table);
}

// Ranks, or two runs, at the chosen iteration: what each has, and which parameters differ in a bit.
const MOST_COMPARED = 12;
function show_ranks() {
  if (run.ranks.length < 2) return;
  const column = view.column < 0 ? run.iterations.length - 1 : view.column, lanes = run.ranks.map((_, lane) => lane), body = by_id('ranks-body');
  const look = (tensor, lane) => {
    const flags = run.flags[cell_of(tensor, lane, column)];
    return !(flags & HAS_ROW) ? 'missing' : reference_of(lane) < 0 ? 'first' : !(flags & COMPARED) ? 'alone' : flags & DIFFERS ? 'differs' : 'equal';
  };
  const compared = run.tensors.map((_, tensor) => tensor).filter(tensor => run.runs.length || run.tensors[tensor].type === 'Parameter');
  const looks = compared.map(tensor => lanes.map(lane => look(tensor, lane)));
  const odd = compared.filter((_, i) => looks[i].includes('differs')), what = run.runs.length ? 'tensor' : 'parameter';
  const equal = looks.filter(kinds => kinds.includes('equal')).length;
  by_id('ranks-title').textContent = `${run.runs.length ? 'Two runs' : 'Ranks'} at iteration ${iteration_name(column)}`;
  const count = (lane, kind) => looks.filter(kinds => kinds[lane] === kind).length;
  /** @type {[string, (lane: number) => any][]} */
  const rows = [['last iteration', lane => { let last = run.iterations.length - 1; while (last >= 0 && !run.present[lane * run.iterations.length + last]) --last; return last < 0 ? '–' : iteration_name(last); }],
    ['rows here', lane => run.tensors.filter((_, tensor) => has_row(cell_of(tensor, lane, column))).length],
    [`equal ${what}s`, lane => reference_of(lane) < 0 ? 'held against' : count(lane, 'equal')], [`${what}s that differ`, lane => reference_of(lane) < 0 ? '' : count(lane, 'differs')]];
  const row = (head, cells, attributes = {}) => element('tr', attributes, element('th', {scope: 'row'}, head), ...cells);
  const marks = {missing: '–', first: '·', alone: '·', equal: '=', differs: '≠'};
  const shown = odd.slice(0, MOST_COMPARED).map(tensor => row(name_of(run.tensors[tensor].label, 60), lanes.map(lane => {
    const kind = look(tensor, lane);
    return element('td', {class: kind === 'differs' ? 'n nan' : 'n', title: `${lane_name(lane)}: ${kind === 'first' ? 'held against' : kind}`}, marks[kind]);
  }), {onclick: () => choose(tensor, -1, column, true)}));
  const words = !compared.length ? 'No parameter has rows. Activations of ranks differ, as their batches do.'
    : odd.length > MOST_COMPARED ? `and ${odd.length - MOST_COMPARED} more that differ` : odd.length ? ''
    : equal ? `Equal here: ${many(equal, what)} of ${compared.length}.`
    : `No ${what} could be compared here.`;
  body.replaceChildren(element('div', {class: 'exact', tabindex: 0, role: 'region', 'aria-labelledby': 'ranks-title'},
    element('table', {}, element('thead', {}, row('', lanes.map(lane => element('th', {scope: 'col', class: 'n'}, lane_name(lane))))),
      element('tbody', {}, ...rows.map(([name, value]) => row(name, lanes.map(lane => element('td', {class: 'n'}, String(value(lane)))))), ...shown))),
    element('p', {class: 'none'}, words));
}

// `change` is the exponent of a power of two.
function told_change(change) {
  const times = short(2 ** change);
  return times === '1' ? 'none' : times + ' times';
}

// All tensors. Only the rows on the screen are in the document.
const HEIGHT = 26;
/** @type {[string, (tensor: any) => any][]} */
const COLUMNS = [['Tensor', t => t.label], ['Kind', t => t.type], ['dtype', t => t.dtype], ['Shape', t => t.shape], ['Last', t => t.last], ['Change', t => t.change],
  ['NaN, Inf from', t => t.first < 0 ? Infinity : t.first]];
const sorting = {column: -1, down: false, rows: []};

function summarize() {
  const n = run.iterations.length, statistic = run.statistics[0];
  run.faulty = new Uint32Array(n);
  run.finding_counts = new Uint32Array(n);
  run.present = new Uint8Array(run.ranks.length * n);
  for (const finding of run.findings) { const column = at_iteration(finding.first_iteration); if (column >= 0) ++run.finding_counts[column]; }
  run.tensors.forEach((tensor, index) => {
    tensor.first = -1;
    tensor.change = 0;
    for (let column = 0; column < n; ++column) {
      const key = view.keys[index * n + column];
      if (key >= KEY_MINUS) { ++run.faulty[column]; if (tensor.first < 0) tensor.first = column; }
      else if (key >= KEY_VALUE) { const change = (key - KEY_VALUE >> 1) / 256; if (change > tensor.change) tensor.change = change; }
    }
    // Of the first rank that has the tensor.
    run.ranks.some((_, rank) => {
      tensor.end = cell_of(index, rank, n - 1);
      while (!statistic.codes[tensor.end] && tensor.end > cell_of(index, rank, 0)) --tensor.end;
      return statistic.codes[tensor.end];
    });
    tensor.last = value_of(statistic, statistic.codes[tensor.end]);
    for (let rank = 0; rank < run.ranks.length; ++rank) {
      const base = cell_of(index, rank, 0);
      for (let column = 0; column < n; ++column) if (has_row(base + column)) run.present[rank * n + column] = 1;
    }
  });
}

function show_table() {
  const head = by_id('all').querySelector('thead tr');
  head.replaceChildren(...COLUMNS.map(([name], column) => element('th', {scope: 'col', class: column > 3 ? 'n' : undefined,
    'aria-sort': sorting.column === column ? (sorting.down ? 'descending' : 'ascending') : undefined},
    element('button', {type: 'button', onclick: () => {
      sorting.down = sorting.column === column ? !sorting.down : column === 5;
      sorting.column = column;
      show_table();
    }}, (column === 4 ? 'Last ' + run.statistics[0].name : name) + (sorting.column === column ? (sorting.down ? ' ▾' : ' ▴') : '')))));
  sorting.rows = view.rows.slice();
  if (sorting.column >= 0) {
    const key = COLUMNS[sorting.column][1], sign = sorting.down ? -1 : 1;
    sorting.rows.sort((a, b) => {
      const x = key(run.tensors[a]), y = key(run.tensors[b]);
      return sign * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : Number.isNaN(x) ? (Number.isNaN(y) ? 0 : 1) : x - y || 0) || a - b;
    });
  }
  by_id('all-title').textContent = view.rows.length === run.tensors.length ? `All tensors (${run.tensors.length})` : `${view.rows.length} of ${many(run.tensors.length, 'tensor')}`;
  by_id('all').style.height = Math.min(420, (sorting.rows.length + 1) * HEIGHT + 16) + 'px';
  scroll_table();
}

function scroll_table() {
  const box = by_id('all'), first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - 4), last = Math.min(sorting.rows.length, first + Math.ceil(box.clientHeight / HEIGHT) + 8);
  const space = height => { const cell = element('td', {colspan: COLUMNS.length}); cell.style.height = height + 'px'; return element('tr', {class: 'space', 'aria-hidden': 'true'}, cell); };
  const statistic = run.statistics[0], rows = sorting.rows.slice(first, last).map(index => {
    const tensor = run.tensors[index];
    return element('tr', {'aria-current': index === view.tensor, onclick: () => choose(index, -1, view.met.has(index) ? view.met.get(index) : tensor.first >= 0 ? tensor.first : run.iterations.length - 1, true)},
      element('td', {}, name_of(tensor.label, 76)), element('td', {}, printable(tensor.type)), element('td', {}, printable(tensor.dtype)), element('td', {}, printable(tensor.shape)),
      element('td', {class: 'n'}, statistic.codes[tensor.end] ? short(tensor.last) : '–'),
      element('td', {class: 'n', title: 'against its own past, up or down'}, told_change(tensor.change)),
      element('td', {class: 'n nan'}, tensor.first < 0 ? '' : String(run.iterations[tensor.first])));
  });
  box.querySelector('tbody').replaceChildren(space(first * HEIGHT), ...rows, space((sorting.rows.length - last) * HEIGHT));
}
