"""A damaged store, or a file that only looks like one, is told with a clear error; nothing crashes."""
import os
import random
import shutil
import sqlite3
import unittest

from stores import HEADING, StoreTest, row, run, seal

FLIPS = 2000 if os.environ.get("TENSORSTAT_FULL") else 60


class Foreign(StoreTest):
    def setUp(self):
        super().setUp()
        self.write("dump/statistic.csv", HEADING + "".join(row(i) for i in range(400)) +
                   row(400).replace("400.5", "nan"))
        self.add("runs.db", "dump")

    def assert_is_told(self, ran):
        self.assertIn(ran.returncode, (0, 1, 3, 5), ran.stderr)
        if ran.returncode not in (0, 1):
            self.assertIn("tensorstat: ", ran.stderr)
        self.assertLess(len(ran.stderr), 4000)

    def test_flipped_bytes(self):
        with open("runs.db", "rb") as file:
            sound = file.read()
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        for i in range(FLIPS):
            with self.subTest(seed=seed, flip=i):
                damaged = bytearray(sound)
                for _ in range(chance.choice((1, 1, 4, 60))):
                    damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                if chance.random() < 0.2:
                    del damaged[chance.randrange(len(damaged)):]
                with open("bad.db", "wb") as file:
                    file.write(damaged)
                verb = chance.choice((["store", "rows", "bad.db"], ["store", "ask", "bad.db", "largest"],
                                      ["origin", "bad.db"], ["store", "runs", "bad.db"],
                                      ["store", "add", "bad.db", "dump", "--run", "more"]))
                self.assert_is_told(run(*verb))

    def test_files_that_are_no_store(self):
        cases = {
            "another program's": "CREATE TABLE t(x)",
            "another version": "PRAGMA application_id=1953723252; PRAGMA user_version=3; CREATE TABLE t(x)",
        }
        for why, sql in cases.items():
            with self.subTest(why):
                if os.path.exists("x.db"):
                    os.remove("x.db")
                connection = sqlite3.connect("x.db")
                connection.executescript(sql)
                connection.close()
                for verb in (["store", "add", "x.db", "dump"], ["store", "rows", "x.db"], ["origin", "x.db"], ["x.db"]):
                    ran = run(*verb)
                    self.assertEqual(ran.returncode, 3, (verb, ran.stderr))
                    self.assertIn("is no store of tensorstat", ran.stderr)
        self.write("text.db", "no SQLite file, only words" * 100)
        self.assertIn("no SQLite file", run("store", "rows", "text.db").stderr)
        self.assertEqual(run("store", "rows", "absent.db").returncode, 3)
        self.assertFalse(os.path.exists("absent.db"))

    def test_a_schema_that_does_more_is_refused(self):
        for sql in ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
                    "DROP VIEW tensorstat; CREATE VIEW tensorstat AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
                    "i+1 FROM n) SELECT * FROM n",
                    "CREATE INDEX i ON rows(place)", "DROP TABLE exact"):
            with self.subTest(sql):
                shutil.copy("runs.db", "evil.db")
                connection = sqlite3.connect("evil.db")
                connection.executescript(sql)
                connection.close()
                seal("evil.db")
                ran = run("store", "ask", "evil.db", "last")
                self.assertEqual(ran.returncode, 3)
                self.assertIn("is no store of tensorstat", ran.stderr)

    def test_no_file_is_written_outside_of_the_output(self):
        for sql in ("UPDATE sources SET folder = '../../out'", "UPDATE sources SET folder = '/tmp/out'",
                    "UPDATE runs SET name = '..'", "UPDATE runs SET name = 'a/../..'"):
            with self.subTest(sql):
                shutil.copy("runs.db", "evil.db")
                connection = sqlite3.connect("evil.db")
                connection.executescript(sql)
                connection.close()
                seal("evil.db")
                ran = run("convert", "evil.db", "--to", "ours", "-o", "deep/er/converted")
                self.assertEqual(ran.returncode, 3, ran.stderr)
                self.assertIn("damaged", ran.stderr)
                self.assertFalse(os.path.exists("deep"))
        self.assertEqual(run("store", "add", "runs.db", "dump", "--run", "..").returncode, 2)

    def test_reading_changes_nothing(self):
        with open("runs.db", "rb") as file:
            before = file.read()
        os.chmod("runs.db", 0o444)
        for verb in (["store", "rows", "runs.db"], ["store", "runs", "runs.db"], ["store", "ask", "runs.db", "faults"]):
            self.assertEqual(run(*verb).returncode, 0)
        with open("runs.db", "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir()), ["dump", "runs.db"])


if __name__ == "__main__":
    unittest.main()
