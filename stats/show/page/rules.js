// The rules of the command's --where, asked of the page: `absmax > 60000 and dtype == float16`. stats/data/rules/rule.hpp has the
// grammar; tests/page/page_where_test.py holds this reader and the command's to one table of cases.
// The page has most values within half a step, so that an answer is one of three.
const NO = 0, MAYBE = 1, YES = 2;
const RULE_DEPTH = 100;
const TEXTS = /** @type {{[name: string]: string}} */ (Object.assign(Object.create(null), {op_name: 'name', op_type: 'type', dtype: 'dtype', shape: 'shape', io: 'side'}));
const spelled = name => name.replace(/[-_]/g, ' ');

// Parses a rule into a function of tensor, lane, column and cell. Throws a message for an invalid text.
/** @param {string} text @returns {(tensor: number, lane: number, column: number, cell: number) => number} */
function rule_from(text) {
  const tokens = [];
  const wrong = (what, position) => { throw new Error(`${what}; at character ${position + 1}`); };
  for (let position = 0; ;) {
    while (' \t\n'.includes(text[position] || '-')) ++position;
    if (position === text.length) { tokens.push({kind: 'end', text: '', position}); break; }
    const rest = text.slice(position), quote = /^(['"])([^]*?)\1/.exec(rest), sign = /^(>=|<=|==|!=|[<>~()])/.exec(rest), word = /^[^ \t\n()<>=!~'"]+/.exec(rest);
    const match = quote || sign || word;
    if (!match) wrong(/^['"]/.test(rest) ? 'a quote does not end' : 'this begins with no operator: these are > >= < <= == != and ~', position);
    tokens.push({kind: quote ? 'quoted' : sign ? 'sign' : 'word', text: quote ? quote[2] : match[0], position});
    position += match[0].length;
  }
  let next = 0, depth = 0;
  const peek = () => tokens[next];
  const is = (kind, text) => peek().kind === kind && peek().text === text;
  const take = (kind, text) => is(kind, text) && Boolean(++next);
  const named = token => token.kind === 'end' ? 'the end' : `'${token.text}'`;

  function list(separator, part, join) {
    const parts = [];
    do parts.push(part()); while (take('word', separator));
    return parts.length === 1 ? parts[0] : (...cell) => join(...parts.map(each => each(...cell)));
  }
  const any = () => list('or', all, Math.max);
  const all = () => list('and', one, Math.min);
  function one() {
    if (++depth > RULE_DEPTH) wrong(`more than ${RULE_DEPTH} parentheses and nots`, peek().position);
    let condition;
    if (take('word', 'not')) { const negated = one(); condition = (...cell) => YES - negated(...cell); }
    else if (take('sign', '(')) { condition = any(); if (!take('sign', ')')) wrong(`')' is missing before ${named(peek())}`, peek().position); }
    else condition = comparison();
    --depth;
    return condition;
  }
  function comparison() {
    const position = peek().position, words = [];
    while (peek().kind === 'word' && !is('word', 'and') && !is('word', 'or')) words.push(tokens[next++].text);
    if (!words.length) wrong(`a statistic or a fact is missing before ${named(peek())}`, position);
    const name = words.join(' '), sign = peek();
    if (sign.kind !== 'sign' || '()'.includes(sign.text)) {
      if (name !== 'nan' && name !== 'inf') wrong(`'${name}' is neither nan, inf nor a comparison, such as max > 1`, position);
      return number_rule(number_of(name, position), '>', 0);
    }
    ++next;
    const is_text = name in TEXTS;
    const value = is_text ? null : number_of(name, position);
    const bound = peek();
    if (bound.kind !== 'word' && bound.kind !== 'quoted') wrong(`${is_text ? 'a text' : 'a number'} should follow '${name} ${sign.text}', and ${named(bound)} does`, bound.position);
    ++next;
    if (!is_text) {
      if (sign.text === '~') wrong(`'${name}' is a number, and ~ compares texts`, sign.position);
      const limit = number_from(bound.text);
      if (Number.isNaN(limit) && is('sign', '(')) wrong("the page compares each cell with a number: windows are for alerts, top --until and attach --fail-on", bound.position);
      if (Number.isNaN(limit)) wrong(`'${name}' is a number, and ${named(bound)} is none`, bound.position);
      return number_rule(value, sign.text, limit);
    }
    if (!['==', '!=', '~'].includes(sign.text)) wrong(`'${name}' is a text: == and != compare it, and ~ with a glob`, sign.position);
    if (name === 'dtype' && sign.text !== '~' && !run.tensors.some(tensor => tensor.dtype === bound.text)) wrong(`no tensor of this page has the dtype ${bound.text}`, bound.position);
    const key = TEXTS[name], glob = sign.text === '~' ? glob_from(bound.text) : null;
    const meets = tensor => { const text = run.tensors[tensor][key]; return glob ? glob.test(text) : (text === bound.text) === (sign.text === '=='); };
    let last = -1, answer = NO;  // all facts that are texts depend on the tensor only
    return tensor => { if (tensor !== last) { last = tensor; answer = meets(tensor) ? YES : NO; } return answer; };
  }
  // The bounds of a number in a cell; null: it has none; NaN: both bounds are NaN.
  function number_of(name, position) {
    if (name === 'rank') return (tensor, lane) => [run.ranks[lane], run.ranks[lane]];
    if (name === 'slot') return tensor => [run.tensors[tensor].slot, run.tensors[tensor].slot];
    if (name === 'step' || name === 'iteration') return (tensor, lane, column) => [run.iterations[column], run.pooled > 1 ? run.iterations[column + 1] - 1 || Infinity : run.iterations[column]];
    if (name === 'nan') return (tensor, lane, column, cell) => run.faults[cell] === NAN ? [1, Infinity] : [0, 0];
    if (name === 'inf') return (tensor, lane, column, cell) => run.faults[cell] >= UP || run.flags[cell] & ALSO_INF ? [1, Infinity] : [0, 0];
    const index = run.statistics.findIndex(statistic => statistic.name === spelled(name));
    if (index >= 0) return (tensor, lane, column, cell) => bounds_of(index, cell);
    const has = [...Object.keys(TEXTS), 'slot', 'rank', 'iteration', 'nan', 'inf', ...run.statistics.map(statistic => statistic.name)].join(', ');
    const is_known = run.subjects.includes(spelled(name)) || run.subjects.includes(name);
    return wrong(is_known ? `'${name}' is not on this page, which has ${has}` : `'${name}' is neither a statistic nor a fact of a row`, position);
  }
  const rule = any();
  if (is('word', '*') || is('word', 'for') || is('sign', '(')) wrong("the page compares each cell with a number: windows and 'for N steps' are for alerts, top --until and attach --fail-on", peek().position);
  if (peek().kind !== 'end') wrong(`and or or is missing before ${named(peek())}`, peek().position);
  return rule;
}

// NaN: the command would not take it as a number.
function number_from(text) {
  if (/^-?inf(inity)?$/i.test(text)) return text[0] === '-' ? -Infinity : Infinity;
  const value = Number(text), is_zero = !/[1-9]/.test(text.split(/e/i)[0]);
  return /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(value) && (value !== 0 || is_zero) ? value : NaN;
}

// The least and the greatest value that a cell may have.
function bounds_of(index, cell) {
  const statistic = run.statistics[index], code = statistic.codes[cell], size = code & 0x7fff, exact = run.exact.get(cell);
  if (size === MISSING) return null;
  const value = exact && size >= FIRST_CODE ? Number(exact[index]) : NaN;
  if (Number.isFinite(value)) return [value, value];
  const middle = value_of(statistic, code);
  if (size < FIRST_CODE) return [middle, middle];
  const off = 2 ** (statistic.step / 2) * (1 + 1e-9);
  return code & 0x8000 ? [middle * off, middle / off] : [middle / off, middle * off];
}

function number_rule(value, sign, limit) {
  const [certain, possible] = {
    '>': [(low, high) => low > limit, (low, high) => high > limit], '>=': [(low, high) => low >= limit, (low, high) => high >= limit],
    '<': [(low, high) => high < limit, (low, high) => low < limit], '<=': [(low, high) => high <= limit, (low, high) => low <= limit],
    '==': [(low, high) => low === limit && high === limit, (low, high) => low <= limit && high >= limit],
    '!=': [(low, high) => !(low <= limit && high >= limit), (low, high) => !(low === limit && high === limit)],
  }[sign];
  return (...cell) => {
    const bounds = value(...cell);
    return !bounds ? NO : certain(...bounds) ? YES : possible(...bounds) ? MAYBE : NO;
  };
}

// As fnmatch() has it: * ? [a-z] [!a-z], and \ before a character that is meant as it is.
function glob_from(glob) {
  let pattern = '';
  for (let i = 0; i < glob.length; ++i) {
    const set = glob[i] === '[' ? /^\[([!^]?)(\]?[^\]]*)\]/.exec(glob.slice(i)) : null;
    if (glob[i] === '*') pattern += '.*';
    else if (glob[i] === '?') pattern += '.';
    else if (set) { pattern += `[${set[1] ? '^' : ''}${set[2].replace(/[\]\\[^]/g, '\\$&')}]`; i += set[0].length - 1; }
    else { if (glob[i] === '\\' && i + 1 < glob.length) ++i; pattern += glob[i].replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'); }
  }
  return new RegExp(`^${pattern}$`, 's');
}

// The tensors that a text finds: those with a row that meets the rule that it is; else those with all its words in their names.
/** @param {string} text @returns {{rows: number[], columns?: Map<number, number>, words: string}} */
function find_tensors(text) {
  const all = run.tensors.map((_, index) => index), words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let rule;
  if (words.length) {
    try { rule = rule_from(text); } catch (error) {
      if (/[<>=!~]/.test(text)) return {rows: view.rows, words: error.message};
    }
  }
  if (!rule) return {rows: all.filter(index => words.every(word => run.tensors[index].key.includes(word))), words: ''};
  const n = run.iterations.length, columns = new Map();
  let unsure = 0;
  const rows = all.filter(tensor => {
    let best = NO;
    for (let lane = 0; lane < run.ranks.length && best !== YES; ++lane) {
      for (let column = 0, cell = cell_of(tensor, lane, 0); column < n && best !== YES; ++column, ++cell) {
        if (!has_row(cell)) continue;
        const answer = rule(tensor, lane, column, cell);
        if (answer > best) { best = answer; columns.set(tensor, column); }
      }
    }
    if (best === MAYBE) ++unsure;
    return best !== NO;
  });
  const sure = rows.length - unsure;
  return {rows, columns, words: `${many(sure, 'tensor has', 'tensors have')} a row that meets this rule.`
    + (unsure ? ` ${many(unsure, 'more may', 'more may')}: the page has their values rounded.` : '')
    + (run.pooled > 1 ? ` The worst of each ${run.pooled} iterations was asked.` : '')};
}
