// Elements and words. A name of a tensor enters the page as text, never as markup.
/** @param {string} id @returns {any} */
const by_id = id => document.getElementById(id);

/** @returns {any} */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== undefined && child !== null));
  return made;
}

// Control characters and marks of direction could change how the text around them reads.
const printable = text => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
function shortened(text, most) {
  text = printable(text);
  if (text.length <= most) return text;
  const head = Math.ceil(most * .4);
  return text.slice(0, head) + '…' + text.slice(text.length - (most - head - 1));
}
const name_of = (text, most = 160) => element('span', {class: 'name', title: shortened(text, 1200)}, shortened(text, most));
const many = (count, one, more = one + 's') => count.toLocaleString('en') + ' ' + (count === 1 ? one : more);
const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

const ranks_read = () => (run.runs.length ? many(run.runs.length, 'run') + ', ' : '') + many(new Set(run.ranks).size, 'rank');

const grade = finding => ({error: 'fault', warning: 'warning'})[finding.severity] || 'note';

function show_verdict() {
  const first = run.findings[0], worst = !first ? 'clean' : grade(first);
  const header = by_id('verdict');
  header.className = worst;
  header.replaceChildren();
  const lines = String(run.verdict).split('\n').filter(Boolean);
  header.append(element('p', {class: 'lead'}, element('span', {class: 'mark', 'aria-hidden': 'true'}, worst === 'clean' ? (run.parting < 0 ? '✓' : '≠') : worst === 'fault' ? '✕' : '!'),
    shortened(lines[0] || '', 400)));
  for (const line of lines.slice(1)) header.append(element('p', {}, shortened(line, 1200)));
  if (first) {
    const facts = element('dl', {class: 'facts'});
    const fact = (term, value) => facts.append(element('div', {}, element('dt', {}, term), element('dd', {}, value)));
    if (first.first_iteration !== null) fact('First iteration', String(first.first_iteration));
    if (first.rank !== null && first.rank !== undefined) fact('Rank', (run.runs.length ? run.runs[first.run] + ', ' : '') + first.rank);
    if (first.op_name) fact('Tensor', name_of(first.op_name, 90));
    if (first.last_clean_iteration !== null) fact('Last clean iteration', String(first.last_clean_iteration));
    header.append(facts);
    header.append(element('div', {class: 'next'}, element('span', {}, 'Look next:'), ...next_looks(first),
      first.next ? element('span', {class: 'name'}, printable(first.next)) : ''));
  }
  const measured = run.not_measured.length ? 'Not judged: ' + run.not_measured.map(printable).join('; ') + '.' : '';
  header.append(element('p', {class: 'none'},
    `${many(run.rows, 'row')}, ${many(run.tensors.length, 'tensor')}, ${many(run.iterations.length, 'iteration')}, ${ranks_read()}. ` + measured));
}

function next_looks(finding) {
  const looks = [];
  const look = (text, act) => looks.push(element('button', {type: 'button', onclick: act}, text));
  const column = at_iteration(finding.first_iteration), tensor = finding.tensor;
  if (tensor >= 0 && column >= 0) {
    look('its lines up to there', () => { zoom_to(Math.max(0, column - 60), Math.min(run.iterations.length, column + 12)); choose(tensor, finding_rank(finding), column, true); });
    if (column > 0) look(`iteration ${run.iterations[column - 1]} beside ${run.iterations[column]}`, () => choose(tensor, finding_rank(finding), column - 1, true));
    if (run.ranks.length > 1) look('its ranks side by side', () => { set_rank(-1); choose(tensor, finding_rank(finding), column, true); });
  }
  const other = run.findings.find(f => f !== finding && f.tensor >= 0 && f.tensor !== tensor);
  if (other) look('the next finding: ' + printable(other.rule), () => choose_finding(run.findings.indexOf(other), true));
  return looks;
}

// The column of an iteration: the last that begins at or before it.
function at_iteration(iteration) {
  if (iteration === null || iteration === undefined) return -1;
  let low = 0, high = run.iterations.length;
  while (low < high) { const middle = low + high >> 1; if (run.iterations[middle] <= iteration) low = middle + 1; else high = middle; }
  return low - 1;
}
const finding_rank = finding => Math.max(0, run.ranks.findIndex((rank, lane) => rank === finding.rank && run.lane_runs[lane] === finding.run));

function show_findings() {
  const list = by_id('findings');
  by_id('findings-title').textContent = run.findings.length ? `Findings (${run.findings.length})` : 'Findings';
  if (!run.findings.length) list.append(element('li', {class: 'none'}, 'Nothing was found by any rule.'));
  run.findings.forEach((finding, index) => list.append(element('li', {class: grade(finding)},
    element('button', {type: 'button', onclick: () => choose_finding(index, true)},
      element('span', {class: 'where'}, finding.first_iteration === null ? '' : `iteration ${finding.first_iteration}`,
        run.ranks.length > 1 && finding.rank !== null ? `, rank ${finding.rank}` : ''),
      element('span', {class: 'rule'}, printable(finding.rule)), ' ', finding.op_name ? name_of(finding.op_name, 60) : '',
      element('span', {class: 'text'}, shortened(finding.text, 400))))));
}

function show_read() {
  const section = by_id('read');
  const line = (term, text) => section.append(element('p', {}, element('strong', {}, term + ' '), printable(text)));
  line('Read:', `${run.source}: ${many(run.rows, 'row')} of ${ranks_read()}.`);
  const cells = new Map();
  for (const text of run.measured) { const [name, count] = text.split(' in '); cells.set(count, [...(cells.get(count) || []), name]); }
  for (const [count, names] of cells) line('Measured:', `${names.join(', ')} in ${count}.`);
  for (const text of run.not_measured) line('Not judged:', text);
  for (const text of run.notes) line('Note:', text);
  const steps = [...new Set(run.statistics.map(s => `within ${short((2 ** (s.step / 2) - 1) * 100)} %`))].join(' or ');
  line('Kept:', `values as 16-bit logarithms (${steps}), marked with ≈. ${many(run.exact.size, 'cell')} also as written: near the first iteration of a finding${run.parting < 0 ? '' : ', where B parts from A'}, and in the last iteration. NaN, +Inf, −Inf, zero and missing are exact everywhere.`);
  line('Version:', 'tensorstat ' + run.version);
}

const KEYS = [['/', 'find tensors: a part of a name, or a rule as of --where, such as absmax > 1000 and dtype == float16'], ['j k', 'the next, the previous finding'], ['← → ↑ ↓', 'the cell beside'], ['+ −', 'zoom at the cell'],
  ['f', 'fold or unfold the module of the cell'], ['[ ]', 'rank'], ['1 … 6', 'map, findings, ranks, casts, all tensors, what was read'], ['Esc', 'show all'], ['?', 'these keys']];
function show_keys() {
  const dialog = by_id('keys');
  dialog.replaceChildren(element('h2', {}, 'Keys'), element('table', {}, ...KEYS.map(([key, what]) =>
    element('tr', {}, element('td', {}, element('kbd', {}, key)), element('td', {}, what)))),
    element('p', {class: 'none'}, 'In the map: click opens a tensor, drag zooms; a click on a name folds or unfolds its module.'),
    element('button', {type: 'button', onclick: () => dialog.close()}, 'Close'));
  dialog.showModal();
}
