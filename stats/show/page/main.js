// Input by pointer, keys and address. All state of the page is in `view` and in the address behind '#'.
let waits = false;
function repaint() {
  if (waits) return;
  waits = true;
  requestAnimationFrame(() => { waits = false; paint_strip(); paint(); paint_card(); });
}

function zoom_to(from, to, top = view.top, bottom = view.bottom) {
  const n = run.iterations.length, rows = view.lines.length;
  const least = Math.min(n, 8), fewest = Math.min(rows, 4);
  view.from = Math.max(0, Math.min(n - least, Math.round(from)));
  view.to = Math.min(n, Math.max(view.from + least, Math.round(to)));
  view.top = Math.max(0, Math.min(rows - fewest, Math.round(top)));
  view.bottom = Math.min(rows, Math.max(view.top + fewest, Math.round(bottom)));
  keep_address();
  repaint();
}
const show_whole = () => zoom_to(0, run.iterations.length, 0, view.lines.length);

function zoom(factor) {
  const column = view.column >= 0 ? view.column : (view.from + view.to) / 2, row = line_of(view.tensor);
  const middle = row >= 0 ? row : (view.top + view.bottom) / 2;
  zoom_to(column - (column - view.from) * factor, column + (view.to - column) * factor, middle - (middle - view.top) * factor, middle + (view.bottom - middle) * factor);
}

function set_rank(rank) {
  view.rank = rank;
  by_id('rank').value = String(rank);
  prepare();
}

