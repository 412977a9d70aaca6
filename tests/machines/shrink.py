"""Makes the models of a finding smaller while it holds: fewer outputs, values in the middle become inputs or outputs, what is then unread goes."""

import copy

import drafts
import numpy
import onnx
from onnx import helper
from work import every_node

MOST_TRIALS = 100


def pruned(model: onnx.ModelProto, kept=()) -> onnx.ModelProto:
    """Without what no output needs, nor any value that is kept; inputs stay in all models or in none, so they stay here."""
    graph, needed = model.graph, {output.name for output in model.graph.output} | set(kept)
    for node in reversed(list(graph.node)):
        if needed.isdisjoint(node.output):
            graph.node.remove(node)
        else:
            needed |= drafts.free_names([node])
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in needed]:
        graph.initializer.remove(tensor)
    called = {node.op_type for node in every_node(graph.node)} | {node.op_type for function in model.functions for node in function.node}
    for function in [function for function in model.functions if function.name not in called]:
        model.functions.remove(function)
    del graph.value_info[:]
    return model


def needed_inputs(models) -> set[str]:
    return set().union(*(drafts.free_names(model.graph.node) | {output.name for output in model.graph.output} for model in models))


class Shrinker:
    """`facts`: what values hold for each feed, by name; `holds(models, feeds)` says whether smaller models still show the finding."""

    def __init__(self, models, feeds, facts, holds):
        self.models, self.feeds, self.facts, self.holds, self.trials, self.kept = models, feeds, facts, holds, 0, []
        if not self.attempt():  # dead nodes are what it is about: one after the other goes
            self.kept = [name for model in models for node in model.graph.node for name in node.output]
            for name in list(self.kept):
                self.kept.remove(name)
                if not self.attempt():
                    self.kept.append(name)

    def info(self, name, names: dict):
        """As an input or output: a dim that differs between feeds is free."""
        arrays = self.facts[name]
        dims = []
        for sizes in zip(*(array.shape for array in arrays[:3])):
            dims.append(sizes[0] if len(set(sizes)) == 1 else names.setdefault(sizes, f"d{len(names)}"))
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(arrays[0].dtype), dims)

    def attempt(self, outputs=None, cut=None) -> bool:
        """Other outputs, or a value that becomes an input."""
        if self.trials >= MOST_TRIALS:
            return False
        self.trials += 1
        models, feeds, names = [copy.deepcopy(model) for model in self.models], self.feeds, {}
        for one in models[0].graph.input:
            for dim, sizes in zip(one.type.tensor_type.shape.dim, zip(*(feed[one.name].shape for feed in self.feeds[:3]))):
                if dim.dim_param:
                    names.setdefault(sizes, dim.dim_param)
        for model in models:
            if outputs is not None:
                del model.graph.output[:]
                model.graph.output.extend(self.info(name, dict(names)) for name in outputs)
            if cut is not None:
                node = next((node for node in model.graph.node if cut in node.output), None)
                if node is None or any(output.name == cut for output in model.graph.output):
                    return False
                node.output[list(node.output).index(cut)] = cut + "_gone"
                model.graph.input.append(self.info(cut, dict(names)))
            pruned(model, self.kept)
        if cut is not None:
            feeds = [{**feed, cut: self.facts[cut][i]} for i, feed in enumerate(feeds)]
        used = needed_inputs(models)
        for model in models:
            for one in [one for one in model.graph.input if one.name not in used]:
                model.graph.input.remove(one)
        feeds = [{name: value for name, value in feed.items() if name in used} for feed in feeds]
        try:
            if not all(model.graph.node for model in models) or not self.holds(models, feeds):
                return False
        except Exception:  # a model that is no model any more
            return False
        self.models, self.feeds = models, feeds
        return True

    def common(self) -> list[str]:
        """Values that all models make, in the order of the first."""
        made = [{name for node in model.graph.node for name in node.output} for model in self.models]
        return [
            name
            for node in self.models[0].graph.node
            for name in node.output
            if name in self.facts and all(name in others for others in made) and all(isinstance(array, numpy.ndarray) for array in self.facts[name])
        ]

    def run(self):
        outputs = [output.name for output in self.models[0].graph.output]
        if len(outputs) > 1:
            for name in outputs:
                if self.attempt(outputs=[name]):
                    break
        for name in self.common():  # the earliest output that shows it
            if name not in [output.name for output in self.models[0].graph.output] and self.attempt(outputs=[name]):
                break
        for name in reversed(self.common()):  # the latest inputs
            self.attempt(cut=name)
        return self.models, self.feeds


def text(model: onnx.ModelProto) -> str:
    """In ONNX's text form, which has no names of nodes."""
    model = copy.deepcopy(model)
    for node in [*every_node(model.graph.node), *(node for function in model.functions for node in function.node)]:
        node.name = ""
    del model.metadata_props[:]
    return onnx.printer.to_text(model).replace('   [""] ', "   ")  # empty names, which older readers do not take
