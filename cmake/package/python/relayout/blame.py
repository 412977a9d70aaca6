"""Which pass of an optimizer changes what a model computes?

    python -m relayout.blame model.onnx --tool onnxoptimizer
    python -m relayout.blame model.onnx --tool ort --level extended --save-repro blamed -o blamed.md

Runs the tool that is installed, lets `relayout verify` judge its file, and looks for the fewest of its passes with which the file is still
wrong. Prints a report in Markdown. Exit code 0: nothing is wrong; 1: a pass is named; 2: usage; 4: the tool does not run. PYTHONPATH=DIR takes
another version, as of `pip install --no-deps --target DIR onnxslim==0.1.34`.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar

import relayout

# --- tools: each lists its passes in order, and writes a model with some of them -------------------------------------------------------


class Tool:
    module = ""
    levels = ()  # type: Tuple[str, ...]
    call = ""  # how a user writes it: {passes}

    def version(self) -> str:
        return str(getattr(importlib.import_module(self.module), "__version__", "?")).lstrip("v")

    def passes(self, level: str) -> List[str]:
        raise NotImplementedError

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        raise NotImplementedError


class OnnxOptimizer(Tool):
    module, levels = "onnxoptimizer", ("default", "all")
    call = "onnxoptimizer.optimize(onnx.load({path!r}), {passes!r})"

    def passes(self, level: str) -> List[str]:
        import onnxoptimizer
        if level == "default":
            return list(onnxoptimizer.get_fuse_and_elimination_passes())
        return [name for name in onnxoptimizer.get_available_passes() if not re.match("split_|lift_|rename_|rewrite_", name)]  # those change the interface

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        import onnx
        import onnxoptimizer
        onnx.save(onnxoptimizer.optimize(onnx.load(path), list(passes)), out)


class OnnxSim(Tool):
    """Its passes are onnxoptimizer's and two stages of its own."""
    module, levels = "onnxsim", ("default",)
    call = "onnxsim.simplify(onnx.load({path!r}))  # of its passes only {passes}"
    stages = ("constant folding", "shape inference")

    def passes(self, level: str) -> List[str]:
        import onnxoptimizer
        return list(self.stages) + list(onnxoptimizer.get_fuse_and_elimination_passes())

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        import onnx
        import onnxsim
        skipped = [name for name in self.passes(level) if name not in passes and name not in self.stages]
        model, _ = onnxsim.simplify(onnx.load(path), skipped_optimizers=skipped, skip_constant_folding=self.stages[0] not in passes,
                                    skip_shape_inference=self.stages[1] not in passes)
        onnx.save(model, out)


class OnnxSlim(Tool):
    module, levels = "onnxslim", ("default",)
    call = "onnxslim.slim({path!r})  # of its passes only {passes}"
    stages = ("constant_folding", "graph_fusion", "dead_node_elimination", "subexpression_elimination", "weight_tying")

    def passes(self, level: str) -> List[str]:
        return ["shape inference"] + [name for name in self.stages if name != "graph_fusion"] + self.patterns()

    def patterns(self) -> List[str]:
        self.optimization()  # registers them
        return list(found_in("onnxslim.core.pattern.registry", "onnxslim").DEFAULT_FUSION_PATTERNS)

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        import onnxslim
        patterns = self.patterns()
        skipped = [name for name in self.passes(level) if name not in passes and name not in patterns]
        options = {"skip_fusion_patterns": [name for name in patterns if name not in passes] or None,
                   "no_shape_infer": "shape inference" not in passes}  # type: Dict[str, Any]
        if hasattr(self.optimization(), "OptimizationSettings"):
            stages = [name for name in skipped if name in self.stages] + ["graph_fusion"] * (not any(name in passes for name in patterns))
            options["skip_optimizations"] = stages or None
        else:
            self.take_out(skipped)
        onnxslim.slim(path, out, **options)

    @staticmethod
    def optimization() -> Any:
        return found_in("onnxslim.core.optimization", "onnxslim.core.optimizer")

    def take_out(self, stages: Sequence[str]) -> None:
        """Early versions have no switch for them, or one that leaves some of it on."""
        graph = found_in("onnxslim.third_party.onnx_graphsurgeon.ir.graph", "onnxslim.onnx_graphsurgeon.ir.graph").Graph
        whole = found_in("onnxslim.core.slim", "onnxslim.core")
        places = {"shape inference": (whole, "shape_infer"), "constant_folding": (graph, "fold_constants"),
                  "weight_tying": (self.optimization(), "tie_weights"), "dead_node_elimination": (self.optimization(), "graph_constant_fold_inplace")}
        for stage in stages:
            for place, name in ((self.optimization(), stage), places.get(stage, (graph, ""))):
                if hasattr(place, name):
                    setattr(place, name, lambda taken, *_, **__: taken)


