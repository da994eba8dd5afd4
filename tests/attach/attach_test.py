"""`tensorstat attach` of small programs (programs.cpp): each has the same output and exit status as alone, and the launch
that made the first NaN is named. A layer that waits hangs some of them, and one that reads too late accuses nobody."""
import json
import os
import subprocess
import tempfile
import unittest

import gates_test

COMMAND, PROGRAMS = os.environ["COMMAND"], os.environ["PROGRAMS"]
MOST_SECONDS = 120  # a program that hangs

# What is said of each program: the launch that made NaN; "" where there is none.
NO_IMAGES = "image: -59"  # CL_INVALID_OPERATION: pocl 7 has none
GUILTY = {
    "user_event": "root#0", "gate_of_another_queue": "root#1", "two_queues": "root#20", "out_of_order": "root#20",
    "out_of_order_gate": "root#1", "released_at_once": "root#25", "own_memory": "root#0", "forks": "root#1", "exits": "root#0",
    "exits_blocked": "root#0", "aborts": "root#0", "references": "root#0", "profiling": "root#0", "set_again": "root#1",
    "sub_buffers": "root#1", "in_place": "in_place#2", "unwritten_memory": "root#32", "reused_memory": "root#0", "refused_launch": "root#2",
    "mapped": "root#1", "many": "root#1500", "clean": "", "copied_in_part": "", "copied_in_rows": "",
    "followed_pointer": "",
    "shared_memory": "root#1", "command_buffer": "twice+root#2", "image": "root#1", "complex_numbers": "complex_root#0",
}


