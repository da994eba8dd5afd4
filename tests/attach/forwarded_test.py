"""The layer calls OpenCL below itself alone: each function of OpenCL that tensorstat::core refers to is in forwarded.inc, the
layer leaves none undefined, and exports the two functions of a layer and nothing else."""
import os
import re
import subprocess
import unittest

SOURCE = os.path.join(os.path.dirname(__file__), "..", "..", "stats", "attach", "forwarded.inc")


def symbols(kind, path):
    text = subprocess.run(["nm", *kind, path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" (?:U|T|t) (cl[A-Z]\w+)$", text, re.MULTILINE))


class Forwarded(unittest.TestCase):
    def test_the_list_is_what_the_core_refers_to(self):
        with open(SOURCE) as file:
            listed = re.findall(r"^FORWARD\([\w]+,\s*(cl\w+),", file.read(), re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(set(listed)))
        self.assertGreater(len(listed), 30)
        if os.environ["CORE"].endswith(".a"):
            self.assertEqual(set(listed), symbols(["--undefined-only"], os.environ["CORE"]))

    def test_no_call_leaves_the_layer_but_downwards(self):
        layer = os.environ["LAYER"]
        self.assertEqual(symbols(["-D", "--undefined-only"], layer), set())
        self.assertEqual(symbols(["-D", "--defined-only"], layer), {"clGetLayerInfo", "clInitLayer"})
        needed = subprocess.run(["readelf", "-d", layer], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("OpenCL", needed)


if __name__ == "__main__":
    unittest.main()
