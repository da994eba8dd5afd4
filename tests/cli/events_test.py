"""`tensorstat events` of alerts that are written here: names without effects on a terminal, the line that is no alert, and options
that contradict each other."""
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
ALERT = '{"step":3,"rank":0,"condition":"nan","op_name":"%s","io":"output","slot":0,"tensors":1}\n'


class Events(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        os.mkdir("run")

    def events(self, alerts, *options):
        with open("run/alerts.ndjson", "w") as file:
            file.write(alerts)
        return subprocess.run([COMMAND, "events", "run", *options], capture_output=True, text=True, timeout=60, check=False)

    def test_a_name_is_one_line_without_effects(self):
        ran = self.events(ALERT % r"fc\u001b[31m\nstep 9: fc2")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertEqual(ran.stdout.splitlines(), ["run/alerts.ndjson:", r"  step 3: fc\x1b[31m\nstep 9: fc2 output 0, condition nan"])

    def test_a_line_that_is_no_alert_is_told_by_its_number(self):
        ran = self.events(ALERT % "fc" + ALERT % "fc" + '{"step":1,\n')
        self.assertEqual(ran.returncode, 3)
        self.assertIn("run/alerts.ndjson, line 3: is no alert: column ", ran.stderr)
        self.assertEqual(ran.stdout.count("step 3: fc"), 2)

    def test_to_write_and_to_write_nothing(self):
        self.assertEqual(self.events(ALERT % "fc", "--write", "--list").returncode, 2)


if __name__ == "__main__":
    unittest.main()
