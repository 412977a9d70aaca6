"""Times of derivatives and ensembles as models, over the time of the model that they are of, for `cmake/dev bench derivatives --times`: of
relayout and ONNX Runtime, beside torch.func's own over its module. Processor time at one thread; both take turns."""
import json
import pathlib
import statistics
import subprocess
import time
from dataclasses import dataclass, field

import numpy
import onnx
import onnxruntime
import table
from derivatives import FIXED, Net
from models import Architecture, architecture, image
from truth import session

NETS = ("small", "resnet10", "mobilenet_v2", "efficientnet", "unet", "segmenter", "convnext", "vit", "swin", "bert", "tcn", "recurrent", "tabular")
TRANSFORMS = ("jvp", "vjp", "gradients", "hvp", "per-sample", "ensemble of 2", "ensemble of 4", "ensemble of 8")
MOST = {"jvp": 2.2, "vjp": 3, "ensemble of 4": 4}
SIZES = FIXED | {"batch": 8}
SECONDS, LEAST_PAIRS = 1, 7


def small():
    from torch import nn

    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 48, 3, padding=1), nn.ReLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


@dataclass
class Row:
    net: str
    transform: str
    relayout: float | None = None
    onnxruntime: float | None = None
    torch: float | None = None
    forward_ms: float | None = None
    note: str = ""

    @property
    def is_right(self) -> bool:
        most = MOST.get(self.transform, float("inf"))
        return not self.note and self.relayout <= most and self.onnxruntime <= most


@dataclass
class Task:
    """Words for derive, what is fed beside the data, and a function of torch; or the number of an ensemble's parts."""

    words: list = field(default_factory=list)
    feeds: dict = field(default_factory=dict)
    call: object = None
    parts: int = 0


def ratio(first, second) -> tuple[float, float]:
    """The processor times of two calls that take turns: of the second over the first, and of the first."""
    first(), second()
    begin, times = time.perf_counter(), []
    while time.perf_counter() - begin < SECONDS or len(times) < LEAST_PAIRS:
        stamps = [time.process_time()]
        for call in (first, second):
            call()
            stamps.append(time.process_time())
        times.append((stamps[1] - stamps[0], stamps[2] - stamps[1]))
    return statistics.median(b for _, b in times) / statistics.median(a for a, _ in times), statistics.median(a for a, _ in times)


class Timed(Net):
    """A net with the tasks that are timed."""

    def __init__(self, what, folder):
        super().__init__(what, folder, SIZES)
        self.single = self.module_as("float32")
        self.arguments = [self.as_kind(value, "float32") for value in self.data.values()]
        self.parameters = {name: one.detach() for name, one in self.single.named_parameters()}
        known = {one.name for one in onnx.load(self.files["float32"]).graph.initializer}
        # Those that the loss depends on, by their names in the file.
        results = self.torch.func.grad(lambda given: self.called(given)[1].sum())(self.parameters)
        self.trained = [name for name, slope in results.items() if name in known and slope.abs().max() > 0]

    def called(self, parameters, *data):
        return self.torch.func.functional_call(self.single, parameters, tuple(data or self.arguments))

    def forward(self):
        with self.torch.no_grad():
            return self.single(*self.arguments)

    def of_inputs(self, output):
        """A function of the real inputs, and these."""
        places = [i for i, name in enumerate(self.data) if name in self.real]

        def call(*values):
            data = list(self.arguments)
            for place, value in zip(places, values):
                data[place] = value
            return self.single(*data)[output]

        return call, tuple(self.arguments[i] for i in places)

    def task(self, transform) -> Task:
        func = self.torch.func
        if transform.startswith("ensemble"):
            return self.ensemble(int(transform.split()[-1]))
        cotangent = self.torch.as_tensor(self.draw(tuple(self.forward()[0].shape)), dtype=self.torch.float32)
        some = {name: self.parameters[name] for name in self.trained}
        if transform == "gradients":

            def call():
                return func.vjp(lambda given: self.called(given)[0], some)[1](cotangent)

            return Task(["vjp", "--of", "result", "--wrt", ",".join(self.trained)], {"result.cotangent": cotangent.numpy()}, call)
        if transform == "per-sample":
            each = func.vmap(func.grad(lambda given, *one: self.called(given, *(value[None] for value in one))[1].sum()),
                             in_dims=(None, *(0 for _ in self.arguments)), randomness="error")
            return Task(["per-sample-gradients", "--of", "loss", "--wrt", ",".join(self.trained)], {}, lambda: each(some, *self.arguments))
        names = self.real or self.weights
        call, primals = self.of_inputs(0) if self.real else self.function(names, 0, "float32")
        along = tuple(self.torch.as_tensor(self.draw(tuple(one.shape)), dtype=self.torch.float32) for one in primals)
        words = ["--wrt", ",".join(names), "--of"]
        feeds = {name: one.numpy() for name, one in zip(names, along)}
        if transform == "jvp":
            return Task(["jvp", *words, "result"], {name + ".tangent": one for name, one in feeds.items()}, lambda: func.jvp(call, primals, along))
        if transform == "vjp":
            return Task(["vjp", *words, "result"], {"result.cotangent": cotangent.numpy()}, lambda: func.vjp(call, *primals)[1](cotangent))
        loss = self.of_inputs(1)[0] if self.real else self.function(names, 1, "float32")[0]
        slope = func.grad(lambda *values: loss(*values).sum(), argnums=tuple(range(len(primals))))
        return Task(["hessian", "--hvp", *words, "loss"], {name + ".vector": one for name, one in feeds.items()},
                    lambda: func.jvp(slope, primals, along))

    def ensemble(self, parts) -> Task:
        self.modules = [self.module_as("float32") for _ in range(parts)]
        for i, module in enumerate(self.modules):
            for one in module.parameters():
                one.data *= 1 + 0.1 * i
        given = self.torch.func.stack_module_state(self.modules)
        each = self.torch.func.vmap(lambda *state: self.torch.func.functional_call(self.single, state, tuple(self.arguments)))

        def call():
            with self.torch.no_grad():
                return each(*given)[0].mean(0)

        return Task(call=call, parts=parts)


