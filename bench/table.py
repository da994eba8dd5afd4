"""Prints the table of bench/run from a directory of Google Benchmark's JSON files.

    table.py [--mode full|quick|check] [--commit HASH] DIR

A ratio compares two contestants of one group round by round. It is shown as the median of the rounds, with the
quartiles in brackets. With --mode check, ratios outside their bounds give warnings at the end.
"""
import argparse
import json
import pathlib
import statistics

LANES = {"1": "host, 1 thread", "all": "host, all threads", "cl": "opencl"}

# Lower bounds for a noisy machine: group, contestant, compared with, least ratio. They are far below the figures that
# we aim at.
BOUNDS = [
    ("pass/float32/64MiB/ten", "tensorstat:1", "limit:1", 0.40),
    ("pass/float32/64MiB/ten", "tensorstat:all", "limit:all", 0.40),
    ("pass/float32/64MiB/ten", "tensorstat:cl", "limit:cl", 0.30),
    ("pass/float64/64MiB/ten", "tensorstat:all", "limit:all", 0.40),
    ("pass/float16/64MiB/ten", "tensorstat:all", "limit:all", 0.30),
    ("pass/int8/64MiB/ten", "tensorstat:all", "limit:all", 0.30),
    ("peers/float32/64MiB", "tensorstat:all", "peer:mindspore", 10),
    ("peers/float32/64MiB", "tensorstat:all", "peer:numpy", 10),
    ("peers/float16/1MiB", "tensorstat:1", "peer:numpy", 50),
    ("exact/float32/64MiB", "tensorstat:1", "plain:1", 0.50),
    ("pair/float32/64MiB", "tensorstat:all", "limit:all", 0.30),
    ("stream/64MiB/float32", "tensorstat:all", "limit:all", 0.30),
    ("worst/float32/32MiB", "tensorstat:1:log-uniform", "tensorstat:1:normal", 0.15),
    ("worst/float32/32MiB", "tensorstat:1:nan-laden", "tensorstat:1:normal", 0.15),
    ("start-up", "tensorstat:device", "limit:empty-kernel", 0.40),
]


class Contestant:
    def __init__(self):
        self.rounds_ns, self.counters, self.label, self.error = [], {}, "", ""

    def ns(self):
        return statistics.median(self.rounds_ns)

    def gb_s(self):
        return self.counters["bytes"] / self.ns()


def load(directory):
    """The groups in the order of the files, each a dict of contestants; and the context of the last file."""
    groups, context = {}, {}
    for path in sorted(pathlib.Path(directory).glob("[0-9][0-9][0-9]-*.json")):
        try:
            report = json.loads(path.read_text())
        except ValueError:
            continue  # bench/run has reported that this group failed
        context = report["context"] | {k: v for k, v in context.items() if k == "opencl"}
        for row in report["benchmarks"]:
            if row.get("run_type") == "aggregate":
                continue
            group, entry = row["name"].rsplit("/", 2)[:2]
            contestant = groups.setdefault(group, {}).setdefault(entry, Contestant())
            if row.get("error_occurred"):
                contestant.error = row["error_message"]
                continue
            unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]
            contestant.rounds_ns.append(row["real_time"] * unit)
            contestant.label = row.get("label", "")
            contestant.counters = row
    return groups, context


def took_part(group, entry):
    return entry in group and bool(group[entry].rounds_ns)


def ratios(fast, slow):
    """How many times as fast the first is in each round, sorted."""
    return sorted(b / a for a, b in zip(fast.rounds_ns, slow.rounds_ns))


def short(number):
    if number == 0:
        return "0"
    if number >= 1e6:
        return f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    decimals = 0 if number >= 100 else 1 if number >= 10 else 2 if number >= 0.1 else 3
    return f"{number:.{decimals}f}"


def ratio(group, entry, beside):
    if not (took_part(group, entry) and took_part(group, beside)):
        return "-"
    rounds = ratios(group[entry], group[beside])
    if len(rounds) < 2:
        return short(rounds[0])
    low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
    return f"{short(middle)} ({short(low)}-{short(high)})"


def cell(group, entry, read):
    return read(group[entry]) if took_part(group, entry) else "-"


