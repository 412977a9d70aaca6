"""Verdicts on what other tools made, held against the truth."""
import pathlib
from dataclasses import asdict, dataclass

import onnx
import truth
from judge import Judge, Verdict
from ways import Case, Way, against
from workshop import why_not

FLOORS = 30  # two files of the same arithmetic may differ by this many floors
LEAST = 2e-6  # of the range: a difference allowed in any case
HALF = 3e-2  # of the range: allowed difference of computations in 16 bits
DECIBEL = 1.0
MOST = 100.0  # decibels: a larger ratio counts as no loss
FOLDED = 3.0  # decibels that other roundings of the same file may cost


@dataclass
class Row:
    model: str
    way: str
    kind: str
    outcome: str = ""  # right, wrong, inconclusive, refused, invalid (and rightly not taken), not made
    verdict: str = ""
    cpu: float = 0.0
    error: float | None = None  # by ONNX Runtime, of the range
    snr: float | None = None  # by ONNX Runtime
    measured: float | None = None  # by relayout
    why: str = ""
    command: str = ""
    structure: dict | None = None


class Truth:
    """What ONNX Runtime computes from the files of one case, kept."""

    def __init__(self, case: Case):
        self.case, self.kept, self.floors = case, {}, {}

    def answers(self, way: str):
        if way not in self.kept:
            self.kept[way] = truth.answers(self.case.file(way), self.case.feeds)
        return self.kept[way]

    def refusal(self, way: str) -> str:
        """Why ONNX Runtime does not run a file; empty where it does."""
        try:
            self.answers(way)
            return ""
        except Exception as error:
            return str(error).strip().splitlines()[0][:200]

    def distance(self, a: str, b: str) -> truth.Distance:
        return truth.distance(self.answers(a), self.answers(b))

    def floor(self, way: str) -> float:
        if way not in self.floors:
            self.floors[way] = truth.floor(self.case.file(way), self.case.feeds)
        return self.floors[way]

    def same(self, a: str, b: str) -> bool:
        return self.distance(a, b).error <= max(FLOORS * self.floor(a), LEAST)

    def loses_no_more(self, a: str, b: str) -> bool:
        return self.distance("original", b).snr >= self.distance("original", a).snr - FOLDED


def for_one_processor(file: pathlib.Path) -> bool:
    """Its layout is not in the file: relayout refuses it with advice."""
    return any(node.domain == "com.microsoft.nchwc" for node in onnx.load(file, load_external_data=False).graph.node)


def measured(verdict: Verdict) -> float | None:
    losses = [output["loss"]["snr"] for output in verdict.report.get("outputs", []) if output.get("loss")]
    return None if not losses else min(float("inf") if snr is None else float(snr) for snr in losses)


class Court:
    def __init__(self, judge: Judge, case: Case):
        self.judge, self.case, self.truth = judge, case, Truth(case)
        self.inputs = truth.save(case.feeds, case.folder / "inputs")

    def row(self, way: Way) -> Row:
        row = Row(self.case.what.name, way.name, way.kind)
        row.why = why_not(self.case, way.name)
        if row.why:
            row.outcome = "not made"
            return row
        if refusal := self.truth.refusal(against(way)):
            row.outcome, row.why = "not made", "ONNX Runtime does not run what it is judged against: " + refusal
            return row
        if refusal := self.truth.refusal(way.name):
            self.invalid(row, way, refusal)
            return row
        distance = self.truth.distance(against(way), way.name)
        row.error, row.snr = distance.error, distance.snr
        getattr(self, way.kind)(row, way)
        return row

    def verify(self, row: Row, way: Way, *words) -> Verdict:
        a, b = self.case.file(against(way)), self.case.file(way.name)
        verdict = self.judge.verify(a, b, *words)
        row.cpu += verdict.cpu
        row.verdict, row.command = verdict.word, self.judge.command(a, b, *words)
        if verdict.report.get("structure"):
            row.structure = shares(verdict.report["structure"])
        return verdict

    def settle(self, row: Row, right: bool, verdict: Verdict):
        refused = verdict.code == 4
        row.outcome = "right" if right else "inconclusive" if verdict.word == "inconclusive" else "refused" if refused else "wrong"
        row.why = "" if right else verdict.reason[:300]

    def invalid(self, row: Row, way: Way, why: str):
        """What ONNX Runtime does not run must not be the same."""
        verdict = self.verify(row, way, *way.words)
        row.outcome, row.why = "wrong" if verdict.code == 0 else "invalid", why

    def kept(self, row: Row, way: Way):
        self.same_if(row, way, self.truth.same(way.base, way.name))

    def steps(self, row: Row, way: Way):
        self.same_if(row, way, self.truth.loses_no_more(way.base, way.name))

    def halves(self, row: Row, way: Way):
        self.same_if(row, way, row.error < HALF)

    def same_if(self, row: Row, way: Way, same: bool):
        verdict = self.verify(row, way, *way.words)
        if verdict.code == 4 and for_one_processor(self.case.file(way.name)):
            row.outcome = "right"
            return
        self.settle(row, verdict.code == (0 if same else 1), verdict)
        if not same:
            row.why = "ONNX Runtime differs too; " + row.why

    def fp16(self, row: Row, way: Way):
        """Different, unless it is said to be meant; then the same, as long as 16 bits hold the numbers."""
        plain = self.verify(row, way)
        if plain.code != 1:
            return self.settle(row, False, plain)
        meant = self.verify(row, way, *way.words)
        self.settle(row, meant.code == (0 if row.error < HALF else 1), meant)

    def lossy(self, row: Row, way: Way):
        """Different, with its loss; accepted by a bound a decibel below what ONNX Runtime loses."""
        plain = self.verify(row, way)
        if plain.code != 1 or not plain.report.get("lossy"):
            return self.settle(row, False, plain)
        words = [*way.words, *self.inputs, f"--samples={len(self.case.feeds)}"]
        meant = self.verify(row, way, *words, f"--accept=snr={min(row.snr, MOST) - DECIBEL:.2f}")
        row.measured = measured(meant)
        self.settle(row, meant.code == 0, meant)


def shares(structure: dict) -> dict:
    """How many nodes follow from the files, and what does not."""
    explained = sum(structure[f"nodes_{how}"] for how in ("equal", "folded", "bypassed", "evaluated", "dead")) + structure["nodes_rewritten"]
    nodes = {line["name"] for line in structure["unexplained"] if line["kind"] == "node"}
    return {"proved": structure["proved"], "explained": explained, "unexplained": len(structure["unexplained"]), "unexplained_nodes": len(nodes)}


def judged(judge: Judge, case: Case, ways: list[Way]) -> list[dict]:
    court = Court(judge, case)
    return [asdict(court.row(way)) for way in ways]