def found_in(*names: str) -> Any:
    """The first of these modules that is there: versions of a tool keep things at different places."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if name == names[-1] or not name.startswith(error.name or "?"):
                raise
    return None


class OnnxScript(Tool):
    module, levels = "onnxscript", ("default",)
    call = "onnxscript.optimizer.optimize(onnx.load({path!r}))  # and rewriter.rewrite; of these only {passes}"

    @staticmethod
    def rules() -> List[Tuple[str, Any]]:
        from onnxscript import rewriter
        rules = getattr(rewriter, "_DEFAULT_REWRITE_RULES", ())
        return [("{}:{}".format(number, getattr(rule, "name", None) or type(rule).__name__), rule) for number, rule in enumerate(rules)]

    def passes(self, level: str) -> List[str]:
        return ["constant folding"] + [name for name, _ in self.rules()]

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        import onnx
        from onnxscript import optimizer, rewriter
        model = onnx.load(path)
        if "constant folding" in passes:
            model = optimizer.optimize(model)
        rules = [rule for name, rule in self.rules() if name in passes]
        if rules:
            model = rewriter.rewrite(model, pattern_rewrite_rules=rules)
        onnx.save(model, out)


class OnnxRuntime(Tool):
    """Its library lists no passes: their names are those of its classes and texts that are named like one. Unknown names do nothing."""
    module, levels = "onnxruntime", ("extended", "basic", "layout", "all")
    call = "onnxruntime.InferenceSession({path!r}, disabled_optimizers=[...])  # all but {passes}"
    _ending = r"(Fusion(L1|L2)?|Elimination|Transformer|Folding|FoldingDQ|Rewrite|Sharing|Remover|TransposeOptimizer|WeightBiasQuantization|WhereDummyDq|" \
              r"EnsureUniqueDQForNodeUnit)"

    def passes(self, level: str) -> List[str]:
        import glob
        import onnxruntime
        names = set()
        for path in glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi", "onnxruntime_pybind11_state*")):
            with open(path, "rb") as file:
                data = file.read()
            words = [word.decode() for word in re.findall(rb"\0([A-Z][A-Za-z0-9_]{3,60})(?=\0)", data)]
            words += [word[:int(length)].decode() for length, word in re.findall(rb"N11onnxruntime(\d+)([A-Za-z0-9_]+)E", data)]
            names |= {word for word in words if re.fullmatch(r"(\w*{0}|(Eliminate|Fuse)[A-Z]\w+)".format(self._ending), word)}
        return sorted(names)

    def write(self, path: str, out: str, level: str, passes: Sequence[str]) -> None:
        import onnx
        import onnxruntime
        model = onnx.load(path, load_external_data=False)
        if any(onnx.external_data_helper.uses_external_data(tensor) for tensor in model.graph.initializer):  # the result would look for it beside itself
            whole = onnx.load(path)
            path = out + ".whole"
            onnx.save(whole, path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        name = {"basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "layout": "ORT_ENABLE_LAYOUT", "all": "ORT_ENABLE_ALL"}[level]
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, name)
        options.optimized_model_filepath = out
        disabled = [name for name in self.passes(level) if name not in passes]
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)


TOOLS = {"ort": OnnxRuntime(), "onnxsim": OnnxSim(), "onnxslim": OnnxSlim(), "onnxoptimizer": OnnxOptimizer(), "onnxscript": OnnxScript()}  # type: Dict[str, Tool]


# --- the search -------------------------------------------------------------------------------------------------------------------------


MOST_PARTS = 60  # of a model, until one is small enough
T = TypeVar("T")


def smallest(every: Sequence[T], is_wrong: Callable[[Sequence[T]], bool]) -> List[T]:
    """Passes or nodes with which the fault appears, and does not without any one of them (delta debugging; the order is kept)."""
    left, parts = list(every), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        chunks = [left[at:at + size] for at in range(0, len(left), size)]
        rests = [[name for name in left if name not in chunk] for chunk in chunks]
        found = next((kept for kept in chunks + rests if is_wrong(kept)), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            left = found
        elif parts < len(left):
            parts = min(2 * parts, len(left))
        else:
            break
    return left


def is_fault(report: relayout.Report) -> bool:
    return report["verdict"] in ("different", "invalid", "no file")


def kind_of(report: relayout.Report) -> Tuple[str, str]:
    """Of a fault: a part of the model shows the same one, and not just any other. Sizes and files differ."""
    return report["verdict"], "" if report.get("first_divergence") else re.sub(r"\([^()]*\)|\S*/\S+\.onnx|\d+", "", report["reason"])


class Trial:
    """One model and one tool."""

    def __init__(self, path: str, tool: str, level: str, folder: str, verify: Dict[str, Any]) -> None:
        self.path, self.tool, self.level, self.folder, self.verify = path, tool, level, folder, verify
        self.known = {}  # type: Dict[Tuple[str, ...], str]
        self.runs = 0

    def write(self, out: str, passes: Sequence[str], path: Optional[str] = None) -> str:
        """Calls the tool in a process of its own, which may die. Gives back why there is no file, or nothing."""
        spec = json.dumps({"tool": self.tool, "path": path or self.path, "out": out, "level": self.level, "passes": list(passes)})
        if os.path.exists(out):
            os.remove(out)
        self.runs += 1
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(entry for entry in sys.path if entry))
        done = subprocess.run([sys.executable, "-m", "relayout.blame", "--apply", spec], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        if done.returncode == 0 and os.path.exists(out):
            return ""
        said = done.stdout.decode("utf-8", "replace").strip().splitlines()
        return said[-1] if said else "it ended with {}".format(done.returncode)

    def judged(self, a: str, b: str, **options: Any) -> relayout.Report:
        return relayout.verify(a, b, **{**self.verify, **options})

    def verdict(self, passes: Sequence[str]) -> str:
        key = tuple(passes)
        if key not in self.known:
            self.known[key] = self.outcome(os.path.join(self.folder, "tried.onnx"), passes)["verdict"]
        return self.known[key]

    def takes(self, path: str, message: str, **options: Any) -> bool:
        """Whether the model takes inputs that it is said not to: it is the other file that does not."""
        try:
            return message.startswith(path) and self.judged(path, path, **options)["verdict"] == "same"
        except relayout.Error:
            return False

    def outcome(self, out: str, passes: Sequence[str], path: Optional[str] = None, **options: Any) -> relayout.Report:
        """The report of verify on the tool's file. Without a file the verdict is "no file", for one that is no valid model "invalid"."""
        why = self.write(out, passes, path)
        if why:
            return {"verdict": "no file", "reason": why}
        try:
            report = self.judged(path or self.path, out, **options)
        except relayout.Error as error:
            refused = error.exit_code == 3 or (error.exit_code == 4 and str(error).startswith(out) and refusal(out))
            if not refused and not self.takes(path or self.path, str(error), **options):
                raise
            return {"verdict": "invalid", "reason": str(error).replace(out, "the file")}
        why = "" if is_fault(report) else refusal(out, full_check=True)
        return {"verdict": "invalid", "reason": why} if why and not refusal(path or self.path, full_check=True) else report


