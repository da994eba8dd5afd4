// Losses of a cast to a shorter format: the worst iteration of each tensor, where casts were counted.
const CAST_ROWS = 12, MUCH_LOST = .01;
const cast_formats = () => ['float16', 'bfloat16', 'e4m3fn', 'e5m2'].map(name => ({name,
  under: run.statistics.findIndex(s => s.name === name + ' underflow'), over: run.statistics.findIndex(s => s.name === name + ' overflow')}))
  .filter(format => format.under >= 0 || format.over >= 0);
const is_cast = index => / (under|over)flow$/.test(run.statistics[index].name);
// Where rows have other sizes, of the largest: a share is at least that.
const elements_of = tensor => tensor.most || (tensor.shape.match(/\d+/g) || []).reduce((product, size) => product * Number(size), 1);
const percent = share => share >= .9995 ? '100 %' : short(share * 100) + ' %';

function show_casts() {
  const formats = cast_formats();
  by_id('casts').hidden = !formats.length;
  if (!formats.length) return;
  const n = run.iterations.length;
  // The greatest count of a tensor, as a share of its elements; undefined: it was not counted.
  const worst = (tensor, index) => {
    if (index < 0) return undefined;
    const codes = run.statistics[index].codes, base = cell_of(tensor, 0, 0), end = cell_of(tensor + 1, 0, 0);
    let most = -1;
    for (let cell = base; cell < end; ++cell) if (codes[cell] !== MISSING && (most < 0 || codes[cell] > codes[most])) most = cell;
    if (most < 0) return undefined;
    return {share: value_of(run.statistics[index], codes[most]) / elements_of(run.tensors[tensor]), least: run.tensors[tensor].most, column: (most - base) % n, lane: Math.floor((most - base) / n)};
  };
  const tensors = run.tensors.map((_, index) => ({index, losses: formats.map(format => ({under: worst(index, format.under), over: worst(index, format.over)}))}))
    .filter(tensor => tensor.losses.some(loss => loss.under || loss.over));
  const share = loss => loss ? loss.share : 0;
  const weight = tensor => Math.max(...tensor.losses.map(loss => (share(loss.over) > 0 ? 1 : 0) + share(loss.over) + share(loss.under)));
  const losing = tensors.filter(tensor => weight(tensor) > 0).sort((a, b) => weight(b) - weight(a) || a.index - b.index);
  const row = (head, cells, attributes = {}) => element('tr', attributes, element('th', {scope: 'row'}, ...[head].flat()), ...cells.map(cell => element('td', {class: 'n'}, cell)));
  const count = (name, holds) => row(name, formats.map((_, i) => String(tensors.filter(tensor => holds(tensor.losses[i])).length)));
  const told_share = loss => (loss.least ? '≥ ' : '') + percent(loss.share);
  const told_loss = loss => {
    const parts = [];
    if (share(loss.over) > 0) parts.push(element('span', {class: 'nan', title: 'finite elements that become Inf or the greatest value'}, '▲ ' + told_share(loss.over)));
    if (share(loss.under) > 0) parts.push(element('span', {title: 'elements other than 0 that become 0'}, (parts.length ? '  ' : '') + '▼ ' + told_share(loss.under)));
    return parts.length ? element('span', {}, ...parts) : loss.under || loss.over ? '0' : '–';
  };
  // Tensors that lose the same have one row, the first's.
  const alike = new Map();
  for (const tensor of losing) {
    const told = tensor.losses.map(loss => percent(share(loss.over)) + percent(share(loss.under))).join();
    if (alike.has(told)) alike.get(told).push(tensor);
    else alike.set(told, [tensor]);
  }
  const groups = [...alike.values()].slice(0, CAST_ROWS);
  const shown = groups.map(([tensor, ...others]) => {
    const all = tensor.losses.flatMap(loss => [loss.over, loss.under]).filter(loss => share(loss) > 0);
    const most = all.reduce((a, b) => b.share > a.share ? b : a), label = each => printable(run.tensors[each.index].label);
    const head = [name_of(run.tensors[tensor.index].label, 60), others.length ? ` and ${others.length} more, each the same` : ''];
    return row(head, tensor.losses.map(told_loss), {title: others.slice(0, 50).map(label).join('\n'), onclick: () => choose(tensor.index, most.lane, most.column, true)});
  });
  const rest = losing.length - groups.reduce((sum, group) => sum + group.length, 0);
  by_id('casts-body').replaceChildren(element('div', {class: 'exact', tabindex: 0, role: 'region', 'aria-labelledby': 'casts-title'},
    element('table', {}, element('thead', {}, element('tr', {}, element('th', {}, `of ${many(tensors.length, 'tensor')}`), ...formats.map(format => element('th', {scope: 'col', class: 'n'}, format.name)))),
      element('tbody', {}, count('lose nothing', loss => !share(loss.under) && !share(loss.over)), count(`lose more than ${percent(MUCH_LOST)} to zero`, loss => share(loss.under) > MUCH_LOST),
        count('overflow', loss => share(loss.over) > 0), ...shown))),
    element('p', {class: 'none'}, `▲ overflows, ▼ becomes zero: the share of a tensor's elements in its worst iteration.` + (rest > 0 ? ` ${many(rest, 'more tensor loses', 'more tensors lose')} less.` : '')));
}

