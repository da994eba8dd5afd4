"""OpenCL is called through the library's own functions alone (kernels-cl/driver/opencl_calls.inc): tensorstat::core refers to no
function of OpenCL by its name, and uses each that is listed. So the layer calls below itself alone: it leaves none undefined, and
exports the two functions of a layer and nothing else."""
import os
import re
import subprocess
import unittest

DRIVER = os.path.join(os.path.dirname(__file__), "..", "..", "kernels-cl", "driver")


def symbols(kind, path, pattern=r"cl[A-Z]\w+"):
    text = subprocess.run(["nm", "--demangle", *kind, path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(rf" (?:U|T|t) ({pattern})(?:\(.*\))?$", text, re.MULTILINE))


def listed(file, pattern):
    with open(os.path.join(DRIVER, file)) as opened:
        return re.findall(pattern, opened.read(), re.MULTILINE)


class Forwarded(unittest.TestCase):
    def test_the_core_calls_what_is_listed_and_no_function_by_its_name(self):
        calls = listed("opencl_calls.inc", r"^OPENCL_CALL\([\w]+,\s*(cl\w+),")
        self.assertEqual(sorted(calls), sorted(set(calls)))
        self.assertGreater(len(calls), 30)
        self.assertEqual(sorted(calls), sorted(listed("opencl_calls.hpp", r"^#define (cl\w+) tensorstat_\1$")))
        if os.environ["CORE"].endswith(".a"):
            self.assertEqual(symbols(["--undefined-only"], os.environ["CORE"]), set())
            self.assertEqual({"tensorstat_" + each for each in calls},
                             symbols(["--undefined-only"], os.environ["CORE"], r"tensorstat_cl[A-Z]\w+"))

    def test_no_call_leaves_the_layer_but_downwards(self):
        layer = os.environ["LAYER"]
        self.assertEqual(symbols(["-D", "--undefined-only"], layer), set())
        self.assertEqual(symbols(["-D", "--defined-only"], layer), {"clGetLayerInfo", "clInitLayer"})
        needed = subprocess.run(["readelf", "-d", layer], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("OpenCL", needed)


if __name__ == "__main__":
    unittest.main()
