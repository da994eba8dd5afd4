"""Tensors from pipes, files without a header, and lists of files. Compared with NumPy; memory does not grow."""
import hashlib
import io
import json
import os
import resource
import subprocess
import tempfile
import unittest

import numpy

COMMAND = os.environ["COMMAND"]


def run(*arguments, data=b""):
    return subprocess.run([COMMAND, *arguments, "--on", "host", "--format", "json", "--stats", "max,min,avg,count,md5"],
                          input=data, capture_output=True)


def npy(*arrays):
    file = io.BytesIO()
    for array in arrays:
        numpy.save(file, array)
    return file.getvalue()


class Streams(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        self.x = numpy.random.default_rng(3).normal(size=(6, 50)).astype("f4")

    def tensors(self, *arguments, data=b""):
        ran = run(*arguments, data=data)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), arguments)
        return json.loads(ran.stdout)["tensors"]

    def assert_is(self, tensor, array):
        self.assertEqual(tensor["dtype"], str(array.dtype))
        self.assertEqual(tensor["shape"], list(array.shape))
        self.assertEqual(tensor["stats"]["max"], float(array.max()))
        self.assertEqual(tensor["stats"]["count"], array.size)
        self.assertAlmostEqual(tensor["stats"]["avg"], float(array.astype("f8").mean()), places=12)

    def test_stdin_holds_arrays_one_after_another(self):
        arrays = [self.x, numpy.arange(7), numpy.asfortranarray(self.x.astype("f8")), numpy.array(5, "u1")]
        tensors = self.tensors("-", data=npy(*arrays))
        self.assertEqual([tensor.get("tensor") for tensor in tensors], [None, "1", "2", "3"])
        self.assertEqual({tensor["path"] for tensor in tensors}, {"-"})
        for tensor, array in zip(tensors, arrays):
            self.assert_is(tensor, array)
        numpy.save("same.npy", arrays[2])
        self.assertEqual(self.tensors("same.npy")[0]["stats"], tensors[2]["stats"])

    def test_a_pipe_that_is_named_is_waited_for(self):
        os.mkfifo("pipe")
        writer = subprocess.Popen(["sh", "-c", "sleep 0.2; cat data > pipe"])
        with open("data", "wb") as file:
            file.write(npy(self.x))
        (tensor,) = self.tensors("pipe")
        writer.wait()
        self.assert_is(tensor, self.x)

    def test_head_passes_over_the_elements(self):
        ran = subprocess.run([COMMAND, "-", "--head", "--format", "json"], input=npy(self.x, self.x), capture_output=True)
        self.assertEqual([tensor["shape"] for tensor in json.loads(ran.stdout)["tensors"]], [[6, 50], [6, 50]])

    # Packed by NumPy: packbits also puts the first element into the highest bit.
    def test_raw_files_of_packed_dtypes_hold_several_elements_a_byte(self):
        raw = numpy.random.default_rng(4).integers(0, 256, 1001, "u1")
        with open("x.bin", "wb") as file:
            file.write(raw.tobytes())
        halves = numpy.stack([raw & 15, raw >> 4], 1).reshape(-1)
        float4 = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
        with numpy.errstate(over="ignore"):
            wide = {"uint1": numpy.unpackbits(raw), "uint4": halves, "int4": (halves.astype("i1") ^ 8) - 8,
                    "float4_e2m1fn": float4[halves], "float8_e8m0fnu": numpy.ldexp(1., raw[raw != 255].astype("i8") - 127)}
        for dtype, values in wide.items():
            if dtype == "float8_e8m0fnu":
                with open("x.bin", "wb") as file:
                    file.write(raw[raw != 255].tobytes())
            (tensor,) = self.tensors("x.bin", "--dtype", dtype)
            self.assertEqual(tensor["dtype"], dtype)
            self.assertEqual(tensor["shape"], [values.size])
            self.assertEqual(tensor["stats"]["count"], values.size)
            self.assertEqual(tensor["stats"]["max"], float(values.max()))
            self.assertEqual(tensor["stats"]["min"], float(values.min()))
            self.assertAlmostEqual(tensor["stats"]["avg"] / float(values.astype("f8").mean()), 1, places=12)
            with open("x.bin", "rb") as file:
                self.assertEqual(tensor["stats"]["md5"], hashlib.md5(file.read()).hexdigest())
        (odd,) = self.tensors("x.bin", "--dtype", "uint1", "--shape", f"{8 * os.path.getsize('x.bin') - 3}")
        self.assertEqual(odd["stats"]["count"], odd["shape"][0])
        refused = run("-", "--dtype", "int4", "--shape", "4", data=b"ab")
        self.assertEqual(refused.returncode, 3)
        self.assertIn(b"several elements share a byte", refused.stderr)

    def test_raw_files_and_streams_have_the_dtype_and_shape_that_are_said(self):
        self.x.tofile("x.bin")
        for arguments, shape in (("--shape", "6,50"), [6, 50]), ((), [300]):
            (tensor,) = self.tensors("x.bin", "--dtype", "float32", *arguments)
            self.assert_is(tensor, self.x.reshape(shape))
        (tensor,) = self.tensors("-", "--dtype", "float32", "--shape", "6,50", data=self.x.tobytes())
        self.assert_is(tensor, self.x)

    def test_stdin_is_named_as_it_is_asked_for(self):
        ran = subprocess.run([COMMAND, "-", "--format", "csv"], input=npy(self.x), capture_output=True)
        self.assertEqual(ran.stdout.splitlines()[1].split(b",")[:2], [b"Tensor", b"-"])

    def test_what_makes_no_sense_is_refused(self):
        self.x.tofile("x.bin")
        whole, raw = npy(self.x), self.x.tobytes()
        for arguments, data, status, words in (
                (["-"], b"", 3, "it is empty"),
                (["-"], b"PK\3\4" + bytes(100), 3, "zip"),
                (["-"], b"\x93NUM", 3, "truncated in its magic number"),
                (["-"], whole[:100], 3, "ends at its byte 100"),
                (["-"], whole[:-1], 3, "ends at its byte %d" % (len(whole) - 1)),
                (["-"], whole + b"rubbish rubbish", 3, "-::1: is no .npy file"),
                (["-", "--dtype", "float32"], raw, 3, "say --shape"),
                (["-", "--dtype", "float32", "--shape", "6,50"], raw[:-1], 3, "before the tensor does"),
                (["-", "--dtype", "float32", "--shape", "6,50"], raw + b"x", 3, "has more bytes than shape (6,50)"),
                (["x.bin", "--dtype", "float32", "--shape", "6,51"], b"", 3, "needs 1224 bytes, and it has 1200"),
                (["x.bin", "--dtype", "float32", "--shape", "9999999999,9999999999"], b"", 3, "2^63"),
                (["x.bin", "--dtype", "float7"], b"", 2, "is no dtype"),
                (["x.bin", "--shape", "6,50"], b"", 2, "requires --dtype"),
                (["x.bin", "--dtype", "float32", "--shape", "6,-1"], b"", 2, "is no shape"),
                (["x.bin", "--dtype", "float32", "--shape", "6,,5"], b"", 2, "is no shape"),
        ):
            ran = run(*arguments, data=data)
            self.assertEqual(ran.returncode, status, (arguments, ran.stderr))
            self.assertIn(words, ran.stderr.decode(), arguments)

    @unittest.skipIf("san.so" in os.environ.get("LD_PRELOAD", ""), "a sanitizer needs more address space")
    def test_a_header_is_not_believed(self):
        head = npy(numpy.zeros(0, "u1"))[:128].replace(b"(0,)", b"(9223372036854775807,)").replace(b" " * 19, b"", 1)
        ran = subprocess.run([COMMAND, "-"], input=head + bytes(1000), capture_output=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32)))
        self.assertEqual(ran.returncode, 3)

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "ASan keeps memory that was freed")
    def test_memory_does_not_grow_with_the_stream(self):
        head = npy(numpy.zeros(0, "u1"))[:128].replace(b"(0,)", b"(1073741824,)").replace(b" " * 9, b"", 1)
        with open("head", "wb") as file:
            file.write(head)
        program = "(cat head; head -c 1073741824 /dev/zero) | " + COMMAND + " - --on host --stats max,count"
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        ran = subprocess.run(["sh", "-c", program], capture_output=True, check=True)
        self.assertIn(b"1073741824", ran.stdout)
        self.assertLess(max(before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss), 150 * 1024)

    @unittest.skipIf("ASAN_OPTIONS" in os.environ, "ASan keeps memory that was freed")
    def test_memory_does_not_grow_with_a_file_in_the_page_cache(self):
        with open("cached.npy", "wb") as file:
            file.write(npy(numpy.zeros(0, "u1"))[:128].replace(b"(0,)", b"(314572800,)").replace(b" " * 8, b"", 1))
            for _ in range(300):  # this process's greatest memory counts as the child's
                file.write(b"1" * (1 << 20))
        started = subprocess.Popen([COMMAND, "cached.npy", "--on", "host", "--stats", "max,count"], stdout=subprocess.PIPE)
        text = started.stdout.read()
        _, status, used = os.wait4(started.pid, 0)
        self.assertEqual(status, 0)
        self.assertIn(b"314572800", text)
        self.assertLess(used.ru_maxrss, 150 * 1024)

    @unittest.skipUnless(os.environ.get("TENSORSTAT_FULL"), "the long version")
    def test_memory_does_not_grow_with_24_gib_of_a_file_nor_with_16_gib_of_a_pipe(self):
        def head(count):
            return npy(numpy.zeros(0, "f4"))[:128].replace(b"(0,), }" + b" " * (len(str(count)) - 1), b"(%d,), }" % count)

        with open("large.npy", "wb") as file:
            file.write(head(6 << 30))
            file.truncate(128 + (24 << 30))
        with open("head", "wb") as file:
            file.write(head(4 << 30))
        for shell, count in ((f"exec {COMMAND} large.npy --on host --stats max,count", 6 << 30),
                             (f"(cat head; head -c {16 << 30} /dev/zero) | exec {COMMAND} - --on host --stats max,count", 4 << 30)):
            started = subprocess.Popen(["bash", "-c", shell], stdout=subprocess.PIPE)
            text = started.stdout.read()
            _, status, used = os.wait4(started.pid, 0)
            self.assertEqual(status, 0)
            self.assertIn(str(count).encode(), text)
            self.assertLess(used.ru_maxrss, 150 * 1024)

    def test_a_list_names_the_files(self):
        for name in ("a 1.npy", "b.npy", "c.npy"):
            numpy.save(name, self.x)
        with open("list", "w") as file:
            file.write("a 1.npy\n\nc*.npy\r\nb.npy")
        self.assertEqual([tensor["path"] for tensor in self.tensors("@list")], ["a 1.npy", "c.npy", "b.npy"])
        ran = run("@missing", "b.npy")
        self.assertEqual(ran.returncode, 3)
        self.assertIn(b"missing: cannot be opened", ran.stderr)
        numpy.save("@list.npy", self.x)
        self.assertEqual([tensor["path"] for tensor in self.tensors("@list.npy")], ["@list.npy"])


if __name__ == "__main__":
    unittest.main()
