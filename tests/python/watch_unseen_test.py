"""What a watch cannot see, and what others do to a model meanwhile: parameters that are replaced, optimizers inside of backward,
gradients that are zeroed early, transforms, traces and compiled models, tensors without elements. Each is seen, or said. Skipped
where there is no torch (Debian's python3-torch); what newer releases bring is skipped before them."""
import csv
import glob
import json
import logging
import math
import os
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None


def release():
    return tuple(int(each) for each in torch.__version__.split("+")[0].split(".")[:2]) if torch is not None else (0, 0)


def rows_of(folder):
    rows = []
    for path in sorted(glob.glob(f"{folder}/rank_*/*/0/*/statistic.csv"), key=lambda each: int(each.split("/")[-2])):
        with open(path, newline="") as file:
            rows += [(int(path.split("/")[-2]), row["Op Type"], row["Op Name"]) for row in csv.DictReader(file)]
    return rows


def lines_of(folder, kind):
    lines = []
    for path in glob.glob(f"{folder}/rank_*/*/watch.ndjson"):
        with open(path) as file:
            lines += [each for each in map(json.loads, file) if each["kind"] == kind]
    return lines


class Listening(logging.Handler):
    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


class Unseen(unittest.TestCase):
    def setUp(self):
        if torch is None:
            self.skipTest("torch is not installed")
        torch.manual_seed(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/run"
        listening = Listening()
        self.heard = listening.heard
        logging.getLogger("tensorstat").addHandler(listening)
        self.addCleanup(logging.getLogger("tensorstat").removeHandler, listening)

    def model(self):
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


class Replaced(Unseen):
    def parameter_rows(self, kind, step):
        return {name for iteration, op_type, name in rows_of(self.path) if op_type == kind and iteration == step}

    def run_steps(self, model, watch, change, steps=3):
        for step in range(steps):
            if step == 1:
                change(model)
            loss = model(torch.randn(3, 4)).square().sum()
            loss.backward()
            with torch.no_grad():
                for each in model.parameters():
                    if each.grad is not None:
                        each -= 0.1 * each.grad
            watch.step(loss)
            model.zero_grad()

    def test_parameters_that_are_replaced(self):
        def assigned(model):
            for module in model:
                for name in list(module._parameters):
                    setattr(module, name, torch.nn.Parameter(getattr(module, name).detach().clone()))
        model = self.model()
        with tensorstat.watch(model, path=self.path) as watch:
            self.run_steps(model, watch, assigned)
        names = {name for name, _ in model.named_parameters()}
        for step in (1, 2):
            self.assertEqual(self.parameter_rows("Gradient", step), names)
            self.assertEqual(self.parameter_rows("Parameter", step), names)

    def test_a_module_that_is_replaced(self):
        def new_head(model):
            model[2] = torch.nn.Linear(4, 2)
        model = self.model()
        with tensorstat.watch(model, path=self.path) as watch:
            self.run_steps(model, watch, new_head)
        self.assertIn((1, "Linear", "2/forward"), rows_of(self.path))
        self.assertEqual(self.parameter_rows("Gradient", 1), {name for name, _ in model.named_parameters()})

    def test_a_class_that_is_replaced(self):
        """By parametrize, as by FSDP2's fully_shard()."""
        class Half(torch.nn.Module):
            def forward(self, weight):
                return weight * 0.5

        def parametrized(model):
            torch.nn.utils.parametrize.register_parametrization(model, "weight", Half())
        model = torch.nn.Linear(4, 1)
        with tensorstat.watch(model, path=self.path) as watch:
            self.run_steps(model, watch, parametrized)
        for step in range(3):
            self.assertIn((step, "Linear", "Linear/forward"), rows_of(self.path))
        self.assertEqual(self.parameter_rows("Gradient", 2), {"bias", "parametrizations.weight.original"})

    def test_meta_then_assigned(self):
        if release() < (2, 1):
            self.skipTest("load_state_dict(assign=True) is of torch 2.1")
        state = self.model().state_dict()
        with torch.device("meta"):
            model = self.model()
        with tensorstat.watch(model, path=self.path) as watch:
            model.load_state_dict(state, assign=True)
            self.run_steps(model, watch, lambda _: None)
        self.assertEqual(self.parameter_rows("Gradient", 0), set(state))
        self.assertEqual(self.parameter_rows("Parameter", 0), set(state))
        self.assertFalse(self.heard)


class Optimizers(Unseen):
    def test_gradients_that_are_zeroed_before_step(self):
        model = self.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with tensorstat.watch(model, path=self.path) as watch:
            for step in range(3):
                loss = model(torch.randn(3, 4)).square().mean()
                loss.backward()
                if step == 2:
                    model[2].weight.grad.fill_(float("nan"))
                optimizer.step()
                optimizer.zero_grad()
                watch.step(loss)
        answer = tensorstat.origin(self.path)
        self.assertNotIn("finite before", str(answer))
        self.assertIn("zeroed before step()", str(answer))
        self.assertEqual([each["iteration"] for each in lines_of(self.path, "zeroed")], [0])

    def test_gradients_that_are_changed_without_a_new_version(self):
        """By `.data` or NumPy; and another one in the place of the first, which Python may give the same address."""
        def other(weight):
            before, made = id(weight.grad), None
            weight.grad = None
            for _ in range(100):
                made = None
                made = torch.full((4, 4), math.nan)
                if id(made) == before:
                    break
            weight.grad = made
        changes = {"data": lambda weight: weight.grad.data.mul_(math.nan), "numpy": lambda weight: weight.grad.numpy().fill(math.nan),
                   "another": other, "none": lambda weight: None}
        for name, change in changes.items():
            with self.subTest(name):
                model, path = self.model(), f"{self.path}_{name}"
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1 if name != "none" else math.nan)
                with tensorstat.watch(model, path=path) as w:
                    loss = model(torch.randn(3, 4)).sum()
                    loss.backward()
                    change(model[0].weight)
                    optimizer.step()
                    w.step(loss)
                verdict, phase = tensorstat.origin(path)["verdict"], "gradient" if name != "none" else "optimizer"
                self.assertEqual((verdict["kind"], verdict["op_name"]), (phase, "0.weight"), verdict["sentence"])
                self.assertEqual((w.first_fault.phase, w.first_fault.op_name), (phase, "0.weight"))

    def test_an_optimizer_inside_of_backward(self):
        class Root(torch.nn.Module):
            def forward(self, x):
                return torch.sqrt((x * 0).abs()) if step[0] == 1 else x

        def written(parameter):
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()
        step = [0]
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), Root(), torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        optimizers = {each: torch.optim.SGD([each], lr=0.1) for each in model.parameters()}
        if release() >= (2, 1):
            for each in model.parameters():
                each.register_post_accumulate_grad_hook(written)
        else:  # a hook that writes the parameter before the gradient is added up
            for each in model.parameters():
                each.register_hook(lambda gradient, each=each: each.data.copy_(each.detach() - 0.1 * gradient) is None or None)
        with tensorstat.watch(model, path=self.path) as watch:
            for step[0] in range(2):
                loss = model(torch.randn(3, 4)).square().mean()
                loss.backward()
                watch.step(loss)
        names = {name for name, _ in model.named_parameters()}
        self.assertLessEqual(names, {name for _, op_type, name in rows_of(self.path) if op_type == "Gradient"})
        text = str(tensorstat.origin(self.path))
        self.assertNotIn("NaN in 3 (", text)
        self.assertNotIn("NaN in 4 (", text)
        self.assertFalse([each for each in lines_of(self.path, "zoom") if each["result"] == "found" and each["op_name"] != "2/backward"])


