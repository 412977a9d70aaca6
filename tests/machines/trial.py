"""What one seed tries: a model, two conversions, two rewritten models, three with a fault; findings are made smaller."""

import json
import pathlib
import random
import shutil
import tempfile
import time
import traceback

import harms
import models
import numpy
import onnx
import oracles
import rewrites
import shrink
import tools
from case import Case
from work import Work, every_node

CONVERSIONS = (
    [],
    ["--simplify"],
    ["--io", "nhwc"],
    ["--emit", "transposes"],
    ["--simplify", "--layout", "contiguous"],
    ["--include-1d"],
    ["--precision", "fp16"],
    ["--simplify", "--precision", "bf16"],
    ["--simplify", "--emit", "transposes", "--when", "always"],
)
UNDONE = ([], ["--include-1d"], ["--io", "nhwc"], ["--emit", "transposes"])
OTHER_SIZES = [dict(zip("NSTHW", sizes)) for sizes in ((5, 7, 3, 9, 11), (4, 9, 6, 16, 12), (6, 12, 10, 24, 20), (16, 8, 4, 4, 24))]
BESIDE = {
    "large": lambda v: v * 20,
    "huge": lambda v: v * 200,
    "small": lambda v: v * 1e-4,
    "zeros": lambda v: v * 0,
    "halves": lambda v: numpy.round(v * 2) / 2,
    "negative": lambda v: -abs(v),
    "equal": lambda v: v * 0 + v.reshape(-1)[0] if v.size else v,
}


def fits(runner, feed) -> bool:
    try:
        return bool(oracles.run(runner, feed))
    except oracles.Refused:
        return False


def feeds_of(draft, model, seed: int) -> tuple[list[dict], list[str]]:
    """Of the sizes that the model was made for, then of others; then numbers that samples seldom hold. Each with its kind."""
    random_numbers = numpy.random.default_rng(seed)
    runner = oracles.session(model)
    feeds = [{one.name: one.draw(random_numbers, of) for one in draft.inputs} for of in (models.sizes(0), models.sizes(1), *OTHER_SIZES)]
    feeds = feeds[:2] + [feed for feed in feeds[2:] if fits(runner, feed)][:1]
    kinds = ["plain"] * len(feeds)
    for kind, change in BESIDE.items():
        feeds.append({name: change(value).astype(value.dtype) if value.dtype.kind == "f" else value for name, value in feeds[0].items()})
        kinds.append(kind)
    feeds.append({one.name: one.draw(random_numbers, dict.fromkeys("NSTHW", 1)) for one in draft.inputs})
    kinds.append("single")
    integers = [onnx.numpy_helper.to_array(tensor) for tensor in draft.constants.values() if tensor.data_type == onnx.TensorProto.INT64]
    for number in sorted({int(number) for array in integers for number in array.reshape(-1)[:8]} | {4998, 16000}):
        feed = dict(feeds[0])
        for one in draft.inputs:
            if 0 <= number < one.high:
                feed[one.name] = numpy.where(random_numbers.random(feed[one.name].shape) < 0.5, number, feed[one.name]).astype(one.dtype)
        if any(not numpy.array_equal(feed[name], feeds[0][name]) for name in feed):
            feeds.append(feed), kinds.append("chosen")
    return feeds, kinds