def refusal(path: str, **options: Any) -> str:
    """Why ONNX's checker refuses a file; empty: it does not."""
    import onnx
    try:
        onnx.checker.check_model(path, **options)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return " ".join(str(error).split())
    return ""


def names_read(node: Any) -> Iterator[str]:
    """By a node and its nested graphs, those that these make themselves included."""
    yield from node.input
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            yield from (value.name for value in graph.output)
            for inner in graph.node:
                yield from names_read(inner)


class Parts:
    """Parts of a model: some of its nodes, with the values that a run of it gives them."""

    def __init__(self, path: str, **options: Any) -> None:
        import onnx
        graph = onnx.load(path, load_external_data=False).graph
        self.path, self.nodes = path, [node for node in graph.node if node.op_type != "Constant"]
        self.reads = [set(names_read(node)) for node in self.nodes]
        self.makers = {name: number for number, node in enumerate(self.nodes) for name in node.output if name}
        self.inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
        self.outputs = {value.name for value in graph.output}
        try:
            self.values = relayout.run(path, tensors=["*"], **options).get("arrays", {})
        except relayout.Error:  # verify draws values
            self.values = {}

    def cut(self, numbers: Sequence[int], out: str) -> bool:
        """Writes the nodes with these numbers as a model."""
        inside = set(numbers)
        read = {name for number in inside for name in self.reads[number]}
        left = {name for number, names in enumerate(self.reads) if number not in inside for name in names} | self.outputs
        ends = sorted(name for name in read if name in self.inputs or self.makers.get(name, numbers[0]) not in inside)
        made = sorted(name for number in inside for name in self.nodes[number].output if name in left)
        try:
            relayout.extract(self.path, out, from_=ends or None, to=made)
        except relayout.Error:
            return False
        return bool(made)

    def upstream(self, last: int, depth: int) -> List[int]:
        """A node with the nodes at most so many steps upstream of it."""
        inside, edge = {last}, {last}
        for _ in range(depth):
            edge = {self.makers[name] for number in edge for name in self.reads[number] if name in self.makers} - inside
            inside |= edge
        return sorted(inside)

    def smallest(self, fails: Callable[[Sequence[int]], bool]) -> List[int]:
        """The fewest nodes that fail: up to the first with which it does, those near it, and of these as few as do."""
        low, high = 0, len(self.nodes) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(range(middle + 1)) else (middle + 1, high)
        near = (self.upstream(high, 2 ** power - 1) for power in range((high + 1).bit_length() + 1))
        return smallest(next(filter(fails, near), list(range(high + 1))), fails)

    def given(self, part: str) -> Optional[Dict[str, Any]]:
        """A part's inputs, where all are tensors."""
        import onnx
        names = [value.name for value in onnx.load(part, load_external_data=False).graph.input]
        return {name: self.values[name] for name in names} if all(name in self.values for name in names) else None


