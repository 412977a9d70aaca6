"""The generator itself: its seeds, its rules and its faults, on some models. Seconds."""

import collections
import io
import os
import pathlib
import random
import tempfile
import unittest
from contextlib import redirect_stdout

import run

HAS_RUNTIME = not run.missing()
PROGRAM = pathlib.Path(os.environ.get("RELAYOUT_PROGRAM", run.TOP / "build/release/relayout"))


class WithoutPackages(unittest.TestCase):
    def test_says_what_is_missing(self):
        printed, names, run.NEEDED = io.StringIO(), run.NEEDED, ("os", "no_such_package")
        try:
            with redirect_stdout(printed):
                self.assertEqual(run.main([]), 0)
        finally:
            run.NEEDED = names
        self.assertIn("skipped: this Python has no no_such_package (RELAYOUT_PYTHON", printed.getvalue())


@unittest.skipUnless(HAS_RUNTIME, "no ONNX Runtime")
class Generator(unittest.TestCase):
    def case(self, seed, folder):
        import case
        import models
        import oracles
        import trial

        draft, _ = models.draft(seed)
        model = draft.model()
        return case.Case(oracles.Program(PROGRAM), pathlib.Path(folder), model, *trial.feeds_of(draft, model, seed))

    def test_same_seed_same_model(self):
        import models

        for seed in range(5):
            first, second = (models.draft(seed)[0].model().SerializeToString(deterministic=True) for _ in range(2))
            self.assertEqual(first, second)

    def test_names_are_unique(self):
        import harms
        import rewrites

        for names in ([rule.__name__ for rule in rewrites.RULES], [fault.name for fault in harms.FAULTS]):
            self.assertEqual([], [name for name, count in collections.Counter(names).items() if count > 1])

    def test_rules_keep_results(self):
        import rewrites

        kept = 0
        for seed in range(8):
            with tempfile.TemporaryDirectory() as folder:
                case = self.case(seed, folder)
                rule, model = rewrites.apply(case.model, case.plain, random.Random(seed))
                if rule is not None:
                    self.assertTrue(case.is_equal(case.distances(model)), f"{rule.__name__} at seed {seed}")
                    kept += 1
        self.assertGreater(kept, 4)

    def test_shrinks_to_the_fault(self):
        """One fault in a chain of nodes: what stays is the node and no more."""
        import harms
        import shrink
        from onnx import parser
        from work import Work

        model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { a = Tanh(x) b = Relu(a) c = Neg(b) y = Exp(c) }')
        import numpy

        feeds = [{"x": numpy.array([-2, -1, 0, 1], numpy.float32) * factor} for factor in (1, 2, 3)]
        work = Work(model, feeds, random.Random(0)).learn()
        fault = next(fault for fault in harms.FAULTS if fault.name == "activation exchanged")
        wrong, names = harms.plant(fault, model, feeds, random.Random(0))
        self.assertIn("b", names)
        with tempfile.TemporaryDirectory() as folder:
            import case
            import oracles

            def holds(models, feeds):
                one = case.Case(oracles.Program(PROGRAM), pathlib.Path(folder), models[0], feeds, ["plain"] * 3)
                return bool(one.felt(one.distances(models[1])))

            (small, other), _ = shrink.Shrinker([model, wrong], feeds, work.facts, holds).run()
        self.assertEqual(["Relu"], [node.op_type for node in small.graph.node])
        self.assertEqual(["Elu"], [node.op_type for node in other.graph.node])

    @unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}")
    def test_one_seed(self):
        import trial

        with tempfile.TemporaryDirectory() as folder:
            record = trial.tried(PROGRAM, 2, pathlib.Path(folder))
        self.assertTrue(record["rewrites"] and record["faults"] and record["conversions"])


if __name__ == "__main__":
    unittest.main()