def run(*command, **more):
    environment = {**os.environ, **more.pop("environment", {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, env=environment, **more)


class Attach(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dump = os.path.join(folder.name, "dump")

    def attach(self, program, *options, **more):
        dump = tempfile.mkdtemp(dir=os.path.dirname(self.dump))
        self.dump = dump
        return run(COMMAND, "attach", "-o", dump, *options, "--", PROGRAMS, program, **more)

    def rows(self):
        ran = run(COMMAND, self.dump, "--format", "ndjson")
        return [json.loads(line) for line in ran.stdout.splitlines()]

    def test_every_program_is_as_alone_and_the_guilty_launch_is_named(self):
        for program, guilty in GUILTY.items():
            with self.subTest(program):
                alone, attached = run(PROGRAMS, program), self.attach(program)
                self.assertEqual(attached.stdout, alone.stdout)
                status = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
                self.assertEqual(attached.returncode, status, attached.stderr)
                self.assertIn(", 0 not understood", attached.stderr)
                if guilty and NO_IMAGES not in alone.stdout:
                    self.assertIn(f"NaN in {guilty} (", attached.stderr)
                else:
                    self.assertNotIn("NaN", attached.stderr)

    def test_a_program_that_exits_while_the_driver_compiles(self):
        with tempfile.TemporaryDirectory() as cache:
            attached = self.attach("exits", environment={"POCL_CACHE_DIR": cache})
        self.assertEqual(attached.returncode, 9, attached.stderr)
        self.assertTrue(attached.stdout.endswith("bye\n"), attached.stdout)

    def test_eight_threads(self):
        alone, attached = run(PROGRAMS, "threads"), self.attach("threads")
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
        self.assertRegex(attached.stderr, r"NaN in root#\d+ \(root\): made of finite inputs")
        self.assertIn("200 launches", attached.stderr)

    def test_every_program_is_in_the_list(self):
        others = {"threads", "given_by_host", "reads_unwritten", "shared_with_host", "unified_memory", "queue_of_extension",
                  "closes_files", "missing_list"}
        self.assertEqual(set(run(PROGRAMS).stdout.split()), set(GUILTY) | others | set(gates_test.GUILTY))

    def test_what_the_host_gave_is_told_from_what_a_launch_made(self):
        self.assertIn("NaN came from the host: twice#0 (twice) input 0", self.attach("given_by_host").stderr)
        self.assertIn("NaN came from the host: twice#1 (twice) input 0", self.attach("shared_with_host").stderr)

    def test_a_command_buffer_is_one_launch(self):
        self.attach("command_buffer")
        rows = {(row["op_name"], row["io"], row["slot"]): row["stats"] for row in self.rows()}
        self.assertEqual(rows["twice+root#0", "output", 1]["max"], 2048)  # twice a
        self.assertEqual(rows["twice+root#0", "output", 2]["nan count"], 0)
        self.assertEqual(rows["twice+root#2", "input", 0]["max"], -1)
        self.assertEqual(rows["twice+root#2", "output", 2]["nan count"], 1024)
        self.assertEqual(rows["twice#3", "input", 0]["max"], 5)  # filled by it
        self.assertEqual(rows["twice#4", "input", 0]["max"], 5)  # copied by it

    def test_command_buffers_of_a_version_that_is_not_known_are_left_alone(self):
        layer = {"OPENCL_LAYERS": os.environ["FAILING_LAYER"], "OTHER_COMMAND_BUFFERS": "1"}
        alone, attached = run(PROGRAMS, "command_buffer", environment=layer), self.attach("command_buffer", environment=layer)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
        if "command buffers not followed" not in attached.stderr:  # a driver that lists no version
            self.assertIn("NaN in twice+root#2", attached.stderr)
            return
        self.assertNotIn("NaN in", attached.stderr)

    def test_what_is_not_measured_is_named_in_the_last_line(self):
        with_image = self.attach("image")
        if NO_IMAGES not in with_image.stdout:
            self.assertIn(", 1 images or pipes not measured", with_image.stderr)
        layer = {"OPENCL_LAYERS": os.environ["FAILING_LAYER"]}
        alone, attached = run(PROGRAMS, "unified_memory", environment=layer), self.attach("unified_memory", environment=layer)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
        self.assertIn(", 2 in memory of extensions (such as USM) not measured", attached.stderr)

    def test_launches_on_a_queue_of_an_extension_are_measured(self):
        layer = {"OPENCL_LAYERS": os.environ["FAILING_LAYER"]}
        alone = run(PROGRAMS, "queue_of_extension", environment=layer)
        attached = self.attach("queue_of_extension", environment=layer)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
        self.assertIn("NaN in root#0 (root)", attached.stderr)

    def test_a_list_of_events_that_is_missing_is_refused_by_the_driver(self):
        layer = {"OPENCL_LAYERS": os.environ["FAILING_LAYER"]}  # as pocl 3.1 does not refuse it
        alone, attached = run(PROGRAMS, "missing_list", environment=layer), self.attach("missing_list", environment=layer)
        self.assertIn("-57", alone.stdout)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
        self.assertIn("NaN in root#0 (root)", attached.stderr)

    def test_poison_names_who_reads_what_nobody_wrote(self):
        attached = self.attach("reads_unwritten", "--poison")
        self.assertIn("sum#1 read memory that nobody wrote: 1 of 1024 elements of output 1", attached.stderr)
        self.assertNotIn("read memory", self.attach("clean", "--poison").stderr)
        # A NaN in unwritten memory is not blamed on the launch that wrote the other half.
        attached = self.attach("unwritten_memory", "--poison")
        self.assertNotIn("read memory", attached.stderr)
        self.assertIn("NaN in root#32 (root)", attached.stderr)

    def test_poison_leaves_what_somebody_wrote(self):
        for program in ("copied_in_part", "followed_pointer"):
            with self.subTest(program):
                alone, attached = run(PROGRAMS, program), self.attach(program, "--poison")
                self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))
                self.assertNotIn("read memory", attached.stderr)

    def test_fail_on(self):
        self.assertEqual(self.attach("user_event", "--fail-on", "nan").returncode, 1)
        self.assertEqual(self.attach("clean", "--fail-on", "nan,inf").returncode, 0)
        self.assertEqual(self.attach("clean", "--fail-on", "max > 100").returncode, 1)
        self.assertEqual(self.attach("exits", "--fail-on", "max > 1e30").returncode, 9)
        # One argument in three launches of its kernel.
        attached = self.attach("clean", "--fail-on", "io == input and max == previous(max) for 2 steps")
        self.assertEqual(attached.returncode, 1)
        self.assertIn("twice#2", attached.stderr)
        self.assertEqual(self.attach("clean", "--fail-on", "io == input and max == previous(max) for 3 steps").returncode, 0)

    def test_what_is_measured_can_be_chosen(self):
        self.attach("two_queues", "--kernels", "clear|none")
        self.assertEqual({row["op_type"] for row in self.rows()}, {"clear"})
        self.attach("many", "--launches", "10-12")
        self.assertEqual({row["op_name"] for row in self.rows()}, {"twice#10", "twice#11", "twice#12"})
        self.attach("many", "--every", "500")
        self.assertEqual({row["op_name"] for row in self.rows()},
                         {"twice#0", "twice#500", "twice#1000", "root#1500", "twice#1501"})
        self.attach("clean", "--stats", "max,p50")
        self.assertIn("p50", self.rows()[0]["stats"])

    def test_rows_hold_what_a_launch_was_given_and_gave(self):
        self.attach("set_again")
        rows = {(row["op_name"], row["io"], row["slot"]): row for row in self.rows()}
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows["root#1", "input", 0]["stats"]["min"], -0.5)
        self.assertEqual(rows["root#1", "output", 1]["stats"]["nan count"], 1)
        self.assertEqual(rows["root#0", "output", 1]["stats"]["max"], float.fromhex("0x1p5"))
        self.assertEqual({str(row["shape"]) for row in rows.values()}, {"[1024]"})

    def test_rows_feed_origin_and_diff(self):
        self.attach("user_event")
        first = self.dump
        origin = run(COMMAND, "origin", first, "--format", "json")
        self.assertEqual(json.loads(origin.stdout)["verdict"]["op_name"], "root#0")
        self.attach("user_event")
        self.assertEqual(run(COMMAND, "diff", first, self.dump).returncode, 0)

    def test_a_program_without_opencl_is_told_as_such(self):
        ran = run(COMMAND, "attach", "-o", self.dump, "--", "sh", "-c", "exit 7")
        self.assertEqual(ran.returncode, 7)
        self.assertIn("did not load OpenCL through the ICD loader", ran.stderr)
        for program, status in (("/nowhere/program", 127), ("/etc/passwd", 126)):
            self.assertEqual(run(COMMAND, "attach", "-o", self.dump + str(status), "--", program).returncode, status)

    def test_a_folder_that_holds_something_is_refused(self):
        self.attach("clean")
        ran = run(COMMAND, "attach", "-o", self.dump, "--", PROGRAMS, "clean")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("holds something already", ran.stderr)

    def test_wrong_words_are_refused_before_the_program_runs(self):
        for options in (["--launches", "9-3"], ["--every", "0"], ["--kernels", "("], ["--stats", "nonsense"],
                        ["--types", "/nowhere"], ["--fail-on", "max >"], ["--fail-on", "differs over dp"]):
            ran = self.attach("clean", *options)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""), options)

    def test_a_driver_that_refuses_the_option_builds_as_asked(self):
        layer = {"OPENCL_LAYERS": os.environ["CL_LAYER"], "CL_LAYER_REFUSE_OPTION": "-cl-kernel-arg-info"}
        alone, attached = run(PROGRAMS, "user_event", environment=layer), self.attach("user_event", environment=layer)
        self.assertEqual((attached.stdout, attached.returncode), (alone.stdout, 0))

    def test_rules_say_what_bytes_hold(self):
        layer = {"OPENCL_LAYERS": os.environ["CL_LAYER"], "CL_LAYER_REFUSE_OPTION": "-cl-kernel-arg-info"}
        rules = os.path.join(os.path.dirname(self.dump), "rules")
        with open(rules, "w") as file:
            file.write("# all of them\nroot.[01] = float32\n")
        attached = self.attach("user_event", "--types", rules, environment=layer)
        self.assertIn("NaN in root#0 (root)", attached.stderr)


if __name__ == "__main__":
    unittest.main()