def save_part(trial: "Trial", passes: Sequence[str], whole: relayout.Report, folder: str) -> Optional[Dict[str, Any]]:
    """Saves the fewest nodes of the model of which the tool makes as wrong a file. Gives back their folder, number and last one, or nothing:
    no part shows it."""
    parts = Parts(trial.path, **{name: trial.verify[name] for name in ("input", "dim", "shape", "seed") if trial.verify.get(name)})
    out, tried = os.path.join(trial.folder, "part.onnx"), os.path.join(trial.folder, "tried.onnx")
    most = trial.runs + MOST_PARTS

    def fails(numbers: Sequence[int]) -> bool:
        if trial.runs >= most or not parts.cut(numbers, out):
            return False
        try:
            found = trial.outcome(tried, passes, out, dim=None, shape=None, input=parts.given(out))
        except relayout.Error:
            return False
        return kind_of(found) == kind_of(whole)

    every = range(len(parts.nodes))
    if not fails(every):
        parts.values = {}  # those of one run may not show it
        if not fails(every):
            return None
    numbers = parts.smallest(fails)
    os.makedirs(folder, exist_ok=True)
    parts.cut(numbers, os.path.join(folder, "a.onnx"))  # its external data lies beside it
    save_inputs(parts.given(os.path.join(folder, "a.onnx")) or {}, os.path.join(folder, "test_data_set_0"))
    node = parts.nodes[numbers[-1]]
    return {"folder": folder, "nodes": len(numbers), "node": node.name or node.output[0], "op": node.op_type}


