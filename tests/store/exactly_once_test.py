"""Each row is in a store once: after kill -9 at any moment, of several adders, of files that grow."""
import os
import random
import signal
import subprocess
import time
import unittest

from stores import COMMAND, HEADING, StoreTest, row, run

KILLS = 1000 if os.environ.get("TENSORSTAT_FULL") else 50


class ExactlyOnce(StoreTest):
    def assert_holds(self, rows):
        self.assertEqual(self.ask("PRAGMA integrity_check"), [("ok",)])
        answer = self.ask("SELECT op_name, iteration, time_us, max, l2norm FROM tensorstat ORDER BY time_us")
        wanted = [(f"layer/{i % 50}", i // 50, 1000 + i, i + 0.5, i / 3) for i in range(rows)]
        self.assertEqual(answer, wanted)

    def test_kills_of_add_and_follow(self):
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        rows = 0
        self.write("dump/statistic.csv", HEADING)
        with self.subTest(seed=seed), open("dump/statistic.csv", "a") as log:
            for kill in range(KILLS):
                follow = ["--follow"] if kill % 2 else []
                adder = subprocess.Popen([COMMAND, "store", "add", "runs.db", "dump", *follow], stderr=subprocess.DEVNULL)
                end = time.monotonic() + chance.random() * 0.06
                while time.monotonic() < end:
                    more = "".join(row(i) for i in range(rows, rows + 40))
                    cut = chance.randrange(len(more))
                    log.write(more[:cut])
                    log.flush()
                    log.write(more[cut:])
                    log.flush()
                    rows += 40
                adder.send_signal(signal.SIGKILL)
                adder.wait()
                # A reader takes back half an addition of a killed one; the store holds a whole beginning.
                if os.path.exists("runs.db") and kill % 10 == 0:
                    run("store", "runs", "runs.db")
            self.add("runs.db", "dump")
            self.assert_holds(rows)

    def test_eight_adders_of_one_dump(self):
        rows = 4000
        self.write("dump/statistic.csv", HEADING + "".join(row(i) for i in range(rows)))
        adders = [subprocess.Popen([COMMAND, "store", "add", "runs.db", "dump"], stderr=subprocess.PIPE) for _ in range(8)]
        for adder in adders:
            self.assertEqual((adder.communicate()[1][-40:], adder.returncode)[1], 0)
        self.assert_holds(rows)

    def test_eight_adders_of_their_own_dumps(self):
        for i in range(8):
            self.write(f"dump{i}/statistic.csv", HEADING + "".join(row(j) for j in range(2000)))
        adders = [subprocess.Popen([COMMAND, "store", "add", "runs.db", f"dump{i}"], stderr=subprocess.PIPE) for i in range(8)]
        for adder in adders:
            words = adder.communicate()[1]
            self.assertEqual(adder.returncode, 0, words)
        self.assertEqual(self.ask("SELECT run, count(*), count(DISTINCT time_us) FROM tensorstat GROUP BY run ORDER BY run"),
                         [(f"dump{i}", 2000, 2000) for i in range(8)])

    def test_a_line_without_its_end_waits(self):
        text = HEADING + row(0) + row(1)
        for cut in range(len(HEADING) - 3, len(text) + 1):
            self.write("dump/statistic.csv", text[:cut])
            if os.path.exists("runs.db"):
                os.remove("runs.db")
            self.add("runs.db", "dump")
            with open("dump/statistic.csv", "a") as log:
                log.write(text[cut:] + row(2))
            self.add("runs.db", "dump")
            self.assert_holds(3)

    def test_new_statistics_and_new_files(self):
        self.write("dump/statistic.csv", HEADING + row(0))
        self.add("runs.db", "dump", "--run", "x")
        self.write("dump/more/statistic.csv", HEADING.replace("NaN Count", "Zero Count") + row(1))
        self.add("runs.db", "dump", "--run", "x")
        self.add("runs.db", "dump", "--run", "x")
        self.assertEqual(self.ask("SELECT nan_count, zero_count FROM tensorstat ORDER BY time_us"), [(0, None), (None, 0)])


if __name__ == "__main__":
    unittest.main()
