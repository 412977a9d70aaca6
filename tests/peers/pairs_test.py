"""The tool itself, on a model of this tree and three files that ONNX Runtime makes of it: seconds."""
import importlib.util
import io
import math
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

import crew
import pairs
import table

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("RELAYOUT_PROGRAM", TOP / "build/release/relayout"))
HAS_RUNTIME = not pairs.missing(("numpy", "onnx", "onnxruntime"))


class WithoutPackages(unittest.TestCase):
    def test_says_what_is_missing(self):
        printed, names, pairs.NEEDED = io.StringIO(), pairs.NEEDED, ("os", "no_such_package")
        try:
            with redirect_stdout(printed):
                self.assertEqual(pairs.main([]), 0)
        finally:
            pairs.NEEDED = names
        self.assertIn("skipped: this Python has no no_such_package (RELAYOUT_PYTHON", printed.getvalue())

    def test_columns(self):
        self.assertEqual(table.lines(["way", "pairs"], [["a long one", 5], ["b", None]]), ["way         pairs", "a long one      5", "b               -"])


def worked(what):
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raises":
        raise ValueError("no")
    if what == "exits":
        os._exit(3)
    return what * 100_000


class Crew(unittest.TestCase):
    def test_a_death_costs_its_task_alone(self):
        for jobs in (1, 2, 9):
            found = {name: (result, why) for name, result, why in crew.done(worked, {one: (one,) for one in ("a", "killed", "b", "raises", "exits", "c")}, jobs)}
            self.assertEqual({name for name, (result, _) in found.items() if result == name * 100_000}, {"a", "b", "c"})
            self.assertEqual(found["killed"], (None, "its process was killed by signal 9"))
            self.assertEqual(found["exits"], (None, "its process ended with 3"))
            self.assertEqual(found["raises"], (None, "ValueError('no')"))


class Sum(unittest.TestCase):
    def test_runs_of_single_models_are_one_table(self):
        def row(model, outcome, cpu, **more):
            return {"model": model, "way": "W", "kind": "kept", "outcome": outcome, "cpu": cpu, **more}

        runs = [{"ways": [row("x", "right", 1.0, polygraphy=4.0)]}, {"ways": [row("y", "wrong", 3.0), row("y", "not made", 0.0)]},
                {"ways": [{"model": "z", "failed": "its process was killed by signal 9"}]}]
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"{i}.json" for i in range(len(runs))]
            for file, run in zip(files, runs):
                file.write_text(json.dumps(run))
            printed = io.StringIO()
            with redirect_stdout(printed):
                self.assertEqual(pairs.main(["--program", "x", "--sum", *map(str, files)]), 0)
        lines = [line.split() for line in printed.getvalue().splitlines()]
        self.assertIn(["W", "kept", "2", "1", "1", "0", "0", "0", "1", "3", "3"], lines)
        self.assertIn(["polygraphy", "1", "4", "4"], lines)
        self.assertIn("without an answer: z (its process was killed by signal 9)", printed.getvalue())
        self.assertIn("2 pairs of 2 models; 1 right, 1 wrong", printed.getvalue())


@unittest.skipUnless(HAS_RUNTIME, "no ONNX Runtime (RELAYOUT_PYTHON names a Python that has it, numpy and onnx)")
class OneModel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import truth
        from models import Architecture, Input
        from ways import Case, way

        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="relayout-peers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        what = Architecture("resnet18_eighth", None, (Input("input", "image", (1, 3, 64, 64)),))
        cls.case = Case(what, cls.folder, truth.samples(what.inputs, 2))
        shutil.copy(TOP / "testdata/resnet18_eighth/model.onnx", cls.case.file("original"))
        cls.ways = [way(name) for name in ("ORT extended", "fixed dims", "QDQ u8s8 per channel")]
        for one in cls.ways:
            one.make(cls.case, cls.case.file("original"), cls.case.file(one.name))

    def test_verdicts_are_right(self):
        import verdicts
        from judge import Judge

        rows = verdicts.judged(Judge(PROGRAM), self.case, self.ways)
        self.assertEqual([row["outcome"] for row in rows], ["right"] * 3, rows)
        self.assertLess(rows[0]["error"], 1e-5)  # ONNX Runtime's own fusions keep the arithmetic
        self.assertLess(abs(rows[2]["measured"] - rows[2]["snr"]), 0.5)  # two runtimes on the same inputs

    def test_a_false_verdict_is_reported(self):
        import verdicts
        from judge import Judge

        flatterer = self.folder / "flatterer"
        flatterer.write_text("#!/bin/sh\necho '{\"verdict\": \"same\"}'\n")
        flatterer.chmod(0o755)
        rows = verdicts.judged(Judge(flatterer), self.case, self.ways)
        self.assertEqual([row["outcome"] for row in rows], ["right", "right", "wrong"], rows)

    def test_a_planted_fault_is_felt_caught_and_named(self):
        import planting
        from faults import FAULTS
        from judge import Judge
        from ways import way

        field = planting.Field(Judge(PROGRAM), self.case, self.folder)
        fault = next(one for one in FAULTS if one.name == "weight × 1.2")
        (row,) = field.rows(way("ORT extended"), fault, "1")
        self.assertGreater(row.felt, 1e-3)
        self.assertTrue(row.caught and row.first, row)

    def test_products_of_integers_do_not_saturate(self):
        import reals
        import truth
        from ways import way

        of, file = self.case.file("QDQ u8s8 per channel"), self.case.file("QDQ per channel, then ORT all")
        self.assertIsNone(reals.in_reals(of))
        way("QDQ per channel, then ORT all").make(self.case, of, file)
        self.assertIsNotNone(reals.in_reals(file))
        apart = truth.distance(*(truth.answers(one, self.case.feeds) for one in (of, file)))
        self.assertLess(apart.error, 1e-2)  # some elements are on the neighbouring step

    def test_losses_of_nodes_are_those_of_onnx_runtime(self):
        import losses
        import truth
        from judge import Judge
        from ways import way

        found = losses.row(Judge(PROGRAM), self.case, way("QDQ u8s8 per channel"), truth.samples(self.case.what.inputs, 2))
        self.assertLess(abs(found.measured - found.snr), 0.5)
        tried = [node for node in found.nodes if "truth" in node]
        self.assertGreater(len(tried), len(found.nodes) // 2, found.nodes)
        self.assertLess(table.median(abs(node["snr"] - node["truth"]) for node in tried), 0.5)

    def test_fused_files_follow_from_the_original(self):
        import proofs
        from judge import Judge

        (row,) = proofs.proved(Judge(PROGRAM), self.case, ["ORT extended"])
        self.assertTrue(row["proved"], row)
        self.assertEqual(row["unexplained"], 0)

    def test_distance(self):
        import numpy
        import truth

        right = [[numpy.array([[0.0, 3.0, 4.0]])], [numpy.array([[0.0, 0.0, 5.0]])]]
        other = [[numpy.array([[0.0, 4.0, 3.0]])], [numpy.array([[0.0, 0.0, 5.0]])]]
        found = truth.distance(right, other)
        self.assertEqual((found.error, found.top1), (0.25, 0.5))
        self.assertAlmostEqual(found.snr, 10 * math.log10(50 / 2))
        self.assertEqual(truth.distance(right, right).snr, math.inf)


if __name__ == "__main__":
    sys.exit(unittest.main())
