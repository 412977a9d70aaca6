"""The Python package on models and arrays in memory, and the search for a pass of an optimizer, with the program of the build."""

import importlib.util
import os
import sys
import tempfile
import unittest
from unittest import mock

from places import PLAIN, TOP

sys.path.insert(0, str(TOP / "cmake/package/python"))
import relayout  # noqa: E402
from relayout import blame  # noqa: E402

MODEL = """<ir_version: 9, opset_import: ["" : 17]>
g (float[N,2] x) => (float[N,2] y) <float[2] s = {2, 3}> { a = Mul (x, s)  b = LeakyRelu <alpha = 0.5> (a)  y = Tanh (b) }"""


class Search(unittest.TestCase):
    def smallest(self, guilty, count=40):
        passes, asked = ["p{}".format(i) for i in range(count)], []

        def is_wrong(some):
            asked.append(tuple(some))
            return set(guilty) <= set(some)

        return blame.smallest(passes, is_wrong), len(set(asked))

    def test_one_pass(self):
        found, asked = self.smallest(["p17"])
        self.assertEqual(found, ["p17"])
        self.assertLess(asked, 20)

    def test_passes_that_need_one_another(self):
        self.assertEqual(self.smallest(["p3", "p4", "p30"])[0], ["p3", "p4", "p30"])


def has_onnx():
    """Debian's library leaves a folder of this name, which is no package."""
    return importlib.util.find_spec("onnx") is not None and importlib.util.find_spec("onnx.parser") is not None


