"""Distributed checkpoints of torch (.metadata and .distcp), written here without torch: shards become whole tensors, whatever
axes they are cut along and whatever files they are in. Damage is told, and the other tensors are read."""
import io
import itertools
import json
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile

import numpy

COMMAND = os.environ["COMMAND"]
STORAGES = {"float32": "FloatStorage", "float16": "HalfStorage", "int64": "LongStorage", "uint8": "ByteStorage"}


def class_of(module, name, base=object):
    """A class that pickle writes as MODULE.NAME; nothing of torch is imported."""
    parts = module.split(".")
    for i in range(len(parts)):
        sys.modules.setdefault(".".join(parts[:i + 1]), types.ModuleType(".".join(parts[:i + 1])))
    made = type(name, (base,), {"__module__": module, "__qualname__": name})
    setattr(sys.modules[module], name, made)
    return made


PLACE = "torch.distributed.checkpoint."
Metadata, TensorStorageMetadata, ChunkStorageMetadata, MetadataIndex, BytesStorageMetadata = (
    class_of(PLACE + "metadata", name) for name in
    ("Metadata", "TensorStorageMetadata", "ChunkStorageMetadata", "MetadataIndex", "BytesStorageMetadata"))
StorageInfo = class_of(PLACE + "filesystem", "_StorageInfo")
Size = class_of("torch", "Size", tuple)
Size.__reduce__ = lambda self: (Size, (tuple(self),))


def made(kind, **fields):
    each = kind()
    each.__dict__.update(fields)
    return each


def archive(array):
    """The bytes that torch.save writes for one tensor."""
    def text(word):
        return b"X" + struct.pack("<I", len(word)) + word.encode()
    def size(numbers):
        return b"(" + b"".join(b"J" + struct.pack("<i", each) for each in numbers) + b"t"
    strides = [int(numpy.prod(array.shape[d + 1:])) for d in range(array.ndim)]
    stored = b"(" + text("storage") + b"ctorch\n" + STORAGES[array.dtype.name].encode() + b"\n" + text("0") + text("cpu") + b"J" + struct.pack("<i", array.size)
    pickled = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + stored + b"tQK\x00" + size(array.shape) + size(strides) +
               b"\x89ccollections\nOrderedDict\n)RtR.")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        zipped.writestr("archive/data.pkl", pickled)
        zipped.writestr("archive/data/0", array.tobytes())
    return file.getvalue()