class Times:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def call(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1][-300:])
        return done.stdout

    def written(self, net, task, out):
        if not task.parts:
            return self.call("derive", task.words[0], net.files["float32"], *task.words[1:], "-o", out, "--quiet")
        files = [net.export("float32", module, f".{i}") for i, module in enumerate(net.modules)]
        self.call("merge", "ensemble", *files, "--batched", "-o", out, "--quiet")

    def measure(self, net, transform) -> Row:
        row = Row(net.name, transform)
        file, out = net.files["float32"], self.folder / f"{net.name}.derived.onnx"
        try:
            task = net.task(transform)
            self.written(net, task, out)
            arguments = []
            for name, value in net.data.items():
                array = self.folder / f"{name}.npy"
                numpy.save(array, value)
                arguments += ["--input", f"{name}={array}"]
            report = json.loads(self.call("profile", file, out, "--threads", 1, "--clock", "cpu", "--max-time", 2 * SECONDS, *arguments, "--json"))
            row.relayout = report["ratio"]["median"]
            sessions = [session(one, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL) for one in (file, out)]
            row.onnxruntime, row.forward_ms = ratio(lambda: sessions[0].run(None, net.data), lambda: sessions[1].run(None, net.data | task.feeds))
            row.forward_ms *= 1000
            row.note = self.extra_convolutions(task, file, out)
        except Exception as problem:  # of one row: the others continue
            row.note = f"{type(problem).__name__}: {problem}"[:300].replace("\n", " ")
            return row
        try:
            row.torch = ratio(net.forward, task.call)[0]
        except Exception:  # it has no rule for an operator
            row.torch = None
        return row

    def extra_convolutions(self, task, file, out) -> str:
        counts = [sum(node.op_type in ("Conv", "ConvTranspose") for node in onnx.load(one).graph.node) for one in (file, out)]
        return f"{counts[1]} convolutions of {counts[0]}" if task.parts and counts[0] != counts[1] else ""


def lines(rows) -> list[str]:
    head = ["net", "transform", "relayout", "onnxruntime", "torch.func", "forward in ms", "right", "note"]
    return table.lines(head, [[row.net, row.transform, row.relayout, row.onnxruntime, row.torch, row.forward_ms, "yes" if row.is_right else "NO", row.note]
                              for row in rows])


def measured(program, names, only, folder: pathlib.Path) -> list[Row]:
    """Prints a line for each net and transform."""
    rows = []
    times = Times(program, folder)
    for name in names:
        net = Timed(Architecture("small", small, image(32)) if name == "small" else architecture(name), folder)
        for transform in only:
            rows.append(times.measure(net, transform))
            print(lines(rows[-1:])[1], flush=True)
    return rows
