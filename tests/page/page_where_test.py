"""The page's search takes the rules of --where: the page finds the tensors that the command finds, by one table of rules and by
random ones, and refuses what the command refuses. Skipped where chromium-driver or python3-selenium is missing."""
import csv
import json
import os
import random
import subprocess
import sys
import unittest

import page_test
from page_test import COMMAND

HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Positive Inf Count,Negative Inf Count,E4m3fn Underflow").split(",")
ROWS = [  # type, name, io, slot, dtype, shape, max, min, avg, l2norm, NaN, +Inf, -Inf, underflow
    ["Linear", "a.up", "output", 0, "float32", "(2,3)", "7", "-8.5", "0.1", "12", 0, 0, 0, 0],
    ["Linear", "a.down", "input", 1, "float16", "(64)", "65504", "0", "-0", "0.30000000000000004", 0, 0, 0, 17],
    ["Linear", "b[0]", "output", 2, "float16", "()", "nan", "nan", "nan", "nan", 3, 0, 0, 0],
    ["Gradient", "b.up", "output", 0, "bfloat16", "(64)", "inf", "-1e-30", "inf", "inf", 0, 2, 0, 5],
    ["Gradient", "c d", "output", 0, "float32", "(1,64)", "1e300", "-inf", "-inf", "inf", 0, 0, 1, 0],
    ["Parameter", "w", "output", 0, "int64", "(4)", "9007199254740993", "-3", "2.5", "5", 0, 0, 0, 0],
    ["Parameter", "empty", "output", 0, "float32", "(0)", "", "", "", "0", 0, 0, 0, 0],
]
# A rule, and the names of the tensors that meet it; None: not a rule.
CASES = {
    "max > 7": ["a.down", "b.up", "c d", "w"],
    "max >= 7 and not inf": ["a.up", "a.down", "w"],
    "max == 7 or min == -3": ["a.up", "w"],
    "max != 7": ["a.down", "b[0]", "b.up", "c d", "w"],
    "not max == 7": ["a.down", "b[0]", "b.up", "c d", "w", "empty"],
    "not max < 1e299 or max < 0": ["b[0]", "b.up", "c d", "empty"],
    "l2norm==0.30000000000000004": ["a.down"],
    "l2norm<0.3": ["empty"],
    "max > 9007199254740992": ["b.up", "c d", "w"],
    "avg == 0": ["a.down"],
    "min < -inf": [],
    "min <= -inf": ["c d"],
    "absmax >= inf": ["b.up", "c d"],
    "max > -Infinity": ["a.up", "a.down", "b.up", "c d", "w"],
    "nan": ["b[0]"], "inf": ["b.up", "c d"], "nan or inf": ["b[0]", "b.up", "c d"],
    "nan > 0": ["b[0]"], "nan == 0 and inf == 0": ["a.up", "a.down", "w", "empty"],
    "not (nan or inf) and dtype == float32": ["a.up", "empty"],
    "dtype != float16": ["a.up", "b.up", "c d", "w", "empty"],
    "op_name ~ '*up'": ["a.up", "b.up"],
    'op_name ~ "?.up"': ["a.up", "b.up"],
    "op_name ~ [ab].*": ["a.up", "a.down", "b.up"],
    "op_name ~ '[!a]*'": ["b[0]", "b.up", "c d", "w", "empty"],
    "op_name ~ 'b[[]0]'": ["b[0]"],
    "op_name ~ b\\[0\\]": ["b[0]"],
    "op_name ~ '[x-'": [],
    "op_name == 'c d'": ["c d"],
    "op_name ~ up": [],
    "shape == '(2,3)'": ["a.up"],
    "shape ~ '*64*'": ["a.down", "b.up", "c d"],
    "op_type == Parameter": ["w", "empty"],
    "io==input": ["a.down"], "slot>=1": ["a.down", "b[0]"],
    "rank == 0 and iteration == 5": ["a.up", "a.down", "b[0]", "b.up", "c d", "w", "empty"], "step > 5": [],
    "e4m3fn underflow > 4": ["a.down", "b.up"], "e4m3fn-underflow > 5": ["a.down"], "e4m3fn_underflow>17": [],
    "max > 1 and max < 10 or op_name == w and l2norm > 1": ["a.up", "w"],
    "(((max > 7)))": ["a.down", "b.up", "c d", "w"],
    "max > 7.": ["a.down", "b.up", "c d", "w"], "max > .5e1": ["a.up", "a.down", "b.up", "c d", "w"],
    "max >": None, "> 7": None, "max > seven": None, "max > nan": None, "max > +7": None, "max > 0x7": None, "max > 1e999": None,
    "max > 1e-999": None, "max ~ 7": None, "dtype > float32": None, "dtype == flaot32": None, "maxx > 7": None, "max > 7 min < 3": None,
    "(max > 7": None, "max > 7)": None, "max = 7": None, "max > 7 and": None, "not": None, "not not": None, "op_name == 'up": None,
    "max > 7 or or min > 3": None, "shape == (64)": None, "max > 'x'": None, "max > '7'": ["a.down", "b.up", "c d", "w"], "up": None,
    "max > 2 * median(max, 50)": None, "max > median(max, 50)": None, "max > 7 for 3 steps": None, "nan for 3 steps": None,
    "not max not > 1": None, "!max > 1": None, "max > 1, nan": None,
    "(" * 99 + "nan" + ")" * 99: ["b[0]"], "(" * 101 + "nan" + ")" * 101: None,
}