def save_inputs(values: Dict[str, Any], folder: str) -> None:
    from onnx import numpy_helper
    for number, (name, value) in enumerate(values.items()):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "input_{}.pb".format(number)), "wb") as file:
            file.write(numpy_helper.from_array(value, name).SerializeToString())


def files_of(folder: str) -> str:
    return "`{}` ({:,} bytes)".format(folder, sum(os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names))


def report_of(trial: Trial, passes: List[str], every: List[str], found: relayout.Report, repro: Optional[str]) -> str:
    tool = TOOLS[trial.tool]
    names = " and ".join("`{}`".format(name) for name in passes) or "a part that cannot be switched off"
    verbs = {"different": "changes what is computed by", "invalid": "writes an invalid file of", "no file": "fails on"}
    if len(passes) > 1:
        verbs = {"different": "change what is computed by", "invalid": "write an invalid file of", "no file": "fail on"}
    lines = ["# {} {}: {} {} `{}`".format(tool.module, tool.version(), names, verbs[found["verdict"]], os.path.basename(trial.path)), ""]
    lines.append("Of {} passes (level {}) {} enough; without {} nothing differs. Found with {} runs of the tool, judged by relayout {}.".format(
        len(every), trial.level, "this one is" if len(passes) == 1 else "these are", "it" if len(passes) == 1 else "any of them", trial.runs,
        relayout.__version__))
    lines += ["", "```python", tool.call.format(path=os.path.basename(trial.path), passes=passes), "```", ""]
    first = found.get("first_divergence") or {}
    if first:
        lines.append("- first wrong node: `{}` ({}), value `{}`: {}".format(first["node"], first["op"], first["tensor"], first["reason"]))
        lines += ["- it replaces {}".format(text) for text in first.get("replaces", [])[:4]]
    lines.append("- verdict: **{}**, {}".format(found["verdict"], found["reason"]))
    for entry in ((found.get("structure") or {}).get("unexplained") or [])[:8]:
        repair = (entry.get("repair") or {}).get("text")
        lines.append("- difference: {}{}".format(entry["text"], " (" + repair + ")" if repair else ""))
    for made in found.get("reproducers", []):
        if "folder" in made:
            lines.append("- reproducer: {}, {} and {} nodes".format(files_of(made["folder"]), made["nodes_a"], made["nodes_b"]))
            if made["differs"]:
                lines.append("  - " + made["again"])
    if repro is None:
        lines.append("- `--save-repro DIR` writes the node at fault as two small models")
    elif "part" in found:
        part = found["part"]
        lines.append("- reproducer: {}, {} node{}, the last one `{}` ({})".format(
            files_of(part["folder"]), part["nodes"], "s" if part["nodes"] > 1 else "", part["node"], part["op"]) if part else
            "- reproducer: the model itself, no part of it shows the fault")
    return "\n".join(lines) + "\n"


def stored_inputs(part: str) -> Dict[str, str]:
    import onnx
    folder = os.path.join(os.path.dirname(part), "test_data_set_0")
    files = [os.path.join(folder, "input_{}.pb".format(number)) for number in range(len(os.listdir(folder)))] if os.path.isdir(folder) else []
    return {value.name: path for value, path in zip(onnx.load(part).graph.input, files) if os.path.exists(path)}


def again(trial: Trial, passes: List[str], made: Dict[str, Any]) -> bool:
    """Whether the tool makes a reproducer wrong, too; its text says so."""
    part, out = os.path.join(made["folder"], "a.onnx"), os.path.join(trial.folder, "again.onnx")
    why = trial.write(out, passes, part)
    if why:
        made["again"] = "the tool does not take this `a.onnx` alone: {}".format(why)
        return False
    try:
        shows = bool(trial.judged(part, out, dim=None, shape=None, input=stored_inputs(part)).get("first_divergence"))
    except relayout.Error as error:
        made["again"] = "the tool's file of this `a.onnx` alone is refused: {}".format(error)
        return False
    made["again"] = "the tool makes this `a.onnx` alone {}".format("wrong, too" if shows else "right: the pass needs what stands around it")
    return shows