def show(title, heads, rows):
    if not rows:
        return
    rows = [heads] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    print(f"\n{title}\n")
    for i, row in enumerate(rows):
        print("  " + "  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]).rstrip())
        if i == 0:
            print("  " + "-" * (sum(widths) + 2 * len(widths) - 2))


def in_order(group):
    """The contestants that ran: tensorstat's lanes in order, then the peers by name."""
    def place(entry):
        kind, lane = entry.split(":")[:2]
        return (kind != "tensorstat", list(LANES).index(lane) if lane in LANES else 0, entry)
    return [(entry, group[entry]) for entry in sorted(group, key=place) if group[entry].rounds_ns]


def speed_rows(groups, prefix):
    for name, group in groups.items():
        if not name.startswith(prefix):
            continue
        what = name[len(prefix):].replace("/", " ")
        for lane, words in LANES.items():
            ours = f"tensorstat:{lane}"
            limit = "limit:md5" if "limit:md5" in group else f"limit:{lane}"
            if took_part(group, ours):
                yield [what, words, cell(group, ours, lambda c: short(c.gb_s())),
                       cell(group, limit, lambda c: short(c.gb_s())), ratio(group, ours, limit)]
                what = ""


def pair_rows(groups):
    for name, group in groups.items():
        if not name.startswith("pair/"):
            continue
        for what, words, *cells in speed_rows({name: group}, "pair/"):
            lane = next(lane for lane, known in LANES.items() if known == words)
            yield [what, words, *cells, ratio(group, f"tensorstat:{lane}", "peer:numpy")]


def peer_rows(groups):
    for name, group in groups.items():
        if not name.startswith("peers/"):
            continue
        what = name[len("peers/"):].replace("/", " ")
        for entry, contestant in in_order(group):
            kind, peer = entry.split(":", 1)
            if kind == "limit":
                continue
            is_peer = kind == "peer"
            get = contestant.counters.get
            yield [what, peer if is_peer else "tensorstat, " + LANES[peer], short(contestant.gb_s()),
                   f"{get('statistics', 0):.0f}" if is_peer else "10",
                   *(("" if not is_peer else ratio(group, f"tensorstat:{lane}", entry)) for lane in LANES),
                   *(short(get(key)) if key in contestant.counters else "-" if is_peer else "exact"
                     for key in ("avg_ulp", "l2norm_ulp"))]
            what = ""


def batch_rows(groups):
    for name, group in groups.items():
        if not name.startswith(("batch/", "small/")):
            continue
        what = name.replace("/", " ")
        for entry, contestant in in_order(group):
            kind, lane, *more = entry.split(":")
            if kind == "limit":
                continue
            each = contestant.counters["tensors"]
            if kind == "peer":
                yield [what, lane, short(contestant.ns() / each), "-"]
                continue
            bytes_ns = group[f"limit:{lane}"].ns() if took_part(group, f"limit:{lane}") else None
            yield [what, " + ".join([LANES[lane], *more]), short(contestant.ns() / each),
                   "-" if bytes_ns is None else short(max(0, contestant.ns() - bytes_ns) / each)]
            what = ""


def exact_rows(groups):
    for name, group in groups.items():
        for lane, words in LANES.items():
            if name.startswith("exact/") and took_part(group, f"plain:{lane}"):
                speeds = [cell(group, f"{kind}:{lane}", lambda c: short(c.gb_s())) for kind in ("tensorstat", "plain", "limit")]
                yield [name[len("exact/"):].replace("/", " "), words, *speeds,
                       ratio(group, f"tensorstat:{lane}", f"plain:{lane}"), ratio(group, f"plain:{lane}", f"limit:{lane}")]


WORST = ("log-uniform", "subnormal", "nan-laden", "maxima")


def rows_beside(prefix, first, others, groups):
    """For the groups with this prefix: the speed of the first kind, and the other kinds' speed relative to it."""
    for name, group in groups.items():
        for lane, words in LANES.items():
            one = f"tensorstat:{lane}:{first}"
            if name.startswith(prefix) and took_part(group, one):
                yield [name[len(prefix):].replace("/", " "), words, short(group[one].gb_s()),
                       *(ratio(group, f"tensorstat:{lane}:{other}", one) for other in others)]


def worst_rows(groups):
    return rows_beside("worst/", "normal", WORST, groups)


REAL = ("attention", "second-moment", "embedding", "relu", "logits", "layer-norm", "scaled")


def real_rows(groups):
    return rows_beside("real/", "normal", REAL, groups)


BESIDE = ("finite", "where", "all", "casts", "exponents", "quantiles", "ascending", "scattered")


def beside_rows(groups):
    return rows_beside("beside/", "ten", BESIDE, groups)


CHANNELS = ("outer-64", "outer-4096", "inner-64", "inner-4096")


def channel_rows(groups):
    return rows_beside("rows/", "ten", CHANNELS, groups)


def start_rows(groups):
    for entry, contestant in sorted(groups.get("start-up", {}).items()):
        if contestant.rounds_ns:
            beside = ratio(groups["start-up"], "limit:empty-kernel", entry)
            yield [entry.split(":")[1], short(contestant.ns() / 1e6), beside]


def training_rows(groups):
    group = groups.get("training", {})
    for entry, contestant in sorted(group.items(), key=lambda item: (item[0] != "limit:bare", item[0])):
        if contestant.rounds_ns:
            kind, lane, *more = entry.split(":")
            words = {"limit": "nothing", "peer": "statistics by " + lane, "session": "dump session: " + lane}.get(kind)
            words = words or " + ".join(["statistics, " + LANES.get(lane, lane), *more])
            yield [words, short(contestant.ns() / 1e6), ratio(group, "limit:bare", entry)]


def md5_rows(groups):
    for name, group in groups.items():
        if not name.startswith("md5_many/"):
            continue
        for lanes, contestant in sorted(group.items()):
            if contestant.rounds_ns:
                yield [name.rsplit("/", 1)[-1], lanes, *(short(contestant.counters[key])
                                                         for key in ("best_GB/s", "openssl_GB/s", "times_openssl"))]


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return "unknown processor"


def check(groups):
    print("\nBounds")
    looked_at = 0
    for name, entry, beside, least in BOUNDS:
        group = groups.get(name, {})
        if not (took_part(group, entry) and took_part(group, beside)):
            print(f"  warning: {name}: {entry} beside {beside} was not measured")
            continue
        looked_at += 1
        middle = statistics.median(ratios(group[entry], group[beside]))
        if middle < least:
            print(f"  warning: {name}: {entry} is {short(middle)} times as fast as {beside}, usually at least {short(least)}")
    print(f"  {looked_at} ratios looked at")


def show_errors(groups):
    whose = {}
    for name, group in groups.items():
        for entry, contestant in group.items():
            if contestant.error:
                whose.setdefault(contestant.error, []).append(f"{name}/{entry}")
    for error, those in whose.items():
        print(f"\nnot measured, {error}:\n  " + "\n  ".join(those))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="full")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("directory")
    options = parser.parse_args()
    groups, context = load(options.directory)
    if not groups:
        raise SystemExit("no results in " + options.directory)

    load_average = ", ".join(f"{each:.1f}" for each in context.get("load_avg", []))
    print(f"tensorstat {options.commit}, {options.mode} run, {context['date'][:16]}")
    print(f"{processor()}, {context['num_cpus']} cores; OpenCL: {context.get('opencl', 'none')}; load average {load_average}")
    print("Speeds are medians in GB/s; ratios compare the same round of both: median (quartiles).")

    limit_heads = ["tensor", "engine", "GB/s", "limit", "of the limit"]
    show("One pass over one tensor, beside only reading it", limit_heads, list(speed_rows(groups, "pass/")))
    show("Two tensors in one pass, beside only reading both", [*limit_heads, "x numpy"], list(pair_rows(groups)))
    show("A tensor in pieces of 8 MiB", limit_heads, list(speed_rows(groups, "stream/")))
    show("Peers: how many times as fast tensorstat is, and how far from the exact value they end (binary64 ulp)",
         ["tensor", "who", "GB/s", "statistics", "x host 1", "x host all", "x opencl", "avg", "l2norm"], list(peer_rows(groups)))
    show("Many tensors, and small ones: ns a tensor", ["tensors", "engine", "all", "beyond the bytes"], list(batch_rows(groups)))
    show("Exact sums beside plain binary64 sums", ["tensor", "engine", "exact", "plain", "limit", "exact of plain", "plain of the limit"],
         list(exact_rows(groups)))
    show("Hard data: speed as a share of that on N(0, 1)", ["tensor", "engine", "normal GB/s", *WORST], list(worst_rows(groups)))
    show("Data of a training step: speed as a share of that on N(0, 1)", ["tensor", "engine", "normal GB/s", *REAL],
         list(real_rows(groups)))
    show("More statistics: speed as a share of that of the ten alone; of all of them on ascending data too",
         ["tensor", "engine", "ten GB/s", *BESIDE], list(beside_rows(groups)))
    show("A row for each channel, the first axis or the last: speed as a share of that of one row of the whole",
         ["tensor", "engine", "ten GB/s", *CHANNELS], list(channel_rows(groups)))
    show("A training step, and measuring every weight, gradient and activation after it",
         ["measured", "ms", "times the bare step"], list(training_rows(groups)))
    show("A process to its first result", ["process", "ms", "times the empty kernel's"], list(start_rows(groups)))
    show("MD5 of many messages on one core", ["messages", "lanes", "GB/s", "OpenSSL", "ratio"], list(md5_rows(groups)))

    show_errors(groups)
    if options.mode == "check":
        check(groups)


main()
