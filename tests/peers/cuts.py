"""Every value of a graph as a cut: does what `relayout extract` writes load, and give the values of the whole bit for bit?

  RELAYOUT_PYTHON=PYTHON cmake/dev bench cuts [--models NAME…] [--json FILE]

Each value between two nodes of a model's main graph is the end of one part, and with the graph's inputs the beginning of another. The parts' inputs are what
`relayout run --mode as-written` of the whole made of the stored inputs. PYTHON has numpy and onnx. By default the models have branches (silero-op15), external
data (resnet18_external), attention (khmersm), 8 bits (voicefilter-emb) and many readers of one value (romanizer-dec)."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
import table
import trained

MODELS = ["silero-op15", "resnet18_external", "khmersm", "voicefilter-emb", "romanizer-dec"]


def last_line(done) -> str:
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]


def inputs_of(graph) -> list[str]:
    stored = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in stored]


def reads(node) -> set[str]:
    """Names that a node reads, those of its graphs with it."""
    graphs = [graph for attribute in node.attribute for graph in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]]
    return {*node.input, *(name for graph in graphs for one in graph.node for name in reads(one)), *(value.name for graph in graphs for value in graph.output)}


class Whole:
    def __init__(self, program, file: pathlib.Path, folder: pathlib.Path):
        self.program, self.file, self.folder = program, file, folder
        graph = onnx.load(file, load_external_data=False).graph
        self.inputs, self.outputs = inputs_of(graph), [value.name for value in graph.output]
        self.makers = {name: reads(node) for node in graph.node for name in node.output if name}
        self.values = dict(zip(self.inputs, trained.stored(file)))
        why, made = self.run(file, self.values, ["*"])
        if why:
            raise RuntimeError(why)
        self.values |= made
        self.edges = [name for node in graph.node if node.op_type != "Constant" for name in node.output if name in made and name not in self.outputs]

    def run(self, file, feeds, names):
        """Why there are no values, and the named values."""
        words = [self.program, "run", file, "--mode", "as-written", "--threads", "1", "-q", "--save", self.folder / "values.npz"]
        for number, (name, value) in enumerate(feeds.items()):
            numpy.save(self.folder / f"{number}.npy", value)
            words.append(f"--input={name}={self.folder / f'{number}.npy'}")
        done = subprocess.run([*words, *(f"--tensors={name}" for name in names)], capture_output=True, text=True)
        return (last_line(done), {}) if done.returncode else ("", dict(numpy.load(self.folder / "values.npz")))

    def cut(self, words, wanted) -> tuple[str, str]:
        """How a part ends, and why it is not right."""
        for old in self.folder.glob("part*"):
            old.unlink()
        part = self.folder / "part.onnx"
        done = subprocess.run([self.program, "extract", self.file, "-o", part, *words], capture_output=True, text=True)
        if done.returncode:
            return "refused", last_line(done)
        try:
            onnx.checker.check_model(str(part))
        except Exception as problem:
            return "wrong", "checker: " + str(problem).strip().splitlines()[0]
        inputs = inputs_of(onnx.load(part, load_external_data=False).graph)
        missing = [name for name in inputs if name not in self.values]
        if missing:
            return "wrong", f"its input {missing[0]} is no value of the whole"
        why, made = self.run(part, {name: self.values[name] for name in inputs}, wanted)
        other = why or next((name for name in wanted if not self.same(made.get(name), self.values[name])), "")
        return ("wrong", other) if other else ("right", "")

    @staticmethod
    def same(a, b) -> bool:
        return a is not None and a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()

    def upstream(self, edge: str) -> set[str]:
        """The edge, where an output depends on it, and the inputs that outputs depend on beside it."""
        seen, waiting = set(), list(self.outputs)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += self.makers.get(name, ()) if name != edge else ()
        return seen & {edge, *self.inputs}

    def both(self, edge: str):
        yield "to", *self.cut(["--to", edge], [edge])
        starts = self.upstream(edge)
        ends = [word for name in sorted(starts) for word in ("--from", name)] + [word for name in self.outputs for word in ("--to", name)]
        yield "from", *(self.cut(ends, self.outputs) if edge in starts else ("no output depends on it", ""))


def main(argv):
    parser = argparse.ArgumentParser(prog="bench cuts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(os.environ.get("RELAYOUT_MODELS") or trained.CACHE / "models"))
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="NAME")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(argv)
    rows, lines = [], []
    for name, file in trained.found(options).items():
        with tempfile.TemporaryDirectory() as folder:
            whole = Whole(options.program, file, pathlib.Path(folder))
            of = [{"model": name, "edge": edge, "kind": kind, "end": end, "why": why} for edge in whole.edges for kind, end, why in whole.both(edge)]
        count = collections.Counter(row["end"] for row in of)
        lines.append([name, len(whole.edges), *(count[end] for end in ("right", "no output depends on it", "refused", "wrong"))])
        for why, times in collections.Counter((row["end"], row["kind"], row["why"].rsplit(": ", 1)[-1]) for row in of if row["end"] != "right").items():
            print(f"{name}: {' '.join(why)} ({times})", flush=True)
        rows += of
    print("\n".join(table.lines(["model", "values", "parts right", "no output depends on it", "refused", "wrong"], [*lines, ["all", *map(sum, zip(*(line[1:] for line in lines)))]])))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