def blame(path: str, tool: str, level: Optional[str] = None, save_repro: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """Names the passes of a tool that make its file of a model wrong: ``report["passes"]``, empty where none is. ``report["markdown"]``
    can be sent to its authors. Options are those of relayout.verify(). Raises relayout.Error where the tool does not run."""
    chosen = level or TOOLS[tool].levels[0]
    every = TOOLS[tool].passes(chosen)
    with tempfile.TemporaryDirectory(prefix="relayout-blame-") as folder:
        trial = Trial(path, tool, chosen, folder, options)
        out = os.path.join(folder, "whole.onnx")
        report = trial.outcome(out, every)
        if report["verdict"] == "no file" and trial.verdict([]) == "no file":
            raise relayout.Error("{} does not run on {}: {}".format(TOOLS[tool].module, path, report["reason"]), 4)
        result = {"tool": TOOLS[tool].module, "version": TOOLS[tool].version(), "level": chosen, "model": path, "passes": [], "report": report}
        if not is_fault(report):
            result["markdown"] = "{} {} (level {}): its file of `{}` is {}{}\n".format(
                TOOLS[tool].module, TOOLS[tool].version(), chosen, path, report["verdict"], ": " + report["reason"] if report["reason"] else "")
            return result
        passes = smallest(every, lambda some: trial.verdict(some) == report["verdict"]) if trial.verdict([]) != report["verdict"] else []
        found = trial.outcome(out, passes, **({"save_repro": save_repro} if save_repro else {}))
        if save_repro:
            shown = [again(trial, passes, made) for made in found.get("reproducers", []) if "folder" in made and made["differs"]]
            if not any(shown) or not found.get("first_divergence"):
                found["part"] = save_part(trial, passes, found, os.path.join(save_repro, "part"))
        result.update(passes=passes, report=found, markdown=report_of(trial, passes, every, found, save_repro))
        return result


def main(argv: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m relayout.blame", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apply", metavar="SPEC", help=argparse.SUPPRESS)
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--tool", choices=sorted(TOOLS))
    parser.add_argument("--level", help="of ort: basic, extended (default), layout, all; of onnxoptimizer: default, all")
    parser.add_argument("--save-repro", metavar="DIR", help="write the node at fault as two small models, or the fewest nodes that show the fault")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there")
    for name in ("--dim", "--shape", "--input"):
        parser.add_argument(name, action="append", metavar="NAME=X", help="as for relayout verify")
    for name in ("--samples", "--seed"):
        parser.add_argument(name, type=int, metavar="N", help="as for relayout verify")
    options = parser.parse_args(argv)
    if options.apply:
        spec = json.loads(options.apply)
        TOOLS[spec["tool"]].write(spec["path"], spec["out"], spec["level"], spec["passes"])
        return 0
    if not options.model or not options.tool:
        parser.error("MODEL and --tool are needed")
    if options.level and options.level not in TOOLS[options.tool].levels:
        parser.error("--level of {}: one of {}".format(options.tool, ", ".join(TOOLS[options.tool].levels)))
    given = {name: getattr(options, name) for name in ("dim", "shape", "input", "samples", "seed") if getattr(options, name) is not None}
    try:
        result = blame(options.model, options.tool, options.level, options.save_repro, **given)
    except ImportError as error:
        print("relayout.blame: {} is not installed: {}".format(options.tool, error), file=sys.stderr)
        return 4
    except relayout.Error as error:
        print("relayout.blame: {}".format(error), file=sys.stderr)
        return error.exit_code if error.exit_code > 0 else 70
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(result["markdown"])
    else:
        print(result["markdown"], end="")
    return 1 if is_fault(result["report"]) else 0


if __name__ == "__main__":
    sys.exit(main())
