"""`tensorstat attach` of a program on OpenCV's T-API (opencv_program.cpp). Its kernels take uchar*; macros of its source and options
tell the elements, and the kernel of the square root is named. Where OpenCV takes binaries a rule tells them, and without one it is
said that the argument is not understood, and nobody is accused. With --full, where Debian's libopencv-dnn-dev is installed."""
import os
import subprocess
import tempfile
import unittest

COMMAND, PROGRAM = os.environ["COMMAND"], os.environ.get("OPENCV_PROGRAM", "")


@unittest.skipUnless(os.path.exists(PROGRAM), "needs libopencv-dnn-dev and --full")
class OpenCV(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {**os.environ, "OPENCV_OPENCL_DEVICE": ":CPU:", "OPENCV_OPENCL_CACHE_DIR": self.folder}

    def run_with(self, *command, **more):
        return subprocess.run([*command, PROGRAM], capture_output=True, text=True, timeout=300, check=False,
                              env={**self.environment, **more})

    def attach(self, dump, *options, **more):
        attached = self.run_with(COMMAND, "attach", "-o", f"{self.folder}/{dump}", *options, "--", **more)
        alone = self.run_with(**more)
        self.assertEqual((attached.returncode, attached.stdout), (0, alone.stdout))
        self.assertIn("100 NaN", alone.stdout)
        return attached.stderr

    def test_macros_name_the_elements(self):
        report = self.attach("source")
        self.assertIn("NaN in KF#0 (KF): made of finite inputs", report)
        self.assertIn("input 0: float32 (4096), max 3995, min -100,", report)
        self.assertIn("3 launches, 8 arguments measured, 0 not understood", report)

    def test_a_rule_does_where_a_binary_tells_nothing(self):
        cached = {"OPENCV_OPENCL_CACHE_ENABLE": "1"}
        self.run_with(**cached)
        report = self.attach("bytes", **cached)
        self.assertIn("Not known: NaN is first in output 3 of KF#0 (KF)", report)
        self.assertIn("argument 0 has elements of no known type (--types names them)", report)
        self.assertIn("input 0: uint8 (16384)", report)
        self.assertIn(", 1 not understood", report)
        with open(f"{self.folder}/rules", "w", encoding="utf-8") as file:
            file.write("KF.0 = float32\n")
        report = self.attach("ruled", "--types", f"{self.folder}/rules", **cached)
        self.assertIn("NaN in KF#0 (KF): made of finite inputs", report)
        self.assertIn(", 0 not understood", report)


if __name__ == "__main__":
    unittest.main()
