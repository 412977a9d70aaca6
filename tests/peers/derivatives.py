"""Derivatives as models against torch.func, one line per net and transform: in double precision by `relayout run --mode reference`, in f32 by
relayout and ONNX Runtime, and what `relayout verify --derivative` finds by central differences.
    cmake/dev bench derivatives [--operators|--times] [NET…] [--only TRANSFORM…] [--json FILE]
--operators: each operator alone (derivative_operators.py); --times: processor time (derivative_times.py).
An error is the largest difference of a transform's results over their largest number. `floor` is that of torch.func itself in f32. `adjoint` and
`symmetric`: how far tangents and gradients, or two products with a Hessian, disagree. Exit 1: an error in double precision beyond 1e-10 (such
a disagreement: 1e-12), one in f32 beyond ten floors, or a verdict that is not 0."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace

import numpy
import onnx
import table
from models import OPSET, Architecture, Input, architecture, example, shake
from truth import session

NETS = ("resnet10", "mobilenet_v2", "mobilenet_v3", "shufflenet", "squeezenet", "densenet", "efficientnet", "unet", "detector", "segmenter", "speech",
        "convnext", "swin", "vit", "mixer", "encoder", "bert", "recurrent", "video", "generator", "tcn", "decoder", "pointnet", "tabular", "tutorial_mlp", "tutorial_cnn")
AGREEMENTS = ("adjoint", "symmetric")  # of tangents with gradients, and of a Hessian with itself: in double precision alone
TRANSFORMS = ("jvp", "vjp", "jacobian", "hvp", "hessian", "per-sample-gradients", "ensemble", *AGREEMENTS)
MOST, MOST_APART, FLOORS, LEAST_FLOOR, WEIGHTS = 1e-10, 1e-12, 10, 5e-7, 3
FIXED = {"sequence": 12, "images": 64}  # recurrent operators are differentiated where their length is constant


def tutorial_mlp():
    """Of which torch.func's tutorial makes an ensemble of ten."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


def tutorial_cnn():
    """Whose gradients per sample torch.func's tutorial takes."""
    from torch import nn

    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
                         nn.Linear(128, 10), nn.LogSoftmax(1))


def known(name: str) -> Architecture:
    own = {"tutorial_mlp": tutorial_mlp, "tutorial_cnn": tutorial_cnn}
    return Architecture(name, own[name], (Input("digit", "image", ("images", 1, 28, 28)),)) if name in own else architecture(name)


@dataclass
class Row:
    net: str
    transform: str
    double: float | None = None
    single: float | None = None
    onnxruntime: float | None = None
    floor: float | None = None
    verified: int | None = None
    note: str = ""

    @property
    def is_right(self) -> bool:
        if self.transform in AGREEMENTS:
            return not self.note and self.double <= MOST_APART
        limit = FLOORS * max(self.floor or 0, LEAST_FLOOR)
        return not self.note and self.double <= MOST and self.single <= limit and self.onnxruntime <= limit and self.verified in (None, 0)


def error(found: list, expected: list) -> float:
    for a, b in zip(found, expected, strict=True):
        if a.shape != b.shape:
            raise ValueError(f"dims {a.shape}, not {b.shape}")
    largest = max(numpy.abs(b).max() for b in expected)
    return float(max(numpy.abs(a.astype(numpy.float64) - b).max() for a, b in zip(found, expected)) / largest)


def as_in_a_file(module):
    """Attributes of a file are f32; its constants are not. Equal weights would be one in the file."""
    import torch

    class HardSigmoid(torch.nn.Module):
        def forward(self, x):
            return torch.clamp(x * float(numpy.float32(1 / 6)) + 0.5, 0, 1)

    generator = torch.Generator().manual_seed(9)
    for layer in list(module.modules()):
        for name in ("negative_slope", "eps"):
            if isinstance(getattr(layer, name, None), float):
                setattr(layer, name, float(numpy.float32(getattr(layer, name))))
        for name, child in layer.named_children():
            if isinstance(child, torch.nn.Hardsigmoid):
                setattr(layer, name, HardSigmoid())
    for one in module.parameters():
        one.data += 0.02 * torch.randn(one.shape, generator=generator)
    return module


