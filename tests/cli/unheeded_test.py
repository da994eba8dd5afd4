"""What a call cannot do is said and is its exit status: options that need elements, of rows that have none; options of another
framework's config; one tensor of a file, where files are taken; columns of JSON; a help that cannot be written."""
import json
import os
import struct
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
ROWS = ('Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value\n'
        'Add,a,0,0,1000,input,0,8,float32,"(2)",1\n')


MINDSPORE = {"common_dump_settings": {"op_debug_mode": 0, "dump_mode": 0, "path": "/nowhere", "net_name": "Net", "iteration": "all",
                                      "saved_data": "statistic", "input_output": 0, "kernels": [], "support_device": [0]},
             "e2e_dump_settings": {"enable": True, "trans_flag": True}}
MSPROBE = {"task": "statistics", "dump_path": "/nowhere", "rank": [], "step": [], "level": "L1",
           "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"}}
ACL = {"dump": {"dump_path": "/nowhere", "dump_op_switch": "on", "dump_mode": "all", "dump_data": "stats", "dump_list": []}}


def dump_file():
    """A file of Ascend's with an input and an output."""
    def varint(number):
        return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])

    def field(key, value):
        return varint(key << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(key << 3) + varint(value)

    def tensor(size_key):
        return field(1, 1) + field(2, 2) + field(3, field(1, varint(3))) + field(size_key, 12)
    message = field(1, b"2.0") + field(2, 1_699_999_999_999_999) + field(3, tensor(6)) + field(4, tensor(5))
    return struct.pack("<Q", len(message)) + message + struct.pack("<6f", 1, 2, 3, 4, 5, 6)


class Unheeded(unittest.TestCase):
    def test_options_that_need_elements(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/statistic.csv"
            with open(path, "w") as file:
                file.write(ROWS)
            for options, name in ((["--dtype", "int8"], "--dtype"), (["--dtype", "int8", "--shape", "4"], "--dtype"),
                                  (["--precision", "low"], "--precision low"), (["--by", "0"], "--by")):
                for words in (path, folder):
                    ran = subprocess.run([COMMAND, words, *options], capture_output=True, text=True, check=False)
                    self.assertEqual((ran.returncode, ran.stdout), (2, ""), options)
                    self.assertIn(f"{name} needs elements, and a file of rows has none", ran.stderr)
            self.assertEqual(subprocess.run([COMMAND, path, "--precision", "high"], capture_output=True, check=False).returncode, 0)

    def test_replays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/Add.Default_Add-op1.1.2.1699999999999999"
            with open(path, "wb") as file:
                file.write(dump_file())

            def dump(config, *options, what=path):
                with open(folder + "/config.json", "w") as file:
                    json.dump(config, file)
                ran = subprocess.run([COMMAND, "dump", what, "--config", folder + "/config.json", "-o", folder + "/out", *options],
                                     capture_output=True, text=True, check=False)
                return ran.returncode, ran.stderr

            of_mindspore = ["--by-step"], ["--device-rows"], ["--dialect", "mindspore-2.7"]
            for config, options in ((MINDSPORE, [["--framework", "pytorch"]]), (MSPROBE, of_mindspore), (ACL, [*of_mindspore, ["--framework", "pytorch"]])):
                for each in options:
                    status, words = dump(config, *each)
                    self.assertEqual(status, 2, each)
                    self.assertIn(f"{each[0]} does nothing with this config: it is for ", words)
            status, words = dump(MINDSPORE, what=path + "::input.0")  # the output was dumped, too
            self.assertEqual((status, words), (2, "tensorstat: dump takes files and folders, and no FILE::TENSOR\n"))
            self.assertFalse(os.path.exists(folder + "/out"))
            self.assertIn("it is no config that is known here", dump({"some": 1}, "--by-step")[1])
            self.assertEqual(dump(MINDSPORE, "--dialect", "mindspore-next", "--by-step")[0], 0)

    def test_columns_of_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/statistic.csv"
            with open(path, "w") as file:
                file.write(ROWS)
            for form in ("json", "ndjson"):
                ran = subprocess.run([COMMAND, "diff", path, path, "--columns", "cosine", "--format", form], capture_output=True, text=True, check=False)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn("--columns: a table, Markdown and a csv have them", ran.stderr)

    def test_a_help_that_cannot_be_written(self):
        for words in (["--help"], ["--help-all"], ["--version"], ["diff", "--help"]):
            with open("/dev/full", "w") as full:
                ran = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(ran.returncode, 5, words)
            self.assertIn("stdout: cannot be written", ran.stderr)


if __name__ == "__main__":
    unittest.main()
