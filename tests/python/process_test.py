"""Python's processes: the GIL is free while tensors are measured; forked children, other threads and the interpreter's
exit are safe; objects that are dropped are given back."""
import gc
import json
import multiprocessing
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import tensorstat

METER = tensorstat.Meter(threads=2)  # lives until the interpreter's exit


def in_child(x):
    return tensorstat.measure(x, "avg").avg, METER.measure(x, "avg").avg


def config_of(folder, save_kernel_args=False, **settings):
    common = {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "all", "kernels": [], "input_output": 0,
              "support_device": [0], "saved_data": "statistic", **settings}
    return json.dumps({"common_dump_settings": common,
                       "e2e_dump_settings": {"enable": True, "save_kernel_args": save_kernel_args}})


class Process(unittest.TestCase):
    def test_a_forked_child_measures(self):
        x = numpy.arange(3_000_000, dtype=numpy.float32)
        expected = METER.measure(x, "avg").avg  # the parent's threads have run
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for got in pool.map_async(in_child, [x] * 4).get(timeout=120):
                self.assertEqual(got, (expected, expected))

    def test_threads_share_a_meter(self):
        x = [numpy.full(100_000, i, numpy.float32) for i in range(8)]
        averages = {}
        threads = [threading.Thread(target=lambda i=i: averages.update({i: METER.measure(x[i], "avg").avg})) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(averages, {i: float(i) for i in range(8)})

    def test_the_interpreter_ends_with_everything_alive(self):
        program = ("import numpy, tensorstat\n"
                   "m = tensorstat.Meter(); s = m.stream('float32'); p = tensorstat.fold(numpy.zeros(9), 'max')\n"
                   "s.append(numpy.zeros(2_000_000, numpy.float32)); r = m.measure(numpy.zeros(2_000_000))\n"
                   "d = tensorstat.DumpSession(); cycle = [m]; cycle.append(cycle); print(r.count)")
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "2000000\n", ""))

    def test_a_free_threaded_python_is_refused_before_the_extension_is_loaded(self):
        program = ("import sys\nsys.abiflags = 't'\n"
                   "try:\n    import tensorstat\nexcept ImportError as fault:\n    print(fault)\n"
                   "print('_native' in open('/proc/self/maps').read())")
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, "^tensorstat needs a Python with the GIL.*\nFalse\n$")

    def test_another_interpreter_of_the_process_is_refused(self):
        program = r"""
import sys, tensorstat
if sys.version_info < (3, 13):
    import _xxsubinterpreters as interpreters
    other = interpreters.create(isolated=False)
else:
    import _interpreters as interpreters
    other = interpreters.create("legacy")
interpreters.run_string(other, '''
try:
    import tensorstat
except ImportError as fault:
    print(fault, flush=True)
''')
interpreters.destroy(other)
try:
    tensorstat.measure([1.0], "no such statistic")
except tensorstat.Error as fault:
    print("Error")
"""
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, "^tensorstat serves one interpreter of a process.*\nError\n$")

    def test_the_interpreter_ends_while_daemon_threads_measure(self):
        # The exit takes the GIL away from threads wherever they are: in the library, in Python's own code, in hooks.
        program = """
import json, sys, threading, time
import numpy, tensorstat
folder = sys.argv[1]
large, small = numpy.arange(1 << 18, dtype="f4"), numpy.arange(100, dtype="f4")
numpy.savez(folder + "/x.npz", a=large, b=small)
with open(folder + "/statistic.csv", "w") as file:
    file.write("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\\n")
    file.writelines(f'Conv2D,c{i},0,0,{i},output,0,4,float32,"(1)",1.5\\n' for i in range(50))
session = tensorstat.DumpSession(json.dumps({
    "common_dump_settings": {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "all", "kernels": [],
                             "input_output": 0, "support_device": [0], "saved_data": "statistic"},
    "e2e_dump_settings": {"enable": False}}))
def stream():
    pieces = tensorstat.stream("float32", "max")
    pieces.append(small)
    pieces.finish()
def meter():
    tensorstat.Meter(threads=2).measure(large, "max")
each = {"measure": lambda: tensorstat.measure(large, "avg,l2norm"), "few": lambda: tensorstat.measure([small] * 3, "avg"),
        "stream": stream, "meter": meter, "file": lambda: tensorstat.read(folder + "/x.npz", "max"),
        "rows": lambda: tensorstat.read(folder + "/statistic.csv"), "compare": lambda: tensorstat.compare(large, large),
        "fold": lambda: tensorstat.fold(small, "max") + tensorstat.fold(small, "max"),
        "collect": lambda: session.collect("T", "a", outputs=[small])}
def work(do):
    while True:
        try:
            do()
        except tensorstat.Error as error:  # the interpreter's exit closes the session while its thread still runs
            if str(error) == "the session was closed":
                return
            raise
for do in each.values():
    do()
    threading.Thread(target=work, args=(do,), daemon=True).start()
time.sleep(.2)
"""
        for _ in range(4):
            with tempfile.TemporaryDirectory() as folder:
                ended = subprocess.run([sys.executable, "-B", "-c", program, folder], capture_output=True, text=True, timeout=300)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_dumping_is_switched_while_training_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({
                "common_dump_settings": {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "5", "kernels": [],
                                         "input_output": 0, "support_device": [0], "saved_data": "statistic"},
                "e2e_dump_settings": {"enable": True}})
            with tensorstat.DumpSession(config) as session:
                self.assertFalse(session.wants("Op", "x", iteration=4))
                session.set_initial_iteration(1)
                self.assertTrue(session.wants("Op", "x", iteration=4))
                session.start()
                session.collect("Op", "x", outputs=[numpy.ones(3)], iteration=8)
                self.assertTrue(session.stop())
                self.assertTrue(os.path.exists(folder + "/rank_0/Net/0/9/statistic.csv"))
                self.assertFalse(session.wants("Op", "x", iteration=4))
                session.start()
                session.collect("Op", "y", outputs=[numpy.ones(3)], iteration=9)
            self.assertEqual((session.counters["row_count"], session.counters["lost_row_count"]), (2, 0))

    def test_a_layout_as_json_dumps_writes_it(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"task": "statistics", "dump_path": folder, "level": "L1"})
            with tensorstat.DumpSession(config, framework="pytorch") as session:
                members = {"input_args": [{"type": "int", "value": 3}, "\x01i0\x01"], "output": ["\x01o0\x01"]}
                for name, layout in (("a", json.dumps(members, indent=1)), ("b", json.dumps(members, indent=1).replace(
                        '"\\u0001', "\x01").replace('\\u0001"', "\x01"))):
                    session.collect("add", f"Functional.{name}.0.forward", inputs=[numpy.full(3, 2.0)], outputs=[numpy.ones(2)],
                                    layout=layout)
                session.step_end()
            with open(folder + "/step0/rank0/dump.json", encoding="utf-8") as file:
                data = json.load(file)["data"]
        call = data["Functional.a.0.forward"]
        self.assertEqual(call, data["Functional.b.0.forward"])
        self.assertEqual(call["input_args"][0], {"type": "int", "value": 3})
        self.assertEqual((call["input_args"][1]["Max"], call["output"][0]["shape"]), (2.0, [2]))

    def test_what_cannot_be_measured_costs_its_operator_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(config_of(folder)) as session:
                with self.assertLogs("tensorstat", "WARNING") as log:
                    for step in range(3):
                        session.collect("Print", "Default/Print-op3", inputs=[numpy.array(["x = "]), numpy.ones(3), None, 5],
                                        outputs=[numpy.zeros(2)], iteration=step)
                        session.step_end(iteration=step)
                self.assertRaises(TypeError, session.collect, "Print", "a", rank="0")
            self.assertEqual(len(log.output), 1)
            self.assertIn("Default/Print-op3: input 0 is left out: an array of <U4", log.output[0])
            self.assertEqual((session.counters["row_count"], session.counters["lost_tensor_count"]), (6, 6))
            rows = tensorstat.read(folder)
        self.assertEqual([(row["iteration"], row["io"], row["slot"]) for row in rows],
                         [(step, io, slot) for step in range(3) for io, slot in (("input", 1), ("output", 0))])

    def test_operators_that_are_flagged(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(config_of(folder, dump_mode=2)) as session:
                self.assertFalse(session.wants("Op", "a"))
                self.assertTrue(session.wants("Op", "a", set_dump=True))
                for name, flagged in (("a", True), ("b", False)):
                    session.collect("Op", name, outputs=[numpy.ones(3)], set_dump=flagged)
            self.assertEqual([row["op name"] for row in tensorstat.read(folder)], ["a"])
            with self.assertLogs("tensorstat", "WARNING") as log:
                with tensorstat.DumpSession(config_of(folder, dump_mode=2)) as session:
                    session.collect("Op", "a", outputs=[numpy.ones(3)], iteration=1)
            self.assertIn("dump_mode is 2", log.output[-1])

    def test_what_no_operator_has_is_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"task": "tensor", "dump_path": folder, "level": "debug"})
            with tensorstat.DumpSession(config) as session:
                for value in (1, 2):
                    session.save("loss", numpy.full(3, value, numpy.float32), rank=1, iteration=4)
            with open(f"{folder}/step4/rank1/debug.json", encoding="ascii") as file:
                data = json.load(file)["data"]
            self.assertEqual([(key, leaf["Max"]) for key, leaf in data.items()],
                             [("loss.0.debug", 1.0), ("loss.1.debug", 2.0)])
            saved = numpy.load(f"{folder}/step4/rank1/dump_tensor_data/loss.1.debug.npy")
            self.assertEqual(saved.tolist(), [2.0] * 3)
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(config_of(folder)) as session:
                session.save("loss", numpy.ones(3))
            self.assertEqual(session.counters["tensor_count"], 0)

    def test_lists_and_dicts_are_saved_with_their_gradients(self):
        """The keys, the nesting and the names of files are those of msprobe's PrecisionDebugger.save()."""
        try:
            import torch  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("no torch")
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"task": "tensor", "dump_path": folder, "level": "debug"})
            with tensorstat.DumpSession(config, framework="pytorch") as session:
                pairs = [(torch.full((2,), 2.0 + i, requires_grad=True), torch.full((3,), 4.0)) for i in range(2)]
                for x, y in pairs:
                    session.save("x", {"a": x, "b": [y, 7, None, {"c": x * 2}]}, iteration=4, save_backward=True)
                session.save("x", [1, "two"], iteration=4)  # no tensor: nothing
                for i, (x, _) in enumerate(pairs):  # the backward of the second value comes last, but what counts is when it was saved
                    (x.sum() * (i + 5)).backward()
                session.save("x", [pairs[0][1]], iteration=5)
            with open(f"{folder}/step4/rank0/debug.json", encoding="ascii") as file:
                data = json.load(file)["data"]
            self.assertEqual(set(data), {"x.0.debug", "x.1.debug", "x_grad.0.debug", "x_grad.1.debug"})
            for i in range(2):
                saved, grads = data[f"x.{i}.debug"], data[f"x_grad.{i}.debug"]
                self.assertEqual((saved["a"]["Max"], saved["b"][0]["Max"], saved["b"][3]["c"]["Max"]), (2.0 + i, 4.0, 4.0 + 2 * i))
                self.assertEqual(saved["b"][1:3], [{"type": "int", "value": 7}, None])
                self.assertEqual(saved["b"][3]["c"]["data_name"], f"x.{i}.debug.b.3.c.npy")
                self.assertEqual((grads["a"]["Max"], grads["a"]["shape"], grads["b"]), (5.0 + i, [2], [None, None, None, {"c": None}]))
                self.assertEqual(numpy.load(f"{folder}/step4/rank0/dump_tensor_data/x_grad.{i}.debug.a.npy").tolist(), [5.0 + i] * 2)
            self.assertEqual([row["max"] for row in tensorstat.read(f"{folder}/step5/rank0/debug.json")], [4.0])
            self.assertEqual(len(tensorstat.read(f"{folder}/step4/rank0/debug.json")), 8)

    def test_gradients_of_a_parameter_that_each_step_saves(self):
        """Each step has its own, and the parameter no hook when the session is closed: backward goes on as without one."""
        try:
            import torch  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("no torch")
        for ends_steps in True, False:
            with tempfile.TemporaryDirectory() as folder, self.subTest(ends_steps=ends_steps):
                config = json.dumps({"task": "statistics", "dump_path": folder, "level": "debug"})
                weight = torch.ones(2, requires_grad=True)
                with tensorstat.DumpSession(config, framework="pytorch") as session:
                    for step in range(3):
                        for part in range(2):
                            session.save("w", weight, iteration=step)
                            twice = weight * 2
                            session.save("twice", twice, iteration=step)
                            (twice * (10 * step + part + 1)).sum().backward()
                        if ends_steps:
                            session.step_end(iteration=step)
                    self.assertLessEqual(len(weight._backward_hooks), 2)
                    session.save("w", weight, iteration=3)
                    later = weight * 2
                    session.save("later", later, iteration=3)
                later.sum().backward()
                self.assertEqual(len(weight._backward_hooks), 0)
                for step in range(3):
                    with open(f"{folder}/step{step}/rank0/debug.json", encoding="ascii") as file:
                        data = json.load(file)["data"]
                    self.assertEqual({key: leaf["Max"] for key, leaf in data.items() if "_grad." in key},
                                     {f"{name}_grad.{part}.debug": (10 * step + part + 1) * factor
                                      for name, factor in (("w", 2), ("twice", 1)) for part in range(2)})

    def test_a_graph_has_the_layers_of_its_model(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"dump": {"dump_path": folder, "dump_mode": "all", "dump_data": "stats", "dump_list": [
                {"model_name": "a"}, {"model_name": "b", "layer": ["pool"]}]}})
            with tensorstat.DumpSession(config) as session:
                session.name_graph(1, "b")
                self.assertRaises(TypeError, session.name_graph, 1, None)
                self.assertRaises(OverflowError, session.name_graph, -1, "b")
                for name, flagged in (("conv", False), ("pool", False), ("mul", True)):
                    session.collect("Op", name, outputs=[numpy.ones(3)], graph=1, set_dump=flagged)
            paths = sorted(path for path in pathlib.Path(folder).rglob("*.csv"))
            self.assertEqual([path.name.split(".")[1] for path in paths], ["mul", "pool"])
            self.assertEqual({path.parts[-4] for path in paths}, {"b"})

    def test_task_and_stream_ids(self):
        config = {"common_dump_settings": json.loads(config_of(""))["common_dump_settings"] | {"file_format": "npy"}}
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(json.dumps(config), path=folder) as session:
                for name, ids in (("a", {}), ("b", {"task_id": 0, "stream_id": 7})):
                    session.collect("Op", name, outputs=[numpy.ones(3)], **ids)
                self.assertRaises(OverflowError, session.collect, "Op", "c", task_id=-1)
                self.assertRaises(OverflowError, session.collect, "Op", "c", stream_id=2**64)
            self.assertEqual([(row["op name"], row["task id"], row["stream id"]) for row in tensorstat.read(folder)],
                             [("a", 65535, 65535), ("b", 0, 7)])

    def test_constants_and_the_order_of_execution(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(config_of(folder, saved_data="tensor")) as session:
                session.collect("Parameter", "w", outputs=[numpy.ones(3)], graph=2, constants=True)
                session.save_execution_order(["Default/b", "Default/a"], graph=2)
                self.assertRaises(TypeError, session.save_execution_order, [1])
                self.assertRaises(OverflowError, session.save_execution_order, [], rank=-1)
            paths = {path.parent.name: path for path in pathlib.Path(folder).rglob("*.*") if path.is_file()}
            self.assertTrue(paths["constants"].name.startswith("Parameter.w."))
            self.assertEqual(paths["execution_order"].name, "ms_execution_order_graph_2.csv")
            self.assertEqual(paths["execution_order"].read_text(), "NodeExecutionOrder-FullNameWithScope\nDefault/b\nDefault/a\n")

    def test_operators_that_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            config = config_of(folder, op_debug_mode=4, saved_data="tensor")
            with tensorstat.DumpSession(config) as session:
                for name, failed in (("a", False), ("b", True)):
                    session.collect("Op", name, inputs=[numpy.ones(3)], failed=failed)
            names = [name for _, _, files in os.walk(folder) for name in files if name.endswith(".npy")]
            self.assertEqual([name.split(".")[1] for name in names], ["b"])
            with self.assertLogs("tensorstat", "WARNING") as log:
                with tensorstat.DumpSession(config) as session:
                    for name in "a", "b":
                        session.collect("Op", name, inputs=[numpy.ones(3)])
            self.assertEqual(len([words for words in log.output if "op_debug_mode is 4" in words]), 1)

    def test_arguments_of_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            with tensorstat.DumpSession(config_of(folder, save_kernel_args=True)) as session:
                session.collect("Op", "a", outputs=[numpy.ones(3)])
                session.save_kernel_args("Op", "a", {"alpha": "0.5", "beta": 2})
            texts = [path.read_text() for path in pathlib.Path(folder).rglob("*.json")]
            self.assertTrue(any('"alpha": "0.5"' in text and '"beta": "2"' in text for text in texts))
            with self.assertLogs("tensorstat", "WARNING") as log:
                with tensorstat.DumpSession(config_of(folder, save_kernel_args=True)) as session:
                    session.collect("Op", "a", outputs=[numpy.ones(3)], iteration=1)
            self.assertIn("save_kernel_args() was never called", log.output[-1])

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_what_the_closing_loses_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({
                "common_dump_settings": {"dump_mode": 0, "path": folder, "net_name": "Net", "iteration": "all", "kernels": [],
                                         "input_output": 0, "support_device": [0], "saved_data": "statistic"},
                "e2e_dump_settings": {"enable": False}})
            os.makedirs(folder + "/rank_0/Net/0/0")
            os.symlink("/dev/full", folder + "/rank_0/Net/0/0/statistic.csv")
            with self.assertLogs("tensorstat", "WARNING"):
                session = tensorstat.DumpSession(config)
                session.collect("Op", "x", outputs=[numpy.ones(3)] * 3)
                session.step_end()
                session.close()
            counters = session.counters
            self.assertEqual((counters["row_count"], counters["waiting_row_count"], counters["lost_row_count"]), (0, 0, 3))

    def test_a_session_of_msprobes_config_describes_its_operators(self):
        with tempfile.TemporaryDirectory() as folder:
            config = json.dumps({"task": "statistics", "dump_path": folder, "level": "L0"})
            with tensorstat.DumpSession(config, framework="pytorch") as session:
                name = "Module.fc.Linear.forward.0"
                session.describe("Linear", name, stack=["File a.py, line 1", "File b.py, line 2"],
                                 parent="Module.net.Net.forward.0")
                session.collect("Linear", name, outputs=[numpy.ones(3, numpy.float32)])
                self.assertTrue(session.step_end())
                self.assertRaises(TypeError, session.describe, "Linear", name, stack=[1])
            read = {}
            for each in ("dump", "stack", "construct"):
                with open(f"{folder}/step0/rank0/{each}.json", encoding="ascii") as file:
                    read[each] = json.load(file)
            self.assertEqual(read["dump"]["framework"], "pytorch")
            self.assertEqual(read["dump"]["data"][name]["output"][0]["dtype"], "torch.float32")
            self.assertEqual(read["stack"], {"0": [[name], ["File a.py, line 1", "File b.py, line 2"]]})
            self.assertEqual(read["construct"], {name: "Module.net.Net.forward.0"})

    def test_what_is_dropped_is_given_back(self):
        x = numpy.zeros(100)

        def make(times):
            for _ in range(times):
                tensorstat.measure(x)
                tensorstat.fold(x, "max").merge(tensorstat.fold(x, "max"))
                tensorstat.stream("float64").append(x)
            gc.collect()

        make(2000)
        references = sys.getrefcount(x)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        make(20_000)
        self.assertEqual(sys.getrefcount(x), references)
        # 60,000 lost objects of 300 bytes and more would take 18 MB.
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 8_000)


if __name__ == "__main__":
    unittest.main()
