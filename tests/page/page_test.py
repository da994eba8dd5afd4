"""A run's page in Chromium: what the first screen says, keys, search, links, dark mode, hostile names; no request, no error of the
console, and the same bytes for the same rows. Skipped where chromium-driver or python3-selenium is missing."""
import csv
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError:
    print("selenium is not installed: the page is not tested here", file=sys.stderr)
    sys.exit(0)
if not shutil.which("chromedriver"):
    print("chromedriver is not installed: the page is not tested here", file=sys.stderr)
    sys.exit(0)

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")
HOSTILE = ["</script><img src=x onerror=document.title='broken'>", "\"quotes\" and 'more' & <b>bold</b>", "\u202egnp.exe", "n" * 1000,
           "@style@ @blocks@", "层.权重"]


def write_run(folder, value_of, names=("a.up", "a.down"), ranks=2, iterations=80):
    """A dump: value_of(name, rank, iteration) is the l2norm of a tensor."""
    for rank in range(ranks):
        for iteration in range(iterations):
            place = os.path.join(folder, f"rank_{rank}", "net", "0", str(iteration))
            os.makedirs(place)
            with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(HEADING)
                for at, name in enumerate(names):
                    value = value_of(name, rank, iteration)
                    io = (1 if math.isnan(value) else 0, 1 if value == math.inf else 0)
                    rows.writerow(["Op", name, 0, 0, 1000 * iteration + at, "output", 0, 64, "float32", "(16)", value, -1.0, value / 4, value,
                                   io[0], io[1], 0, 0])


def calm(name, rank, iteration):
    return 1.0 + 0.01 * math.sin(iteration + len(name) + rank)


def planted(name, rank, iteration):
    return math.nan if name == "a.down" and rank == 1 and iteration >= 60 else calm(name, rank, iteration)


def write_page(folder, value_of, **run):
    write_run(os.path.join(folder, "dump"), value_of, **run)
    page = os.path.join(folder, "page.html")
    ran = subprocess.run([COMMAND, "report", os.path.join(folder, "dump"), "-o", page], capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    return page, ran.returncode


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.browser = webdriver.Chrome(options=options)
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages = {}
        for name, arguments in {"calm": dict(value_of=calm), "planted": dict(value_of=planted),
                                "hostile": dict(value_of=calm, names=HOSTILE, ranks=1, iterations=3)}.items():
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

    def test_first_screen_names_the_planted_fault(self):
        self.assertEqual(self.pages["planted"][1], 1)
        self.open("planted")
        said = self.text("#verdict")
        for word in ("NaN", "a.down", "60", "59", "Rank 1"):
            self.assertIn(word, said.replace("Rank\n", "Rank "))
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
        # All colours of the map: none is that of a fault or of a great change.
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
        self.assertIn("find a tensor", self.text("#keys"))

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

    def test_same_rows_same_bytes(self):
        page = self.pages["planted"][0]
        again = page + ".again.html"
        subprocess.run([COMMAND, "report", os.path.join(os.path.dirname(page), "dump"), "-o", again], capture_output=True)
        with open(page, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_the_code_is_small(self):
        folder = os.path.join(os.path.dirname(__file__), "..", "..", "stats", "page")
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith((".js", ".css", ".html"))]
        self.assertLessEqual(sum(sizes), 60_000)


if __name__ == "__main__":
    unittest.main()
