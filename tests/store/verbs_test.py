"""Every verb that takes a dump's folder also takes a store, and its answer is the same."""
import json
import os
import subprocess
import unittest

from stores import COMMAND, HEADING, StoreTest, row, run


class Verbs(StoreTest):
    def setUp(self):
        super().setUp()
        for name, bad in (("good", None), ("bad", 7)):
            for step in range(3):
                rows = [f'{op},layer/{i},0,0,{1000 * step + 2 * i + (io == "output")},{io},0,8,float32,"(2)",'
                        f'{"nan" if bad == i and step == 2 and io == "output" else i},1,'
                        f'{int(bad == i and step == 2 and io == "output")},{step}\n'
                        for i in range(10) for op in ("Add",) for io in ("input", "output")]
                self.write(f"{name}/step{step}/rank0/statistic.csv", HEADING + "".join(rows))
            self.add("runs.db", name)

    def answer(self, *arguments):
        ran = run(*arguments, "--format", "json")
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.returncode, json.loads(ran.stdout)

    def test_origin(self):
        for name in ("good", "bad"):
            self.assertEqual(self.answer("origin", "runs.db", "--run", name), self.answer("origin", name))
        self.assertEqual(self.answer("origin", "bad")[0], 1)

    def test_report(self):
        for name in ("good", "bad"):
            self.assertEqual(self.answer("report", "runs.db", "--run", name), self.answer("report", name))
        self.assertEqual(self.answer("report", "bad")[1]["findings"][0]["op_name"], "layer/7")
        self.assertEqual(run("report", "good", "--run", "a").returncode, 2)

    def test_each_dump_is_a_run_unless_one_is_named(self):
        self.add("two.db", "good", "bad")
        self.assertEqual(self.ask("SELECT name FROM runs ORDER BY name", "two.db"), [("bad",), ("good",)])
        self.add("one.db", "good/step0", "good/step1", "--run", "good")
        self.assertEqual(self.ask("SELECT name FROM runs", "one.db"), [("good",)])

    def test_diff(self):
        self.assertEqual(self.answer("diff", "runs.db", "--runs", "good,bad"), self.answer("diff", "good", "bad"))
        self.assertEqual(self.answer("diff", "runs.db//good", "good")[0], 0)
        self.assertEqual(run("diff", "runs.db").returncode, 2)
        self.assertEqual(run("diff", "good", "--runs", "a,b").returncode, 2)
        self.assertEqual(run("origin", "good", "--run", "a").returncode, 2)

    def test_an_option_of_another_action_is_refused(self):
        """`ask --run good` answered for every run, and -o of it wrote no file."""
        uses = {"--run": ("add", "rows"), "--follow": ("add",), "--where": ("rows",), "--format": ("rows",), "-o": ("rows",), "--list": ("ask",)}
        values = {"--run": "good", "--where": "nan", "--format": "csv", "-o": "out"}
        for action, names in (("add", ["good"]), ("rows", []), ("runs", []), ("ask", ["faults"])):
            for option, users in uses.items():
                if action in users:
                    continue
                ran = run("store", action, "runs.db", *names, option, *([values[option]] if option in values else []))
                self.assertEqual((ran.returncode, ran.stdout), (2, ""), (action, option))
                self.assertIn(f"does nothing with `store {action}`", ran.stderr)
        self.assertFalse(os.path.exists("out"))

    def test_rows_of_several_runs_are_told_apart(self):
        ran = run("store", "rows", "runs.db")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))  # the hint named an option that store has not
        heading, *rows = ran.stdout.splitlines()
        self.assertIn(",Path", heading)
        self.assertEqual(len(rows), len(set(rows)))
        self.assertEqual({name for name in ("good", "bad") if any(f"runs.db//{name}/" in each for each in rows)}, {"good", "bad"})
        self.assertNotIn(",Path", run("store", "rows", "runs.db", "--run", "good").stdout)

    def test_the_largest_have_an_l2norm(self):
        self.write("max/statistic.csv", HEADING.replace("L2Norm Value", "Avg Value") + row(0) + row(1))
        self.add("more.db", "max")
        self.assertEqual(len(run("store", "ask", "more.db", "largest").stdout.splitlines()), 1)
        self.write("few/statistic.csv", HEADING + row(0) + row(1).replace(f"{1 / 3!r},0,0", ",0,0") + row(2).replace(f"{2 / 3!r},0,0", "nan,0,0"))
        self.add("more.db", "few")
        self.assertEqual([line.split()[0] for line in run("store", "ask", "more.db", "largest").stdout.splitlines()[1:]], ["layer/0"])

    def test_a_store_that_cannot_be_made(self):
        for path in ("absent/new.db", "good/step0/rank0/statistic.csv/new.db"):
            ran = run("store", "add", path, "good")
            self.assertEqual(ran.returncode, 5, ran.stderr)
            self.assertIn(path + ": the store cannot be made or written", ran.stderr)
            self.assertEqual(run("store", "runs", path).returncode, 3)

    def test_a_pipe_is_no_store(self):
        os.mkfifo("pipe.db")
        for arguments in (("store", "runs", "pipe.db"), ("store", "add", "pipe.db", "good"), ("store", "rows", "pipe.db")):
            ran = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.returncode, 3, ran.stderr)
            self.assertIn("pipe.db: is no regular file", ran.stderr)

    def test_folders_that_are_called_as_subcommands(self):
        os.rename("good", "dump")
        os.rename("bad", "diff")
        self.add("more.db", "dump", "diff")
        self.assertEqual(run("diff", "dump", "diff").returncode, 1)

    def test_table(self):
        of_store, of_folder = run("runs.db//bad", "--format", "csv"), run("bad", "--format", "csv")
        self.assertEqual((of_store.returncode, of_store.stdout), (of_folder.returncode, of_folder.stdout))
        ran = run("store", "rows", "runs.db", "--where", "nan-count > 0", "--format", "ndjson")
        self.assertEqual([json.loads(line)["op_name"] for line in ran.stdout.splitlines()], ["layer/7"])

    def test_runs_and_questions(self):
        self.assertEqual(run("store", "runs", "runs.db").stdout.split()[5:], ["good", "3", "60", "1", "0..2", "bad", "3",
                                                                              "60", "1", "0..2"])
        names = [line.split(":")[0] for line in run("store", "ask", "--list").stdout.splitlines() if line[0] != " "]
        for name in names:
            ran = run("store", "ask", "runs.db", name)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), name)
        self.assertIn("layer/7", run("store", "ask", "runs.db", "faults").stdout)
        self.assertEqual(run("store", "ask", "runs.db", "nothing").returncode, 2)

    def test_refusals(self):
        self.assertEqual(run("runs.db", "--format", "csv", "-o", "runs.db").returncode, 2)
        self.assertEqual(run("store", "rows", "runs.db", "-o", "runs.db").returncode, 2)
        ran = run("origin", "runs.db", "--run", "absent")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("good, bad", ran.stderr)
        self.assertEqual(run("store", "add", "runs.db", "absent").returncode, 3)
        self.assertEqual(run("store", "add", "runs.db", "good", "--run", "a/b").returncode, 2)


if __name__ == "__main__":
    unittest.main()
