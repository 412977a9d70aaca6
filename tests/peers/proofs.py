"""What follows from the files alone of what other tools fused, and what a verification costs beside that of our own file."""
import pathlib
import subprocess
import tempfile
from dataclasses import asdict, dataclass

import onnx
import table
from judge import Judge
from ways import Case, Way, against, way

TOOLS = ("TorchScript folded", "torch.fx fuse", "dynamo", "dynamo optimized", "ORT basic", "ORT extended", "ORT extended of dynamo", "onnxsim", "onnxslim",
         "onnxoptimizer", "onnxoptimizer all", "onnxscript optimize", "onnxscript rewrite", "transformers.optimizer 1", "opset 21")
ROUNDS = 7


@dataclass
class Row:
    model: str
    way: str
    proved: bool
    nodes: int
    unexplained: int  # nodes with an unexplained difference
    lines: int  # unexplained differences
    texts: list
    cpu: float


def touched(file: pathlib.Path, entries: list[dict]) -> int:
    """Nodes that unexplained differences name, by themselves, their results or their constants; and nodes that are gone without a reason."""
    of_b = {entry["name"] for entry in entries if entry["side"] == "b"}
    nodes = onnx.load(file, load_external_data=False).graph.node
    gone = {entry["name"] for entry in entries if entry["side"] == "a"}
    return sum(bool({node.name, *node.output, *node.input} & of_b) for node in nodes) + len(gone)


def row(judge: Judge, case: Case, of: Way) -> Row:
    verdict = judge.verify(case.file(against(of)), case.file(of.name), "--proof", *of.words)
    structure = verdict.report["structure"]
    entries = [entry for entry in structure["unexplained"] if entry["kind"] != "interface"]
    nodes = len(onnx.load(case.file(of.name), load_external_data=False).graph.node)
    unexplained = min(touched(case.file(of.name), entries), nodes)
    return Row(case.what.name, of.name, not entries, nodes, unexplained, len(entries), [entry["text"] for entry in entries], verdict.cpu)


def proved(judge: Judge, case: Case, names) -> list[dict]:
    return [asdict(row(judge, case, way(name))) for name in names if case.file(name).exists()]


def lines(rows: list[dict]) -> list[str]:
    out = []
    for name in dict.fromkeys(row["way"] for row in rows):
        of = [row for row in rows if row["way"] == name]
        nodes, unexplained = sum(row["nodes"] for row in of), sum(row["unexplained"] for row in of)
        shares = [1 - row["unexplained"] / row["nodes"] for row in of if row["nodes"]]
        out.append([name, len(of), sum(row["proved"] for row in of), 1 - unexplained / max(nodes, 1), table.median(shares), min(shares, default=None)])
    return table.lines(["way", "pairs", "proved", "share of nodes", "median model", "worst model"], out)


# --- the cost next to our own file ------------------------------------------------------------------------------------------------


def costs(judge: Judge, original: pathlib.Path) -> list[dict]:
    """Seconds of processor time of a verification of each file, in turns; the first file is our own."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = {"relayout convert": folder / "own.onnx"}
        subprocess.run([judge.program, "convert", original, "-o", files["relayout convert"], "--quiet"], check=True, stdout=subprocess.DEVNULL)
        for tool in ("ORT basic", "ORT extended", "onnxsim", "onnxslim"):
            files[tool] = folder / (tool.replace(" ", "_") + ".onnx")
            way(tool).make(None, original, files[tool])
        seconds = {tool: [] for tool in files}
        for _ in range(ROUNDS):
            for tool, file in files.items():
                seconds[tool].append(judge.verify(original, file).cpu)
        own = seconds["relayout convert"]
        return [{"way": tool, "seconds": table.median(times), "ratio": table.median([time / mine for time, mine in zip(times, own)])}
                for tool, times in seconds.items()]
