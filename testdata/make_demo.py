#!/usr/bin/env python3
"""Writes testdata/resnet18_eighth: ResNet-18 (He et al. 2015) at an eighth of its width, with its BatchNormalizations.

Weights are random (He et al. 2015, fan-out as in torchvision), statistics are those of a calibration batch, so values stay
in the range of a trained network. The expected output is computed in float64 with the weights as stored.

  python3 -m venv venv && venv/bin/pip install numpy onnx && venv/bin/python testdata/make_demo.py
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTHS = (8, 16, 32, 64)
CLASSES = 100
SIZE = 64
HERE = pathlib.Path(__file__).parent / "resnet18_eighth"


def conv(x, w, stride, pad):
    """Cross-correlation, NCHW, in the type of its operands."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w, optimize=True)


def max_pool(x):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))


class Builder:
    """Writes nodes and computes them on the way: sample 0 is the stored input, the others calibrate."""

    def __init__(self, batch):
        self.random = np.random.RandomState(18)
        self.nodes, self.initializers = [], []
        self.values = {"input": batch.astype(np.float64)}

    def weight(self, name, value):
        value = value.astype(np.float32)
        self.initializers.append(numpy_helper.from_array(value, name))
        return value.astype(np.float64)

    def node(self, op, name, inputs, value, **attributes):
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        self.values[output] = value
        return output

    def conv_bn(self, x, path, index, channels, kernel, stride, pad, names=None):
        conv_name, bn_name = names or (f"conv{index}", f"bn{index}")
        prefix, scope = (f"{path}.", "/" + path.replace(".", "/") + "/") if path else ("", "/")
        fan_out = channels * kernel * kernel
        w = self.weight(f"{prefix}{conv_name}.weight",
                        self.random.standard_normal((channels, self.values[x].shape[1], kernel, kernel)) * np.sqrt(2 / fan_out))
        y = self.node("Conv", f"{scope}{conv_name}/Conv", [x, f"{prefix}{conv_name}.weight"], conv(self.values[x], w, stride, pad),
                      dilations=[1, 1], group=1, kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)
        value = self.values[y]
        names = [f"{prefix}{bn_name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        scale = self.weight(names[0], self.random.uniform(0.5, 1.5, channels))
        bias = self.weight(names[1], self.random.standard_normal(channels) * 0.1)
        mean = self.weight(names[2], value.mean(axis=(0, 2, 3)))
        variance = self.weight(names[3], value.var(axis=(0, 2, 3)))
        column = lambda v: v[None, :, None, None]
        normal = (value - column(mean)) / np.sqrt(column(variance) + np.float64(np.float32(1e-5)))
        return self.node("BatchNormalization", f"{scope}{bn_name}/BatchNormalization", [y, *names],
                         normal * column(scale) + column(bias), epsilon=1e-5, momentum=0.9, training_mode=0)

    def relu(self, x, name):
        return self.node("Relu", name, [x], np.maximum(self.values[x], 0))

    def block(self, x, path, channels, stride):
        scope = "/" + path.replace(".", "/")
        y = self.relu(self.conv_bn(x, path, 1, channels, 3, stride, 1), f"{scope}/relu/Relu")
        y = self.conv_bn(y, path, 2, channels, 3, 1, 1)
        if stride != 1 or self.values[x].shape[1] != channels:
            x = self.conv_bn(x, f"{path}.downsample", 0, channels, 1, stride, 0, names=("0", "1"))
        y = self.node("Add", f"{scope}/Add", [y, x], self.values[y] + self.values[x])
        return self.relu(y, f"{scope}/relu_1/Relu")


def images(count):
    """Smooth random pictures with mean 0 and deviation 1 per channel, as normalized photographs have."""
    noise = np.random.RandomState(64).standard_normal((count, 3, SIZE, SIZE))
    for axis in (2, 3):
        noise = sum(np.roll(noise, shift, axis) for shift in range(-3, 4))
    noise -= noise.mean(axis=(2, 3), keepdims=True)
    return (noise / noise.std(axis=(2, 3), keepdims=True)).astype(np.float32)


def main():
    batch = images(8)
    b = Builder(batch)
    x = b.relu(b.conv_bn("input", "", 1, WIDTHS[0], 7, 2, 3), "/relu/Relu")
    x = b.node("MaxPool", "/maxpool/MaxPool", [x], max_pool(b.values[x]), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    for layer, channels in enumerate(WIDTHS, 1):
        for index in (0, 1):
            x = b.block(x, f"layer{layer}.{index}", channels, 2 if layer > 1 and index == 0 else 1)
    x = b.node("GlobalAveragePool", "/avgpool/GlobalAveragePool", [x], b.values[x].mean(axis=(2, 3), keepdims=True))
    x = b.node("Flatten", "/Flatten", [x], b.values[x].reshape(len(batch), -1), axis=1)
    w = b.weight("fc.weight", b.random.standard_normal((CLASSES, WIDTHS[-1])) / np.sqrt(WIDTHS[-1]))
    bias = b.weight("fc.bias", b.random.standard_normal(CLASSES) * 0.1)
    x = b.node("Gemm", "/fc/Gemm", [x, "fc.weight", "fc.bias"], b.values[x] @ w.T + bias, alpha=1.0, beta=1.0, transB=1)
    result = b.values[x][:1].astype(np.float32)
    b.nodes[-1].output[0] = "output"

    graph = helper.make_graph(b.nodes, "resnet18_eighth", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, CLASSES])], b.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="relayout", producer_version="testdata/make_demo.py")
    onnx.checker.check_model(model, full_check=True)
    data = HERE / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (HERE / "model.onnx").write_bytes(model.SerializeToString())
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(batch[:1], "input").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(result, "output").SerializeToString())
    print(f"{HERE}: {model.ByteSize()} bytes, output {result.min():.3f} … {result.max():.3f}")


if __name__ == "__main__":
    main()