class Traced(Unseen):
    def test_nothing_of_the_model_was_read(self):
        model, other = self.model(), self.model()
        with tensorstat.watch(model, path=self.path) as watch:
            for _ in range(2):
                watch.step(other(torch.randn(3, 4)).sum())
        text = str(tensorstat.origin(self.path))
        self.assertTrue(text.startswith("Not known: nothing of the model was read"), text)

    def test_a_model_that_runs_later_was_read(self):
        model = self.model()
        with tensorstat.watch(model, path=self.path) as watch:
            watch.step()
            watch.step(model(torch.randn(3, 4)).sum())
        self.assertTrue(str(tensorstat.origin(self.path)).startswith("Nothing wrong"))

    def test_what_is_exported_has_nothing_of_a_watch(self):
        if release() < (2, 6):
            self.skipTest("torch.export is of newer releases")
        from torch.fx.experimental.proxy_tensor import make_fx
        model, x = self.model(), torch.randn(3, 4)

        def programs():
            made = [make_fx(model)(x), torch.export.export(model, (x,), strict=False), torch.fx.symbolic_trace(model)]
            if not is_compiled:  # under torch.compile's stance "force_eager" torch refuses a strict export
                made.append(torch.export.export(model, (x,)))
            return [len(list(each.graph.nodes)) for each in made]
        is_compiled = tensorstat._compiled.is_used()
        before = programs()
        with tensorstat.watch(model, path=self.path):
            self.assertEqual(programs(), before)
        self.assertEqual(programs(), before)

    def test_compiled_models(self):
        if release() < (2, 6):
            self.skipTest("torch.compiler.set_stance is of torch 2.6")
        import torch._dynamo as dynamo
        calls, graphs, model = [], [], self.model()
        dynamo.reset()

        def backend(graph, _):
            graphs.append(1)
            return lambda *given: (calls.append(1), graph.forward(*given))[1]
        compiled = torch.compile(model, backend=backend, fullgraph=True)
        a_step = []
        with tensorstat.watch(model, path=self.path, every=3) as watch:
            for _ in range(9):
                before = len(calls)
                loss = compiled(torch.randn(3, 4)).sum()
                loss.backward()
                watch.step(loss)
                a_step.append(len(calls) - before)
        self.assertEqual(a_step, [0, 1, 1] * 3)
        self.assertEqual(len(graphs), 1)
        self.assertEqual(len([each for each in rows_of(self.path) if each[2] == "1/forward"]), 3)
        self.assertIn("steps that are measured run without torch.compile", self.heard)
        before = len(calls)
        compiled(torch.randn(3, 4))
        self.assertEqual(len(calls), before + 1)  # what a watch leaves behind compiles nothing
        self.assertEqual(dynamo.eval_frame._stance.stance, "default")

    def test_names_of_compiled_models(self):
        if release() < (2, 6):
            self.skipTest("torch.compiler.set_stance is of torch 2.6")
        import torch._dynamo as dynamo
        names = []
        for how in ("bare", "whole", "inside", "both"):
            dynamo.reset()
            model = torch.nn.Sequential(self.model(), torch.nn.Linear(1, 1))
            if how in ("inside", "both"):
                model[0] = torch.compile(model[0], backend="eager")
            watched = torch.compile(model, backend="eager") if how in ("whole", "both") else model
            optimizer = torch.optim.SGD(watched.parameters(), lr=0.1)
            with tensorstat.watch(watched, path=f"{self.path}-{how}") as watch:
                loss = watched(torch.randn(3, 4)).square().mean()
                loss.backward()
                optimizer.step()
                watch.step(loss)
            names.append(sorted(each[1:] for each in rows_of(f"{self.path}-{how}")))
        self.assertIn(("Sequential", "Sequential/forward"), names[0])
        self.assertIn(("Linear", "0.0/backward"), names[0])
        for each in names[1:]:
            self.assertEqual(each, names[0])

    def test_a_stance_of_the_caller_s(self):
        if release() < (2, 6):
            self.skipTest("torch.compiler.set_stance is of torch 2.6")
        import torch._dynamo as dynamo
        models = [self.model() for _ in range(3)]  # a watch ends with its model
        torch.compile(models[2], backend="eager")(torch.randn(3, 4))
        torch.compiler.set_stance("eager_on_recompile")
        try:
            first, second = (tensorstat.watch(models[number], path=f"{self.path}{number}") for number in range(2))
            self.assertEqual(dynamo.eval_frame._stance.stance, "force_eager")
            first.close()
            self.assertEqual(dynamo.eval_frame._stance.stance, "force_eager")
            second.close()
            self.assertEqual(dynamo.eval_frame._stance.stance, "eager_on_recompile")
            with tensorstat.watch(models[2], path=f"{self.path}3"):
                torch.compiler.set_stance("fail_on_recompile")
            self.assertEqual(dynamo.eval_frame._stance.stance, "fail_on_recompile")
        finally:
            torch.compiler.set_stance("default")

    def test_transforms(self):
        if release() < (2, 1):
            self.skipTest("torch.func is of torch 2.0")
        model = self.model()
        parameters = {name: each.detach() for name, each in model.named_parameters()}

        def loss(given, x):
            return torch.func.functional_call(model, given, (x,)).square().mean()
        x = torch.randn(3, 4)
        alone = torch.func.grad(loss)(parameters, x), torch.func.vmap(model)(x), torch.func.jvp(model, (x,), (x,)), torch.func.hessian(
            lambda x: model(x).sum())(x)
        with tensorstat.watch(model, path=self.path) as watch:
            watched = torch.func.grad(loss)(parameters, x), torch.func.vmap(model)(x), torch.func.jvp(model, (x,), (x,)), torch.func.hessian(
                lambda x: model(x).sum())(x)
            watch.step()
        self.assertTrue(torch.equal(alone[0]["0.weight"], watched[0]["0.weight"]))
        for mine, theirs in zip(torch.utils._pytree.tree_leaves(alone), torch.utils._pytree.tree_leaves(watched)):
            self.assertTrue(torch.equal(mine, theirs))
        self.assertIn((0, "Linear", "2/forward"), rows_of(self.path))
        self.assertFalse([each for each in self.heard if "to_dense" in each or "a module is not watched here" in each], self.heard)
        self.assertIn("torch.func", str(tensorstat.origin(self.path)))


