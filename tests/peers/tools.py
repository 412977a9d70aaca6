"""What onnxsim, onnxslim, polygraphy and relayout make of the same models, cost and print, on a good day and on a bad one.
    RELAYOUT_PYTHON=PYTHON cmake/dev bench tools [--models NAME,…] [--runs 3]
PYTHON has onnx, onnxsim, onnxslim, polygraphy, onnxruntime, onnxconverter-common, torch and timm. Models: three of RELAYOUT_MODELS, one of them
in fp16 too, a vision transformer as timm builds it. Seconds are of processor time (user and system, all threads), medians of runs in turns;
MiB the largest peak; lines those that are not blank, both streams together; polygraphy's are of its two runs."""
import argparse
import multiprocessing
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import table
from models import Architecture, Exporter, Input, timm

MODELS = pathlib.Path(os.environ.get("RELAYOUT_MODELS", pathlib.Path.home() / ".cache/relayout/models"))
NAMES = ("resnet18", "mobilenet_v2", "shufflenet_v2_x0_5_raw", "mobilenet_v3_small_fp16", "vit_tiny")
BIN = pathlib.Path(sys.executable).parent


@dataclass
class Answer:
    code: int
    seconds: float
    mib: float
    text: str

    @property
    def lines(self) -> int:
        return sum(bool(line.strip()) for line in self.text.splitlines())

    @property
    def cost(self) -> str:
        return f"{self.seconds:.2f} s, {self.mib:.0f} MiB, {self.lines} lines"


def call(*words) -> Answer:
    with tempfile.TemporaryFile() as out:
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1"}
        child = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return Answer(child.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read().decode(errors="replace"))


def joined(first: Answer, second: Answer) -> Answer:
    return Answer(first.code or second.code, first.seconds + second.seconds, max(first.mib, second.mib), first.text + second.text)


def in_turns(runs: int, **ways) -> dict[str, Answer]:
    """The last answer of each, with the median of its seconds and its largest peak."""
    answers = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            answers[name].append(way())
    return {name: Answer(all_of[-1].code, statistics.median(one.seconds for one in all_of), max(one.mib for one in all_of), all_of[-1].text)
            for name, all_of in answers.items()}


def make(name: str, out: pathlib.Path):
    import warnings

    import onnx

    warnings.simplefilter("ignore")
    if name == "vit_tiny":
        what = Architecture(name, timm("vit_tiny_patch16_224"), (Input("image", "image", (1, 3, 224, 224)),))
        return Exporter(what).original(out)
    if name.endswith("_fp16"):
        from onnxconverter_common import float16

        model = onnx.load(MODELS / name.removesuffix("_fp16") / "model.onnx")
        return onnx.save(float16.convert_float_to_float16(model, keep_io_types=True), out)
    return shutil.copy(MODELS / name / "model.onnx", out)


