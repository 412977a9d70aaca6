"""Faults of attributes, operands and constants in stored models: is the repair that relayout tells the true one, and is it exact?

  cmake/dev bench repairs [--count 200] [--models DIR] [--json FILE]

A repair is true where both files, read here, have what it says; a fault is named exactly where true repairs tell all that was changed. Only
the files are compared (verify --proof)."""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import faults
import numpy
import onnx
import operator_faults
import table
from onnx import helper
from wiring import Net

# These remove nodes: nothing is left whose attribute, operand or constant could be repaired.
REMOVING = {"activation removed", "residual dropped", "node bypassed"}
FAULTS = [one for one in faults.FAULTS + operator_faults.FAULTS if one.name not in REMOVING]
LARGEST = 80_000_000


def value_of(node, name):
    return next((helper.get_attribute_value(one) for one in node.attribute if one.name == name), None)


def same_value(a, b):
    if a is None or b is None or isinstance(a, (onnx.GraphProto, onnx.TensorProto)):
        return a is b or (a is not None and b is not None and a == b)
    return a == b


class Change:
    """What a fault has changed, read from both files: (place, detail) pairs."""

    def __init__(self, a: Net, b: Net):
        self.a, self.b, self.found = a, b, []
        makers = {output: node for node in a.nodes for output in node.output if output}
        self.pairs = {}
        for node in b.nodes:
            twin = makers.get(next(output for output in node.output if output))
            if twin is not None:
                for name in (node.name, *node.output):
                    self.pairs[name] = (twin, node)
                self.compare(twin, node)

    def compare(self, a, b):
        if a.op_type != b.op_type:
            self.found.append(("operator", b.output[0]))
            return
        if list(a.output) != list(b.output):
            self.found.append(("outputs", b.output[0]))
        for name in sorted({one.name for one in [*a.attribute, *b.attribute]} - {"value"}):
            if not same_value(value_of(a, name), value_of(b, name)):
                self.found.append((name, b.output[0]))
        for index in range(max(len(a.input), len(b.input))):
            x, y = (node.input[index] if index < len(node.input) else "" for node in (a, b))
            if x in self.a.constants and y in self.b.constants:
                if not numpy.array_equal(self.a.get(x), self.b.get(y)):
                    self.found.append(("values", y))
            elif x != y:
                self.found.append(("input", b.output[0]))


def number(text):
    return float(text.replace("−", "-"))


def numbers(text):
    return [number(one) for one in text.strip("[]").split(", ")]


