"""A run's page in Chromium: what the first screen says, keys, search, links, dark mode, hostile names; no request, no error of the
console, and the same bytes for the same rows. Skipped where chromium-driver or python3-selenium is missing."""
import csv
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("selenium is not installed: the page is not tested here", file=sys.stderr)
    sys.exit(0)
if not shutil.which("chromedriver"):
    print("chromedriver is not installed: the page is not tested here", file=sys.stderr)
    sys.exit(0)

from runs import COMMAND, HEADING, calm, planted, write_page

HOSTILE = ["</script><img src=x onerror=document.title='broken'>", "\"quotes\" and 'more' & <b>bold</b>", "\u202egnp.exe", "n" * 1000,
           "@style@ @blocks@", "层.权重"]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # Named, because selenium from 4.24 on looks for it with a program that Debian does not have.
        cls.browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = {}
        for name, arguments in {"calm": dict(value_of=calm), "planted": dict(value_of=planted),
                                "hostile": dict(value_of=calm, names=HOSTILE, ranks=range(1), iterations=range(3)),
                                **{word: dict(value_of=calm, ranks=range(1), iterations=range(3), words=(word, word))
                                   for word in ("__proto__", "toString", "constructor")}}.items():
            place = os.path.join(cls.folder.name, name)
            os.makedirs(place)
            cls.pages[name] = write_page(place, **arguments)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def open(self, name, address=""):
        self.browser.get("about:blank")
        self.browser.get("file://" + self.pages[name][0] + address)
        WebDriverWait(self.browser, 60).until(lambda b: b.execute_script("return document.body.getAttribute('aria-busy')") == "false")

    def text(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def press(self, *keys):
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def test_types_and_dtypes_that_are_names_of_javascript(self):
        for word in ("__proto__", "toString", "constructor"):
            self.open(word)
            labels = self.browser.execute_script("return run.tensors.map(tensor => tensor.label + ' ' + limit_of(tensor))")
            self.assertEqual(labels, ["a.up  output.0 0", "a.down  output.0 0"])

    def test_first_screen_names_the_planted_fault(self):
        self.assertEqual(self.pages["planted"][1], 1)
        self.open("planted")
        verdict = self.text("#verdict")
        for word in ("NaN", "a.down", "60", "59", "Rank 1"):
            self.assertIn(word, verdict.replace("Rank\n", "Rank "))
        self.assertIn("a.down", self.text("#card-title"))
        self.assertIn("NaN", self.text("#card .exact"))
        self.assertLess(self.browser.find_element(By.ID, "verdict").rect["height"], 500)

    def test_a_calm_run_is_calm(self):
        self.assertEqual(self.pages["calm"][1], 0)
        self.open("calm")
        self.assertEqual(self.browser.find_element(By.ID, "verdict").get_attribute("class"), "clean")
        self.assertIn("Nothing", self.text("#verdict .lead"))
        self.assertIn("320 rows, 2 tensors, 80 iterations, 2 ranks", self.text("#verdict"))
        self.assertIn("Nothing was found", self.text("#findings"))
        # All colours of the map: none shows a fault or a great change.
        colours = self.browser.execute_script("return new Set(view.keys).size && Math.max(...view.keys)")
        self.assertLess(colours, 0x1000 + 2 * 256)

    def test_no_request_and_no_error(self):
        for name in self.pages:
            self.browser.get_log("browser"), self.browser.get_log("performance")
            self.open(name)
            self.assertEqual([line["message"] for line in self.browser.get_log("browser")], [])
            sent = [line["message"] for line in self.browser.get_log("performance") if '"Network.requestWillBeSent"' in line["message"]]
            self.assertTrue(all('"url":"file://' in line or '"url":"about:blank' in line for line in sent), sent)

    def test_keys(self):
        self.open("planted")
        self.press(Keys.ARROW_LEFT)
        self.assertIn("step=59", self.browser.current_url)
        self.press(Keys.ARROW_UP)
        self.assertIn("tensor=a.up", self.browser.current_url)
        self.press("j", "k")
        self.assertIn("step=60", self.browser.current_url)
        self.press("+")
        self.assertIn("steps=", self.browser.current_url)
        self.press(Keys.ESCAPE)
        self.assertNotIn("steps=", self.browser.current_url)
        self.press("]")
        self.assertIn("rank=0", self.browser.current_url)
        self.press("[", "?")
        self.assertIn("find tensors", self.text("#keys"))

    def test_search(self):
        self.open("planted")
        self.press("/")
        self.press("up")
        self.assertEqual(self.text("#all-title"), "1 of 2 tensors")
        self.assertIn("find=up", self.browser.current_url)
        self.press(Keys.ESCAPE)
        self.assertEqual(self.text("#all-title"), "All tensors (2)")

    def test_a_link_opens_the_same_view(self):
        self.open("planted", "#tensor=a.up++output.0&step=7&rank=1&value=max&colour=size&steps=4-30")
        self.assertIn("a.up", self.text("#card-title"))
        self.assertIn("iteration 7, rank 1", self.text("#readout"))
        self.assertEqual(self.browser.execute_script("return [view.from, view.to, view.colour, view.statistic > 0]"), [4, 31, "size", True])
        self.assertIn("small to great", self.text("#legend"))
        self.open("planted", "#find=up")
        self.assertEqual(self.text("#all-title"), "1 of 2 tensors")

    def test_modules_fold(self):
        """Where the labels of all tensors have no room, the map has a line for a module: it is as bad as the worst of its tensors."""
        names = [f"layers.{layer}.{part}/forward" for layer in range(20) for part in ("norm", "attn.q", "attn.k", "mlp")] + ["head/forward"]
        bad = "layers.7.attn.k/forward"
        place = os.path.join(self.folder.name, "folds")
        os.makedirs(place)
        self.pages["folds"] = write_page(place, lambda name, rank, iteration: math.nan if name == bad and iteration == 9 else calm(name, rank, iteration),
                                         names=names, ranks=range(1), iterations=range(10))
        self.open("folds")
        labels = "return view.lines.map(label_of)"
        shown = self.browser.execute_script(labels)
        # The finding's module is open, and all others are not.
        opened = ["layers.7.norm/forward  output.0", "layers.7.attn.q/forward  output.0", "layers.7.attn.k/forward  output.0", "layers.7.mlp/forward  output.0"]
        self.assertEqual(shown, [f"▸ layers.{i}  4" for i in range(7)] + opened + [f"▸ layers.{i}  4" for i in range(8, 20)] + ["head/forward  output.0"])
        self.press("f")
        self.assertIn("▸ layers.7.attn  2", self.browser.execute_script(labels))
        self.press("f")
        self.assertEqual(self.browser.execute_script(labels), shown)
        self.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
        self.press("f")
        self.assertEqual(self.browser.execute_script(labels)[6:9], ["layers.6.norm/forward  output.0", "▸ layers.6.attn  2", "layers.6.mlp/forward  output.0"])
        line_at = "const box = document.getElementById('heat').getBoundingClientRect(); return [box.left, box.top, shape.left, shape.height / (view.bottom - view.top)]"
        left, top, gutter, step = self.browser.execute_script(line_at)
        click = {"button": "left", "clickCount": 1, "x": left + gutter - 20, "y": top + 2.5 * step}
        for event in ("mousePressed", "mouseReleased"):
            self.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": event, **click})
        self.assertEqual(self.browser.execute_script(labels)[2], "layers.2.norm/forward  output.0")
        self.browser.find_element(By.ID, "fold").click()
        self.assertEqual(self.browser.execute_script(labels), [name + "  output.0" for name in names])
        self.browser.find_element(By.ID, "fold").click()
        folded = [f"▸ layers.{i}  4" for i in range(20)] + ["head/forward  output.0"]
        self.assertEqual(self.browser.execute_script(labels), folded)
        is_nan = "return view.lines.map(line => view.keys[worst_of(line, 9) * 10 + 9] >= KEY_NAN)"
        self.assertEqual(self.browser.execute_script(is_nan), [i == 7 for i in range(21)])
        self.press(Keys.ESCAPE, "/", "attn.q")  # few enough to have a line each
        self.assertEqual(len(self.browser.execute_script(labels)), 20)
        self.open("planted")
        self.assertEqual(self.browser.execute_script(labels), ["a.up  output.0", "a.down  output.0"])

    def test_values_are_those_of_the_rows(self):
        self.open("planted", "#tensor=a.up++output.0&step=7")
        self.assertIn(str(calm("a.up", 0, 7)), self.text("#card .exact"))

    def test_dark_and_forced_colours(self):
        self.open("planted")
        light = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        for feature in ({"name": "prefers-color-scheme", "value": "dark"}, {"name": "forced-colors", "value": "active"}):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            self.open("planted")
            self.assertNotEqual(self.browser.execute_script("return matchMedia('(forced-colors: active)').matches ? '' : "
                                                            "getComputedStyle(document.body).backgroundColor"), light)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})

    def test_names_are_never_markup(self):
        self.open("hostile")
        self.assertNotIn("broken", self.browser.title)
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "img, b"), [])
        shown = self.text("#all tbody")
        self.assertIn("</script><img src=x onerror=document.title='broken'>", shown)
        self.assertIn("\\u202egnp.exe", shown)
        self.assertIn("@style@ @blocks@", shown)
        self.assertEqual(self.browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), True)

    def write(self, folder, parameter_of, ranks=2, iterations=40, first=0):
        """A dump with the loss and a parameter: parameter_of(rank, iteration)."""
        for rank in range(ranks):
            for iteration in range(first, iterations):
                place = os.path.join(folder, f"rank_{rank}", "net", "0", str(iteration))
                os.makedirs(place)
                with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                    rows = csv.writer(file, lineterminator="\n")
                    rows.writerow(HEADING)
                    for kind, name, value in (("Loss", "loss", 2 - iteration / 100), ("Parameter", "w", parameter_of(rank, iteration))):
                        rows.writerow([kind, name, 0, 0, 1000 * iteration, "output", 0, 64, "float32", "(16)", value, -value, value / 3, value * 2,
                                       0, 0, 0, 0])

    def report(self, name, *arguments, code=(0, 1)):
        page = os.path.join(self.folder.name, name + ".html")
        ran = subprocess.run([COMMAND, "report", *arguments, "-o", page], capture_output=True, text=True)
        self.assertIn(ran.returncode, code, ran.stderr)
        self.pages[name] = page, ran.returncode

    def test_casts_and_exponents(self):
        dump = os.path.join(self.folder.name, "casts")
        for iteration in range(12):
            place = os.path.join(dump, "rank_0", "net", "0", str(iteration))
            os.makedirs(place)
            with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(HEADING + ["Float16 Underflow", "Float16 Overflow", "E4m3fn Underflow", "E4m3fn Overflow", "Exponents"])
                for name, counts, exponents in (("small", [0, 0, iteration, 0], f"zero:4 subnormal:0{f' -12:{iteration}' if iteration else ''} -3:{12 - iteration} inf:0 nan:0"),
                                                ("twin", [0, 0, iteration, 0], "zero:4 subnormal:0 -3:12 inf:0 nan:0"),
                                                ("large", [0, 0, 0, 8 if iteration == 5 else 0], "zero:0 subnormal:0 3:8 9:8 inf:0 nan:0"),
                                                ("fits", [0, 0, 0, 0], "zero:16 subnormal:0 inf:0 nan:0")):
                    rows.writerow(["Op", name, 0, 0, 1000 * iteration, "output", 0, 64, "float16", "(4,4)", 1, -1, .5, 2, 0, 0, 0, 4] + counts + [exponents])
        self.report("casts", dump)
        self.open("casts")
        lines = [line.split() for line in self.text("#casts").splitlines()]
        self.assertIn("float16 e4m3fn".split(), [line[-2:] for line in lines])
        self.assertIn("lose nothing 4 1".split(), lines)
        self.assertIn("lose more than 1 % to zero 0 2".split(), lines)
        self.assertIn("overflow 0 1".split(), lines)
        self.assertIn("large output.0 0 ▲ 50 %".split(), lines)
        self.assertIn("small output.0 and 1 more, each the same 0 ▼ 68.8 %".split(), lines)
        self.browser.find_element(By.XPATH, "//tr[th/span[contains(text(),'large')]]").click()
        self.assertIn("step=5", self.browser.current_url)
        # Each row of the exponents is a binade: code 255 is all elements, 6 less is half of them.
        self.open("casts", "#tensor=small++output.0&step=4")
        self.assertIn("exponents", self.text("#card"))
        codes = """const of = exponents_of(view.tensor, 0), n = run.iterations.length;
            return [of.lowest, of.binades, [0, 1, of.binades].map(row => run.exponent_codes[of.offset + row * n + Number(arguments[0])])];"""
        self.assertEqual(self.browser.execute_script(codes, 4), [-12, 10, [243, 243, 249]])
        self.assertEqual(self.browser.execute_script(codes, 0)[2], [243, 0, round(255 + 6 * math.log2(12 / 16))])
        painted = """const c = document.querySelector('canvas[data-lane]'), p = c.getContext('2d').getImageData(70, 0, 1, c.height).data;
            return new Set([...Array(c.height).keys()].map(y => p.slice(4 * y, 4 * y + 3).join())).size;"""
        self.assertGreater(self.browser.execute_script(painted), 2)
        self.open("planted")
        self.assertFalse(self.browser.find_element(By.ID, "casts").is_displayed())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "canvas[data-lane]"), [])

    def test_ranks_that_differ(self):
        dump = os.path.join(self.folder.name, "ranks")
        self.write(dump, lambda rank, i: 1.5 + i / 7 + (1e-6 if rank == 1 and i >= 30 else 0))
        self.report("ranks", dump)
        self.open("ranks", "#tensor=w++output.0&step=29")
        self.assertIn("Ranks at iteration 29", self.text("#ranks"))
        self.assertNotIn("≠", self.text("#ranks"))
        self.press(Keys.ARROW_RIGHT)
        self.assertIn("Ranks at iteration 30", self.text("#ranks"))
        self.assertIn("≠", self.text("#ranks"))
        self.browser.execute_script("const c = document.getElementById('colour'); c.value = 'ranks'; c.dispatchEvent(new Event('change'))")
        self.assertIn("equal", self.text("#legend"))
        self.assertIn("colour=ranks", self.browser.current_url)

    def write_rows(self, name, rows, shape_of=lambda iteration: "(16)"):
        """A dump of rows (rank, iteration, op type, op name, statistics by their columns)."""
        dump = os.path.join(self.folder.name, name)
        for rank, iteration, kind, op_name, statistics in rows:
            place = os.path.join(dump, f"rank_{rank}", "net", "0", str(iteration))
            os.makedirs(place)
            with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                lines = csv.writer(file, lineterminator="\n")
                lines.writerow(HEADING[:10] + list(statistics))
                lines.writerow([kind, op_name, 0, 0, 1000 * iteration, "output", 0, 64, "float32", shape_of(iteration)]
                               + list(statistics.values()))
        self.report(name, dump)
        self.open(name)

    def test_rows_of_counts_alone(self):
        """The map has their faults, and no statistic."""
        self.write_rows("counts", [(0, i, "Op", "a", {"NaN Count": i // 2}) for i in range(4)])
        self.assertIn("iteration 2", self.text("#verdict"))
        self.assertIn("holds NaN", self.text("#readout"))
        self.assertEqual(self.browser.execute_script("return [...view.keys].map(key => key >= KEY_NAN)"), [False, False, True, True])
        self.press(Keys.ARROW_LEFT)
        self.assertIn("not measured", self.text("#readout"))

    def test_a_share_of_rows_of_other_sizes(self):
        rows = [(0, i, "Op", "a", {"Max Value": 1, "Float16 Underflow": 16 if i == 3 else 0}) for i in range(4)]
        self.write_rows("sizes", rows, lambda iteration: "(4,8)" if iteration == 3 else "(4,4)")
        self.assertIn("▼ ≥ 50 %", self.text("#casts"))

    def test_each_rank_has_its_own_tensors(self):
        """As in a pipeline: no parameter is on two ranks, and none is held against another."""
        self.write_rows("pipeline", [(rank, i, "Parameter", f"layer{rank}", {"L2Norm Value": 4 << rank}) for rank in range(3) for i in range(4)])
        table = self.text("#all tbody").splitlines()
        self.assertEqual([line.split()[-2] for line in table if line.startswith("layer")], ["4", "8", "16"])
        self.assertIn("No parameter could be compared", self.text("#ranks"))

    def test_ranks_with_other_statistics(self):
        """A rank without the first statistic of the page has rows, too."""
        other = {0: {"L2Norm Value": 2}, 1: {"Max Value": 2}}
        self.write_rows("others", [(rank, i, "Parameter", "w", other[rank]) for rank in range(2) for i in range(4)])
        self.assertIn("last iteration 3 3", self.text("#ranks").splitlines())
        self.assertIn("No parameter could be compared", self.text("#ranks"))

    def test_ranks_that_differ_in_a_digest_alone(self):
        """Two elements have changed their places on one of the ranks."""
        self.write_rows("digests", [(rank, i, "Parameter", "w", {"L2Norm Value": 2, "Xor64": f"{i * 16 + (rank if i == 2 else 0):016x}"})
                                    for rank in range(2) for i in range(4)])
        self.assertIn("Equal here: 1 parameter of 1", self.text("#ranks"))
        self.open("digests", "#tensor=w++param&step=2")
        self.assertIn("≠", self.text("#ranks"))

    def test_a_parameter_and_its_gradient_are_told_apart(self):
        """They have one name, and each is a line of the map with an address of its own."""
        place = os.path.join(self.folder.name, "kinds", "rank_0", "net", "0", "0")
        os.makedirs(place)
        with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(HEADING)
            for kind, value in (("Parameter", 3.0), ("Gradient", 0.25)):
                rows.writerow([kind, "w", 0, 0, 1000, "output", 0, 64, "float32", "(16)", value, -value, value / 3, value * 2, 0, 0, 0, 0])
        self.report("kinds", os.path.join(self.folder.name, "kinds"))
        for kind, l2norm in (("param", "6"), ("grad", "0.5")):
            self.open("kinds", f"#tensor=w++{kind}&step=0")
            self.assertIn(f"w {kind}", " ".join(self.text("#card-title").split()))
            self.assertIn(f"l2norm {l2norm}", self.text("#readout"))
        self.assertIn("w grad", " ".join(self.text("#all").split()))

    def test_two_runs(self):
        a, b = os.path.join(self.folder.name, "run_a"), os.path.join(self.folder.name, "run_b")
        self.write(a, lambda rank, i: 1.5 + i / 7, ranks=1)
        self.write(b, lambda rank, i: (1.5 + i / 7) * (1 if i < 10 else 1.000001 if i < 20 else 1.1), ranks=1)
        self.report("two", a, b)
        self.open("two")  # it shows where they part
        self.assertIn("w param", " ".join(self.text("#card-title").split()))
        self.assertIn("iteration 20", self.text("#readout"))
        self.assertIn("≠", self.text("#verdict .lead"))
        self.assertEqual(self.browser.title.split(" · ")[0], "A and B part")
        self.open("two", "#tensor=w++output.0&step=20")
        verdict = self.text("#verdict")
        self.assertIn("A and B part at iteration 20, rank 0, in w output.0", verdict)
        self.assertIn("They differ in a bit first at iteration 10", verdict)
        self.assertIn("160 rows, 2 tensors, 40 iterations, 2 runs, 1 rank.", verdict)
        self.assertEqual(verdict.count("drift: "), 1, verdict)  # neither run has enough iterations
        self.assertIn("Two runs at iteration 20", self.text("#ranks"))
        self.assertIn("A, rank 0", self.text("#card"))
        self.assertEqual(self.browser.execute_script("return view.colour"), "ranks")
        self.report("same", a, a)
        self.open("same")
        self.assertIn("A and B agree in every bit", self.text("#verdict .lead"))

    def test_a_page_of_a_run_that_is_written(self):
        dump, page = os.path.join(self.folder.name, "grows"), os.path.join(self.folder.name, "grows.html")
        self.write(dump, lambda rank, i: 1.5 + i / 7, ranks=1, iterations=30)
        following = subprocess.Popen([COMMAND, "report", dump, "-o", page, "--follow", "1"], stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 60
            while not os.path.exists(page) and time.monotonic() < end:
                time.sleep(0.1)
            self.pages["grows"] = page, 0
            self.open("grows", "#tensor=w++output.0&step=7")
            self.assertIn("loads itself again", self.text("#verdict"))
            self.browser.execute_script("const f = document.getElementById('find'); f.value = 'w'; f.dispatchEvent(new Event('input')); scrollTo(0, 150)")
            self.write(dump, lambda rank, i: 1.5 + i / 7, ranks=1, first=30, iterations=33)
            grown = "return document.body.getAttribute('aria-busy') === 'false' && run.iterations.length === 33"
            WebDriverWait(self.browser, 60, ignored_exceptions=[Exception]).until(lambda b: b.execute_script(grown))
            self.assertIn("step=7", self.browser.current_url)
            self.assertEqual(self.text("#all-title"), "1 of 2 tensors")
            self.assertGreater(self.browser.execute_script("return scrollY"), 100)
        finally:
            following.send_signal(signal.SIGINT)
            following.wait(60)
        self.open("grows")
        self.assertNotIn("loads itself again", self.text("#verdict"))

    def test_the_code_is_small(self):
        with open(self.pages["hostile"][0], encoding="utf-8") as file:
            page = file.read()
        data = re.findall(r'<script type="application/octet-stream" id="\w+">[^<]*</script>', page)
        self.assertLessEqual(len(page) - sum(map(len, data)), 86_016)


if __name__ == "__main__":
    unittest.main()