def spoil(source: pathlib.Path, out: pathlib.Path) -> set[str]:
    """The largest number of the weight in the middle of the network becomes half as large again. Gives the nodes that read it."""
    import numpy
    import onnx

    model = onnx.load(source)
    weights = [one for one in model.graph.initializer if len(one.dims) >= 2 and numpy.prod(one.dims) > 1000]
    weight = weights[len(weights) // 2]
    values = onnx.numpy_helper.to_array(weight).copy()
    values.flat[numpy.argmax(numpy.abs(values))] *= 1.5
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    onnx.save(model, out)
    return {node.name or node.output[0] for node in model.graph.node if weight.name in node.input}


def halve(source: pathlib.Path, out: pathlib.Path):
    out.write_bytes(source.read_bytes()[: source.stat().st_size // 2])


def nodes_of(file: pathlib.Path):
    import onnx

    return len(onnx.load(file, load_external_data=False).graph.node) if file.exists() else None


class Bench:
    """`apart` is a process that imports packages: the peak of a child begins with that of the process that starts it."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path, runs: int, apart):
        self.program, self.folder, self.runs, self.apart = program, folder, runs, apart
        self.smaller, self.judged, self.bad = [], [], []

    def polygraphy(self, a, b):
        def run():
            inputs, outputs = self.folder / "inputs.json", self.folder / "outputs.json"
            first = call(BIN / "polygraphy", "run", a, "--onnxrt", "--save-inputs", inputs, "--save-outputs", outputs)
            return joined(first, call(BIN / "polygraphy", "run", b, "--onnxrt", "--load-inputs", inputs, "--load-outputs", outputs))

        return run

    def measure(self, name: str):
        source, own, simple, slim, wrong, cut, none = (self.folder / f"{name}{suffix}.onnx"
                                                       for suffix in ("", ".own", ".sim", ".slim", ".wrong", ".cut", ".none"))
        self.apart.apply(make, (name, source))
        readers = self.apart.apply(spoil, (source, wrong))
        self.apart.apply(halve, (source, cut))
        self.make_smaller(name, source, own, simple, slim)
        self.judge(name, source, own, slim, wrong, readers)
        if not self.bad:
            self.spend_a_bad_day(source, none, cut)

    def make_smaller(self, name, source, own, simple, slim):
        before = self.apart.apply(nodes_of, (source,))
        made = in_turns(self.runs, relayout=lambda: call(self.program, "convert", "--simplify", "--layout", "contiguous", source, "-o", own),
                        onnxsim=lambda: call(BIN / "onnxsim", source, simple), onnxslim=lambda: call(BIN / "onnxslim", source, slim))
        for (tool, answer), file in zip(made.items(), (own, simple, slim)):
            self.smaller.append([name, tool, before, self.apart.apply(nodes_of, (file,)), answer.seconds, round(answer.mib), answer.lines, answer.code])

    def judge(self, name, source, own, slim, wrong, readers):
        verify = lambda file: lambda: call(self.program, "verify", source, file)
        answers = in_turns(self.runs, **{"relayout, its own file": verify(own), "relayout, onnxslim's": verify(slim), "relayout, wrong weight": verify(wrong),
                                         "polygraphy, onnxslim's": self.polygraphy(source, slim), "polygraphy, wrong weight": self.polygraphy(source, wrong)})
        for what, answer in answers.items():
            names = any(reader in answer.text for reader in readers)
            self.judged.append([name, what, answer.seconds, round(answer.mib), answer.lines, answer.code, "yes" if names and "wrong" in what else "-"])

    def spend_a_bad_day(self, source, none, cut):
        target = self.folder / "target.onnx"
        for what, file in (("no such file", none), ("cut in half", cut)):
            for tool, run in {"relayout convert": lambda: call(self.program, "convert", file, "-o", target),
                              "relayout verify": lambda: call(self.program, "verify", source, file),
                              "onnxsim": lambda: call(BIN / "onnxsim", file, target), "onnxslim": lambda: call(BIN / "onnxslim", file, target),
                              "polygraphy": self.polygraphy(source, file)}.items():
                answer = run()
                self.bad.append([what, tool, answer.seconds, answer.lines, answer.code])

    def report(self):
        print("\n".join(table.lines(["smaller", "tool", "nodes", "after", "CPU s", "MiB", "lines", "exit"], self.smaller)), end="\n\n")
        print("\n".join(table.lines(["judged", "by", "CPU s", "MiB", "lines", "exit", "names the node"], self.judged)), end="\n\n")
        print("\n".join(table.lines(["bad day", "tool", "CPU s", "lines", "exit"], self.bad)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--models", type=lambda text: text.split(","), default=NAMES)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="relayout-tools-") as folder, multiprocessing.get_context("fork").Pool(1) as apart:
        bench = Bench(arguments.program, pathlib.Path(folder), arguments.runs, apart)
        for name in arguments.models:
            bench.measure(name)
        bench.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
