"""Runs that have more rows than are kept in memory. `origin` and `report` name the operator that made the NaN. `diff` says the same as of
the same runs with equal iterations taken out. The memory does not grow with the rows."""
import json
import os
import resource
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
HEADING = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm Value\n"
OPERATORS = 400  # an iteration has two rows of each
GUILTY = 123


def iteration(spoiled="2"):
    """The rows of an iteration; the input of an operator is the output of the one before. `spoiled`: the max of all from one on."""
    rows = [HEADING]
    for number in range(OPERATORS):
        for place in ("input", "output"):
            value = spoiled if (number, place) >= (GUILTY, "output") else "2"
            rows.append(f'Exp,Default_net_Exp-op{number},0,0,{100 + number},{place},0,24,float32,"(2,3)",{value},-1,2,\n')
    return "".join(rows)


def write(folder, iterations, faulty=(), spoiled="nan"):
    """Two ranks that run the same."""
    texts = iteration(), iteration(spoiled)
    for rank in (0, 1):
        for number in iterations:
            os.makedirs(f"{folder}/rank_{rank}/net/0/{number}")
            with open(f"{folder}/rank_{rank}/net/0/{number}/statistic.csv", "w") as file:
                file.write(texts[number in faulty])


def most_memory(*arguments):
    """The greatest resident memory of the command in bytes."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        with open(os.devnull, "w") as nothing:
            subprocess.run([COMMAND, *arguments], stdout=nothing, stderr=nothing)
        os.write(writer, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        most = int(pipe.read())
    os.waitpid(process, 0)
    return most


class LongRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)

    def run_command(self, *arguments, exit):
        ran = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (exit, ""), arguments)
        return ran.stdout

    def test_rows_as_csv_with_their_paths(self):
        """Rows of different folders have different paths, and no row has to be kept to see whether two are alike."""
        write("short", range(10))
        write("dump", range(300))  # 480,000 rows, which took 20 to 48 bytes each
        few, many = (most_memory(path, "--format", "csv", "--columns", "rank,iteration,path") for path in ("./short", "./dump"))
        self.assertLess(many - few, 2 << 20)

    def test_the_operator_is_named(self):
        write("dump", range(170), faulty={150, 151, 160})  # 272,000 rows
        text = self.run_command("origin", "dump", exit=1)
        sentence = f"NaN in Default_net_Exp-op{GUILTY} (Exp), forward, iteration 150"
        self.assertIn(sentence, text)
        self.assertIn("max 2", text)
        self.assertIn(sentence, self.run_command("report", "dump", exit=1))
        origin = json.loads(self.run_command("origin", "dump", "--format", "json", exit=1))
        self.assertEqual(origin["verdict"]["sentence"], text.split("\n")[0])
        self.assertEqual(origin["verdict"]["last_clean_iteration"], 149)
        first = origin["producers"][0]
        self.assertEqual((first["op_name"], first["iteration"], first["before"][-1], len(first["before"])),
                         (f"Default_net_Exp-op{GUILTY}", 150, f"Default_net_Exp-op{GUILTY - 1}", 20))
        self.assertEqual(first["inputs"], [{"slot": 0, "stats": {"max": 2, "min": -1, "l2norm": 2}}])
        self.assertEqual({each["iteration"] for each in origin["propagators"]}, {150, 151, 160})
        self.assertIn("272000 rows, ", self.run_command("origin", "dump", "--all", exit=1))

    def test_a_difference_is_found(self):
        write("a", range(170))
        write("b", [number for number in range(170) if number != 20], faulty={150, 160}, spoiled="3")
        write("few_a", (20, 150, 160))
        write("few_b", (150, 160), faulty={150, 160}, spoiled="3")
        compared, few = 169 * 1600, 2 * 1600
        for options in ([], ["--first"]):
            text = self.run_command("diff", "a", "b", *options, exit=1)
            self.assertIn(f"{compared} tensors compared, {4 * (OPERATORS - GUILTY) * 2 - 4} differ, 1600 only in A, 0 only in B", text)
            self.assertEqual(text.replace(str(compared), str(few)), self.run_command("diff", "few_a", "few_b", *options, exit=1))
        self.assertIn(f"begins here  Exp Default_net_Exp-op{GUILTY} output 0 (rank 0, iteration 150)",
                      self.run_command("diff", "a", "b", "--first", exit=1))
        self.assertEqual(self.run_command("diff", "a", "a", exit=0), "272000 tensors compared, 0 differ, 0 only in A, 0 only in B\n")
        diff = json.loads(self.run_command("diff", "a", "a", "--format", "json", exit=0))
        self.assertEqual((diff["compared"], len(diff["pairs"])), (272000, 272000))

    def test_memory_does_not_grow(self):
        write("short", range(130))
        write("long", range(390), faulty={380})
        self.assertIn("Nothing wrong: neither NaN nor Inf in 208000 tensors of 130 iterations", self.run_command("origin", "short", exit=0))
        self.assertLess(most_memory("origin", "long"), most_memory("origin", "short") + (16 << 20))
        self.assertLess(most_memory("diff", "long", "long"), most_memory("diff", "short", "short") + (16 << 20))


if __name__ == "__main__":
    unittest.main()
