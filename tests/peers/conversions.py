"""What `relayout convert` promises, measured, one line per row; programs run in turns, medians of processor and wall time, peak memory.
    cmake/dev bench conversions [--runs 15] [--before PROGRAM] [ROW…]
Rows: start (--version), copy (resnet50 against cp, also with every edit), nodes (100,000 of three kinds, also with --simplify), many (500 models of 1 MB at one thread and two),
growth (the exponent of nodes and of bytes, four sizes each), sparse (64 GB of external data), part (`run` and `extract` of one node, of 4 GiB).
Without rows: all.
--before is another program, measured in the same turns."""
import argparse
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# The peak of a child begins with that of its parent: models are made by a separate process, and only that one needs these.
if sys.argv[1:2] == ["make"]:
    import numpy
    from onnx import TensorProto, helper

MODELS = pathlib.Path(os.environ.get("RELAYOUT_MODELS", pathlib.Path.home() / ".cache/relayout/models"))


EDITS = ["--simplify", "--free-dim", "input:0=N", "--rename", "output=scores", "--io", "nhwc", "--input-u8", "input", "--mean", "0.485,0.456,0.406",
         "--std", "0.229,0.224,0.225", "--share-weights", "--strip", "doc,metadata", "--ir-version", "9", "--stamp"]


class Contestant:
    def __init__(self, name, command):
        self.name, self.command = name, [str(word) for word in command]
        self.wall, self.processor, self.peak = [], [], 0

    def run(self):
        null = os.open(os.devnull, os.O_WRONLY)
        start = time.perf_counter()
        child = os.posix_spawnp(self.command[0], self.command, os.environ,
                                file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)])
        _, status, usage = os.wait4(child, 0)
        self.wall.append(time.perf_counter() - start)
        os.close(null)
        if status != 0:
            raise RuntimeError(f"{' '.join(self.command)}: exit {os.waitstatus_to_exitcode(status)}")
        self.processor.append(usage.ru_utime + usage.ru_stime)
        self.peak = max(self.peak, usage.ru_maxrss / 1024)


def measure(contestants, runs, prepare=lambda: None):
    """In rotating order; the first is what the others are held against."""
    for turn in range(runs):
        for i in range(len(contestants)):
            prepare()
            contestants[(turn + i) % len(contestants)].run()
    first = contestants[0]
    for one in contestants:
        ratio = statistics.median(a / b for a, b in zip(one.processor, first.processor))
        print(f"  {one.name:<28} processor {statistics.median(one.processor) * 1e3:9.1f} ms ({ratio:5.2f} x)   "
              f"wall {statistics.median(one.wall) * 1e3:9.1f} ms   peak {one.peak:7.1f} MiB", flush=True)


def tensor(name, values):
    out = TensorProto(name=name, data_type=TensorProto.FLOAT, raw_data=values.astype(numpy.float32).tobytes())
    out.dims.extend(values.shape)
    return out


def convolution(random, i, value, size, kernel, folds):
    """A Conv with weights of its own, and a BatchNormalization downstream of it where it is to be folded."""
    constants = [tensor(f"w{i}", random.uniform(0.5, 1.5, (size, size, kernel, kernel)))]
    nodes = [helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[kernel // 2] * 4)]
    if folds:
        constants += [tensor(f"{kind}{i}", random.uniform(0.5, 1.5, size)) for kind in "sbmv"]
        nodes.append(helper.make_node("BatchNormalization", [f"c{i}", *(f"{kind}{i}" for kind in "sbmv")], [f"n{i}"], f"bn{i}"))
    return nodes, constants


def write(graph, path):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    pathlib.Path(path).write_bytes(model.SerializeToString())


def make_chain(path, kind, count, size, kernel):
    random = numpy.random.default_rng(1)
    nodes, constants, value = [], [], "x"
    for i in range(count):
        if kind == "pairs" or (kind == "convolutions" and i % 5 == 0):
            made, own = convolution(random, i, value, size, kernel, kind == "pairs")
            nodes += made
            constants += own
        else:
            nodes.append(helper.make_node("Add", [value, "x"], [f"e{i}"], f"add{i}") if i % 2 else
                         helper.make_node("Relu", [value], [f"e{i}"], f"relu{i}"))
        value = nodes[-1].output[0]
    ports = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [1, size, 8, 8]) for one in ("x", value)]
    write(helper.make_graph(nodes, "chain", ports[:1], ports[1:], constants), path)


def make_sparse(path):
    """64 GB of initializers in a sparse data file beside the model, and a pair that is folded."""
    random = numpy.random.default_rng(1)
    nodes, constants = convolution(random, 0, "x", 64, 3, True)
    data = pathlib.Path(path).with_suffix(".data")
    with open(data, "wb") as file:
        file.truncate(64 << 30)
    for i in range(64):
        large = TensorProto(name=f"large{i}", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL, dims=[1 << 28])
        for key, value in (("location", data.name), ("offset", i << 30), ("length", 1 << 30)):
            large.external_data.add(key=key, value=str(value))
        constants.append(large)
        nodes.append(helper.make_node("Size", [large.name], [f"size{i}"]))
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 8, 8])]
    outs = [helper.make_tensor_value_info("n0", TensorProto.FLOAT, [1, 64, 8, 8]),
            *(helper.make_tensor_value_info(f"size{i}", TensorProto.INT64, []) for i in range(64))]
    write(helper.make_graph(nodes, "sparse", ports, outs, constants), path)