// Exponents over the iterations: each row is a binade, the darker the more elements; the lowest row has zeros and subnormals.
const exponents_of = (tensor, lane) => run.exponents.find(each => each.tensor === tensor && each.lane === lane);
function exponents_lane() {
  const lane = view.rank >= 0 ? view.rank : worst_rank(view.tensor, Math.max(0, view.column));
  return exponents_of(view.tensor, lane) ? lane : run.ranks.findIndex((_, other) => view.rank < 0 && exponents_of(view.tensor, other));
}
const EXPONENT_HEIGHT = series => Math.max(90, Math.min(230, (series.binades + 1) * 7)) + 18;

function draw_exponents(canvas) {
  const series = exponents_of(view.tensor, Number(canvas.dataset.lane)), height = EXPONENT_HEIGHT(series) - 18, context = sized(canvas, height + 18);
  const left = 64, width = canvas.clientWidth - left - 2, n = run.iterations.length, columns = view.to - view.from;
  const end = limit_of(run.tensors[view.tensor]), top = end ? Math.ceil(Math.log2(end)) : Infinity;  // no binade from `top` on
  const high = top - series.lowest - series.binades <= 6 ? Math.max(top + 1, series.lowest + series.binades) : series.lowest + series.binades, rows = high - series.lowest + 1, step = height / rows;
  const y_of = exponent => (high - exponent - 1) * step;  // the upper edge of a binade's row
  const [blank, ink] = [rgb('blank'), rgb('link')];
  context.fillStyle = css('blank');
  context.fillRect(left, 0, width, height);
  for (let row = 0; row <= series.binades; ++row) {
    const y = row ? y_of(series.lowest + row - 1) : height - step;
    for (let x = 0; x < width; ++x) {
      const begin = view.from + Math.floor(x * columns / width), last = Math.max(begin + 1, view.from + Math.floor((x + 1) * columns / width));
      let code = 0;
      for (let column = begin; column < last; ++column) code = Math.max(code, run.exponent_codes[series.offset + row * n + column]);
      if (!code) continue;
      context.fillStyle = `rgb(${mixed(blank, ink, Math.max(.1, 1 + (code - 255) / 6 / 16))})`;
      context.fillRect(left + x, y, 1, Math.max(1, step - .5));
    }
  }
  context.fillStyle = css('soft');
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  const every = Math.max(1, Math.ceil(rows / 6));
  for (let exponent = Math.ceil(series.lowest / every) * every; exponent < high && series.binades; exponent += every) {
    if (y_of(exponent) + step / 2 < height - 14) context.fillText('2^' + String(exponent).replace('-', '−'), left - 6, Math.max(6, y_of(exponent) + step / 2));
  }
  context.fillText('0', left - 6, height - Math.max(step / 2, 5));
  if (top < high + 1) {
    context.fillStyle = css('warn');
    context.fillRect(left, Math.round(y_of(top - 1)), width, 1);
    context.textAlign = 'left';
    context.textBaseline = 'top';
    context.fillText(`${run.tensors[view.tensor].dtype} ends at ${short(end)}`, left + 6, y_of(top - 1) + 3);
  }
  const column = view.column - view.from;
  if (column >= 0 && column < columns) { context.fillStyle = css('ink'); context.globalAlpha = .35; context.fillRect(left + (column + .5) * width / columns, 0, 1, height); context.globalAlpha = 1; }
  x_axis(context, left, width, height + 1);
}