@unittest.skipUnless(has_onnx(), "no ONNX in this Python")
class InMemory(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(relayout, "command", lambda words: [str(PLAIN), *map(os.fspath, words)])
        patch.start()
        self.addCleanup(patch.stop)
        import onnx
        self.model = onnx.parser.parse_model(MODEL)

    def test_models(self):
        self.assertEqual(relayout.inspect(self.model)["op_counts"]["LeakyRelu"], 1)
        self.assertEqual(relayout.verify(self.model, self.model.SerializeToString())["verdict"], "same")
        with self.assertRaises(relayout.Error) as caught:
            relayout.convert(self.model)
        self.assertEqual(caught.exception.exit_code, 2)
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(relayout.convert(self.model, os.path.join(folder, "out.onnx"))["written"])

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy in this Python")
    def test_arrays(self):
        import numpy
        x = numpy.array([[1, -1], [2, -2], [3, -3]], numpy.float32)
        report = relayout.run(self.model, input={"x": x}, tensors=["b", "y"])
        self.assertEqual(sorted(report["arrays"]), ["b", "y"])
        numpy.testing.assert_allclose(report["arrays"]["b"], [[2, -1.5], [4, -3], [6, -4.5]])
        self.assertNotIn("saved", report)
        with mock.patch.dict(sys.modules, {"numpy": None}):
            self.assertNotIn("arrays", relayout.run(self.model))

    def test_blame(self):
        import onnx

        def write(trial, out, passes, path=None):
            model = onnx.load(path or trial.path)
            for node in model.graph.node:
                if node.op_type == "LeakyRelu" and {"p1", "p2"} <= set(passes):
                    node.attribute[0].f = 0.25
            onnx.save(model, out)
            return ""

        tool = mock.Mock(module="onnx", levels=("default",), call="{path!r} {passes}")
        tool.passes.return_value = ["p0", "p1", "p2", "p3"]
        tool.version.return_value = "1"
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(blame.TOOLS, {"fake": tool}), mock.patch.object(blame.Trial, "write", write):
            path, repro = os.path.join(folder, "net.onnx"), os.path.join(folder, "repro")
            onnx.save(self.model, path)
            found = blame.blame(path, "fake", save_repro=repro)
            self.assertEqual(found["passes"], ["p1", "p2"])
            for words in ("`p1` and `p2`", "(LeakyRelu)", "alpha is 0.25, was 0.5", "alone wrong, too"):
                self.assertIn(words, found["markdown"])
            self.assertTrue(os.path.exists(os.path.join(repro, "1", "a.onnx")))
            with mock.patch.object(blame.Trial, "write", lambda trial, out, passes, path=None: "it died" if "p3" in passes else write(trial, out, [])):
                found = blame.blame(path, "fake")
                self.assertEqual(found["passes"], ["p3"])
                self.assertIn("`p3` fails on `net.onnx`", found["markdown"])
            self.write_no_valid_file(write, path, folder)
            tool.passes.return_value = ["p0", "p1"]
            self.assertIn("is same", blame.blame(path, "fake")["markdown"])

    def blamed(self, folder, name, spoil):
        """The report on a tool of which pass p1 does this to a model."""
        import onnx

        def write(trial, out, passes, path=None):
            model = onnx.load(path or trial.path)
            if "p1" in passes:
                spoil(model.graph)
            onnx.save(model, out)
            return ""

        tool = mock.Mock(module="onnx", levels=("default",), call="{path!r} {passes}")
        tool.passes.return_value = ["p0", "p1", "p2"]
        tool.version.return_value = "1"
        path, repro = os.path.join(folder, "net.onnx"), os.path.join(folder, name)
        onnx.save(self.model, path)
        with mock.patch.dict(blame.TOOLS, {"fake": tool}), mock.patch.object(blame.Trial, "write", write):
            found = blame.blame(path, "fake", save_repro=repro)
        self.assertEqual(found["passes"], ["p1"], found["markdown"])
        return found, onnx.load(os.path.join(repro, "part/a.onnx")).graph

    def test_blame_of_what_needs_other_nodes(self):
        def spoil(graph):
            if any(node.op_type == "Mul" for node in graph.node):
                for node in graph.node:
                    if node.op_type == "LeakyRelu":
                        node.attribute[0].f = 0.25

        with tempfile.TemporaryDirectory() as folder:
            found, part = self.blamed(folder, "repro", spoil)
            self.assertIn("the pass needs what stands around it", found["markdown"])
            self.assertIn("2 nodes, the last one `b` (LeakyRelu)", found["markdown"])
            self.assertEqual([node.op_type for node in part.node], ["Mul", "LeakyRelu"])

    def test_blame_of_declared_shapes(self):
        import onnx

        def spoil(graph):
            if any("b" in node.output for node in graph.node):
                del graph.value_info[:]
                graph.value_info.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [1, 2, 2]))

        with tempfile.TemporaryDirectory() as folder:
            found, part = self.blamed(folder, "repro", spoil)
            self.assertEqual(found["report"]["verdict"], "invalid")
            self.assertEqual([node.op_type for node in part.node], ["LeakyRelu", "Tanh"])

    def write_no_valid_file(self, write, path, folder):
        """The reproducer is the part of the model that ends with the first node that the tool makes nothing valid of."""
        import onnx

        def fails(trial, out, passes, path=None):
            model = onnx.load(path or trial.path)
            at = [node for node in model.graph.node if node.op_type == "LeakyRelu"] if "p3" in passes else []
            return "it died" if at else write(trial, out, [], path)

        def spoils(trial, out, passes, path=None):
            model = onnx.load(path or trial.path)
            for node in model.graph.node:
                if node.op_type == "LeakyRelu" and "p2" in passes:
                    node.input.append(node.input[0])
            onnx.save(model, out)
            return ""

        for number, (wrong, says) in enumerate(((fails, "`p3` fails on"), (spoils, "`p2` writes an invalid file of"))):
            repro = os.path.join(folder, "part{}".format(number))
            with mock.patch.object(blame.Trial, "write", wrong):
                found = blame.blame(path, "fake", save_repro=repro)
            self.assertIn(says, found["markdown"])
            self.assertIn("1 node, the last one `b` (LeakyRelu)", found["markdown"])
            part = onnx.load(os.path.join(repro, "part/a.onnx"))
            self.assertEqual([node.op_type for node in part.graph.node], ["LeakyRelu"])


if __name__ == "__main__":
    unittest.main()