class Trial:
    def __init__(self, program, seed: int, folder: pathlib.Path):
        self.program, self.seed, self.folder, self.dice = program, seed, folder, random.Random(seed * 7919 + 1)
        draft, idioms = models.draft(seed)
        self.record = {"seed": seed, "idioms": idioms, "conversions": [], "rewrites": [], "faults": [], "tools": [], "found": []}
        model = draft.model()
        self.case = Case(program, folder, model, *feeds_of(draft, model, seed), external=seed % 10 == 3)
        self.record |= {"nodes": len(model.graph.node), "operators": sorted({node.op_type for node in every_node(model.graph.node)})}

    def run(self) -> dict:
        self.note(self.case.itself(), [self.case.model], lambda case, others: case.itself())
        if self.record["found"]:
            return self.record
        chosen = self.dice.randrange(len(self.case.feeds))
        self.note(self.case.data(chosen), [self.case.model], lambda case, others: case.data(min(chosen, len(case.feeds) - 1)))
        for words in self.dice.sample(CONVERSIONS, 2):
            row, found = self.case.conversion(words)
            self.record["conversions"].append(row)
            self.note(found, [self.case.model], lambda case, others: case.conversion(words)[1], how=" ".join(words))
        name = self.dice.choice(tools.available())
        row, found = self.case.tool(name)
        self.record["tools"].append(row)
        self.note(found, [self.case.model], lambda case, others: case.tool(name)[1], tool=name)
        words = self.dice.choice(UNDONE)
        self.note(self.case.undone(words), [self.case.model], lambda case, others: case.undone(words))
        for i in range(2):
            self.rewrite(self.dice.choice([1, 1, 2, 3, 5, 8]), f"same{i}")
        for i in range(3):
            self.harm(self.dice.choice([0, 0, 0, 2]), f"wrong{i}")
        return self.record

    def note(self, found, of: list, again, **more):
        """A finding, made smaller: `again(case, others)` looks for it anew."""
        if found is None:
            return
        one = {"oracle": found.oracle, "what": found.what, "command": found.command, **more}
        self.record["found"].append(one)
        work = Work(self.case.model, self.case.feeds, self.dice).learn()

        def holds(smaller, feeds) -> bool:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                case = Case(self.program, pathlib.Path(folder), smaller[0], feeds, self.case.kinds)
                is_kept = {"same": lambda: self.is_equal_anyway(case, smaller[1]), "fault": lambda: case.felt(case.distances(smaller[1]))}
                if not is_kept.get(found.oracle, lambda: True)():
                    return False
                other = again(case, smaller[1:])
                return other is not None and (other.oracle, other.what.split(":")[0]) == (found.oracle, found.what.split(":")[0])

        smaller, _ = shrink.Shrinker(of, self.case.feeds, work.facts, holds).run()
        number = len(self.record["found"])
        for model, stem in zip(smaller, "ab"):
            (self.folder / f"small{number}.{stem}.onnxtxt").write_text(shrink.text(model))
            onnx.save(model, str(self.folder / f"small{number}.{stem}.onnx"))
        one["small"] = [str(self.folder / f"small{number}.{stem}.onnxtxt") for stem in "ab"[: len(smaller)]]

    def is_equal_anyway(self, case, other) -> bool:
        """Also where values that became inputs do not go together any more."""
        random_numbers = numpy.random.default_rng(self.seed)
        mixed = [{name: random_numbers.permuted(value.reshape(-1)).reshape(value.shape) for name, value in feed.items()} for feed in case.plain]
        again = Case(self.program, case.folder, case.model, mixed, ["plain"] * len(mixed))
        return case.is_equal(case.distances(other)) and again.is_equal(again.distances(other))

    def rewritten(self, depth: int) -> tuple:
        """The model after some rules, their names, and what did not come out equal."""
        model, names, dismissed = self.case.model, [], []
        for _ in range(depth * 4):
            try:
                rule, other = rewrites.apply(model, self.case.plain, self.dice)
                if rule is None:
                    continue
                onnx.checker.check_model(other)
            except (oracles.Refused, onnx.checker.ValidationError) as error:
                dismissed.append(str(error)[:150])
                continue
            distances = self.case.distances(other)
            if not self.case.is_equal(distances):
                dismissed.append(f"{rule.__name__}: " + (f"off by {max(distances):.3g}" if distances else "refused"))
                continue
            model, names = other, [*names, rule.__name__]
            if len(names) == depth:
                break
        return model, names, dismissed

    def rewrite(self, depth: int, name: str):
        model, rules, dismissed = self.rewritten(depth)
        row = {"rules": rules, "dismissed": dismissed}
        self.record["rewrites"].append(row)
        if rules:
            judged, found = self.case.same(model, name)
            row |= judged
            self.note(found, [self.case.model, model], lambda case, others: case.same(others[0])[1], rules=rules)

    def harm(self, depth: int, name: str):
        base, rules, _ = self.rewritten(depth) if depth else (self.case.model, [], [])
        for _ in range(40):
            fault = self.dice.choice(harms.FAULTS)
            try:
                planted = harms.plant(fault, base, self.case.plain, self.dice)
                if planted is None or not self.case.felt(self.case.distances(planted[0])):
                    continue
                onnx.checker.check_model(planted[0])
                break
            except (oracles.Refused, onnx.checker.ValidationError):
                continue
        else:
            return
        model, names = planted
        row, found = self.case.wrong(model, fault.name, names, name)
        self.record["faults"].append(row | {"rules": rules})
        self.note(found, [self.case.model, model], lambda case, others: case.wrong(others[0], fault.name, names)[1], fault=fault.name, rules=rules)


def tried(path: pathlib.Path, seed: int, keep: pathlib.Path, always=False) -> dict:
    """The record of a seed; its files are kept where it found something."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="relayout-machines-") as folder:
        try:
            record = Trial(oracles.Program(path), seed, pathlib.Path(folder)).run()
        except oracles.Refused as error:
            record = {"seed": seed, "dismissed": f"ONNX Runtime: {error}"}
        except Exception as error:  # of the generator: other seeds go on
            record = {"seed": seed, "dismissed": f"{error!r} at {traceback.extract_tb(error.__traceback__)[-1]}"}
        if record.get("found") or always:
            place = keep / str(seed)
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(folder, place)
            record = json.loads(json.dumps(record).replace(folder, str(place)))
    return record | {"seconds": round(time.monotonic() - begun, 2)}


def several(path: pathlib.Path, seeds, keep: pathlib.Path) -> list[dict]:
    return [tried(path, seed, keep) for seed in seeds]
