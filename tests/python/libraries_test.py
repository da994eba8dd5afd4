"""Libraries that people train with: small models with random weights have the same losses with and without a watch, their rows are
those of torch in float64, and a planted NaN is named with module, operation and line. Files that libraries write are read or refused
in words. Each job is skipped where its library is missing."""
import csv
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

if not importlib.util.find_spec("torch"):
    print("PyTorch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import tensorstat
import torch
from torch import nn

torch.set_num_threads(1)
STEPS, PLANTED = 3, 1
STATISTICS = {"Max Value": lambda x: x.max(), "Min Value": lambda x: x.min(), "Avg Value": lambda x: x.mean(), "L2Norm Value": lambda x: x.norm()}


def needs(*names):
    missing = [each for each in names if importlib.util.find_spec(each) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Faulty(nn.Module):
    """In place of a module: its results, and in one step the logarithm of negative numbers."""
    step = 0

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *arguments, **keywords):
        out = self.inner(*arguments, **keywords)
        return torch.log(-out.abs() - 1) if self.step == PLANTED else out


def put(model, path, module):
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, module)


class WithLibrary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, *arguments):
        return subprocess.run([os.environ["COMMAND"], *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    def model(self, model_of):
        torch.manual_seed(0)
        return model_of()

    def train(self, model, loss_of, path=None, on_step=lambda step: None):
        """The losses, and the last step's outputs of modules as (name, call, slot) -> tensor."""
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        losses, outputs, handles = [], {}, []
        torch.manual_seed(1)

        def keep(name):
            def hook(_, given, out):
                call = 1 + max((key[1] for key in outputs if key[0] == name), default=-1)
                if isinstance(out, torch.Tensor):
                    outputs[name, call] = out.detach().clone()
            return hook
        with tensorstat.watch(model, path=path, optimizer=optimizer) if path else tempfile.TemporaryFile() as watch:
            if path:
                handles = [module.register_forward_hook(keep(name)) for name, module in model.named_modules() if name]
            for step in range(STEPS):
                on_step(step)
                outputs.clear()
                loss = loss_of(model)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if path:
                    watch.step(loss)
        for each in handles:
            each.remove()
        return losses, outputs

    def job(self, name, model_of, loss_of, spoiled):
        """`spoiled`: the module whose results become NaN in one step."""
        with self.subTest(name):
            bare, watched = self.model(model_of), self.model(model_of)
            self.assertEqual(self.train(bare, loss_of)[0], (results := self.train(watched, loss_of, self.path(name)))[0])
            for a, b in zip(bare.state_dict().values(), watched.state_dict().values()):
                self.assertTrue(torch.equal(a, b))
            self.rows_are_torchs(self.path(name), results[1], watched)
            self.assertIn("Nothing wrong", str(tensorstat.origin(self.path(name))))
            self.planted(name + "-nan", self.model(model_of), loss_of, spoiled)

    def rows_are_torchs(self, path, outputs, model):
        with open(f"{path}/rank_0/model/0/{STEPS - 1}/statistic.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        calls, right = {}, 0
        for row in rows:
            if row["IO"] != "output" or not row["Op Name"].endswith("/forward") or row["Slot"] != "0":
                continue
            name = row["Op Name"].removesuffix("/forward")
            call = calls[name] = calls.get(name, -1) + 1
            if (name, call) in outputs:
                right += self.row_is(row, outputs[name, call])
        self.assertEqual(right, len(outputs))
        parameters = dict(model.named_parameters())
        written = [each for each in rows if each["Op Type"] == "Parameter" and each["IO"] == "output"]
        self.assertEqual(sum(self.row_is(each, parameters[each["Op Name"]]) for each in written), len(written))
        self.assertGreater(len(written), 2)

    def row_is(self, row, tensor):
        values = tensor.detach().double()
        for key, function in STATISTICS.items():
            want = function(values).item()
            scale = values.abs().max().item() if key == "Avg Value" else abs(want)
            self.assertAlmostEqual(float(row[key]), want, delta=1e-6 * scale + 1e-30, msg=(row["Op Name"], key))
        return 1

    def planted(self, name, model, loss_of, spoiled):
        faulty = Faulty(model.get_submodule(spoiled))
        put(model, spoiled, faulty)
        self.train(model, loss_of, self.path(name), lambda step: setattr(faulty, "step", step))
        self.is_named(self.path(name), spoiled)

    def is_named(self, path, spoiled):
        verdict = tensorstat.origin(path)["verdict"]
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["operation"], verdict["iteration"], os.path.basename(verdict["file"] or "")),
                         ("produced", f"{spoiled}/forward", "log", PLANTED, "libraries_test.py"), verdict["sentence"])


class Models(WithLibrary):
    @needs("torchvision")
    def test_torchvision(self):
        from torchvision import models, ops

        def classified(model):
            return nn.functional.cross_entropy(model(torch.randn(2, 3, 32, 32)), torch.tensor([1, 3]))
        self.job("resnet", lambda: models.resnet18(num_classes=4), classified, "layer2.0.bn1")
        self.job("vit", lambda: models.VisionTransformer(32, 16, 2, 2, 16, 24, num_classes=4), classified, "encoder.layers.encoder_layer_1.mlp")
        self.job("mobilenet", lambda: models.mobilenet_v3_small(num_classes=4, width_mult=0.25), classified, "features.4")

        class Pooled(nn.Module):  # an operation of torchvision's own
            def __init__(self):
                super().__init__()
                self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4 * 9, 2)

            def forward(self, x):
                boxes = torch.tensor([[0, 0.0, 0.0, 5.0, 5.0], [1, 1.0, 1.0, 9.0, 9.0]])
                return self.head(ops.roi_align(self.conv(x), boxes, 3).flatten(1))
        self.job("roi_align", Pooled, lambda model: model(torch.randn(2, 3, 12, 12)).square().mean(), "conv")

    @needs("torch_geometric")
    def test_torch_geometric(self):
        from torch_geometric import data, nn as layers
        ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
        graph = data.Data(x=torch.randn(12, 5, generator=torch.Generator().manual_seed(2)), edge_index=torch.cat([ring, ring.flip(0)], 1))

        def model_of(layer):
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first, self.act, self.second = layer(5, 8), nn.ReLU(), layer(8, 3)

                def forward(self, graph):
                    return self.second(self.act(self.first(graph.x, graph.edge_index)), graph.edge_index)
            return Net
        for layer in layers.GCNConv, layers.GATv2Conv, layers.SAGEConv:
            self.job(layer.__name__, model_of(layer), lambda model: model(graph).square().mean(), "act")

    @needs("transformers")
    def test_transformers(self):
        import transformers as library
        small = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
        ids = torch.arange(1, 17).reshape(2, 8)
        self.job("gpt2", lambda: library.GPT2LMHeadModel(library.GPT2Config(vocab_size=32, n_embd=16, n_layer=2, n_head=2, n_positions=16)),
                 lambda model: model(input_ids=ids, labels=ids).loss, "transformer.h.1.mlp")
        self.job("bert", lambda: library.BertForMaskedLM(library.BertConfig(**small)), lambda model: model(input_ids=ids, labels=ids).loss,
                 "bert.encoder.layer.1.output")
        self.job("qwen3", lambda: library.Qwen3ForCausalLM(library.Qwen3Config(**small, num_key_value_heads=1, head_dim=8)),
                 lambda model: model(input_ids=ids, labels=ids).loss, "model.layers.0.mlp")
        self.job("t5", lambda: library.T5ForConditionalGeneration(library.T5Config(
            vocab_size=32, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0)),
                 lambda model: model(input_ids=ids, labels=ids).loss, "decoder.block.0.layer.2")

    @needs("ignite")
    def test_ignite(self):
        from ignite.engine import Engine, Events

        def run(path=None, spoils=False):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            faulty = Faulty(model[1])
            if spoils:
                model[1] = faulty
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            watch = tensorstat.watch(model, path=path, optimizer=optimizer) if path else None

            def update(engine, batch):
                faulty.step = engine.state.iteration - 1
                optimizer.zero_grad()
                loss = model(batch).square().mean()
                loss.backward()
                optimizer.step()
                return loss
            trainer, losses = Engine(update), []
            trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output.item()))
            if watch is not None:
                trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: watch.step(engine.state.output))
                trainer.add_event_handler(Events.COMPLETED, watch.close)
            trainer.run([torch.randn(3, 4, generator=torch.Generator().manual_seed(each)) for each in range(STEPS)], max_epochs=1)
            return losses
        self.assertEqual(run(), run(self.path("ignite")))
        self.assertIn("Nothing wrong", str(tensorstat.origin(self.path("ignite"))))
        run(self.path("ignite-nan"), spoils=True)
        self.is_named(self.path("ignite-nan"), "1")

    @needs("accelerate")
    def test_accelerate(self):
        from accelerate import Accelerator

        def run(path=None, spoils=False):
            accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
            faulty = Faulty(model[1])
            if spoils:
                model[1] = faulty
            model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01))
            watch, losses = tensorstat.watch(model, path=path, optimizer=optimizer) if path else None, []
            for micro_batch in range(2 * STEPS):
                faulty.step = micro_batch // 2
                with accelerator.accumulate(model):
                    loss = model(torch.randn(3, 4)).square().mean()
                    accelerator.backward(loss)
                    optimizer.step()
                    if watch is not None and accelerator.sync_gradients:
                        watch.step(loss)
                    optimizer.zero_grad()
                losses.append(loss.item())
            if watch is not None:
                watch.close()
            accelerator.save_state(self.path("state"), safe_serialization=True)
            return losses
        self.assertEqual(run(), run(self.path("accelerate")))
        clean = self.command("state", "--fail-on", "nan,inf")
        self.assertEqual(clean.returncode, 0, clean.stdout + clean.stderr)
        run(self.path("accelerate-nan"), spoils=True)
        self.is_named(self.path("accelerate-nan"), "1")
        bad = self.command("state", "--fail-on", "nan,inf")
        self.assertEqual(bad.returncode, 1, bad.stdout + bad.stderr)


