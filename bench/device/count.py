"""Counts the instructions per element on the common path of a kernel's main loop.

    count.py FOLDER      with fold-DTYPE-15-256x4.ptx for each dtype, and optionally ptxas's .log beside it

The main loop has the wide loads. The count is of a lane whose fast path takes all elements, none of them zero. This path
goes through the loads of a step, adds most in the fewest instructions, and enters no inner loop: inner loops process what
the fast path leaves. `loads` says at which of these instructions the loads stand. If a comparison stands between two of
them, a lane has fewer loads in flight, and the exit status is 1.
"""
import os
import re
import sys

BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "bool": 1, "int8": 1, "uint8": 1}
VECTOR, LOADS = 16, 4


def blocks(path):
    """The kernel's basic blocks: label -> [instructions, labels of possible successors]."""
    lines = open(path).read().split(".entry fold(", 1)[1].splitlines()
    label, graph = "start", {"start": [[], []]}

    def open_block(name, falls_through):
        nonlocal label
        if falls_through:
            graph[label][1].append(name)
        label = name
        graph[label] = [[], []]

    for line in map(str.strip, lines):
        if re.fullmatch(r"[$\w]+:.*", line):
            last = graph[label][0][-1] if graph[label][0] else ""
            open_block(line.split(":")[0], not re.match(r"(bra|ret|exit)", last))
            continue
        for line in line.strip("{} \t").split(";"):  # a line of inline PTX can have several instructions
            line = line.strip()
            if not re.match(r"(@!?%p\d+\s+)?[a-z]", line):
                continue
            graph[label][0].append(line)
            branch = re.search(r"\bbra(?:\.uni)?\s+([$\w]+)", line)
            if branch:
                graph[label][1].append(branch.group(1))
                if line.startswith("@"):
                    open_block(f"{label}+", True)
    return graph


def reach(edges, start):
    seen, waiting = set(), list(edges[start])
    while waiting:
        label = waiting.pop()
        if label in edges and label not in seen:
            seen.add(label)
            waiting.extend(edges[label])
    return seen


def wide_loads(instructions):
    return sum(re.search(r"ld\.global.*\.v(4\.u32|2\.u64)", each) is not None for each in instructions)


def main_loop(path):
    """All instructions on the common path."""
    graph = blocks(path)
    edges = {label: follow for label, (_, follow) in graph.items()}
    loads = max((label for label in graph if label in reach(edges, label)), key=lambda label: wide_loads(graph[label][0]))
    loop = {label for label in reach(edges, loads) if loads in reach(edges, label)}
    head = next(to for label in edges if label not in loop for to in edges[label] if to in loop)
    # Without the edges back to the head, a block that still reaches itself is in an inner loop.
    inner = {label: [to for to in edges[label] if to in loop and to != head] for label in loop}
    once = {label for label in loop if label not in reach(inner, label)}

    def best(ways):
        """The shortest of the ways that add most. It counts no zeros, and flushes no sums."""
        return max(ways, key=lambda way: (sum(".f64" in each for each in way), -len(way)), default=None)

    def way(label, end):
        """The instructions from one block up to another, or None if they are not connected."""
        if label == end:
            return []
        rest = best(each for each in (way(to, end) for to in inner[label] if to in once) if each is not None)
        return None if rest is None else graph[label][0] + rest

    ends = [label for label in once if head in edges[label]]
    tails = [way(loads, label) + graph[label][0] for label in ends if way(loads, label) is not None]
    instructions = way(head, loads) + best(tails)
    # ptxas removes moves between registers
    return [each for each in instructions if not re.match(r"(@!?%p\d+\s+)?mov", each)]


is_wrong = False
print(f"{'dtype':<10} {'PTX an element':>14} {'of them fp64':>12} {'registers':>9} {'spilled bytes':>13}  loads")
for file in sorted(os.listdir(sys.argv[1])):
    match = re.fullmatch(r"fold-(\w+)-15-256x4\.ptx", file)
    if not match:
        continue
    dtype, path = match.group(1), os.path.join(sys.argv[1], file)
    way = main_loop(path)
    stand = [number for number, each in enumerate(way) if wide_loads([each])]
    elements = LOADS * VECTOR // BYTES.get(dtype, 2)
    doubles = sum(".f64" in each for each in way)
    registers = spilled = ""
    if os.path.exists(path[:-4] + ".log"):
        log = open(path[:-4] + ".log").read()
        registers = max(re.findall(r"Used (\d+) registers", log), key=int, default="")
        spilled = sum(int(each) for each in re.findall(r"(\d+) bytes spill", log))
    print(f"{dtype:<10} {len(way) / elements:>14.1f} {doubles / elements:>12.1f} {registers:>9} {spilled:>13}  {' '.join(map(str, stand))}")
    between = way[stand[0]:stand[-1]] if stand else []
    if len(stand) != LOADS or any(re.search(r"\bsetp\b", each) for each in between):
        is_wrong = True
        print(f"{dtype}: the loads of a step do not stand together", file=sys.stderr)
sys.exit(is_wrong)
