"""A file that holds several archives one behind another is read whole or refused, and never half: status 3."""
import io
import os
import struct
import subprocess
import tempfile
import unittest
import zipfile

COMMAND = os.environ["COMMAND"]


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word


def pickled(value, name=b"w"):
    """A state dict of one float32 tensor of 4 elements."""
    identity = b"(" + text(b"storage") + b"ctorch\nFloatStorage\n" + text(b"0") + text(b"cpu") + b"K\x04tQ"
    return b"\x80\x02}" + text(name) + b"ctorch._utils\n_rebuild_tensor_v2\n(" + identity + b"K\x00K\x04\x85K\x01\x85\x89}tRs."


def archive(value, zip64=False, folder="archive"):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as made:
        made.writestr(folder + "/data.pkl", pickled(value))
        made.writestr(folder + "/data/0", struct.pack("<4f", value, 0, 0, 0))
    whole = whole.getvalue()
    if not zip64:
        return whole
    # As PyTorch's writer ends each archive: a ZIP64 record, its locator, and the end.
    end = whole[-22:]
    entries, size, offset = struct.unpack("<HII", end[10:20])
    record = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, entries, entries, size, offset)
    return whole[:-22] + record + b"PK\6\7" + struct.pack("<IQI", 0, len(whole) - 22, 1) + end


def legacy(value):
    magic = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
    facts = b"\x80\x02}" + text(b"little_endian") + b"\x88s."
    keys = b"\x80\x02]" + text(b"0") + b"a."
    return magic + b"\x80\x02M\xe9\x03." + facts + pickled(value) + keys + struct.pack("<q4f", 4, value, 0, 0, 0)


def gguf(value, name=b"w"):
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 4, 0, 0)
    return head + bytes(-len(head) % 32) + struct.pack("<4f", value, 0, 0, 0) + bytes(16)


class SeveralArchives(unittest.TestCase):
    def run_on(self, name, content):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/" + name, "wb") as file:
                file.write(content)
            return subprocess.run([COMMAND, folder + "/" + name, "--on", "host", "--fail-on", "nan"], capture_output=True,
                                  text=True)

    def test_one_is_read(self):
        for name, content in (("x.pt", archive(2)), ("x.pt", archive(2, True)), ("x.pt", legacy(2)), ("x.gguf", gguf(2))):
            ran = self.run_on(name, content)
            self.assertEqual((ran.returncode, ran.stdout.count("float32")), (0, 1), ran.stderr)

    def test_two_are_refused(self):
        nan = float("nan")
        for zip64 in False, True:
            for first in nan, 1.0:
                both = archive(first, zip64) + archive(nan if first == 1 else 1.0, zip64)
                for name in "x.pt", "x.bin", "x.npz", "x.distcp":
                    with self.subTest(zip64=zip64, first=first, name=name):
                        ran = self.run_on(name, both)
                        self.assertEqual(ran.returncode, 3, ran.stdout)
                        self.assertIn("distributed checkpoint" if name == "x.distcp" else "one behind another", ran.stderr)

    def test_three_of_different_sizes(self):
        ran = self.run_on("x.pt", archive(1, True) + archive(1, True, "a_longer_name") + archive(float("nan"), True, "x"))
        self.assertEqual(ran.returncode, 3, ran.stdout)

    def test_one_that_was_appended_with_its_offsets(self):
        whole = io.BytesIO(archive(float("nan")))
        whole.seek(0, 2)
        begin = whole.tell()
        with zipfile.ZipFile(whole, "w") as made:  # counts from the beginning of the file
            made.writestr("second/data.pkl", pickled(1))
            made.writestr("second/data/0", struct.pack("<4f", 1, 0, 0, 0))
        self.assertGreater(len(whole.getvalue()), begin)
        ran = self.run_on("x.pt", whole.getvalue())
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("bytes in front of its first member", ran.stderr)

    def test_two_pickles_in_one_archive(self):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as made:
            for folder, value in ("a", 1), ("b", float("nan")):
                made.writestr(folder + "/data.pkl", pickled(value))
                made.writestr(folder + "/data/0", struct.pack("<4f", value, 0, 0, 0))
        ran = self.run_on("x.pt", whole.getvalue())
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("more than one data.pkl", ran.stderr)

    def test_what_follows_is_told_where_the_first_is_whole(self):
        for name, content in (("x.pt", legacy(1) + legacy(float("nan"))), ("x.pt", legacy(1) + b"more"),
                              ("x.gguf", gguf(1) + gguf(float("nan"), b"v"))):
            ran = self.run_on(name, content)
            self.assertEqual(ran.returncode, 3, ran.stdout)
            self.assertIn("float32", ran.stdout)
            self.assertRegex(ran.stderr, "bytes behind its last storage|another GGUF file begins")

    def test_a_part_of_a_distributed_checkpoint(self):
        ran = self.run_on("__0_0.distcp", archive(1, True))
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("a part of a distributed checkpoint of torch", ran.stderr)


if __name__ == "__main__":
    unittest.main()
