"""Faults planted into files of other tools: does verify tell them, and where they are?"""
import os
import pathlib
import re
from dataclasses import asdict, dataclass

import faults
import onnx
import operator_faults
import truth
from faults import Fault, Planted, planted
from judge import Judge, Verdict
from verdicts import DECIBEL, MOST, Truth
from ways import Case, Way, against, way

FAULTS = faults.FAULTS + operator_faults.FAULTS
# Files into which faults are planted.
HARMED = ("TorchScript folded", "dynamo optimized", "ORT basic", "ORT extended", "onnxsim", "onnxslim", "onnxoptimizer all", "transformers.optimizer 1",
          "fp16, converter-common", "fp16, ORT transformers, f16 io", "fp16, then ORT extended", "int8 dynamic", "QDQ u8s8 per tensor", "QDQ u8s8 per channel",
          "QDQ u16s8", "QOperator u8s8", "QDQ, then ORT extended", "int4 blocks of 32", "int4 blocks of 32, QDQ", "int4 and fp16")
# Share of the range by which the outputs must change, by ONNX Runtime, for a fault to count.
FELT = {"kept": 1e-4, "fp16": 1e-2, "halves": 1e-2, "steps": 1e-2, "lossy": 1e-2}


@dataclass
class Row:
    model: str
    way: str
    kind: str
    fault: str
    asked: str  # the reference: the unharmed file, or the original of a lossy one
    felt: float = 0.0  # by ONNX Runtime, of the range
    caught: bool = False
    first: bool = False  # the right node comes first
    named: str = ""  # the first one named
    right: str = ""
    cpu: float = 0.0
    verdict: str = ""
    why: str = ""
    command: str = ""


def nodes_named(verdict: Verdict) -> list[list[str]]:
    """What the report accuses, in its order: of each its names, the node's own first."""
    report, out = verdict.report, []
    first = report.get("first_divergence") or {}
    if first:
        # "it replaces these nodes of a: '/x' (Conv), …"
        out.append([first["node"], first["tensor"], *(name for text in first["replaces"] for name in re.findall(r"'(.*?)' \(", text))])
    checks = [check for check in report.get("unexplained", []) if check["verdict"] == "different"]
    # If a model fails during the run, only the reason names the node.
    return out + [[check["node"], check["name"]] for check in checks] + [[name] for name in re.findall("'(.*?)'", verdict.reason)]


def nodes_losing(verdict: Verdict) -> list[list[str]]:
    """As the table of losses has them: first those at fault, then all others, the largest loss first."""
    return [[loss["node"], loss["tensor"]] for loss in verdict.report.get("losses", [])]


def nodes_at_fault(verdict: Verdict) -> list[str]:
    """Without those whose range is too small for the samples, which is so in files that were calibrated on few."""
    faults = [loss for loss in verdict.report.get("losses", []) if loss["fault"] and "range" not in loss["fault"]]
    return [loss["node"] for loss in faults]


