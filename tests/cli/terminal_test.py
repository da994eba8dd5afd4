"""The table fits a terminal: in pseudo-terminals of three widths, compared with Python's widths of characters."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unicodedata
import unittest

import numpy

COMMAND = os.environ["COMMAND"]
LONG = "x" * 100 + "y" * 100
CHINESE = "层.权重.梯度"
RED = re.compile("\x1b\\[31m(.*?)\x1b\\[0m")


def environment(more):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES")}
    return kept | {"TERM": "xterm"} | more


def on_terminal(columns, rows, *arguments, **more):
    """The lines that the command writes to a terminal of this size."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.execve(COMMAND, [COMMAND, *arguments, "--on", "host"], environment(more))
    text = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        text += piece
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert status == 0, text
    return text.decode().replace("\r\n", "\n").splitlines()


def through_pipe(*arguments, **more):
    ran = subprocess.run([COMMAND, *arguments, "--on", "host"], capture_output=True, env=environment(more), check=True)
    return ran.stdout.decode()


def width(text):
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


class Terminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        random = numpy.random.default_rng(7)
        self.tensors = {f"layer.{i}.weight": random.normal(size=(16, 8)).astype("f4") for i in range(30)}
        self.tensors[LONG] = random.normal(size=(3, 3)).astype("f2")
        self.tensors[CHINESE] = numpy.array([1, numpy.nan, numpy.inf], "f8")
        self.tensors["e\u0301te\u0301"] = numpy.array([-5, 7], "i4")
        self.tensors["empty"] = numpy.array([], "f4")
        os.chdir(folder.name)
        self.archive = "model.npz"
        numpy.savez(self.archive, **self.tensors)

    def table(self, columns, rows=1000, *arguments, **more):
        """The lines of the table, without those from stderr."""
        lines = on_terminal(columns, rows, self.archive, *arguments, **more)
        return [line for line in lines if not line.startswith("tensorstat: ")]

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in (80, 120, 200):
            lines = [RED.sub(r"\1", line) for line in self.table(columns)]
            self.assertLessEqual(max(map(width, lines)), columns)
            for tensor in self.tensors.values():  # one line each
                self.assertTrue(any(f" {tensor.dtype} " in line for line in lines), tensor.dtype)
            rows = [line for line in lines if re.search(r" (float|int)\d+ +\(", line)]
            self.assertEqual(len(rows), len(self.tensors))
            starts = {width(row[: re.search(r"(float|int)\d+ +\(", row).start()]) for row in rows}
            self.assertEqual(len(starts), 1, "the columns are straight, in Chinese too")

    def test_names_that_differ_still_do_when_they_are_elided(self):
        names = [f"model.transformer.decoder.layers.{i}.{part}.{proj}_proj.adapter.base_layer.{end}" for i in (0, 7, 11, 103)
                 for part, proj in (("self_attn", "q"), ("self_attn", "k"), ("mlp", "up")) for end in ("weight", "bias")]
        names += [f"编码器层注意力投影矩阵权重变压器编码器层{i}注意力投影矩阵权重变压器编码器层注意力" for i in range(3)]
        numpy.savez(self.archive, **{name: numpy.float32([i, -i]) for i, name in enumerate(names)})
        for columns in (80, 100):
            lines = self.table(columns)
            labels = {line.split()[0] for line in lines if "…" in line}
            self.assertEqual(len(labels), len(names), labels)
            self.assertLessEqual(max(map(width, lines)), columns)

    def test_all_names_lose_the_same_words_and_no_digit(self):
        names = [f"model.layers.{i}.{part}.weight" for i in range(12)
                 for part in ("self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj", "input_layernorm")]
        names += ["model.embed_tokens.weight", "lm_head.weight"]
        numpy.savez(self.archive, **{name: numpy.float32([i, -i]) for i, name in enumerate(names)})
        lines = self.table(80)
        self.assertEqual(lines[0], "in model.npz::")
        labels = [line.split()[0] for line in lines if " float32 " in line]
        self.assertEqual(len(set(labels)), len(names))
        for name, label in zip(names, labels):
            self.assertEqual(re.findall(r"\d+", name), re.findall(r"\d+", label))
        self.assertIn("…layers.11.self_attn.q_proj…", labels)
        self.assertIn("lm_head…", labels)

    def test_long_names_are_elided_in_the_middle(self):
        for columns in (80, 120, 200):
            (line,) = [line for line in self.table(columns) if "yyy" in line]
            self.assertRegex(line, r"^(model.npz:?:?|x*)x*…y+ ")
        self.assertIn(LONG, through_pipe(self.archive))

    def test_columns_of_zeros_are_named_below(self):
        heading, *_ = [line for line in self.table(200) if line.startswith("tensor")]
        self.assertEqual(heading.split(), "tensor dtype shape max min avg std l2norm exponents count count".split())
        self.assertIn("0 in each row above: negative inf count, zero count", self.table(200))
        numpy.savez(self.archive, a=numpy.zeros(3))
        self.assertEqual(self.table(80)[-2:], ["0 in each row above: max, min, avg, std, l2norm, nan count, negative inf count,",
                                               "  positive inf count"])
        # In a pipe only counts go, and none that was asked for.
        self.assertIn("0 in each row above: nan count, negative inf count, positive inf count\n", through_pipe(self.archive))
        self.assertIn("nan", through_pipe(self.archive, "--stats", "nan-count"))
        self.assertIn(" nan", through_pipe(self.archive, "--where", "nan-count == 0").split("0 in each row")[0])

    def test_the_heading_comes_again_on_every_screen(self):
        lines = self.table(120, 12)
        headings = [i for i, line in enumerate(lines) if line.startswith("tensor ")]
        self.assertGreater(len(headings), 3)
        for a, b in zip(headings, headings[1:]):
            self.assertLessEqual(b - a, 11)
        self.assertEqual(sum(line.startswith("tensor ") for line in self.table(120, 1000)), 1)

    def test_narrow_lines_hold_numpys_numbers(self):
        specials = "nan-count,negative-inf-count,positive-inf-count"
        lines = self.table(90, 1000, "--stats", "max,min,avg,std,l2norm," + specials)
        self.assertIn("[min,max]", "".join(lines))
        for name, tensor in self.tensors.items():
            if tensor.dtype != "f4" or tensor.size == 0:
                continue
            (line,) = [line for line in lines if name in line]
            low, high, avg, std, norm = map(float, re.sub(r"[\[\],]", " ", line.split(")", 1)[1]).split())
            wide = tensor.astype("f8")
            for ours, theirs in ((low, wide.min()), (high, wide.max()), (avg, wide.mean()), (std, wide.std()),
                                 (norm, numpy.linalg.norm(wide))):
                self.assertAlmostEqual(ours, theirs, delta=abs(theirs) * 5e-3)

    def test_a_bar_for_each_binade(self):
        for columns in (80, 200):
            lines = self.table(columns)
            for name, tensor in self.tensors.items():
                sizes = numpy.abs(tensor.astype("f8"))
                binades = numpy.frexp(sizes[numpy.isfinite(sizes) & (sizes != 0)])[1] - 1
                if "f4" not in tensor.dtype.str or binades.size == 0:
                    continue
                (line,) = [line for line in lines if name in line]
                last = binades.max()
                first = max(binades.min(), last - 9)
                counts = [(numpy.maximum(binades, first) == e).sum() for e in range(first, last + 1)]
                bars = "".join(" ▁▂▃▄▅▆▇█"[-(-8 * count // max(counts))] for count in counts)
                lower = "≤" if binades.min() < first else ""
                self.assertIn(f" {lower}{first} {bars} {last} ", line + " ")

    def test_nan_and_inf_are_red(self):
        (line,) = [line for line in self.table(80) if "float64" in line]
        self.assertIn("NaN! Inf!", RED.findall(line))
        self.assertIn("nan", RED.findall("".join(self.table(200))))
        for line in self.table(80):
            if "float64" not in line:
                self.assertNotIn("\x1b", line)

    def test_who_says_whether_there_is_colour(self):
        def is_coloured(*arguments, **more):
            return "\x1b[31m" in "".join(self.table(80, 1000, *arguments, **more))

        self.assertTrue(is_coloured())
        self.assertFalse(is_coloured(NO_COLOR="1"))
        self.assertTrue(is_coloured(NO_COLOR=""))
        self.assertFalse(is_coloured(TERM="dumb"))
        self.assertFalse(is_coloured("--color", "never"))
        self.assertTrue(is_coloured("--color", "always", NO_COLOR="1"))
        self.assertFalse(is_coloured(NO_COLOR="1", CLICOLOR_FORCE="1"))
        self.assertNotIn("\x1b", through_pipe(self.archive))
        self.assertNotIn("\x1b", through_pipe(self.archive, CLICOLOR_FORCE="0"))
        self.assertIn("\x1b[31m", through_pipe(self.archive, CLICOLOR_FORCE="1"))
        self.assertIn("\x1b[31m", through_pipe(self.archive, "--color", "always"))

    def test_a_pipe_has_every_column_whatever_the_terminal(self):
        text = through_pipe(self.archive)
        self.assertEqual(text, through_pipe(self.archive, COLUMNS="40"))
        heading = next(line for line in text.splitlines() if line.startswith("tensor"))
        self.assertEqual(heading.split(), ["tensor", "dtype", "shape", "max", "min", "avg", "l2norm"] + ["count"] * 3)

    def test_a_tiny_terminal_still_has_a_line_a_tensor(self):
        lines = self.table(30)
        self.assertEqual(sum(line.startswith("layer") for line in lines), 30)
        self.assertIn("no room for:", "\n".join(lines))

    def test_markdown_reads_back(self):
        numpy.savez(self.archive, **{"a|b": numpy.arange(3.0), "c`d": numpy.ones(2)})
        heading, rule, *rows = through_pipe(self.archive, "--format", "md", "--stats", "max,md5").splitlines()
        self.assertEqual(heading, "| tensor | dtype | shape | max | md5 |")
        self.assertEqual(rule, "| --- | --- | --- | ---: | --- |")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(len(re.split(r"(?<!\\)\|", row)), 7)
        self.assertIn("::a\\|b` | float64 | (3) | 2 |", rows[0])
        self.assertIn("::c`d`` | float64 | (2) | 1 |", rows[1])


if __name__ == "__main__":
    unittest.main()
