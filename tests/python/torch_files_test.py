"""What torch.save wrote, read without Python: against torch itself, and with pickles that would do harm. Skipped where
there is no torch (Debian's python3-torch)."""
import hashlib
import json
import logging
import os
import pickle
import random
import tempfile
import unittest

import numpy
import tensorstat

try:
    import torch
except ImportError:
    torch = None

STATS = "count,max,min,l2norm,argmax,md5"


def elements(tensor):
    """The bytes in C order, and the values that NumPy can tell."""
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().tobytes(), tensor.to(torch.float32).numpy()
    return tensor.numpy().tobytes(), tensor.numpy()


@unittest.skipIf(torch is None, "torch is not installed")
class TorchFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, row, tensor, where):
        data, values = elements(tensor)
        self.assertEqual((row.count, row.shape), (tensor.numel(), tuple(tensor.shape)), where)
        self.assertEqual(row.md5, hashlib.md5(data).hexdigest(), where)
        if tensor.dtype.is_complex or tensor.numel() == 0:
            return
        self.assertEqual((row.max, row.argmax), (values.max(), values.argmax()), where)

    def read(self, name):
        return tensorstat.read(self.path(name), STATS)

    def saved(self, name, thing, **options):
        torch.save(thing, self.path(name), **options)
        return self.read(name)

    def views(self, seed):
        """Tensors of every layout that a view can have, several in one storage."""
        draw = random.Random(seed)
        dtypes = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128]
        base = (torch.randn(4, 6, 5, 3, generator=torch.Generator().manual_seed(seed)) * 40).to(draw.choice(dtypes))
        made = {"base": base}
        for i in range(12):
            view = base
            for _ in range(draw.randint(1, 4)):
                step = draw.randint(0, 5)
                if step == 0 and view.dim() > 1:
                    view = view.permute(draw.sample(range(view.dim()), view.dim()))
                elif step == 1 and view.dim() > 0:
                    d = draw.randrange(view.dim())
                    begin = draw.randint(0, view.shape[d])
                    view = view[(slice(None),) * d + (slice(begin, None, draw.randint(1, 3)),)]
                elif step == 2 and view.dim() > 0 and view.shape[0] > 0:
                    view = view[draw.randrange(view.shape[0])]
                elif step == 3 and view.dim() < 4:
                    view = view.unsqueeze(0).expand(draw.randint(1, 3), *view.shape)
                elif step == 4 and view.dim() == 4:
                    view = view.contiguous(memory_format=torch.channels_last)
            made[f"v{i}"] = view
        return made

    def test_every_layout_of_every_dtype(self):
        for seed in range(60):
            tensors = self.views(seed)
            for name, options in ("new.pt", {}), ("old.pt", {"_use_new_zipfile_serialization": False}):
                rows = self.saved(name, tensors, **options)
                self.assertEqual(list(rows), list(tensors))
                for tensor, row in rows.items():
                    self.check(row, tensors[tensor], f"seed {seed} {name} {tensor}")

    def test_names_are_the_keys(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.randn(5, 4)).sum().backward()
        optimizer.step()
        whole = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, 7: [torch.ones(2), "text"]}
        expected = {f"model.{k}": v for k, v in model.state_dict().items()}
        expected |= {f"optimizer.state.{i}.{k}": torch.as_tensor(v)
                     for i, state in optimizer.state_dict()["state"].items() for k, v in state.items()}
        expected["7.0"] = whole[7][0]
        for protocol in range(1, pickle.HIGHEST_PROTOCOL + 1):
            for options in {}, {"_use_new_zipfile_serialization": False}:
                # Neither name nor extension tells what the file is.
                rows = self.saved(f"weights{protocol}", whole, pickle_protocol=protocol, **options)
                self.assertEqual(set(rows), set(expected))
                for tensor, row in rows.items():
                    self.check(row, expected[tensor], tensor)
        for name, thing in ("module.pt", model), ("scripted.pt", None):
            if thing is None:
                torch.jit.script(model).save(self.path(name))
            else:
                torch.save(thing, self.path(name))
            rows = self.read(name)
            self.assertEqual(set(rows), set(model.state_dict()))
            for tensor, row in rows.items():
                self.check(row, model.state_dict()[tensor], name)

    def test_a_tensor_alone_has_no_name(self):
        self.check(self.saved("x.pt", torch.arange(3.0)), torch.arange(3.0), "alone")

    def test_what_is_not_read_is_named_and_the_rest_is_read(self):
        things = {"a": torch.ones(3), "sparse": torch.eye(3).to_sparse(), "b": torch.zeros(2),
                  "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "c": torch.ones(1)}
        for options in {}, {"_use_new_zipfile_serialization": False}:
            torch.save(things, self.path("x.pt"), **options)
            with self.assertLogs("tensorstat", "WARNING") as log:
                rows = tensorstat.read(self.path("x.pt"), STATS, skip_faults=True)
            self.assertEqual(list(rows), ["a", "b", "c"])
            self.assertIn("'sparse' is sparse (_rebuild_sparse_tensor), which is not read", log.output[0])
            self.assertIn("'quantized' is quantized (_rebuild_qtensor), which is not read", log.output[1])

    def test_an_index_of_shards(self):
        torch.save({"a": torch.ones(3)}, self.path("pytorch_model-00001-of-00002.bin"))
        torch.save({"b": torch.zeros(3)}, self.path("pytorch_model-00002-of-00002.bin"))
        with open(self.path("pytorch_model.bin.index.json"), "w") as file:
            json.dump({"metadata": {}, "weight_map": {"a": "pytorch_model-00001-of-00002.bin",
                                                      "b": "pytorch_model-00002-of-00002.bin"}}, file)
        self.assertEqual(list(self.read("pytorch_model.bin.index.json")), ["a", "b"])

    def test_nothing_in_a_pickle_is_run(self):
        mark = self.path("ran")
        harm = f"open({mark!r}, 'w').close()"
        calls = [("os", "system", (f"touch {mark}",)), ("posix", "system", (f"touch {mark}",)),
                 ("builtins", "eval", (harm,)), ("builtins", "exec", (harm,)), ("builtins", "open", (mark, "w")),
                 ("subprocess", "Popen", (["touch", mark],)), ("subprocess", "check_output", (["touch", mark],)),
                 ("runpy", "_run_code", (harm, {})), ("webbrowser", "open", (f"file://{mark}",)),
                 ("pip", "main", (["--version"],)), ("pdb", "run", (harm,)), ("timeit", "timeit", (harm,)),
                 ("code", "interact", ()), ("importlib", "import_module", ("antigravity",)),
                 ("operator", "attrgetter", ("system",)), ("torch", "load", (mark,)), ("shutil", "copy", ("/etc/hostname", mark)),
                 ("functools", "partial", ()), ("numpy.testing._private.utils", "runstring", (harm, {})),
                 ("torch.serialization", "load", (mark,)), ("asyncio.unix_events", "_UnixSubprocessTransport._start", ())]

        class Gadget:
            def __init__(self, arguments):
                self.arguments = arguments

        for protocol in range(0, 6):
            for module, name, arguments in calls:
                body = pickle.dumps(arguments, protocol)
                # GLOBAL, the arguments without their PROTO and STOP, REDUCE, STOP.
                start = 2 if protocol >= 2 else 0
                if protocol >= 4:
                    body = pickle.dumps(arguments, 2)
                text = f"c{module}\n{name}\n".encode() + body[start:-1] + b"R."
                head = bytes([0x80, max(protocol, 2)]) if protocol else b""
                self.write_archive("x.pt", head + text)
                with self.assertRaisesRegex(tensorstat.Error, "holds no tensor"):
                    self.read("x.pt")
                self.assertFalse(os.path.exists(mark), (module, name, protocol))

    def write_archive(self, name, pickled):
        import zipfile
        with zipfile.ZipFile(self.path(name), "w") as archive:
            archive.writestr("archive/data.pkl", pickled)
            archive.writestr("archive/version", "3")

    def test_damage_is_an_error(self):
        tensors = {"a": torch.randn(3, 5).t(), "b": torch.arange(4)}
        seed = 11
        draw = random.Random(seed)
        logging.getLogger("tensorstat").addHandler(logging.NullHandler())
        for name, options in ("new.pt", {}), ("old.pt", {"_use_new_zipfile_serialization": False}):
            torch.save(tensors, self.path(name), **options)
            with open(self.path(name), "rb") as file:
                whole = file.read()
            cuts = [whole[:n] for n in range(0, len(whole), 7)]
            for _ in range(400):
                flipped = bytearray(whole)
                for _ in range(draw.randint(1, 3)):
                    flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
                cuts.append(bytes(flipped))
            for bytes_ in cuts:
                with open(self.path("damaged.pt"), "wb") as file:
                    file.write(bytes_)
                try:
                    rows = tensorstat.read(self.path("damaged.pt"), STATS, skip_faults=True)
                    for row in rows.values() if isinstance(rows, dict) else [rows]:
                        self.assertLessEqual(row.count, 1 << 20)
                except tensorstat.Error:
                    pass


if __name__ == "__main__":
    unittest.main()
