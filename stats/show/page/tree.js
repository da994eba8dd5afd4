// The lines of the map: a tensor each, or a module of the tree that is folded. A folded line has the worst of all its tensors.
// `folds`: what a person folded (true) or unfolded (false), by module; of all others the depth decides.
const tree = {root: null, depth: 0, folds: new Map()};

// The module of a tensor: layers.6 of the call layers.6/forward, of the operation layers.6/log.3/forward and of the parameter
// layers.6.weight. Of names of other kinds, what stands in front of the last part.
function module_of(tensor) {
  const called = tensor.name.replace(/\/(forward|backward|eval)$/, '');
  if (called !== tensor.name) return called.split('/')[0].split('.');
  const name = KINDS.has(tensor.type) ? tensor.name.split('/')[0] : tensor.name;
  return name.split(name.includes('/') ? '/' : '.').slice(0, -1);
}

// A node holds tensors and further nodes, in the order in which they come first.
function grow_tree() {
  tree.root = {name: '', above: null, parts: [], depth: 0, tensors: [], nodes: new Map()};
  for (const index of view.rows) {
    let node = tree.root;
    node.tensors.push(index);
    for (const part of module_of(run.tensors[index])) {
      if (!node.nodes.has(part)) {
        const below = {name: (node.name ? node.name + '.' : '') + part, above: node, depth: node.depth + 1, parts: [], tensors: [], nodes: new Map()};
        node.nodes.set(part, below);
        node.parts.push(below);
      }
      node = node.nodes.get(part);
      node.tensors.push(index);
    }
    node.parts.push(index);
  }
}

function is_folded(node) {
  if (node === tree.root || node.tensors.length < 2) return false;
  return tree.folds.has(node.name) ? tree.folds.get(node.name) : node.depth > tree.depth;
}

function lines_of(node, lines = []) {
  if (is_folded(node)) lines.push({node, tensors: node.tensors});
  else for (const part of node.parts) { if (typeof part === 'number') lines.push({node, tensors: [part]}); else lines_of(part, lines); }
  return lines;
}

// Chooses the greatest depth at which the labels of all lines fit. If no depth fits, nothing is folded.
function fold_by_itself() {
  let deepest = 0;
  const look = node => { deepest = Math.max(deepest, node.depth); node.nodes.forEach(look); };
  look(tree.root);
  tree.depth = deepest;
  tree.folds.clear();
  const has_room = () => lines_of(tree.root).length <= MOST_LINES;
  for (let depth = deepest; depth >= 0 && !has_room(); --depth) tree.depth = depth;
  if (!has_room()) tree.depth = deepest;
}

function show_lines() {
  const whole = view.top === 0 && view.bottom >= view.lines.length;
  view.lines = lines_of(tree.root);
  if (whole || view.bottom > view.lines.length) { view.top = 0; view.bottom = view.lines.length; }
  by_id('fold').hidden = tree.root.parts.every(part => typeof part === 'number');
  by_id('fold').textContent = view.lines.length < view.rows.length ? 'Unfold all' : 'Fold';
}

function fold_all() {
  if (view.lines.length < view.rows.length) { tree.folds.clear(); tree.depth = Infinity; }
  else { fold_by_itself(); if (lines_of(tree.root).length === view.rows.length) tree.depth = 0; }
  show_lines();
  show_whole();
}

// A folded line is unfolded; else the nearest module around it that has more than one tensor is folded.
function turn(line) {
  let node = line && line.node;
  while (node && node.tensors.length < 2) node = node.above;
  if (!node || node === tree.root) return;
  tree.folds.set(node.name, !is_folded(node));
  show_lines();
  repaint();
}

function unfold_to(tensor) {
  let node = tree.root;
  for (const part of module_of(run.tensors[tensor])) {
    node = node.nodes.get(part);
    if (!node) return;
    if (is_folded(node)) tree.folds.set(node.name, false);
  }
  show_lines();
}

const line_of = tensor => view.lines.findIndex(line => line.tensors.includes(tensor));
const label_of = line => is_folded(line.node) ? `▸ ${line.node.name}  ${line.tensors.length}` : run.tensors[line.tensors[0]].label;

// The tensor that the colour of a line is of.
function worst_of(line, column) {
  const n = run.iterations.length;
  return line.tensors.reduce((worst, tensor) => view.keys[tensor * n + column] > view.keys[worst * n + column] ? tensor : worst);
}
