"""Rows come out of a store as they went in, to the byte, whatever their values; and Python's sqlite3 reads the same."""
import os
import struct
import unittest

from stores import HEADING, IDENTITY, StoreTest, run

REALS = ["nan", "inf", "-inf", "-0", "0", "5e-324", "-2.2250738585072014e-308", "1.7976931348623157e+308",
         "0.3333333333333333", "9007199254740993", "65504", "", "1", "1e+300"]
UNSIGNED = ["18446744073709551615", "9223372036854775808", "9223372036854775807", "9007199254740993", "0", "", "nan", "0.5"]
SIGNED = ["-9223372036854775808", "9223372036854775807", "-1", "0", "", "-9007199254740993", "inf"]
NAMES = ["plain", "a,b", 'quo""te', "'=apostrophe", "new\nline", "gr\u00fc\u00dfe", "\x01", "x" * 5000]


def quoted(name):
    return f'"{name}"' if any(c in name for c in ',"\n') else name


class RoundTrip(StoreTest):
    def hostile(self):
        lines = []
        for dtype, values in (("float32", REALS), ("float64", REALS), ("uint64", UNSIGNED), ("int64", SIGNED),
                              ("bool", ["0", "1", ""]), ("strange", REALS)):
            for i, value in enumerate(values):
                real = value if dtype in ("float32", "float64") and value != "9007199254740993" else "-0"
                name = quoted(NAMES[i % len(NAMES)])
                lines.append(f'Add,{name},18446744073709551615,7,{2**63 + i},input,{i},8,{dtype},"(2,{i})",{value},{value},'
                             f'{real},{2**53 + 1},{2**63 - 1},{"0123456789abcdef" * 2},{value},{i or ""},some/where\n')
        return (IDENTITY + ",Max Value,Min Value,Avg Value,NaN Count,Zero Count,MD5,P99.9,Rank,Path\n" + "".join(lines))

    def test_hostile_values_to_the_byte(self):
        first = self.hostile()
        self.write("a/statistic.csv", first)
        self.assertEqual(run("convert", "a", "--to", "ours", "-o", "plain.csv").returncode, 0)
        with open("plain.csv", newline="") as file:
            plain = file.read()
        self.add("runs.db", "a")
        self.assertEqual(self.converted("out.csv"), plain)
        # Each value comes back as it was written: 9007199254740993 of a float is a binary64's text from then on.
        self.write("b/statistic.csv", plain)
        self.add("second.db", "b")
        self.assertEqual(self.converted("again.csv", "second.db"), plain)
        ran = run("store", "rows", "second.db", "-o", "rows.csv")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open("rows.csv", newline="") as file:
            self.assertEqual(file.read(), plain)

    def test_what_sqlite_sees(self):
        self.write("a/statistic.csv", self.hostile())
        self.add("runs.db", "a")
        doubles = [value for value, in self.ask("SELECT max FROM tensorstat WHERE dtype = 'float64' ORDER BY line")]
        masks = [mask for mask, in self.ask("SELECT is_nan FROM tensorstat WHERE dtype = 'float64' ORDER BY line")]
        for text, value, mask in zip(REALS, doubles, masks, strict=True):
            if text == "nan":
                self.assertIsNone(value)
                self.assertTrue(mask & 1)
            elif text == "":
                self.assertIsNone(value)
                self.assertFalse((mask or 0) & 1)
            else:
                self.assertEqual(struct.pack("d", value), struct.pack("d", float(text)), text)
        self.assertEqual(self.ask("SELECT DISTINCT nan_count, zero_count, md5 FROM tensorstat"),
                         [(2**53 + 1, 2**63 - 1, "0123456789abcdef" * 2)])
        self.assertIn(("max", "18446744073709551615"), self.ask("SELECT statistic, value FROM exact WHERE type = 'u'"))
        self.assertEqual(self.ask("SELECT count(*) FROM tensorstat WHERE nan_count > 0 AND p99_9 > 1e299 AND dtype = 'float64'")[0][0], 3)
        self.assertEqual(self.ask("PRAGMA integrity_check"), [("ok",)])

    def test_a_statistic_that_comes_twice(self):
        text = HEADING.replace("NaN Count", "Max Value") + 'Add,a,0,0,1,output,0,8,float32,"(2)",1.5,2,nan,4\n'
        self.write("a/statistic.csv", text)
        self.add("runs.db", "a")
        ran = run("store", "rows", "runs.db", "--format", "ndjson")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.replace("runs.db//a" + os.getcwd(), ""),
                         run("a", "--format", "ndjson").stdout.replace('"a/stat', '"/a/stat'))

    def test_each_dialect(self):
        # Whole numbers that six digits hold, so that each dialect has the same values.
        self.write("a/statistic.csv", IDENTITY + ",Max Value,Min Value,Avg Value,NaN Count\n" + "".join(
            f'Add,a.b/{i},1,2,{3 + i},{"input" if i % 2 else "output"},{i},8,float32,"(2,3)",{i},-0,nan,{i}\n' for i in range(9)))
        for dialect in ("ours", "mindspore-2.7", "mindspore-next", "msprobe-o2", "cann"):
            with self.subTest(dialect):
                self.assertEqual(run("convert", "a", "--to", dialect, "-o", "in_" + dialect).returncode, 0)
                self.add(dialect + ".db", "in_" + dialect)
                ran = run("convert", dialect + ".db", "--to", dialect, "-o", "out_" + dialect)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                names = sorted(os.listdir("in_" + dialect))
                self.assertEqual(sorted(os.listdir("out_" + dialect)), names)
                for name in names:
                    with open(f"in_{dialect}/{name}", "rb") as one, open(f"out_{dialect}/{name}", "rb") as other:
                        self.assertEqual(one.read(), other.read())

    def test_a_dump_of_many_files(self):
        for rank in range(2):
            for step in range(3):
                self.write(f"dump/step{step}/rank{rank}/statistic.csv",
                           HEADING + f'Add,a,0,0,{step},output,0,8,float32,"(2)",{rank}.5,{step},0,\n')
        self.add("runs.db", "dump")
        self.assertEqual(run("convert", "runs.db", "--to", "ours", "-o", "out").returncode, 0)
        for rank in range(2):
            for step in range(3):
                with open(f"dump/step{step}/rank{rank}/statistic.csv") as one:
                    with open(f"out/step{step}/rank{rank}/statistic.csv") as other:
                        self.assertEqual(one.read(), other.read())


if __name__ == "__main__":
    unittest.main()