# Integers of 2^53 and more are rounded on the page, which therefore is not sure of them.
SURE = {"max > 9007199254740992": ["b.up", "c d"]}


def random_rule(dice, depth=0):
    kind = dice.random()
    if depth < 3 and kind < .45:
        return f" {dice.choice(['and', 'or'])} ".join(random_rule(dice, depth + 1) for _ in range(dice.randint(2, 3)))
    if depth < 3 and kind < .6:
        return dice.choice(["not ", ""]) + "(" + random_rule(dice, depth + 1) + ")"
    if kind < .68:
        return dice.choice(["nan", "inf", "not nan", "not inf"])
    if kind < .8:
        text = dice.choice(["op_name", "op_type", "shape", "io"])
        return text + dice.choice([" ~ ", "==", "!="]) + dice.choice(["'*'", "'*.*'", "w", "output", "Linear", "'[a-b]*'", "'(64)'", "'?'"])
    if kind < .84:  # the page knows whether there is NaN, not how many
        return "nan" + dice.choice([">", ">=", "<", "<=", "==", "!="]) + dice.choice(["0", "-1"])
    number = dice.choice(["0", "7", "-8.5", "1e300", "inf", "-inf", "12", "0.3", "65504", "-1", "5"])
    return dice.choice(["max", "min", "avg", "l2norm", "absmax", "slot", "e4m3fn underflow"]) + dice.choice([">", ">=", "<", "<=", "==", "!="]) + number


class Where(unittest.TestCase):
    setUpClass, tearDownClass = (classmethod(getattr(page_test.Page, name).__func__) for name in ("setUpClass", "tearDownClass"))
    open = page_test.Page.open

    def command(self, file, rule):
        ran = subprocess.run([COMMAND, file, "--where", rule, "--format", "json"], capture_output=True, text=True)
        if ran.returncode not in (0, 1):
            return None
        return [row["op_name"] for row in json.loads(ran.stdout)["tensors"]]

    def page(self, rule):
        """The names that certainly meet it, and those that may."""
        return self.browser.execute_script("""
            let rule;
            try { rule = rule_from(arguments[0]); } catch (error) { return [String(error.message)]; }
            const names = at_least => run.tensors.filter((_, t) => rule(t, 0, 0, cell_of(t, 0, 0)) >= at_least).map(tensor => tensor.name);
            return [names(YES), names(MAYBE)];""", rule)

    def test_the_page_and_the_command_agree(self):
        place = os.path.join(self.folder.name, "where", "rank_0", "net", "0", "5")
        os.makedirs(place)
        file = os.path.join(place, "statistic.csv")
        with open(file, "w", newline="") as to:
            rows = csv.writer(to, lineterminator="\n")
            rows.writerow(HEADING)
            for row in ROWS:
                rows.writerow(row[:2] + [0, 0, 1] + row[2:4] + [8] + row[4:])
        self.pages["where"] = os.path.join(self.folder.name, "where.html"), 1
        subprocess.run([COMMAND, "report", os.path.join(self.folder.name, "where"), "-o", self.pages["where"][0]], capture_output=True)
        self.open("where")
        seed = random.randrange(1 << 32)
        print("seed", seed, file=sys.stderr)
        dice = random.Random(seed)
        cases = dict(CASES)
        for _ in range(80):
            rule = random_rule(dice)
            cases[rule] = self.command(file, rule)
            self.assertIsNotNone(cases[rule], rule)
        answers = {}
        for rule, names in cases.items():
            if rule in CASES:
                self.assertEqual(self.command(file, rule), names, f"the command: {rule}")
            answers[rule] = self.page(rule)
            if names is None:
                self.assertEqual(len(answers[rule]), 1, f"the page takes {rule}")
            else:
                self.assertEqual(answers[rule], [SURE.get(rule, names), names], f"the page: {rule}")
        # Where values are kept within half a step, the page says which answers are not certain.
        self.browser.execute_script("run.exact = new Map()")
        unsure = 0
        for rule, names in cases.items():
            if names is not None:
                yes, maybe = self.page(rule)
                self.assertLessEqual(set(yes), set(names), rule)
                self.assertLessEqual(set(names), set(maybe), rule)
                unsure += yes != maybe
        self.assertGreater(unsure, 0)
        for rule in ("max > 2 * median(max, 50)", "max > median(max, 50)", "max > 7 for 3 steps"):
            self.assertIn("are for alerts, top --until and attach --fail-on; at character", answers[rule][0])
        self.assertIn("at character 7", answers["max > seven"][0])

    def test_what_is_typed_filters(self):
        self.open("planted", "#find=max > 0.99 and op_name ~ *up")
        text = lambda selector: self.browser.find_element("css selector", selector).text
        self.assertEqual(text("#all-title"), "1 of 2 tensors")
        self.assertIn("1 tensor has a row that meets this rule", text("#found"))
        self.open("planted", "#find=max > ")
        self.assertIn("a number should follow 'max >'", text("#found"))
        self.open("planted", "#find=nan count > 1")
        self.assertIn("is not on this page", text("#found"))


if __name__ == "__main__":
    unittest.main()