class Files(WithLibrary):
    @needs("safetensors")
    def test_safetensors(self):
        from safetensors.torch import save_file
        torch.manual_seed(3)
        kinds = [each for each in (torch.float32, torch.float64, torch.bfloat16, torch.float16, getattr(torch, "float8_e4m3fn", None),
                                   getattr(torch, "float8_e5m2", None)) if each]
        tensors = {f"layer.{str(each).removeprefix('torch.')}": torch.randn(7, 33).to(each) for each in kinds}
        save_file(tensors, self.path("a.safetensors"))
        rows = tensorstat.read(self.path("a.safetensors"), "max,min,avg,l2norm")
        self.assertEqual(set(rows), set(tensors))
        for name, tensor in tensors.items():
            values = tensor.double()
            self.assertEqual((rows[name].max, rows[name].min), (values.max().item(), values.min().item()))
            self.assertAlmostEqual(rows[name].l2norm, values.norm().item(), places=5)
        self.assertEqual(self.command("a.safetensors", "--fail-on", "nan").returncode, 0)
        tensors["layer.bfloat16"][3, 4] = float("nan")
        save_file(tensors, self.path("b.safetensors"))
        bad = self.command("b.safetensors", "--fail-on", "nan", "--where", "nan", "--format", "json")
        self.assertEqual(bad.returncode, 1, bad.stderr)
        self.assertIn("layer.bfloat16", bad.stdout)
        self.assertNotIn("layer.float16", bad.stdout)

    @needs("zarr")
    def test_what_zarr_writes(self):
        import numpy
        import zarr
        random = numpy.random.default_rng(7)
        for version in (2, 3):
            group = zarr.open_group(self.path(f"v{version}.zarr"), mode="w", zarr_format=version)
            arrays = {dtype: (random.standard_normal((30, 17, 5)) * 50).astype(dtype) for dtype in ("float16", "float32", "float64", "int8", "int32", "uint16", "bool", "complex64")}
            for i, (dtype, array) in enumerate(arrays.items()):
                chunks = [(7, 17, 2), (30, 17, 5), (1, 4, 5)][i % 3]
                made = group.create_array(dtype, shape=array.shape, chunks=chunks, dtype=array.dtype, **({"order": "F"} if version == 2 and i % 2 else {}))
                made[:] = array
            for name, compressors in self.packers_of_zarr(version).items():
                made = group.create_array(name, shape=(64, 33), chunks=(10, 20), dtype="float32", compressors=compressors)
                made[:] = arrays[name] = random.standard_normal((64, 33)).astype("float32")
            if version == 3:
                made = group.create_array("shards", shape=(50, 40), chunks=(5, 8), shards=(20, 16), dtype="float64")
                made[:] = arrays["shards"] = random.standard_normal((50, 40))
            hole = group.create_array("hole", shape=(9, 9), chunks=(4, 4), dtype="float32", fill_value=float("nan"))
            hole[:4, 4:] = 1
            arrays["hole"] = hole[:]
            for name, array in arrays.items():
                path = self.path(f"v{version}.zarr/{name}/" + (".zarray" if version == 2 else "zarr.json"))
                with self.subTest(path):
                    numpy.savez(self.path("x.npz"), **{name: array})
                    same = self.command("diff", path, self.path("x.npz"), "--rtol", "0", "--atol", "0", "--all")
                    self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            whole = self.command(f"v{version}.zarr", "--format", "csv", "--stats", "count")
            self.assertEqual((whole.returncode, whole.stderr, len(whole.stdout.splitlines())), (0, "", 1 + len(arrays)))

    @staticmethod
    def packers_of_zarr(version):
        import numcodecs
        import zarr
        if version == 2:
            return {"zstd": numcodecs.Zstd(), "lz4": numcodecs.LZ4(), "bz2": numcodecs.BZ2(), "lzma": numcodecs.LZMA(),
                    **{f"blosc_{name}": numcodecs.Blosc(cname=name, shuffle=shuffle) for shuffle, name in enumerate(("lz4", "zstd", "zlib"))}}
        return {"zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(), "blosc": zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle"), "none": None}

    @needs("gguf", "numpy")
    @unittest.skipUnless(shutil.which("llama-quantize"), "llama-quantize of llama.cpp is not installed")
    def test_what_llama_quantize_makes(self):
        import gguf
        import numpy
        random = numpy.random.default_rng(4)
        writer = gguf.GGUFWriter(self.path("f32.gguf"), "llama")
        for add, value in ((writer.add_context_length, 32), (writer.add_embedding_length, 256), (writer.add_block_count, 1), (writer.add_feed_forward_length, 512),
                           (writer.add_head_count, 4), (writer.add_head_count_kv, 4), (writer.add_layer_norm_rms_eps, 1e-5),
                           (writer.add_vocab_size, 64), (writer.add_tokenizer_model, "no_vocab")):
            add(value)
        shapes = {"token_embd": (64, 256), "output": (64, 256), "output_norm": (256,), "blk.0.attn_norm": (256,), "blk.0.ffn_norm": (256,),
                  **{f"blk.0.attn_{each}": (256, 256) for each in ("q", "k", "v", "output")},
                  "blk.0.ffn_gate": (512, 256), "blk.0.ffn_up": (512, 256), "blk.0.ffn_down": (256, 512)}
        for name, shape in shapes.items():
            writer.add_tensor(f"{name}.weight", random.standard_normal(shape).astype("f4"))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        for kind in "Q8_0", "Q4_K_M", "Q6_K", "Q5_1", "Q2_K", "BF16", "IQ4_XS", "IQ4_NL", "IQ3_S", "TQ1_0", "TQ2_0", "MXFP4_MOE":
            with self.subTest(kind):
                made = subprocess.run(["llama-quantize", "f32.gguf", f"{kind}.gguf", kind, "1"], cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual(made.returncode, 0, made.stderr[-600:])
                rows = tensorstat.read(self.path(f"{kind}.gguf"), "max,min,avg,l2norm")
                theirs = {each.name: gguf.dequantize(each.data, each.tensor_type).astype("f8") for each in gguf.GGUFReader(self.path(f"{kind}.gguf")).tensors}
                self.assertEqual(set(rows), set(theirs))
                for name, values in theirs.items():
                    self.assertEqual((rows[name].max, rows[name].min), (values.max(), values.min()), name)
                    self.assertAlmostEqual(rows[name].l2norm, float(numpy.sqrt((values ** 2).sum())), delta=1e-4)


if __name__ == "__main__":
    unittest.main()