class WithoutElements(Unseen):
    def test_memory_that_a_module_frees(self):
        """Reading it again would end the process: the call is not run again, and its input is not saved."""
        class Freeing(torch.nn.Module):
            def forward(self, x):
                made = torch.log(-1 - x.abs())
                (x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage()).resize_(0)
                return made

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.freeing, self.last = torch.nn.Linear(4, 4), Freeing(), torch.nn.Linear(4, 1)

            def forward(self, x):
                with torch.no_grad():
                    given = self.first(x)
                return self.last(self.freeing(given[1:] if self.is_view else given))

        for is_view in True, False:
            for then in "write", "save tensors":
                with self.subTest(is_view=is_view, then=then):
                    model, path = Net(), f"{self.path}_{is_view}_{then}"
                    model.is_view = is_view
                    with tensorstat.watch(model, path=path, alerts="nan and io == output and op_name == freeing/forward", then=then) as w:
                        loss = model(torch.randn(3, 4)).sum()
                        loss.backward()
                        self.assertTrue(w.check(loss))
                        (alert,) = w.step(loss).alerts
                    self.assertEqual(w.first_fault.op_name, "freeing/forward")
                    self.assertEqual([each for each in alert.not_saved if "memory was freed" in each] != [], then == "save tensors")

    def refused(self, tensor):
        with self.assertRaises(tensorstat.Error) as refused:
            tensorstat.measure(tensor, "max")
        self.assertNotIn("address is null", str(refused.exception))
        return str(refused.exception)

    def test_classes_that_keep_their_elements_elsewhere(self):
        if release() < (2, 1):
            self.skipTest("wrapper classes of newer releases")

        class Scaled(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

            def __init__(self, inner):
                self.inner = inner

            __torch_function__ = torch._C._disabled_torch_function_impl

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                if func is torch.ops.aten.detach.default:
                    return cls(args[0].inner)
                return func(*torch.utils._pytree.tree_map_only(cls, lambda each: each.inner, args), **(kwargs or {}))

        class Named(Scaled):
            def __tensor_flatten__(self):
                return ["inner"], None

        class Quantized(Named):
            def dequantize(self):
                return self.inner

        class Waiting(Scaled):
            def trigger_wait(self):
                return self.inner
        for kind, way in ((Scaled, "the tensors that it holds"), (Named, "the tensors that it holds, x.inner"), (Waiting, "x.trigger_wait()"),
                          (Quantized, "x.dequantize(), or the tensors that it holds, x.inner")):
            self.assertTrue(self.refused(kind(torch.ones(2, 2))).endswith(f"a {kind.__name__} has no elements of its own; pass {way}"), way)
        model = self.model()
        model[0].weight = torch.nn.Parameter(Scaled(torch.ones(4, 4)), requires_grad=False)
        with tensorstat.watch(model, path=self.path) as watch:
            model(torch.randn(3, 4)).sum().backward()
            watch.step()
        self.assertTrue([each for each in self.heard if "0.weight is not watched: a Scaled has no elements" in each], self.heard)
        self.assertIn("0.weight", [each["op_name"] for each in lines_of(self.path, "not_seen")])

    def test_parameters_without_an_address(self):
        eye = torch.eye(4)
        for odd in (eye.to_sparse(), eye.to_sparse_csr(), eye.to_mkldnn() if torch.backends.mkldnn.is_available() else eye):
            model = self.model()
            model[0].odd = torch.nn.Parameter(odd)  # the parameters of model[2] are behind it
            with tensorstat.watch(model, path=self.path, exist="replace") as watch:
                for _ in range(2):
                    loss = model(torch.randn(3, 4)).sum()
                    loss.backward()
                    with torch.no_grad():
                        for each in model.parameters():
                            each.add_(each.grad) if each.grad is not None else None
                            if each.layout is torch.sparse_coo:
                                each.mul_(2)
                    watch.step(loss)
            with open(os.path.join(self.path, "rank_0/model/0/1/statistic.csv"), newline="") as file:
                rows = {(row["Op Type"], row["Op Name"], row["IO"]) for row in csv.DictReader(file)}
            self.assertIn(("Gradient", "2.weight", "input"), rows)
            self.assertIn(("Parameter", "2.weight", "output"), rows)
            self.assertEqual(("Parameter", "0.odd", "output") in rows, odd.layout is torch.sparse_coo)

    def test_fakes_nested_and_quantized(self):
        self.assertIn("cast it first", self.refused(torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)))
        if release() < (2, 6):
            self.skipTest("fake and jagged tensors of newer releases")
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            fake = torch.empty(3)
        self.assertIn("a FakeTensor has no values", self.refused(fake))
        parts = [torch.ones(3, 8), torch.ones(5, 8)]
        self.assertIn("x.values()", self.refused(torch.nested.nested_tensor(parts, layout=torch.jagged)))
        self.assertIn("x.unbind()", self.refused(torch.nested.nested_tensor(parts)))
        with tensorstat.watch(self.model(), path=self.path) as watch:
            torch.export.export(watch and self.model(), (torch.randn(3, 4),))
        self.assertFalse([each for each in self.heard if "layout" in each or "address" in each], self.heard)

    def test_pairs_of_float4(self):
        if not hasattr(torch, "float4_e2m1fn_x2"):
            self.skipTest("float4 of newer releases")
        pairs = torch.tensor([[0x21, 0x43], [0x7f, 0xf0]], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
        statistics = tensorstat.measure(pairs, "max,min,count")
        self.assertEqual((statistics.max, statistics.min, statistics.count), (6, -6, 8))


if __name__ == "__main__":
    unittest.main()
