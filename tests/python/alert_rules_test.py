"""Rules of alerts answer as an oracle does that shares no code with them: windows, "for N steps", unknown and NaN."""
import math
import os
import random
import statistics
import sys
import tempfile
import unittest
import unittest.mock

import numpy

import tensorstat

CONFIG = ('{"common_dump_settings": {"dump_mode": 0, "path": "", "net_name": "net", "iteration": "all", "saved_data": "statistic", '
          '"input_output": 0, "kernels": [], "support_device": [0], "op_debug_mode": 0, '
          '"statistic_category": ["max", "nan count"]}, "e2e_dump_settings": {"enable": false, "trans_flag": true}}')
VALUES = [0.0, 1.0, 1.0, 1.0, 2.0, -3.0, 0.5, 8.0, 40.0, 1e300, math.inf, -math.inf, math.nan]
COMPARE = {">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
           "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


def median(window):
    ordered = sorted(window)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if max(abs(low), abs(high)) > 8e307 and math.isfinite(low + 0) and math.isfinite(high + 0):
        return low / 2 + high / 2
    return statistics.median(ordered)


def mean(window):
    total = 0.0
    for each in window:
        total += each
    return total / len(window)


REDUCE = {"median": median, "mean": mean, "max": max, "min": min, "previous": lambda window: window[0]}


class Literal:
    """A comparison of max with a number or a window. Answers None while it is unknown."""

    def __init__(self, dice):
        self.compare = dice.choice(list(COMPARE))
        self.factor = dice.choice([None, 2.0, 0.5, -1.0])
        self.window = dice.choice([None, *REDUCE])
        self.size = dice.randint(1, 6)
        self.number = dice.choice(["0", "1", "2.5", "-3", "inf"])
        if self.window is None:
            self.text = f"max {self.compare} {self.number}"
        else:
            factor = "" if self.factor is None else f"{self.factor} * " if dice.random() < .5 else f"{self.factor}*"
            self.text = f"max {self.compare} {factor}{self.window}(max, {self.size})"

    def answer(self, values):
        if self.window is None:
            return COMPARE[self.compare](values[-1], float(self.number))
        past = values[:-1][-self.size:]
        if len(past) < self.size:
            return None
        limit = math.nan if any(math.isnan(each) for each in past) else REDUCE[self.window](past)
        return COMPARE[self.compare](values[-1], limit * (1 if self.factor is None else self.factor))


class Word:
    text = "nan"

    def answer(self, values):
        return math.isnan(values[-1])


class Not:
    def __init__(self, operand):
        self.operand, self.text = operand, f"not ({operand.text})"

    def answer(self, values):
        answer = self.operand.answer(values)
        return None if answer is None else not answer


class Many:
    def __init__(self, dice, parts):
        self.is_and, self.parts = dice.random() < .5, parts
        self.text = (" and " if self.is_and else " or ").join(f"({part.text})" for part in parts)

    def answer(self, values):
        answers = [part.answer(values) for part in self.parts]
        decisive = not self.is_and
        return decisive if decisive in answers else None if None in answers else self.is_and


class For:
    def __init__(self, operand, steps):
        self.operand, self.steps, self.text = operand, steps, f"({operand.text}) for {steps} steps"

    def answer(self, values):
        last = [self.operand.answer(values[:end]) for end in range(max(1, len(values) - self.steps + 1), len(values) + 1)]
        if False in last:
            return False
        return True if len(last) == self.steps and None not in last else None


def rule(dice, depth=0):
    kind = dice.random()
    if depth == 2 or kind < .4:
        return Word() if dice.random() < .15 else Literal(dice)
    if kind < .55:
        return Not(rule(dice, depth + 1))
    if kind < .8:
        return Many(dice, [rule(dice, depth + 1) for _ in range(2)])
    return For(rule(dice, depth + 1), dice.randint(1, 4))


class AlertRules(unittest.TestCase):
    def test_rules_answer_as_the_oracle(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print("seed", seed, file=sys.stderr)
        dice = random.Random(seed)
        rules = [rule(dice) for _ in range(150)]
        series = {f"t{i}": [dice.choice(VALUES) for _ in range(60)] for i in range(3)}
        told = []
        with tempfile.TemporaryDirectory() as folder:
            session = tensorstat.DumpSession(CONFIG, path=folder, dialect="ours", alerts=[each.text for each in rules],
                                             on_alert=told.append)
            for step in range(60):
                for name, values in series.items():
                    session.collect("Op", name, outputs=[numpy.array([values[step]])], iteration=step)
                session.step_end(iteration=step)
            session.close()
        alerts = {(alert.step, alert.condition): (alert.op_name, alert.tensors) for alert in told}
        expected = {}
        for each in {each.text: each for each in rules}.values():
            was_met = dict.fromkeys(series, False)
            for step in range(60):
                begin = []
                for name, values in series.items():
                    is_met = each.answer(values[:step + 1]) is True
                    if is_met and not was_met[name]:
                        begin.append(name)
                    was_met[name] = is_met
                if begin:
                    expected[step, each.text] = begin
        copies = {text: sum(each.text == text for each in rules) for _, text in expected}
        self.assertEqual(set(alerts), set(expected))
        for key, begin in expected.items():
            self.assertEqual(alerts[key], (begin[0], len(begin) * copies[key[1]]), key)
        self.assertGreater(len(expected), 300)

    def test_errors_point_at_the_place(self):
        cases = {"max > 2 * middle(max, 3)": "and 'middle' is none, and no statistic; at character 7",
                 "max > median(max)": "the number of steps is missing: median(max, 50); at character 17",
                 "max > median(maxx, 3)": "nearest names are",
                 "max > median(max, 0)": "a number of steps from 1 to 10000 should follow 'median(max,'",
                 "max > median(dtype, 3)": "median() is of a number, and 'dtype' is a text; at character 14",
                 "max > median(max, 3": "')' is missing before the end",
                 "nan for three steps": "a number of steps from 1 to 10000 should follow 'for'",
                 "nan for 3": "steps should follow 'for 3', and the end does; at character 10",
                 "max > x * max": "a number should stand before *, and 'x' does; at character 7",
                 "nan, inf and": "missing before the end; at character 13"}
        for text, words in cases.items():
            with self.assertRaises(tensorstat.Error, msg=text) as refused:
                tensorstat.DumpSession(CONFIG, path="/nowhere", alerts=text)
            self.assertIn(words, str(refused.exception), text)

    def test_the_variable_gives_rules_to_any_config(self):
        with tempfile.TemporaryDirectory() as folder, self.assertLogs("tensorstat", "WARNING") as log:
            with unittest.mock.patch.dict(os.environ, TENSORSTAT_ALERTS="max > previous(max)"):
                session = tensorstat.DumpSession(CONFIG, path=folder)
            for step in range(3):
                session.collect("Op", "a", outputs=[numpy.array([[1, 3, 2][step]], "f4")], iteration=step)
                session.step_end(iteration=step)
            session.close()
            self.assertEqual(len(os.listdir(f"{folder}/rank_0/net/0")), 3)
        self.assertEqual([each.split(":", 2)[2] for each in log.output],
                         ["step 1: a output 0: max is 3, condition max > previous(max)"])

    def test_statistics_are_compared_with_statistics(self):
        told = []
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(CONFIG, path=folder, dialect="ours", alerts="zero count == count for 2 steps",
                                        on_alert=told.append) as session:
                for step, values in enumerate([[0, 0], [0, 1], [0, 0], [0, 0], [0, 0]]):
                    session.collect("Op", "a", outputs=[numpy.array(values, "f4")], iteration=step)
                    session.step_end(iteration=step)
            # A statistic that only a rule needs is measured, and not written.
            with open(f"{folder}/rank_0/net/0/0/statistic.csv") as file:
                self.assertNotIn("Zero", file.readline())
        self.assertEqual([(alert.step, alert.statistic, alert.value, alert.limit) for alert in told], [(3, "zero count", 2, 2)])


if __name__ == "__main__":
    unittest.main()