def make_large(path):
    """4 GiB of external data in 128 products side by side."""
    size = 2896
    data = pathlib.Path(path).with_suffix(".data")
    block = numpy.random.default_rng(1).normal(0, 0.02, size * size).astype(numpy.float32).tobytes()
    nodes, constants = [], []
    with open(data, "wb") as file:
        for i in range(128):
            file.write(block)
            weight = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL, dims=[size, size])
            for key, value in (("location", data.name), ("offset", i * len(block)), ("length", len(block))):
                weight.external_data.add(key=key, value=str(value))
            constants.append(weight)
            nodes += [helper.make_node("MatMul", ["x", weight.name], [f"m{i}"]), helper.make_node("Relu", [f"m{i}"], [f"y{i}"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name in ("x", *(f"y{i}" for i in range(128)))]
    write(helper.make_graph(nodes, "large", ports[:1], ports[1:], constants), path)


class Rows:
    def __init__(self, folder, chosen):
        self.folder, self.runs = folder, chosen.runs
        self.programs = ([("before", chosen.before)] if chosen.before else []) + [("relayout", chosen.program)]

    def contestants(self, *arguments, note=""):
        return [Contestant(name + note, [program, *arguments]) for name, program in self.programs]

    def fresh(self):
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        (self.folder / "out").mkdir()

    def model(self, kind, count=0, size=4, kernel=1):
        path = self.folder / f"{kind}-{count}-{size}.onnx"
        subprocess.run([sys.executable, "-B", __file__, "make", path, kind, str(count), str(size), str(kernel)], check=True)
        return path

    def start(self):
        measure(self.contestants("--version"), 4 * self.runs)

    def copy(self):
        model, out = MODELS / "resnet50/model.onnx", self.folder / "out/model.onnx"
        both = [one for words, said in (([], ""), (EDITS, ", every edit")) for threads in (1, 2)
                for one in self.contestants("convert", model, "-o", out, *words, "--threads", threads, note=f"{said}, threads {threads}")]
        measure([Contestant("cp", ["cp", model, out]), *both], self.runs, self.fresh)

    def nodes(self):
        for kind in ("elementwise", "convolutions", "pairs"):
            print(f" 100,000 {kind}")
            words = ["convert", self.model(kind, 100_000), "-o", self.folder / "out/model.onnx"]
            measure([*self.contestants(*words), *self.contestants(*words, "--simplify", note=", --simplify")], max(3, self.runs // 3), self.fresh)

    def many(self):
        model = self.model("pairs", 7, size=64, kernel=3)
        paths = [self.folder / f"many-{i:03}.onnx" for i in range(500)]
        for path in paths:
            shutil.copy(model, path)
        both = [one for threads in (1, 2)
                for one in self.contestants("convert", *paths, "--out-dir", self.folder / "out", "--threads", threads,
                                            note=f", threads {threads}")]
        measure(both, max(3, self.runs // 3), self.fresh)

    def growth(self):
        for kind in ("elementwise", "convolutions", "pairs"):
            self.fit(f"{kind}, nodes", [(count, self.model(kind, count)) for count in (12_500, 25_000, 50_000, 100_000)])
        self.fit("bytes", [(count, self.model("pairs", count, size=256, kernel=3)) for count in (4, 8, 16, 32)])

    def fit(self, name, sizes):
        for note, program in self.programs:
            found = [Contestant(str(size), [program, "convert", model, "-o", self.folder / "out/model.onnx"]) for size, model in sizes]
            for _ in range(3):
                for one in found:
                    self.fresh()
                    one.run()
            for what, values in (("processor time", [min(one.processor) for one in found]), ("peak memory", [one.peak for one in found])):
                steps = [math.log(b / a, 2) for a, b in zip(values, values[1:])]
                print(f"  {note}: {name}: {what} grows with power {steps[-1]:.2f} at the end (steps {', '.join(f'{step:.2f}' for step in steps)})",
                      flush=True)

    def sparse(self):
        """Read nowhere but where a fold needs it, and not written: the data file is shared."""
        model = self.model("sparse")
        measure(self.contestants("convert", model, "-o", self.folder / "shared.onnx", "--share-data"), 3,
                lambda: (self.folder / "shared.onnx").unlink(missing_ok=True))


    def part(self):
        """One product of a model with 4 GiB of external data is run, and one and 16 are cut out; cp copies as many bytes."""
        model, kept, out = self.model("large"), self.folder / "kept", self.folder / "out/part.onnx"
        print(" one product")
        measure(self.contestants("run", model, "--tensors", "m64", "--threads", "1", note=" run"), self.runs, self.fresh)
        for count in (1, 16):
            subprocess.run(["dd", f"if={model.with_suffix('.data')}", f"of={kept}", "bs=1M", f"count={32 * count}", "status=none"], check=True)
            ends = [word for i in range(count) for word in ("--to", f"m{64 + i}")]
            print(f" {count} x 32 MiB")
            measure([Contestant("cp", ["cp", kept, out]), *self.contestants("extract", model, *ends, "-o", out, note=" extract")], self.runs, self.fresh)


def make(path, kind, count, size, kernel):
    if kind in ("sparse", "large"):
        {"sparse": make_sparse, "large": make_large}[kind](path)
    else:
        make_chain(path, kind, int(count), int(size), int(kernel))


def main():
    names = ["start", "copy", "nodes", "many", "growth", "sparse", "part"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", choices=[*names, []], help=", ".join(names))
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--program", default="relayout")
    parser.add_argument("--before", help="another program")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(pathlib.Path(folder), chosen)
        for name in chosen.rows or names:
            print(f"{name} (load {os.getloadavg()[0]:.1f})", flush=True)
            rows.fresh()
            getattr(rows, name)()


make(*sys.argv[2:]) if sys.argv[1:2] == ["make"] else main()
