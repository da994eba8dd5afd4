"""What a store answers is what its files have: also of files with a fault, found twice, replaced, or that grew by less."""
import os
import sqlite3
import subprocess
import time
import unittest

from stores import COMMAND, HEADING, IDENTITY, StoreTest, row, run

MONITOR = "vpp_stage,name,step,min,max,norm\n"


def parameter(value, nan):
    return f'Parameter,w,0,0,1,output,0,8,float32,"(2)",{value},2,{nan},0\n'


class WhatIsRead(StoreTest):
    def rows(self, store="runs.db"):
        ran = run("store", "rows", store)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_rows_before_a_fault_keep_their_statistics(self):
        cases = {"dump/statistic.csv": (HEADING + row(0) + row(1), "garbage\n"),
                 "m-rank0/param_0-9.csv": (MONITOR + "0,w,0,1,2,3\n", "0,w,1\n")}
        for path, (sound, fault) in cases.items():
            with self.subTest(path):
                self.write("sound/" + path, sound)
                self.write("faulty/" + path, sound + fault)
                self.add("sound.db", "sound/" + os.path.dirname(path), "--run", path.replace("/", "_"))
                self.add("faulty.db", "faulty/" + os.path.dirname(path), "--run", path.replace("/", "_"), status=3)
                self.assertEqual(self.rows("faulty.db"), self.rows("sound.db"))
                os.remove("sound.db")
                os.remove("faulty.db")

    def test_a_monitor_that_writes_less_takes_nothing_away(self):
        self.write("m-rank0/param_0-9.csv", MONITOR + "0,w,0,1,2,3\n")
        self.add("runs.db", "m-rank0")
        before = self.rows()
        for more in ("0,w,1,,,4\n", "0,w,2"):
            with open("m-rank0/param_0-9.csv", "a") as log:
                log.write(more)
            self.add("runs.db", "m-rank0")
            self.assertTrue(self.rows().startswith(before))

    def test_a_follower_takes_the_last_tensor_of_a_log(self):
        log = "nvdlfw_inspect_statistics_logs/nvdlfw_inspect_globalrank-0.log"
        line = "INFO - {}_activation_max iteration=000001 value=2.5\n"
        self.write(log, line.format("a") + line.format("b"))
        # A store answers while it is followed.
        follower = subprocess.Popen([COMMAND, "store", "add", "runs.db", log, "--follow"], stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end and (not os.path.exists("runs.db") or run("store", "rows", "runs.db").stdout.count("\n") < 3):
                time.sleep(.2)
        finally:
            follower.terminate()
            follower.wait()
        self.assertEqual(self.ask("SELECT op_name FROM tensorstat ORDER BY line"), [("a_activation",), ("b_activation",)])

    def test_a_file_that_is_named_twice_is_added_once(self):
        self.write("dump/statistic.csv", HEADING + row(0))
        self.add("runs.db", "dump", "dump/statistic.csv", "--run", "x")
        self.write("dump/statistic.csv", HEADING + row(0) + row(1))
        self.add("runs.db", "dump", "./dump", "--run", "x")
        self.assertEqual(self.ask("SELECT time_us FROM tensorstat ORDER BY line"), [(1000,), (1001,)])

    def test_iterations_of_replaced_rows_are_gone(self):
        self.write("dump/statistic.csv", HEADING + "".join(row(i, 1) for i in range(10)))
        self.add("runs.db", "dump")
        self.write("dump/statistic.csv", HEADING + "".join(row(i, 1) for i in range(3, 5)))
        self.add("runs.db", "dump")
        self.assertEqual(run("store", "runs", "runs.db").stdout.split()[5:], ["dump", "1", "2", "1", "3..4"])

    def test_a_slash_too_many(self):
        self.write("dump/statistic.csv", HEADING + row(0))
        self.add("runs.db", "dump")
        here, rows = os.getcwd(), run("runs.db//dump", "--format", "csv").stdout
        for store in (here + "//runs.db", ".//runs.db", "/" + here + "/runs.db", "/" + here + "///runs.db"):
            with self.subTest(store):
                self.assertEqual(run(store + "//dump", "--format", "csv").stdout, rows)
                self.assertEqual(run(store, "--format", "csv").stdout, rows)
                self.assertEqual(run("store", "runs", store).returncode, 0)

    def test_several_rows_of_a_rank_are_no_difference_of_ranks(self):
        """In two graphs, and in two calls of one graph: all ranks have the same values."""
        def write(rank, graph, values):
            self.write(f"dump/rank_{rank}/net/{graph}/0/statistic.csv",
                       HEADING.replace(",Iteration", "") + "".join(parameter(value, 0).replace(",0\n", "\n") for value in values))

        def answer():
            self.add("runs.db", "dump", "--run", "r")
            return [line.split() for line in run("store", "ask", "runs.db", "ranks").stdout.splitlines()[1:]]
        for rank in range(2):
            write(rank, 0, [1, 2])
            write(rank, 1, [3])
        self.assertEqual(answer(), [])
        write(1, 1, [4])
        self.assertEqual(answer(), [["r", "0", "w", "output", "0", "2", "0", "1"]])
        write(1, 1, [3])
        write(1, 0, [2, 2])
        self.assertEqual(len(answer()), 1)

    def test_ranks_differ_where_one_is_nan(self):
        self.write("dump/rank_0/net/0/0/statistic.csv", HEADING + parameter(1, 0))
        self.write("dump/rank_1/net/0/0/statistic.csv", HEADING + parameter(1, 0))
        self.add("runs.db", "dump")
        self.assertNotIn("w", run("store", "ask", "runs.db", "ranks").stdout.split())
        self.write("dump/rank_2/net/0/0/statistic.csv", HEADING + parameter("nan", 1))
        self.add("runs.db", "dump")
        self.assertEqual(run("store", "ask", "runs.db", "ranks").stdout.split()[-4:], ["0", "2", "0", "1"])

    def test_faults_of_rows_with_one_extremum(self):
        """A tensor of -Inf alone has the max -Inf, which `--where inf` knows."""
        for name, heading, value in (("max", "Max Value", "-inf"), ("min", "Min Value", "inf"), ("least", "Min Value", "-3"), ("both", "Max Value,Min Value", "-inf,-inf")):
            self.write(f"{name}/statistic.csv", IDENTITY + f',{heading}\nAdd,{name},0,0,1,output,0,8,float32,"(2)",{value}\n')
        self.add("runs.db", "max", "min", "least", "both", "--run", "r")
        names = {line.split()[2] for line in run("store", "ask", "runs.db", "faults").stdout.splitlines()[1:]}
        self.assertEqual(names, {"max", "min", "both"})
        self.assertEqual(names, {line.split(",")[1] for line in run("runs.db", "--where", "inf", "--format", "csv").stdout.splitlines()[1:]})

    def test_half_of_float16_without_max(self):
        self.write("dump/statistic.csv", IDENTITY + ',Min Value\nAdd,a,0,0,1,output,0,8,float32,"(2)",-40000\n')
        self.add("runs.db", "dump")
        self.assertEqual(run("store", "ask", "runs.db", "half-of-float16").stdout.split()[-1], "40000")

    def test_a_trend_of_graphs_that_share_a_tensor(self):
        for graph in range(2):
            for step in range(2):
                self.write(f"dump/rank_0/net/{graph}/{step}/statistic.csv",
                           IDENTITY + f',Max Value\nParameter,w,0,0,1,output,0,8,float32,"(2)",{graph}.5\n')
        ran = run("convert", "dump", "--to", "msprobe-trend", "-o", "x.trend.db")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        connection = sqlite3.connect("x.trend.db")
        try:
            rows = connection.execute("SELECT step, micro_step, max FROM trend_data JOIN monitoring_targets USING (target_id) "
                                      "ORDER BY step, micro_step").fetchall()
        finally:
            connection.close()
        self.assertEqual(rows, [(0, 0, 0.5), (0, 1, 1.5), (1, 0, 0.5), (1, 1, 1.5)])


if __name__ == "__main__":
    unittest.main()