// Chooses a cell. A rank that is given is shown only where the map shows one rank.
function choose(tensor, rank, column, scroll = false) {
  view.tensor = tensor;
  view.column = column;
  if (rank >= 0 && view.rank >= 0 && view.rank !== rank) set_rank(rank);
  if (!view.rows.includes(tensor)) { by_id('find').value = ''; filter(''); }
  const row = line_of(tensor);
  if (row < view.top || row >= view.bottom) { const rows = view.bottom - view.top; zoom_to(view.from, view.to, row - rows / 2, row + rows / 2); }
  if (column < view.from || column >= view.to) { const columns = view.to - view.from; zoom_to(column - columns / 2, column + columns / 2); }
  show_card();
  read_out(tensor, column);
  scroll_table();
  keep_address();
  repaint();
  const box = by_id('card').getBoundingClientRect();
  if (scroll && (box.top > window.innerHeight * .8 || box.bottom < 60)) {
    by_id('card').scrollIntoView({block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth'});
  }
}

function choose_finding(index, scroll) {
  const finding = run.findings[index];
  if (!finding) return;
  view.finding = index;
  by_id('findings').querySelectorAll('button').forEach((button, place) => {
    button.setAttribute('aria-current', String(place === index));
    if (place === index) { const list = by_id('findings'); if (button.offsetTop < list.scrollTop || button.offsetTop > list.scrollTop + list.clientHeight - 40) list.scrollTop = button.offsetTop - 40; }
  });
  if (finding.tensor >= 0) unfold_to(finding.tensor);
  if (finding.tensor >= 0) choose(finding.tensor, finding_rank(finding), Math.max(0, at_iteration(finding.first_iteration)), scroll);
}

function filter(text) {
  const matches = find_tensors(text);
  view.rows = matches.rows;
  view.met = matches.columns || new Map();
  by_id('found').textContent = matches.words;
  grow_tree();
  fold_by_itself();
  view.top = view.bottom = 0;
  view.lines = [];
  show_lines();
  by_id('all').scrollTop = 0;
  show_table();
  repaint();
}

// The address: a link to this file with what stands behind '#' opens the same view.
let restoring = false;
const lane_key = lane => (run.runs.length ? run.runs[run.lane_runs[lane]] : '') + run.ranks[lane];
const usual_colour = () => run.runs.length ? 'ranks' : 'change';
function keep_address() {
  if (restoring) return;
  const parts = new URLSearchParams();
  if (view.tensor >= 0) { parts.set('tensor', run.tensors[view.tensor].label); parts.set('step', String(run.iterations[view.column])); }
  if (view.rank >= 0) parts.set('rank', lane_key(view.rank));
  if (view.statistic) parts.set('value', run.statistics[view.statistic].name);
  if (view.colour !== usual_colour()) parts.set('colour', view.colour);
  if (by_id('find').value) parts.set('find', by_id('find').value);
  if (view.from || view.to !== run.iterations.length) parts.set('steps', `${run.iterations[view.from]}-${run.iterations[view.to - 1]}`);
  history.replaceState(history.state, '', '#' + parts);
}

function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  restoring = true;
  const rank = run.ranks.findIndex((_, lane) => lane_key(lane) === parts.get('rank')), statistic = run.statistics.findIndex(s => s.name === parts.get('value'));
  view.rank = rank;
  if (statistic >= 0) view.statistic = statistic;
  view.colour = usual_colour();
  if ([...by_id('colour').options].some(option => option.value === parts.get('colour'))) view.colour = parts.get('colour');
  by_id('rank').value = String(view.rank);
  by_id('statistic').value = String(view.statistic);
  by_id('colour').value = view.colour;
  prepare();
  show_legend();
  by_id('find').value = parts.get('find') || '';
  filter(by_id('find').value);
  const [from, to] = (parts.get('steps') || '').split('-').map(Number);
  zoom_to(Math.max(0, at_iteration(from)), parts.has('steps') && to >= 0 ? at_iteration(to) + 1 : run.iterations.length);
  const tensor = run.by_label.get(parts.get('tensor') || '');
  if (tensor !== undefined) {
    const column = parts.has('step') ? at_iteration(Number(parts.get('step'))) : -1;
    choose(tensor, rank, column < 0 ? run.iterations.length - 1 : column);
  } else if (run.findings.length && !by_id('find').value) choose_finding(0, false);
  else if (run.parting >= 0 && !by_id('find').value) {
    const n = run.iterations.length, lane = Math.floor(run.parting / n);
    choose(Math.floor(lane / run.ranks.length), lane % run.ranks.length, run.parting % n);
  }
  else show_card();
  restoring = false;
}

const SECTIONS = ['heat', 'findings-title', 'ranks', 'casts', 'all', 'read-title'];
function pressed(event) {
  const typing = ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName);
  if (event.key === 'Escape') {
    if (typing) { by_id('find').value = ''; filter(''); event.target.blur(); }
    show_whole();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || by_id('keys').open) return;
  const move = (rows, columns) => {
    const row = Math.max(0, Math.min(view.lines.length - 1, (view.tensor < 0 ? view.top : line_of(view.tensor)) + rows));
    const column = Math.max(0, Math.min(run.iterations.length - 1, (view.column < 0 ? view.from : view.column) + columns));
    if (view.rows.length) choose(rows ? worst_of(view.lines[row], column) : view.tensor < 0 ? view.lines[row].tensors[0] : view.tensor, -1, column);
  };
  const in_scroll = event.target.closest('#all, .exact, #findings');
  const arrows = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}, rank = view.rank;
  if (event.key === '/') { by_id('find').focus(); by_id('find').select(); }
  else if (event.key === 'j') choose_finding(Math.min(run.findings.length - 1, view.finding + 1), true);
  else if (event.key === 'k') choose_finding(Math.max(0, view.finding - 1), true);
  else if (arrows[event.key] && !in_scroll) move(...arrows[event.key]);
  else if (event.key === '+' || event.key === '=') zoom(.5);
  else if (event.key === '-') zoom(2);
  else if (event.key === '[' || event.key === ']') { set_rank(Math.max(-1, Math.min(run.ranks.length - 1, rank + (event.key === ']' ? 1 : -1)))); show_card(); repaint(); keep_address(); }
  else if (event.key === 'f') turn(view.lines[line_of(view.tensor)]);
  else if (event.key === '?') show_keys();
  else if (SECTIONS[Number(event.key) - 1]) by_id(SECTIONS[Number(event.key) - 1]).scrollIntoView({block: 'start'});
  else return;
  event.preventDefault();
}