class DistributedCheckpoint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = numpy.random.default_rng(3)

    def save(self, tensors, ranks=3, change=None):
        """tensors: {name: (array, the cuts of each axis)}. Shards go to the files in turn."""
        shutil.rmtree(self.folder + "/c", ignore_errors=True)
        os.mkdir(self.folder + "/c")
        files, storage, state, turn = [b""] * ranks, {}, {"step": BytesStorageMetadata()}, itertools.count()
        for name, (array, cuts) in tensors.items():
            chunks = []
            for box in itertools.product(*[zip([0, *cut], [*cut, length]) for cut, length in zip(cuts, array.shape)]):
                if array.size and any(begin == end for begin, end in box):
                    continue  # torch saves no empty shards
                part = numpy.ascontiguousarray(array[tuple(slice(*each) for each in box)]).reshape([end - begin for begin, end in box])
                offsets, sizes = Size(begin for begin, _ in box), Size(part.shape)
                rank, content = next(turn) % ranks, archive(part)
                chunks.append(made(ChunkStorageMetadata, offsets=offsets, sizes=sizes))
                index = made(MetadataIndex, fqn=name, offset=offsets, index=None)
                storage[index] = made(StorageInfo, relative_path=f"__{rank}_0.distcp", offset=len(files[rank]), length=len(content))
                files[rank] += content
            random.Random(name).shuffle(chunks)
            state[name] = made(TensorStorageMetadata, properties=None, size=Size(array.shape), chunks=chunks)
        root = made(Metadata, state_dict_metadata=state, planner_data=None, storage_data=storage)
        if change:
            change(root, files)
        for rank, content in enumerate(files):
            with open(f"{self.folder}/c/__{rank}_0.distcp", "wb") as file:
                file.write(content)
        with open(self.folder + "/c/.metadata", "wb") as file:
            pickle.dump(root, file)

    def run_command(self, *words):
        return subprocess.run([COMMAND, *words, "--on", "host"], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def tensors(self):
        """Cut along the first axis, the last, several, none; empty shards; a scalar, an empty tensor."""
        made_ = {"rows": ((40, 7), [(13, 26), ()]), "columns": ((9, 50), [(), (11, 30, 31)]), "grid": ((12, 5, 14), [(5,), (2, 3), (1, 13)]),
                 "middle": ((4, 9, 6), [(), (4, 4, 8), ()]), "one": ((3, 3), [(), ()]), "flat": ((1000,), [(1, 999)]), "scalar": ((), []), "none": ((0, 4), [(), ()])}
        dtypes = itertools.cycle(STORAGES)
        return {name: ((self.random.standard_normal(shape) * 50).astype(next(dtypes)), cuts) for name, (shape, cuts) in made_.items()}

    def test_shards_become_whole_tensors(self):
        tensors = self.tensors()
        self.save(tensors)
        numpy.savez(self.folder + "/x.npz", **{name: array for name, (array, _) in tensors.items()})
        for path in "c", "c/.metadata":
            ran = self.run_command(path, "--format", "ndjson", "--stats", "max,argmax,count")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            rows = {each["tensor"]: each for each in map(json.loads, ran.stdout.splitlines())}
            self.assertEqual(list(rows), list(tensors))
            for name, (array, _) in tensors.items():
                self.assertEqual((rows[name]["dtype"], rows[name]["shape"]), (array.dtype.name, list(array.shape)))
                self.assertEqual(rows[name]["stats"]["argmax"], array.argmax() if array.size else None)
        # Element beside element.
        same = subprocess.run([COMMAND, "diff", "c/.metadata", "x.npz", "--rtol", "0", "--atol", "0", "--format", "csv", "--all"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((same.returncode, len(same.stdout.splitlines())), (0, 1 + len(tensors)), same.stdout + same.stderr)

    def test_what_is_wrong_is_told_and_the_others_are_read(self):
        def index(root, name, shard=0):
            return [info for key, info in root.storage_data.items() if key.fqn == name][shard]
        def lose(root, files):
            files[1] = b""
        def leave(root, files):
            index(root, "rows", 1).relative_path = "../c/__1_0.distcp"
        def lack(root, files):
            root.storage_data = {key: info for key, info in root.storage_data.items() if key.fqn != "one"}
        def overlap(root, files):
            root.state_dict_metadata["rows"].chunks[1] = root.state_dict_metadata["rows"].chunks[0]
        def other(root, files):
            index(root, "columns").__dict__.update(index(root, "grid").__dict__)
        def outside(root, files):
            root.state_dict_metadata["rows"].size = Size((39, 7))
        def far(root, files):
            index(root, "flat").offset = 1 << 40
        tensors = self.tensors()
        for change, words, lost in (
                (lose, "__1_0.distcp: the file has 0 bytes", None), (leave, "'rows' has a shard in '../c/__1_0.distcp'", 1), (lack, "'one' lacks its shard", 1),
                (overlap, "::rows: ", 1), (other, "::columns: its shard at ", 1), (outside, "outside of its shape (39,7)", 1), (far, "::flat: its shard at", 1)):
            self.save(tensors, change=change)
            ran = self.run_command("c", "--format", "csv", "--stats", "max")
            self.assertEqual(ran.returncode, 3, change)
            self.assertIn(words, ran.stderr)
            if lost:
                self.assertEqual(len(ran.stdout.splitlines()), len(tensors), (change, ran.stderr))
        os.remove(self.folder + "/c/.metadata")
        ran = self.run_command("c", "-q")
        self.assertEqual(ran.returncode, 3)
        for rank in range(3):
            self.assertIn(f"c/__{rank}_0.distcp: a part of a distributed checkpoint of torch; not supported: name its folder, or its .metadata", ran.stderr)

    def test_damage_does_no_harm(self):
        self.save(self.tensors())
        with open(self.folder + "/c/.metadata", "rb") as file:
            whole = file.read()
        noise = random.Random(5)
        for _ in range(150):
            content = bytearray(whole)
            for _ in range(noise.randint(1, 4)):
                content[noise.randrange(len(content))] = noise.randrange(256)
            with open(self.folder + "/c/.metadata", "wb") as file:
                file.write(content[:noise.choice([len(content), noise.randrange(len(content))])])
            self.assertIn(self.run_command("c/.metadata", "--stats", "max").returncode, (0, 3))


if __name__ == "__main__":
    unittest.main()
