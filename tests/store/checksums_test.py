"""Every page of a store has a checksum: no flipped bit gives other rows with the exit status 0, wherever it is."""
import os
import random
import shutil
import sqlite3
import unittest

from stores import HEADING, StoreTest, checksum_of, row, run

FLIPS = 4000 if os.environ.get("TENSORSTAT_FULL") else 150
PAGE = 4096


class Checksums(StoreTest):
    def setUp(self):
        super().setUp()
        self.write("dump/statistic.csv", HEADING + "".join(row(i) for i in range(400)) +
                   row(400).replace("400.5", "18446744073709551615"))
        self.add("runs.db", "dump")
        with open("runs.db", "rb") as file:
            self.sound = bytearray(file.read())

    def outcomes(self, store):
        """The output of the verbs that read every row."""
        shutil.rmtree("out", ignore_errors=True)
        verbs = (["store", "rows", store, "--format", "csv"], ["convert", store, "--to", "ours", "-o", "out/x.csv"],
                 ["origin", store], ["diff", store, "dump"])
        answers = []
        for verb in verbs:
            ran = run(*verb)
            text = ran.stdout
            if verb[0] == "convert" and os.path.exists("out/x.csv"):
                with open("out/x.csv", newline="") as file:
                    text += file.read()
            answers.append((ran.returncode, text))
        return answers

    def test_a_flipped_bit_anywhere(self):
        expected = self.outcomes("runs.db")
        self.assertEqual([code for code, _ in expected][:2], [0, 0], expected)
        seed = random.randrange(2**32)
        chance = random.Random(seed)
        # The header's fields byte by byte, then each page in turn: its head, its cells, its reserved bytes.
        places = [8 * field + chance.randrange(8) for field in range(100)]
        pages = len(self.sound) // PAGE
        while len(places) < FLIPS:
            page = len(places) % pages
            inside = chance.choice((chance.randrange(8, 40), chance.randrange(PAGE), PAGE - 1 - chance.randrange(8)))
            places.append(8 * (PAGE * page + inside) + chance.randrange(8))
        told = 0
        for bit in places:
            with self.subTest(seed=seed, bit=bit):
                damaged = bytearray(self.sound)
                damaged[bit // 8] ^= 1 << bit % 8
                with open("bad.db", "wb") as file:
                    file.write(damaged)
                verb = chance.randrange(4)
                if os.path.exists("out.csv"):
                    os.remove("out.csv")
                verbs = (["store", "rows", "bad.db", "--format", "csv"], ["convert", "bad.db", "--to", "ours", "-o", "out.csv"],
                         ["origin", "bad.db"], ["store", "ask", "bad.db", "largest"])
                ran = run(*verbs[verb])
                if ran.returncode == 3:
                    self.assertIn("tensorstat: ", ran.stderr)
                    told += 1
                    continue
                self.assertIn(ran.returncode, (0, 1), ran.stderr)  # an unused page, or one that this question does not read
                if verb == 0:
                    self.assertEqual((ran.returncode, ran.stdout), expected[0])
        self.assertGreater(told, len(places) // 4)

    def test_every_page_that_rows_read_is_looked_at(self):
        """One bit of each page, in its unused room too: only SQLite reads that."""
        for page in range(len(self.sound) // PAGE):
            damaged = bytearray(self.sound)
            damaged[PAGE * page + PAGE // 2] ^= 16
            with open("bad.db", "wb") as file:
                file.write(damaged)
            ran = run("store", "rows", "bad.db", "--format", "csv")
            if ran.returncode == 0:
                continue  # an index that this question does not use
            self.assertEqual(ran.returncode, 3)
            self.assertIn("is damaged", ran.stderr)

    def test_the_form_is_that_of_cksumvfs(self):
        for offset in range(0, len(self.sound), PAGE):
            page = self.sound[offset:offset + PAGE]
            self.assertEqual(page[-8:], checksum_of(page), f"page {offset // PAGE}")

    def test_others_read_it(self):
        self.assertEqual(self.ask("SELECT count(*) FROM tensorstat"), [(401,)])
        self.assertEqual(self.ask("PRAGMA integrity_check"), [("ok",)])

    def test_what_others_write_is_told(self):
        connection = sqlite3.connect("runs.db")
        connection.execute("UPDATE rows SET task_id = 7")
        connection.commit()
        connection.close()
        ran = run("store", "rows", "runs.db")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("a page does not match its checksum", ran.stderr)

    def test_a_store_of_an_earlier_version(self):
        """Its pages have none: it is read and added to, and that is said."""
        connection = sqlite3.connect("runs.db")
        script = "\n".join(connection.iterdump())
        connection.close()
        old = sqlite3.connect("old.db")
        old.executescript(script + "PRAGMA application_id=1953723252; PRAGMA user_version=1;")
        old.close()
        new = run("store", "rows", "runs.db", "--format", "csv")
        ran = run("store", "rows", "old.db", "--format", "csv")
        self.assertEqual((ran.returncode, ran.stdout), (0, new.stdout), ran.stderr)
        with open("dump/statistic.csv", "a", newline="") as file:
            file.write(row(402))
        notices = self.add("old.db", "dump")
        self.assertIn("its pages have no checksums", notices)
        self.assertEqual(run("store", "rows", "old.db").returncode, 0)


if __name__ == "__main__":
    unittest.main()