class Net:
    """A module with a result and a loss for each sample, as files of both precisions, and what torch.func makes of it."""

    def __init__(self, what, folder: pathlib.Path, sizes: dict = FIXED):
        import torch

        self.inputs = [replace(one, dims=tuple(sizes.get(dim, dim) for dim in one.dims)) for one in what.inputs]
        self.name, self.folder, self.torch = what.name, folder, torch
        torch.manual_seed(1)

        class WithLoss(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, *inputs):
                result = self.inner(*inputs)
                return result, (result * result).flatten(1).mean(1)

        self.module = WithLoss(as_in_a_file(shake(what.build()))).eval()
        self.module.requires_grad_(False)
        self.random = numpy.random.default_rng(5)
        self.data = {one.name: example(one).numpy() for one in self.inputs}
        self.data64 = {name: value.astype(float) if value.dtype.kind == "f" else value for name, value in self.data.items()}
        self.files = {kind: self.export(kind) for kind in ("float64", "float32")}
        self.real = [one.name for one in self.inputs if one.kind == "image"]
        self.weights = self.choose()

    def parameter(self, name):
        return dict(self.module.named_parameters())[name].detach().numpy()

    def module_as(self, kind):
        import copy

        return copy.deepcopy(self.module).to(getattr(self.torch, kind))

    def as_kind(self, value, kind):
        tensor = self.torch.as_tensor(numpy.asarray(value))
        return tensor.to(getattr(self.torch, kind)) if tensor.is_floating_point() else tensor

    def export(self, kind, module=None, tag=""):
        file = self.folder / f"{self.name}.{kind}{tag}.onnx"
        axes = {one.name: {0: "N"} for one in self.inputs}
        arguments = tuple(self.as_kind(value, kind) for value in self.data.values())
        self.torch.onnx.export(module or self.module_as(kind), arguments, str(file), dynamo=False, opset_version=OPSET, dynamic_axes=axes | {"result": {0: "N"}, "loss": {0: "N"}},
                               input_names=list(self.data), output_names=["result", "loss"], do_constant_folding=False,
                               training=self.torch.onnx.TrainingMode.PRESERVE)
        return file

    def choose(self) -> list[str]:
        """Small ones of the beginning, the middle and the end that the file has under their names, and that the loss depends on."""
        known = {one.name for one in onnx.load(self.files["float32"]).graph.initializer}
        names = [name for name, one in self.module.named_parameters() if name in known and one.numel() <= 20000]
        call, primals = self.function(names, 1, "float64")
        slopes = self.torch.func.grad(lambda *values: call(*values).sum(), argnums=tuple(range(len(names))))(*primals)
        steepest = max(one.abs().max() for one in slopes)
        names = [name for name, one in zip(names, slopes) if one.abs().max() > 1e-6 * steepest]
        spread = [names[i * (len(names) - 1) // (WEIGHTS - 1)] for i in range(WEIGHTS)]
        shortest = min(names[:len(names) // 2 + 1], key=lambda name: self.parameter(name).size)
        return list(dict.fromkeys([shortest, *spread]))

    def function(self, names, output, kind):
        """Of the values of these names, in torch."""
        module = self.module_as(kind)
        data = {name: self.as_kind(value, kind) for name, value in self.data.items()}

        def call(*values):
            given = dict(zip(names, values))
            inputs = [given.get(name, value) for name, value in data.items()]
            weights = {name: value for name, value in given.items() if name not in data}
            return self.torch.func.functional_call(module, weights, tuple(inputs))[output]

        return call, tuple(self.as_kind(self.data[name] if name in self.data else self.parameter(name), kind) for name in names)

    def draw(self, dims):
        return self.random.standard_normal(dims)


# --- the transforms: words for derive, what is fed, what comes out, and torch's of a precision --------------------------------------


@dataclass
class Task:
    words: list
    feeds: dict
    outputs: list
    expected: object  # of the name of a type


def target_of(net: Net):
    """What whole Jacobians are taken by: the input where it is small, else the smallest weight."""
    is_small = net.real and net.data[net.real[0]][0].size <= 400
    return net.real[0] if is_small else net.weights[0]


def jvp(net: Net) -> Task:
    names = net.real + net.weights
    values = [net.data[name] if name in net.data else net.parameter(name) for name in names]
    tangents = [net.draw(value.shape) for value in values]

    def expected(kind):
        call, primals = net.function(names, 0, kind)
        return [net.torch.func.jvp(call, primals, tuple(net.as_kind(one, kind) for one in tangents))[1]]

    return Task(["jvp", "--wrt", ",".join(names), "--of", "result"], {name + ".tangent": value for name, value in zip(names, tangents)},
                ["result.tangent"], expected)


def vjp(net: Net) -> Task:
    names = net.real + net.weights
    call, primals = net.function(names, 0, "float64")
    cotangent = net.draw(tuple(call(*primals).shape))

    def expected(kind):
        call, primals = net.function(names, 0, kind)
        return list(net.torch.func.vjp(call, *primals)[1](net.as_kind(cotangent, kind)))

    return Task(["vjp", "--wrt", ",".join(names), "--of", "result"], {"result.cotangent": cotangent}, [name + ".gradient" for name in names], expected)


def by_sample(net: Net, whole, name: str, found):
    """Of each sample alone, where the value is an input."""
    return net.torch.stack([found[n].select(whole, n) for n in range(found.shape[0])]) if name in net.data else found


def jacobian(net: Net) -> Task:
    name = target_of(net)

    def expected(kind):
        call, primals = net.function([name], 0, kind)
        found = net.torch.func.jacfwd(call)(*primals) if primals[0].numel() < 400 else net.torch.func.jacrev(call)(*primals)
        return [by_sample(net, found.dim() - primals[0].dim() - 1, name, found)]

    return Task(["jacobian", "--wrt", name, "--of", "result"], {}, [f"result.jacobian.{name}"], expected)


def hvp(net: Net) -> Task:
    names = net.real + net.weights
    values = [net.data[name] if name in net.data else net.parameter(name) for name in names]
    vectors = [net.draw(value.shape) for value in values]

    def expected(kind):
        call, primals = net.function(names, 1, kind)
        gradient = net.torch.func.grad(lambda *values: call(*values).sum(), argnums=tuple(range(len(names))))
        return list(net.torch.func.jvp(gradient, primals, tuple(net.as_kind(one, kind) for one in vectors))[1])

    return Task(["hessian", "--hvp", "--wrt", ",".join(names), "--of", "loss"], {name + ".vector": value for name, value in zip(names, vectors)},
                [name + ".hvp" for name in names], expected)


def hessian(net: Net) -> Task:
    name = target_of(net)

    def expected(kind):
        call, primals = net.function([name], 1, kind)
        found = net.torch.func.hessian(lambda value: call(value).sum())(*primals)
        return [by_sample(net, primals[0].dim() - 1, name, found)]

    return Task(["hessian", "--wrt", name, "--of", "loss"], {}, [f"loss.hessian.{name}"], expected)


def per_sample_gradients(net: Net) -> Task:
    def expected(kind):
        call, primals = net.function(net.weights, 1, kind)
        return list(net.torch.func.jacrev(call, argnums=tuple(range(len(primals))))(*primals))

    return Task(["per-sample-gradients", "--wrt", ",".join(net.weights), "--of", "loss"], {}, [name + ".gradient" for name in net.weights], expected)


def ensemble(net: Net) -> Task:
    """The mean of three nets, or ten, which differ in these weights."""
    parts = [{name: net.parameter(name) * (1 + 0.1 * i) for name in net.weights} for i in range(10 if net.name.startswith("tutorial") else 3)]

    def expected(kind):
        call, _ = net.function(net.weights, 0, kind)
        with net.torch.no_grad():
            results = [call(*(net.as_kind(part[name], kind) for name in net.weights)) for part in parts]
        return [sum(results) / len(results)]

    task = Task(["ensemble"], {}, ["result"], expected)
    task.parts = parts
    return task


def products(a: list, b: list) -> tuple[float, float]:
    """⟨a, b⟩, and the product of their lengths."""
    lengths = [sum(float((one * one).sum()) for one in values) ** 0.5 for values in (a, b)]
    return sum(float((one * other).sum()) for one, other in zip(a, b, strict=True)), lengths[0] * lengths[1]


MAKERS = dict(zip(TRANSFORMS, (jvp, vjp, jacobian, hvp, hessian, per_sample_gradients, ensemble)))


# --- the runs -----------------------------------------------------------------------------------------------------------------------


class Bench:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path):
        self.program, self.folder = program, folder

    def call(self, *words, codes=(0,)):
        done = subprocess.run([self.program, *map(str, words), "--quiet"], capture_output=True, text=True)
        if done.returncode not in codes:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1][-300:])
        return done.returncode

    def written(self, net: Net, task: Task, kind: str) -> pathlib.Path:
        out = self.folder / f"{net.name}.{task.words[0]}.{kind}.onnx"
        if task.words[0] != "ensemble":
            self.call("derive", task.words[0], net.files[kind], *task.words[1:], "-o", out)
            return out
        files = []
        for i, part in enumerate(task.parts):
            module = net.module_as(kind)
            for name, value in part.items():
                dict(module.named_parameters())[name].data.copy_(net.as_kind(value, kind))
            files.append(net.export(kind, module, f".{i}"))
        self.call("merge", "ensemble", *files, "--batched", "-o", out)
        return out

    def inputs(self, feeds: dict) -> list:
        arguments = []
        for i, (name, value) in enumerate(feeds.items()):
            numpy.save(self.folder / f"{i}.npy", value)
            arguments += ["--input", f"{name}={self.folder / f'{i}.npy'}"]
        return arguments

    def run(self, model: pathlib.Path, feeds: dict, outputs: list, *words):
        arguments = self.inputs(feeds)
        for name in outputs:
            arguments += ["--tensors", name]
        out = self.folder / "out.npz"
        out.unlink(missing_ok=True)
        self.call("run", model, *arguments, "--save", out, *words)
        with numpy.load(out) as found:
            return [found[name] for name in outputs]

    def agreement(self, net: Net, transform: str) -> float:
        """⟨J t, c⟩ against ⟨t, Jᵀ c⟩, or ⟨H t, c⟩ against ⟨t, H c⟩, over the lengths."""
        tasks = (jvp(net), vjp(net)) if transform == "adjoint" else (hvp(net), hvp(net))
        found = [self.run(self.written(net, task, "float64"), net.data64 | task.feeds, task.outputs, "--mode", "reference") for task in tasks]
        there, back = products(found[0], list(tasks[1].feeds.values())), products(found[1], list(tasks[0].feeds.values()))
        return abs(there[0] - back[0]) / max(there[1], back[1])

    def measure(self, net: Net, transform: str) -> Row:
        row = Row(net.name, transform)
        try:
            if transform in AGREEMENTS:
                row.double = self.agreement(net, transform)
                return row
            task = MAKERS[transform](net)
            expected = [one.detach().numpy() for one in task.expected("float64")]
            feeds = {kind: {name: value.astype(kind) if value.dtype.kind == "f" else value for name, value in (net.data | task.feeds).items()}
                     for kind in net.files}
            row.floor = error([one.detach().numpy() for one in task.expected("float32")], expected)
            models = {kind: self.written(net, task, kind) for kind in net.files}
            row.double = error(self.run(models["float64"], feeds["float64"], task.outputs, "--mode", "reference"), expected)
            row.single = error(self.run(models["float32"], feeds["float32"], task.outputs), expected)
            row.onnxruntime = error(session(models["float32"]).run(task.outputs, feeds["float32"]), expected)
            if transform != "ensemble":
                data = self.inputs({name: feeds["float32"][name] for name in net.data})
                row.verified = self.call("verify", net.files["float32"], "--derivative", models["float32"], *data, codes=range(-20, 80))
        except Exception as problem:  # of one row: the others continue
            row.note = f"{type(problem).__name__}: {problem}"[:300].replace("\n", " ")
        return row


def measured(program: pathlib.Path, names, only, folder: pathlib.Path) -> list[Row]:
    """Prints a line for each net and transform."""
    rows = []
    bench = Bench(program, folder)
    for name in names:
        net = Net(known(name), folder)
        for transform in only:
            rows.append(bench.measure(net, transform))
            print(lines(rows[-1:])[1], flush=True)
    return rows


def lines(rows: list[Row]) -> list[str]:
    head = ["net", "transform", "double", "f32", "onnxruntime", "floor", "verify", "right", "note"]
    return table.lines(head, [[row.net, row.transform, row.double, row.single, row.onnxruntime, row.floor, row.verified,
                               "yes" if row.is_right else "NO", row.note] for row in rows])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("nets", nargs="*")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--operators", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    import derivative_operators
    import derivative_times
    import torch

    kind = derivative_operators if arguments.operators else derivative_times if arguments.times else sys.modules[__name__]
    if unknown := set(arguments.only or ()) - set(kind.TRANSFORMS):
        parser.error(f"no transforms: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    # Kernels that have derivatives forward and backward.
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with tempfile.TemporaryDirectory(prefix="relayout-derivatives-") as folder, torch.backends.mkldnn.flags(enabled=arguments.times), plain:
        rows = kind.measured(arguments.program, arguments.nets or kind.NETS, arguments.only or kind.TRANSFORMS, pathlib.Path(folder))
    print("\n".join(["", *kind.lines(rows)]))
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(row) | {"right": row.is_right} for row in rows], indent=1))
    return 0 if all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
