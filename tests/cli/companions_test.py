"""-o replaces no file that is read beside rows and tensors: watch.ndjson, stack.json, construct.json, the graphs of MindSpore,
mapping.csv; and a file of the same name elsewhere is replaced as any other."""
import os
import subprocess
import tempfile
import unittest

COMMAND = os.environ["COMMAND"]
ROWS = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,NaN Count\n"
        'Add,a,0,0,1000,input,0,8,float32,"(2)",1,1,1,1,0\nAdd,a,0,0,1001,output,0,8,float32,"(2)",nan,nan,nan,nan,2\n')
CALL = ('{"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{"Tensor.add.0.forward":{"input_args":[{"type":'
        '"torch.Tensor","dtype":"torch.float32","shape":[2],"Max":1.0,"Min":1.0,"Mean":1.0,"Norm":1.0}],"output":[]}}}')


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


class Companions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        write("dump/rank_0/net/0/7/statistic.csv", ROWS)
        for side in "ab":
            write(f"{side}/step0/rank0/dump.json", CALL)

    def run_command(self, *words):
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120, check=False)

    def assert_kept(self, output, *words):
        write(output, "{}")
        ran = self.run_command(*words, "-o", output)
        self.assertEqual(ran.returncode, 2, (words, output, ran.stderr))
        self.assertIn(f"the output {output} is one of the inputs; name another file", ran.stderr)
        with open(output) as file:
            self.assertEqual(file.read(), "{}")
        os.remove(output)

    def test_what_is_read_beside_rows_is_an_input(self):
        for output in ("dump/rank_0/net/watch.ndjson", "dump/rank_0/graphs/ms_output_trace_code_graph_0.ir",
                       "dump/rank_0/execution_order/ms_execution_order_graph_0.csv", "dump/rank_0/net/0/7/mapping.csv"):
            for words in (("origin", "dump"), ("origin", "dump/rank_0/net/0/7/statistic.csv"), ("report", "dump"),
                          ("report", "dump", "--format", "json"), ("./dump", "--format", "json")):
                self.assert_kept(output, *words)

    def test_of_msprobe(self):
        for name in ("stack.json", "construct.json"):
            self.assert_kept(f"a/step0/rank0/{name}", "origin", "a")
            self.assert_kept(f"b/step0/rank0/{name}", "diff", "a/step0/rank0/dump.json", "b/step0/rank0/dump.json")
            self.assert_kept(f"b/step0/rank0/{name}", "diff", "a", "b", "--rules", "msprobe")

    def test_under_another_name(self):
        write("dump/rank_0/net/watch.ndjson", "{}")
        os.symlink("dump/rank_0/net/watch.ndjson", "link")
        self.assertEqual(self.run_command("origin", "dump", "-o", "link").returncode, 2)
        os.link("dump/rank_0/net/0/7/statistic.csv", "same.csv")
        self.assertEqual(self.run_command("origin", "dump", "-o", "same.csv").returncode, 2)

    def test_of_a_store(self):
        if self.run_command("store", "add", "runs.db", "dump").returncode != 0:
            self.skipTest("built without SQLite")
        self.assert_kept("dump/rank_0/net/watch.ndjson", "origin", "runs.db")

    def test_elsewhere_it_is_a_file_like_any_other(self):
        for output in ("watch.ndjson", "stack.json", "mapping.csv", "other/rank_0/net/watch.ndjson"):
            write(output, "before")
            ran = self.run_command("origin", "dump", "-o", output)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            with open(output) as file:
                self.assertIn("NaN in a", file.read())


if __name__ == "__main__":
    unittest.main()
