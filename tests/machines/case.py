"""A model with its inputs, and what oracles say of its conversions and of models beside it: a finding has its oracle, what it is, and how to see it."""

import pathlib
import re
from dataclasses import dataclass, field

import numpy
import onnx
import oracles
import tools
from onnx import numpy_helper

EQUAL, FELT = 2e-5, 2e-3  # of the range: least bounds of what is rounding, and of what is not (ten times that in f16)


@dataclass
class Finding:
    oracle: str
    what: str
    command: str = ""
    files: list = field(default_factory=list)


def of_its_kind(text: str) -> str:
    """A reason without names and numbers."""
    return re.sub(r"[-+]?\d[\d.e+-]*", "#", re.sub(r"'[^']*'", "…", text))[:160]


def has_half(model) -> bool:
    """ONNX Runtime keeps f32 between nodes for which it has no kernel of f16."""
    return b"to" in model.SerializeToString() and any(
        attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT16 for node in model.graph.node for attribute in node.attribute
    )


def whole(file) -> bytes:
    """A model with all its data."""
    return onnx.load(file).SerializeToString(deterministic=True)


class Case:
    """`kinds`: of each feed "plain", or why it is beside what samples hold. Feeds that ONNX Runtime refuses drop out."""

    def __init__(self, program, folder: pathlib.Path, model, feeds, kinds, external=False):
        self.program, self.folder, self.model = program, folder, model
        runner, self.feeds, self.kinds, self.right = oracles.session(model), [], [], []
        names = {place.name for place in runner.get_inputs()}
        for feed, kind in zip(feeds, kinds):
            feed = {name: value for name, value in feed.items() if name in names}
            try:
                self.right.append(oracles.run(runner, feed))
            except oracles.Refused:
                if kind == "plain":
                    raise
                continue
            self.feeds.append(feed), self.kinds.append(kind)
        # Outputs of feeds beside what samples hold may have next to no range.
        usual = [right for right, kind in zip(self.right, self.kinds) if kind == "plain"]
        self.least = [1e-2 * max(map(oracles.reach, outputs)) for outputs in zip(*usual)]
        self.is_coarse = has_half(model)
        if self.is_coarse:
            self.least = [10 * least for least in self.least]
        self.floors = oracles.floors(model, self.feeds, self.right, self.least)
        self.plain = [feed for feed, kind in zip(self.feeds, self.kinds) if kind == "plain"]
        self.file = self.write(model, "original", external)

    def write(self, model, name: str, external=False) -> pathlib.Path:
        file = self.folder / f"{name}.onnx"
        if external:
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            onnx.save(copy, str(file), save_as_external_data=True, location=f"{name}.data", size_threshold=64)
        else:
            onnx.save(model, str(file))
        return file

    # --- truth ---------------------------------------------------------------------------------------------------------------------

    def distances(self, model) -> list[float] | None:
        """Of each feed; None where ONNX Runtime does not run it."""
        try:
            return [oracles.distance(right, other, self.least) for right, other in zip(self.right, oracles.answers(model, self.feeds))]
        except oracles.Refused:
            return None

    def is_equal(self, distances) -> bool:
        least = EQUAL * (50 if self.is_coarse else 1)  # ONNX Runtime has few kernels in f16, and rounds where it likes
        return distances is not None and all(one <= max(least, 30 * floor) for one, floor, kind in zip(distances, self.floors, self.kinds) if kind == "plain")

    def felt(self, distances) -> str:
        """The kind of the first feed that shows a difference beyond rounding."""
        return next(
            (kind for one, floor, kind in zip(distances or [], self.floors, self.kinds) if one > max(FELT * (10 if self.is_coarse else 1), 300 * floor)), ""
        )

    # --- oracles ---------------------------------------------------------------------------------------------------------------------

    def data(self, chosen: int) -> Finding | None:
        """What ONNX Runtime computes from one feed, stored and compared."""
        right = self.right[chosen]
        if (
            any(not isinstance(one, numpy.ndarray) for one in right)
            or self.floors[chosen] > 1e-4
            or self.kinds[chosen] in ("large", "huge", "small")
            or has_half(self.model)
        ):
            return None
        folder = self.folder / "data/test_data_set_0"
        folder.mkdir(parents=True, exist_ok=True)
        for i, place in enumerate(place for place in self.model.graph.input if place.name in self.feeds[chosen]):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(self.feeds[chosen][place.name], place.name).SerializeToString())
        for i, place in enumerate(self.model.graph.output):
            (folder / f"output_{i}.pb").write_bytes(numpy_helper.from_array(right[i], place.name).SerializeToString())
        answer = self.program.call("verify", self.file, "--data", folder.parent, "--json", "--threads", "1")
        if answer.code and oracles.distance(right, oracles.answers(self.model, [self.feeds[chosen]])[0]) == 0:  # ONNX Runtime says so again
            cases = answer.report.get("cases") or []
            what = answer.trouble or f"{answer.word}: {answer.reason or '; '.join(str(case.get('message', '')) for case in cases)}"
            return Finding("data", what[:300], answer.command, [self.file, folder.parent])

    def itself(self) -> Finding | None:
        """A model is the same as itself, also where both run."""
        answer = self.program.verify(self.file, self.file, "--run-identical", "--allow-inconclusive")
        if answer.trouble or answer.code:
            return Finding("itself", (answer.trouble or f"{answer.word}: {answer.reason}")[:300], answer.command, [self.file])

    def conversion(self, words) -> tuple[dict, Finding | None]:
        how = "".join(words) or "default"
        target, again = self.folder / f"converted.{how}.onnx", self.folder / f"again.{how}.onnx"
        answer = self.program.convert(self.file, target, *words)
        row, found = {"how": " ".join(words), "code": answer.code}, lambda oracle, what, of=answer, *files: Finding(
            oracle, what[:300], of.command, [self.file, *files]
        )
        declared = words[-2:] if words[-2:-1] in (["--io"], ["--precision"]) else []
        if answer.code == 2 and "--io" in declared:
            return row, None  # no image
        if answer.trouble or answer.code:
            return row, found("convert", answer.trouble or f"{answer.word}: {answer.reason}")
        row["reasons"] = sorted({f"{one['pass']}: {one.get('reason') or one['verdict']}" for one in answer.report["models"][0]["findings"]})
        try:
            onnx.checker.check_model(str(target))
        except Exception as error:
            return row, found("checker", str(error), answer, target)
        strict = self.program.verify(self.file, target, *(declared or ["--strict"]))
        row["verdict"], row["proved"] = strict.word, oracles.proved(strict)
        is_right = strict.word in ("same", "inconclusive") if "--precision" in declared else strict.code == 0
        if strict.trouble or not is_right:
            return row, found("convert, verify", strict.trouble or f"{strict.word}: {strict.reason}", strict, target)
        if not declared:
            distances = self.distances(onnx.load(target))
            if not self.is_equal(distances) or self.felt(distances):
                return row, found("convert, runtime", f"off by {max(distances):.3g}" if distances else "does not run", answer, target)
        if "--io" in declared:
            return row, None  # a second time, the images have gone
        second = self.program.convert(target, again, *words)
        if second.trouble or second.code:
            return row, found("convert twice", second.trouble or f"{second.word}: {second.reason}", second, target)
        if whole(again) != whole(target):
            return row, found("convert twice", "changes more", second, target, again)
        return row, None

    def undone(self, words) -> Finding | None:
        """What only changes the layout, and back: the bytes of the original, or of what it is without Transposes of other tools."""
        back, there, again = (
            ["--pass", "conv-weights-layout,export-io,export-transposes", "--layout", "contiguous"],
            self.folder / "there.onnx",
            self.folder / "back.onnx",
        )
        plain = self.folder / "contiguous.onnx"
        for source, target, options in ((self.file, plain, back), (self.file, there, back[:2] + list(words)), (there, again, back)):
            answer = self.program.convert(source, target, *options)
            if answer.code == 2 and "--io" in words:
                return None
            if answer.trouble or answer.code:
                return Finding("undone", (answer.trouble or f"{answer.word}: {answer.reason}")[:300], answer.command, [self.file])
        if again.read_bytes() != plain.read_bytes() and whole(again) != whole(plain):
            return Finding("undone", "other bytes", answer.command, [self.file, there, again])
        return None

    def same(self, other, name="same") -> tuple[dict, Finding | None]:
        """Of a model that computes the same."""
        file = self.write(other, name)
        answer = self.program.verify(self.file, file)
        row = {"verdict": answer.word, "proved": oracles.proved(answer), "reason": of_its_kind(answer.reason)}
        if answer.trouble or answer.word not in ("same", "inconclusive"):
            return row, Finding("same", (answer.trouble or f"{answer.word}: {answer.reason}")[:300], answer.command, [self.file, file])
        return row, None

    def tool(self, name: str) -> tuple[dict, Finding | None]:
        """Of what another tool makes: the verdict is that of ONNX Runtime, where that is clear. A tool's own faults stand in the row."""
        file = self.folder / f"by.{name.replace(' ', '.')}.onnx"
        model, why = tools.transformed(name, self.file, file)
        row = {"tool": name, "made": why or "same"}
        if model is None:
            return row, None
        if [one.name for one in model.graph.input] != [one.name for one in self.model.graph.input]:
            return row | {"made": "other inputs"}, None
        distances = self.distances(model)
        felt = self.felt(distances)
        row["made"] = "does not run" if distances is None else f"different on {felt} inputs" if felt else "same" if self.is_equal(distances) else "near"
        answer = self.program.verify(self.file, file)
        row |= {"verdict": answer.word, "proved": oracles.proved(answer), "reason": of_its_kind(answer.reason)}
        wrong = "same" if felt else "different" if row["made"] == "same" else None
        # Choices and faults of the tool: products of 8 bits inside, numbers in f16 that are not rounded any more, dims that no run yields.
        own = "--precision" in answer.reason or " yields " in answer.reason or (answer.word == "different" and self.is_coarse and name.startswith("onnxruntime"))
        if answer.trouble or (answer.word == wrong and not own):
            return row, Finding("tool", (answer.trouble or f"{answer.word}, though {row['made']}: {answer.reason}")[:300], answer.command, [self.file, file])
        return row, None

    def wrong(self, other, fault: str, names: set[str], name="wrong") -> tuple[dict, Finding | None]:
        """Of a model with a fault, which stands at any of the names."""
        felt, file = self.felt(self.distances(other)), self.write(other, name)
        answer = self.program.verify(self.file, file)
        row = {"kind": fault, "felt": felt, "verdict": answer.word, "reason": of_its_kind(answer.reason)}
        if answer.word == "different":
            accused = oracles.nodes_named(answer)
            row["first"] = not names.isdisjoint(accused) if accused else any(f"'{one}'" in answer.reason for one in names)
        if answer.trouble or answer.word not in ("different", "inconclusive"):
            what = answer.trouble or (f"same, though {fault} shows on {felt} inputs" if answer.word == "same" else f"{answer.word}: {answer.reason}")
            return row, Finding("fault" if answer.word == "same" else "fault, verify", what[:300], answer.command, [self.file, file])
        return row, None