class Field:
    """The files of one architecture, harmed one by one."""

    def __init__(self, judge: Judge, case: Case, wrong: pathlib.Path):
        self.judge, self.case, self.truth, self.wrong = judge, case, Truth(case), wrong
        self.inputs = [*truth.save(case.feeds, case.folder / "inputs"), f"--samples={len(case.feeds)}"]

    def felt(self, file: pathlib.Path, of: Way) -> float:
        """How far the outputs move; not at all, where ONNX Runtime takes no such file."""
        try:
            return truth.distance(self.truth.answers(of.name), truth.answers(file, self.case.feeds)).error
        except Exception:
            return 0.0

    def loses_more(self, of: Way, file: pathlib.Path) -> bool:
        """So much more than the unharmed file that the bound between them tells."""
        right = self.truth.answers(against(of))
        return truth.distance(right, truth.answers(file, self.case.feeds)).snr < self.truth.distance(against(of), of.name).snr - 2 * DECIBEL

    def rows(self, of: Way, fault: Fault, seed: str) -> list[Row]:
        """Nothing where the file has no place for the fault, or does not feel it."""
        harm = planted(self.case.file(of.name), fault, seed)
        if harm is None:
            return []
        file = self.wrong / f"{self.case.what.name}.{self.case.file(of.name).stem}.{re.sub('[^a-z0-9]+', '_', fault.name.lower())}.onnx"
        part = file.with_suffix(f".{os.getpid()}.part")
        onnx.save(harm.net.model, str(part))
        os.replace(part, file)
        felt = self.felt(file, of)
        rows = []
        if felt >= FELT[of.kind]:
            rows = [self.plain(of, harm, file, felt)]
            if of.kind == "lossy" and self.loses_more(of, file):
                rows.append(self.by_losses(of, harm, file, felt))
        if all(row.caught and row.first for row in rows):
            file.unlink(missing_ok=True)
        return rows

    def row(self, of: Way, harm: Planted, felt: float, asked: str, verdict: Verdict, command: str) -> Row:
        return Row(self.case.what.name, of.name, of.kind, harm.fault, asked, felt, right=", ".join(sorted(harm.names)[:3]), cpu=verdict.cpu,
                   verdict=verdict.word, why=verdict.reason[:200], command=command)

    def name(self, row: Row, harm: Planted, accused: list[list[str]]):
        row.first = bool(accused) and not harm.names.isdisjoint(accused[0])
        row.named = accused[0][0] if accused else ""

    def plain(self, of: Way, harm: Planted, file: pathlib.Path, felt: float) -> Row:
        """Of what keeps the arithmetic or its floors, against the original; of what is lossy, against the unharmed file."""
        base = of.name if of.kind in ("lossy", "steps") else against(of)
        words = () if base == of.name else of.words
        verdict = self.judge.verify(self.case.file(base), file, *words)
        row = self.row(of, harm, felt, base, verdict, self.judge.command(self.case.file(base), file, *words))
        row.caught = verdict.code == 1 and verdict.word == "different"
        self.name(row, harm, nodes_named(verdict))
        return row

    def bounded(self, of: Way) -> list[str]:
        """A bound that the unharmed file keeps."""
        snr = min(self.truth.distance(against(of), of.name).snr, MOST)
        return [*of.words, *self.inputs, f"--accept=snr={snr - DECIBEL:.2f}"]

    def by_losses(self, of: Way, harm: Planted, file: pathlib.Path, felt: float) -> Row:
        """Against the original, with the bound that the unharmed file keeps."""
        base = against(of)
        words = self.bounded(of)
        verdict = self.judge.verify(self.case.file(base), file, *words)
        row = self.row(of, harm, felt, base, verdict, self.judge.command(self.case.file(base), file, *words))
        row.caught = verdict.code == 1 or bool(nodes_at_fault(verdict))
        self.name(row, harm, nodes_losing(verdict))
        return row

    def alarms(self, of: Way) -> list[Row]:
        """Nodes that the report calls at fault in the unharmed file."""
        base = against(of)
        words = self.bounded(of)
        verdict = self.judge.verify(self.case.file(base), self.case.file(of.name), *words)
        row = Row(self.case.what.name, of.name, of.kind, "none", base, cpu=verdict.cpu, verdict=verdict.word, why=verdict.reason[:200])
        accused = nodes_at_fault(verdict)
        row.caught, row.named = bool(accused) or verdict.code != 0, "; ".join(accused)
        row.command = self.judge.command(self.case.file(base), self.case.file(of.name), *words)
        return [row]


def harmed(judge: Judge, case: Case, names, count: int, wrong: pathlib.Path) -> list[dict]:
    """`count` faults in each file, of kinds that take turns from file to file, so that each kind meets many files; and none in the lossy ones."""
    field, rows = Field(judge, case, wrong), []
    wrong.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        of = way(name)
        if not case.file(name).exists() or field.truth.refusal(name) or field.truth.refusal(against(of)):
            continue
        if of.kind == "lossy":
            rows += field.alarms(of)
        start, planted_here = (number * 7 + sum(map(ord, case.what.name))) % len(FAULTS), 0
        for fault in FAULTS[start:] + FAULTS[:start]:
            if planted_here < count and (found := field.rows(of, fault, f"{case.what.name} {name} {fault.name}")):
                rows, planted_here = rows + found, planted_here + 1
    return [asdict(row) for row in rows]