class Truth:
    """Whether both files have what a repair says; its place as in Change."""

    def __init__(self, change: Change):
        self.change, self.a, self.b = change, change.a, change.b

    def place(self, entry):
        """The place of a true repair, or None."""
        repair = entry["repair"]
        if repair["field"] == "values":
            return self.constants(entry["name"], repair["text"])
        if entry["name"] not in self.change.pairs:
            return None
        a, b = self.change.pairs[entry["name"]]
        if repair["field"] == "operator":
            return [("operator", b.output[0])] if (repair["is"], repair["was"]) == (b.op_type, a.op_type) else None
        if repair["field"] == "inputs":
            return self.inputs(a, b, repair["text"])
        if repair["field"].startswith("input "):
            index = int(repair["field"].split()[1])
            names = [repr(node.input[index]) if index < len(node.input) and node.input[index] else "absent" for node in (a, b)]
            return [("input", b.output[0]), *self.constant_operand(a, b, index)] if names == [repair["was"], repair["is"]] else None
        told = all(self.tells(value_of(node, repair["field"]), repair[key]) for node, key in ((a, "was"), (b, "is")))
        return [(repair["field"], b.output[0])] if told else None

    def constant_operand(self, a, b, index):
        """An operand that is another constant now."""
        return [("values", b.input[index])] if index < len(b.input) and b.input[index] in self.b.constants else []

    @staticmethod
    def tells(value, text):
        text = text.removesuffix(" (by default)")
        if value is None:
            return True  # the default, which the text tells, or none
        if isinstance(value, bytes):
            return text == repr(value.decode())
        if isinstance(value, (list, tuple)):
            return "…" in text or numpy.allclose(numbers(text), value, rtol=1e-6)
        return numpy.isclose(number(text), value, rtol=1e-6)

    def inputs(self, a, b, text):
        order = {}
        if found := re.fullmatch(r"inputs (\d+).* and (\d+).* are exchanged", text):
            order = {int(found[1]): int(found[2]), int(found[2]): int(found[1])}
        elif found := re.fullmatch(r"inputs ([\d, ]+) are what inputs ([\d, ]+) were", text):
            order = dict(zip(map(int, found[1].split(", ")), map(int, found[2].split(", "))))
        true = order and all(b.input[i] == a.input[order.get(i, i)] for i in range(len(b.input)))
        return [("input", b.output[0]), *(("values", b.input[i]) for i in order)] if true else None

    def constants(self, name, text):
        """Each node that reads the constant in b read one in a, to which the text relates it."""
        if found := re.fullmatch(r"the values of '(.*)' and '(.*)' are exchanged", text):
            one, other = found.groups()
            true = numpy.array_equal(self.a.get(one), self.b.get(other)) and numpy.array_equal(self.a.get(other), self.b.get(one))
            return [("values", one), ("values", other)] if true else None
        says = text.removeprefix(f"'{name}' ")
        for a, b in self.change.pairs.values():
            for x, y in zip(a.input, b.input):
                if y == name and x in self.a.constants and self.holds(self.a.get(x).astype(float), self.b.get(y).astype(float), self.b.get(y).dtype, says):
                    return [("values", name)]
        return None

    @staticmethod
    def holds(a, b, kind, says):
        near = lambda x, y: numpy.allclose(x, y, rtol=4 * numpy.finfo(kind).eps if kind.kind == "f" else 0, atol=1e-30)
        if found := re.fullmatch(r"is (.*), was (.*)", says):
            return numpy.allclose(numbers(found[1]), b.reshape(-1), rtol=1e-6) and numpy.allclose(numbers(found[2]), a.reshape(-1), rtol=1e-6)
        if found := re.fullmatch(r"is (.*) × what it was", says):
            return near(a * number(found[1]), b)
        if found := re.fullmatch(r"is what it was ([+−]) (.*)", says):
            return numpy.allclose(a + number(found[2]) * (1 if found[1] == "+" else -1), b, rtol=1e-6)
        if found := re.fullmatch(r"is reversed along axis (\d+)", says):
            return numpy.array_equal(numpy.flip(a, int(found[1])), b)
        if found := re.fullmatch(r"is transposed by (.*)", says):
            return numpy.array_equal(a.transpose([int(one) for one in numbers(found[1])]), b)
        if found := re.fullmatch(r"has slices (\d+) and (\d+) of axis (\d+) exchanged", says):
            i, k, axis = map(int, found.groups())
            order = list(range(a.shape[axis]))
            order[i], order[k] = order[k], order[i]
            return numpy.array_equal(numpy.take(a, order, axis), b)
        if found := re.fullmatch(r"has the slices of axis (\d+) rolled, slice (\d+) first", says):
            return numpy.array_equal(numpy.roll(a, -int(found[2]), int(found[1])), b)
        if found := re.fullmatch(r"has the slices of axis (\d+) in another order", says):
            one, other = (sorted(map(bytes, numpy.moveaxis(v, int(found[1]), 0).copy())) for v in (a, b))
            return one == other
        if says.startswith("has ") and " at [" in says:
            c = a.copy()
            for value, at, was in re.findall(r"(?:has |; )(\S+) at \[(.*?)\], was ([^;]+)", says):
                place = tuple(map(int, at.split(", ")))
                if not numpy.isclose(a[place], number(was), rtol=1e-6):
                    return False
                c[place] = number(value)
            return numpy.allclose(c, b, rtol=1e-6)
        if found := re.match(r"differs in slice (\d+) of axis (\d+) alone(, which is all zeros)?", says):
            i, axis = int(found[1]), int(found[2])
            rest = numpy.array_equal(numpy.delete(a, i, axis), numpy.delete(b, i, axis))
            return rest and (not found[3] or not numpy.take(b, i, axis).any())
        if says == "is negated":
            return numpy.array_equal(-a, b)
        if says == "is all zeros":
            return not b.any()
        if says == "is rounded to f16":
            return numpy.array_equal(a.astype(numpy.float16).astype(float), b)
        if says == "is rounded to bf16":
            bits = a.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
            return numpy.array_equal(((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(numpy.uint32).view(numpy.float32), b)
        raise ValueError(says)


def judged(program, file, fault, seed, folder):
    """A row, or None where the model has no place for the fault."""
    net, a = Net(str(file)), Net(str(file))
    try:
        if not fault.plant(net, random.Random(seed)):
            return None
    except IndexError:  # the kind does not expect such a node
        return None
    change = Change(a, net)
    if not change.found:
        return None
    wrong = folder / "b.onnx"
    onnx.save(net.model, str(wrong))
    done = subprocess.run([program, "verify", str(file), str(wrong), "--proof", "--json"], capture_output=True, text=True)
    if not done.stdout or done.returncode not in (0, 1):
        return None
    report = json.loads(done.stdout)
    entries = [entry for entry in (report["structure"] or {"unexplained": []})["unexplained"] if "repair" in entry]
    truth, told, false = Truth(change), set(), []
    for entry in entries:
        places = truth.place(entry)
        if places is None:
            false.append(entry["repair"]["text"])
        else:
            told |= set(places)
    missing = sorted(set(change.found) - told)
    return {"model": file.parent.name, "fault": fault.name, "exact": not missing, "false": false, "changed": change.found, "missing": missing,
            "told": [entry["repair"]["text"] for entry in entries], "unexplained": [entry["text"] for entry in report["structure"]["unexplained"]][:4]}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path.home() / ".cache/relayout/models")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(argv)
    files = [file for file in sorted(options.models.rglob("model.onnx")) if file.stat().st_size < LARGEST]
    dice, rows, tried = random.Random(1), [], set()
    with tempfile.TemporaryDirectory() as folder:
        while len(rows) < options.count and len(tried) < len(files) * len(FAULTS):
            for fault in FAULTS:
                left = [file for file in files if (fault.name, file) not in tried]
                dice.shuffle(left)
                for file in left:
                    tried.add((fault.name, file))
                    row = judged(options.program, file, fault, f"{file} {fault.name}", pathlib.Path(folder))
                    if row:
                        rows.append(row)
                        for text in row["false"]:
                            print(f"FALSE: {row['model']}, {row['fault']}: {text}", flush=True)
                        break
                if len(rows) == options.count:
                    break
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    by = collections.OrderedDict()
    for row in rows:
        by.setdefault(row["fault"], []).append(row)
    lines = [[name, len(of), sum(row["exact"] for row in of), sum(bool(row["false"]) for row in of)] for name, of in by.items()]
    lines.append(["all", len(rows), sum(row["exact"] for row in rows), sum(bool(row["false"]) for row in rows)])
    print("\n".join(table.lines(["fault", "planted", "named exactly", "false"], lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
