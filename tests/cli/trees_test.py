"""plan, fold, merge: a tree that is folded in parts, by processes that are killed, in any order and with any cuts, has
the rows of one call of the command, byte for byte. What is missing, damaged, changed or foreign is named."""
import os
import random
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

import numpy

COMMAND = os.environ["COMMAND"]
SEED = 37


def content(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def run(*arguments, **more):
    return subprocess.run([COMMAND, *arguments], capture_output=True, timeout=600, **more)


def write_tree(folder, files, seed=SEED):
    """Files of several dtypes and containers; some are large enough to be cut."""
    rng = numpy.random.default_rng(seed)
    os.makedirs(folder)
    for i in range(files):
        path = f"{folder}/layer{i % 5}"
        os.makedirs(path, exist_ok=True)
        dtype = rng.choice(["f2", "f4", "f8", "i1", "u2", "i8", "c8", "?"])
        x = (rng.normal(size=int(rng.integers(0, 4000))) * 3).astype(dtype)
        if i % 7 == 3:
            numpy.savez(f"{path}/box{i}.npz", a=x, b=x[::2], empty=x[:0])
        else:
            numpy.save(f"{path}/x{i}.npy", x)
    large = rng.normal(size=(1100, 1700)).astype("f4")
    large[777, 3], large[5, 6], large[1000, 1000] = numpy.nan, numpy.inf, 9e9
    numpy.save(f"{folder}/large.npy", large)
    numpy.save(f"{folder}/fortran.npy", numpy.asfortranarray(large.astype("f8")))


class Trees(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.random = random.Random(SEED)

    def plan(self, parts, *options, tree="tree", output="plan"):
        ran = run("plan", tree, "--parts", str(parts), "-o", output, *options)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return sorted(os.listdir(output))

    def fold(self, part, states="states", plan="plan"):
        return run("fold", f"@{plan}/{part}", "-o", f"{states}/{part}.tsp", "-j", "2")

    def fold_all(self, parts, **more):
        for part in self.random.sample(parts, len(parts)):
            ran = self.fold(part, **more)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def assert_same_rows(self, *options, states="states", plan_options=(), status=0):
        for form in ("table", "csv", "ndjson"):
            whole = run("tree", *plan_options, *options, "--format", form)
            merged = run("merge", states, *options, "--format", form)
            self.assertEqual((merged.returncode, merged.stdout), (whole.returncode, whole.stdout), (form, merged.stderr))
            self.assertEqual(merged.stderr, whole.stderr)
            self.assertIn(merged.returncode, (status, 3))
            self.assertGreater(len(merged.stdout), 100)

    def test_every_kind_of_request(self):
        write_tree("tree", 30)
        for options in ((), ("--stats", "all"), ("--stats", "argmax,first nan index,crc32,xor64,p50,exponents,std"),
                        ("--precision", "low"), ("--stats", "e4m3fn overflow,max", "--scale", "0.5"), ("--by", "block=90000"),
                        ("--order", "size", "--stats", "l2norm")):
            for folder in ("plan", "states"):
                shutil.rmtree(folder, ignore_errors=True)
            parts = self.plan(5, *options)
            self.assertEqual(parts, ["000", "001", "002", "003", "004"])
            self.fold_all(parts)
            self.assert_same_rows(plan_options=options)

    def test_a_large_tensor_is_cut(self):
        write_tree("tree", 0)
        def lines(name, start):
            texts = [content(f"{name}/{part}").decode() for part in self.plan(6, "--stats", stats, output=name)]
            return sum(text.count("\n" + start) for text in texts)

        stats = "max"
        self.assertGreaterEqual(lines("a", "elements "), 6)
        self.assertEqual(lines("b", "tensors "), 0)
        stats = "argmax,crc32"  # in C order, which the Fortran-ordered tensor is not stored in
        self.assertEqual(lines("c", "tensors 0 1\n"), 2)
        os.remove("tree/fortran.npy")
        self.assertEqual(lines("d", "elements "), 6)

    def test_what_has_no_numbers_is_a_note(self):
        """A text is said by plan and by fold, and nothing is missing in the end."""
        write_tree("tree", 5)
        numpy.save("tree/words.npy", numpy.array(["a", "b"]))
        note = b"tree/words.npy: holds texts"
        planned = run("plan", "tree", "--parts", "2", "-o", "plan")
        self.assertEqual((planned.returncode, planned.stderr.count(note)), (0, 1), planned.stderr)
        folded = [self.fold(part) for part in sorted(os.listdir("plan"))]
        self.assertEqual(([each.returncode for each in folded], sum(each.stderr.count(note) for each in folded)), ([0, 0], 1))
        self.assertEqual(run("plan", "tree", "--parts", "2", "-o", "quiet", "-q").stderr, b"")
        self.assertEqual([run("merge", "states").returncode, run("tree").returncode], [0, 0])

    def test_questions_of_the_merge(self):
        write_tree("tree", 20)
        self.fold_all(self.plan(4))
        self.assert_same_rows("--where", "absmax > 5 and dtype == float32", "--sort", "-std", "--top", "4")
        self.assert_same_rows("--fail-on", "nan,absmax>100", status=1)
        asked = run("merge", "states", "--stats", "max,p99")
        self.assertEqual(asked.returncode, 2)
        self.assertIn(b"do not have p99: plan with --stats", asked.stderr)

    def test_killed_workers_cost_their_part_alone(self):
        write_tree("tree", 200)
        parts = self.plan(7)
        self.assertEqual(len(parts), 7)
        work = self.random.sample(parts, 7)
        kills = 2
        lock = threading.Lock()

        def worker():
            nonlocal kills
            while True:
                with lock:
                    if not work:
                        return
                    part = work.pop()
                    is_killed = kills > 0
                    kills -= is_killed
                arguments = [COMMAND, "fold", f"@plan/{part}", "-o", f"states/{part}.tsp", "-j", "1"]
                process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
                if is_killed:
                    time.sleep(self.random.random() * 0.05)
                    process.kill()
                process.communicate()
                if process.returncode != 0:
                    with lock:
                        work.append(part)

        threads = [threading.Thread(target=worker) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(kills, 0)
        self.assert_same_rows()

    def test_a_whole_state_is_skipped(self):
        write_tree("tree", 10)
        parts = self.plan(2)
        self.fold_all(parts)
        before = os.stat("states/001.tsp")
        ran = self.fold("001")
        self.assertEqual((ran.returncode, ran.stderr), (0, b"tensorstat: states/001.tsp: part 001 of 2 is there and whole; skipped\n"))
        self.assertEqual(os.stat("states/001.tsp").st_ino, before.st_ino)
        whole = content("states/001.tsp")
        # Damaged: folded again. The last three are what a power failure leaves.
        for damaged in (whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], whole[:50] + bytes(len(whole) - 50),
                        bytes(len(whole)), b""):
            write("states/001.tsp", damaged)
            self.assertEqual(run("merge", "states").returncode, 3)
            self.assertEqual(self.fold("001").returncode, 0)
            self.assertEqual(content("states/001.tsp"), whole)
        write("states/001.tsp", b"my notes")  # not written by tensorstat: kept
        ran = self.fold("001")
        self.assertEqual((ran.returncode, content("states/001.tsp")), (2, b"my notes"))
        ran = run("fold", "@plan/000", "-o", "states/000.tsp")
        self.assertEqual(run("fold", "@plan/001", "-o", "states/000.tsp").returncode, 2)

    def test_what_is_missing_or_damaged_is_named(self):
        write_tree("tree", 40)
        parts = self.plan(9)
        self.fold_all(parts)
        shutil.move("states/004.tsp", "away")
        with open("states/006.tsp", "r+b") as file:
            file.seek(200)
            file.write(b"\0\1\2\3")
        ran = run("merge", "states", "-o", "rows.csv")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"states/006.tsp: a damaged state (a checksum is wrong); fold its part again", ran.stderr)
        self.assertIn(b"parts 004, 006 of 9 are missing", ran.stderr)
        self.assertRegex(ran.stderr, rb"(large|fortran).npy: elements \d+ to \d+ are missing, so it has no row")
        whole = run("tree", "-o", "whole.csv")
        rows, all_rows = content("rows.csv").splitlines(), content("whole.csv").splitlines()
        self.assertTrue(0 < len(rows) < len(all_rows) and set(rows) < set(all_rows))
        self.assertEqual(whole.returncode, 0)

    def test_what_is_foreign_is_refused(self):
        write_tree("tree", 10)
        self.fold_all(self.plan(2))
        self.plan(2, "--stats", "max", output="other")
        self.assertEqual(self.fold("001", plan="other", states="other_states").returncode, 0)
        shutil.copy("other_states/001.tsp", "states/zzz.tsp")
        ran = run("merge", "states")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"states/zzz.tsp: a state of another plan than states/000.tsp, and is left out", ran.stderr)
        os.remove("states/zzz.tsp")
        for text, words in ((b"", b"not a list of a plan"), (b"tensorstat-plan 9\n", b"another version"),
                            (content("plan/000") + b"elements 1", b"is cut off")):
            write("list", text)
            ran = run("fold", "@list", "-o", "x.tsp")
            self.assertEqual((ran.returncode, words in ran.stderr, os.path.exists("x.tsp")), (3, True, False), ran.stderr)
        self.assertEqual(run("plan", "tree", "--parts", "2", "-o", "plan").returncode, 5)  # is there
        self.assertEqual(run("plan", "nothing", "--parts", "2", "-o", "new").returncode, 3)
        self.assertEqual(run("plan", "tree", "--parts", "0", "-o", "new").returncode, 2)
        self.assertFalse(os.path.exists("new"))
        self.assertEqual(run("merge", "plan").returncode, 3)

    def test_no_state_that_is_read_is_replaced(self):
        write_tree("tree", 10)
        self.fold_all(self.plan(2))
        self.plan(1, "--stats", "max", output="other")
        self.assertEqual(self.fold("000", plan="other", states="foreign").returncode, 0)
        before = content("foreign/000.tsp"), content("states/000.tsp")
        for arguments in (("states", "foreign/000.tsp", "-o", "foreign/000.tsp"),  # is of another plan, and left out
                          ("states/001.tsp", "states/000.tsp", "-o", "states/000.tsp"), ("states", "-o", "states/000.tsp")):
            ran = run("merge", *arguments)
            self.assertEqual(ran.returncode, 2, arguments)
            self.assertIn(b"is one of the inputs; name another file", ran.stderr)
        self.assertEqual((content("foreign/000.tsp"), content("states/000.tsp")), before)

    def test_a_file_that_changes_is_named(self):
        write_tree("tree", 10)
        parts = self.plan(3)
        self.assertEqual(self.fold("000").returncode, 0)
        numpy.save("tree/large.npy", numpy.zeros((1100, 1700), "f4"))
        statuses = [self.fold(part).returncode for part in parts]
        self.assertEqual(statuses.count(3) >= 1, True, statuses)
        ran = run("merge", "states")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"tree/large.npy: was changed after it was planned; plan again", ran.stderr)
        self.assertNotIn(b"large.npy ", ran.stdout)

    def test_a_file_that_cannot_be_read(self):
        write_tree("tree", 10)
        write("tree/bad.npy", b"junk")
        ran = run("plan", "tree", "--parts", "3", "-o", "plan")
        self.assertEqual((ran.returncode, b"bad.npy" in ran.stderr), (3, True))
        statuses = sorted(self.fold(part).returncode for part in ("000", "001", "002"))
        self.assertEqual(statuses, [0, 0, 3])
        self.assert_same_rows(status=3)

    def test_merges_of_merges(self):
        write_tree("tree", 40)
        parts = self.plan(11, "--stats", "max,avg,p50,crc32")
        self.fold_all(parts)
        os.mkdir("some")
        for i in range(3):
            some = [f"states/{part}.tsp" for part in parts[i::3]]
            self.assertEqual(run("merge", *some, "-o", f"some/{i}.tsp").returncode, 3)  # parts are missing
        self.assert_same_rows(states="some", plan_options=("--stats", "max,avg,p50,crc32"))
        self.assertEqual(run("merge", "some", "-o", "all.tsp").returncode, 0)
        self.assert_same_rows(states="all.tsp", plan_options=("--stats", "max,avg,p50,crc32"))
        both = run("merge", "states", "some", "all.tsp", "--format", "csv")  # each part counts once
        self.assertEqual((both.returncode, both.stdout), (0, run("merge", "all.tsp", "--format", "csv").stdout))
        run("merge", "states/000.tsp", "states/001.tsp", "-o", "x.tsp")
        run("merge", "states/001.tsp", "states/002.tsp", "-o", "y.tsp")
        shared = run("merge", "x.tsp", "y.tsp")
        self.assertEqual(shared.returncode, 2)
        self.assertIn(b"share part 001", shared.stderr)

    def test_a_tensor_larger_than_the_machine(self):
        os.mkdir("tree")
        count = 20 * 1000**3  # 80 GB, a sparse file
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % count
        head += b" " * (127 - 10 - len(head)) + b"\n"
        with open("tree/x.npy", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
            file.truncate(10 + len(head) + 4 * count)
        parts = self.plan(64)
        ends = []
        for part in parts:
            (line,) = [line.split() for line in content(f"plan/{part}").decode().splitlines() if line.startswith("elements")]
            ends.append((int(line[2]), int(line[3])))
        self.assertEqual((ends[0][0], ends[-1][1]), (0, count))
        self.assertEqual([a[1] for a in ends[:-1]], [b[0] for b in ends[1:]])
        self.assertTrue(all(first % 1024 == 0 for first, _ in ends))
        sizes = [end - first for first, end in ends]
        self.assertLess(max(sizes), 1.001 * count / 64)

    def test_hostile_states(self):
        write_tree("tree", 3)
        self.fold_all(self.plan(3, "--stats", "max,avg,argmax,exponents"))
        whole = content("states/001.tsp")
        right = run("merge", "states").stdout
        frames, offset = [], 8
        while offset < len(whole):
            (length,) = struct.unpack_from("<I", whole, offset)
            frames.append(whole[offset + 8:offset + 8 + length])
            offset += 8 + length

        def limited():
            import resource
            if "ASAN_OPTIONS" not in os.environ:  # ASan reserves more than any limit
                resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        for i in range(300):
            text = bytearray(whole)
            if i % 3 == 0:  # any byte
                text[self.random.randrange(len(text))] ^= 1 << self.random.randrange(8)
            elif i % 3 == 1:
                del text[self.random.randrange(len(text)):]
            else:  # with the right checksum
                changed = [bytearray(frame) for frame in frames]
                frame = self.random.choice(changed)
                for _ in range(self.random.choice([1, 1, 8])):
                    frame[self.random.randrange(len(frame))] = self.random.choice([0, 1, 127, 255, self.random.randrange(256)])
                text = whole[:8] + b"".join(struct.pack("<II", len(f), zlib.crc32(f)) + f for f in changed)
            write("states/001.tsp", text)
            ran = run("merge", "states", preexec_fn=limited)
            self.assertIn(ran.returncode, (0, 2, 3), (SEED, i, ran.stderr))
            if i % 3 != 2 and bytes(text) != whole:
                self.assertNotEqual((ran.returncode, ran.stdout), (0, right), (SEED, i))
                self.assertNotEqual(ran.returncode, 0, (SEED, i))


if __name__ == "__main__":
    unittest.main()