function listen() {
  const heat = by_id('heat');
  const local = event => { const box = heat.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  heat.addEventListener('pointerdown', event => {
    if (event.button || !cell_under(event)) return;
    const [x, y] = local(event);
    view.drag = {x, y, to_x: x, to_y: y, start: cell_under(event)};
    heat.setPointerCapture(event.pointerId);
  });
  heat.addEventListener('pointermove', event => {
    const cell = cell_under(event);
    if (cell) read_out(cell.tensor, cell.column);
    heat.style.cursor = cell && cell.is_label ? 'pointer' : '';
    if (!view.drag) return;
    [view.drag.to_x, view.drag.to_y] = local(event);
    repaint();
  });
  heat.addEventListener('pointerup', event => {
    const drag = view.drag, cell = cell_under(event);
    view.drag = null;
    if (!drag) return;
    const wide = Math.abs(drag.to_x - drag.x) > 8, tall = Math.abs(drag.to_y - drag.y) > 8;
    if (!wide && !tall) {
      if (cell && cell.is_label) turn(view.lines[cell.row]);
      else if (cell) choose(cell.tensor, -1, cell.column);
      return;
    }
    const end = cell || drag.start, [a, b] = [drag.start, end];
    zoom_to(wide ? Math.min(a.column, b.column) : view.from, wide ? Math.max(a.column, b.column) + 1 : view.to, tall ? Math.min(a.row, b.row) : view.top, tall ? Math.max(a.row, b.row) + 1 : view.bottom);
  });
  heat.addEventListener('pointercancel', () => { view.drag = null; repaint(); });
  by_id('statistic').addEventListener('change', event => {
    view.statistic = Number(event.target.value);
    if (is_cast(view.statistic)) view.colour = by_id('colour').value = 'size';
    prepare(); show_legend(); show_card(); keep_address(); repaint();
  });
  by_id('colour').addEventListener('change', event => { view.colour = event.target.value; prepare(); show_legend(); keep_address(); repaint(); });
  by_id('rank').addEventListener('change', event => { set_rank(Number(event.target.value)); show_card(); keep_address(); repaint(); });
  by_id('find').addEventListener('input', event => { filter(event.target.value); keep_address(); });
  by_id('tools').addEventListener('submit', event => event.preventDefault());
  by_id('whole').addEventListener('click', show_whole);
  by_id('fold').addEventListener('click', fold_all);
  by_id('help').addEventListener('click', show_keys);
  by_id('all').addEventListener('scroll', scroll_table);
  document.addEventListener('keydown', pressed);
  window.addEventListener('hashchange', restore);
  window.addEventListener('resize', repaint);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { view.table = colour_table(); show_legend(); repaint(); });
}

// The page of a running job reloads itself. Scroll positions, open cards and typed text are kept.
function keep_up() {
  if (!run.follow) return;
  const places = () => ({y: scrollY, all: by_id('all').scrollTop, findings: by_id('findings').scrollTop});
  const before = history.state;
  if (before && before.y !== undefined) {
    by_id('all').scrollTop = before.all;
    by_id('findings').scrollTop = before.findings;
    scrollTo(0, before.y);
    if (before.typing) { by_id('find').focus(); by_id('find').setSelectionRange(before.caret, before.caret); }
  }
  let paused = Boolean(before && before.paused);
  const button = element('button', {type: 'button', 'aria-pressed': String(paused), onclick: () => {
    paused = !paused;
    button.setAttribute('aria-pressed', String(paused));
    button.textContent = paused ? 'Go on' : 'Pause';
  }}, paused ? 'Go on' : 'Pause');
  by_id('verdict').append(element('p', {class: 'live'}, `The run is being written: this page loads itself again every ${many(run.follow, 'second')}. `, button));
  setInterval(() => {
    if (paused || document.hidden || view.drag || by_id('keys').open || String(getSelection())) return;
    const typing = document.activeElement === by_id('find');
    history.replaceState({...places(), paused, typing, caret: by_id('find').selectionStart}, '');
    location.reload();
  }, run.follow * 1000);
}

async function open_page() {
  try {
    await read_run();
    document.title = `${run.findings.length ? many(run.findings.length, 'finding') : run.parting >= 0 ? 'A and B part' : 'Nothing found'} · ${shortened(run.source, 60)}`;
    show_verdict();
    document.querySelector('main').hidden = false;
    by_id('statistic').append(...run.statistics.map((s, index) => element('option', {value: index}, s.name)));
    by_id('rank').append(...(run.ranks.length > 1 ? [element('option', {value: -1}, 'the worst')] : []),
      ...run.ranks.map((rank, index) => element('option', {value: run.ranks.length > 1 ? index : -1}, run.runs.length ? lane_name(index) : String(rank))));
    if (run.ranks.length > 1) by_id('colour').append(element('option', {value: 'ranks'}, run.runs.length ? 'B against A' : 'ranks against the first'));
    by_id('ranks').hidden = run.ranks.length < 2;
    view.colour = 'change';
    prepare();
    summarize();
    show_findings();
    show_casts();
    show_read();
    listen();
    restore();
    paint_strip();
    paint();
    keep_up();
  } catch (error) {
    by_id('verdict').replaceChildren(element('p', {class: 'lead'}, 'This page cannot be shown: ' + error.message));
    throw error;
  } finally {
    document.body.setAttribute('aria-busy', 'false');
  }
}
open_page();
