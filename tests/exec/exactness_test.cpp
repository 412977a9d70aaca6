// Tests that the three modes agree to the bit: small-integer data makes sums exact in any order.

#include <cmath>
#include <limits>

#include "exec/draw.h"
#include "exec/model_builder.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::test {
namespace {

void expect_equal_in_all_modes(const ModelBuilder& builder, const Inputs& inputs, uint64_t seed) {
  const auto model = builder.build();
  const RunResult reference = run_in(Mode::reference, *model, inputs);
  for (const Mode mode : {Mode::as_written, Mode::optimized}) {
    for (const int threads : {1, 2}) {
      if (threads == 2 && seed % 4 != 0) continue;
      const RunResult result = run_in(mode, *model, inputs, threads);
      ASSERT_NO_FATAL_FAILURE(expect_no_reference_loops(result.info)) << "seed " << seed;
      ASSERT_EQ(result.outputs.size(), reference.outputs.size());
      for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        ASSERT_EQ(result.outputs[i].dims(), reference.outputs[i].dims());
        ASSERT_TRUE(result.outputs[i].is_contiguous());
        ASSERT_EQ(values_of(result.outputs[i]), values_of(reference.outputs[i]))
            << "seed " << seed << ", " << to_string(mode) << ", " << threads << " threads, " << result.info.steps.front().implementation;
      }
    }
  }
}

/// Spatial dims that all differ.
Dims distinct(Draw& draw, std::size_t count, int64_t low, int64_t high) {
  Dims out;
  while (out.size() < count) {
    const int64_t dim = draw.from(low, high);
    if (std::ranges::find(out, dim) == out.end()) out.push_back(dim);
  }
  return out;
}

struct RandomConvolution {
  Dims x, w, pads, strides, dilations;
  int64_t groups = 1;
};

RandomConvolution draw_any_convolution(Draw& draw, bool transposed) {
  RandomConvolution out;
  const auto rank = static_cast<std::size_t>(draw.from(1, 3));
  const int64_t inputs = draw.from(1, 9), outputs = draw.from(1, 9);
  out.groups = draw.yes() ? 1 : draw.from(2, 20);
  const bool depthwise = out.groups > 1 && draw.yes();
  out.x = {draw.from(1, 3), (depthwise ? 1 : inputs) * out.groups};
  for (const int64_t dim : distinct(draw, rank, 4, rank == 3 ? 9 : 17)) out.x.push_back(dim);
  const int64_t per_group = !depthwise ? outputs : transposed ? 1 : draw.from(1, 5);
  out.w = transposed ? Dims{out.x[1], per_group} : Dims{per_group * out.groups, out.x[1] / out.groups};
  for (std::size_t i = 0; i < rank; ++i) {
    out.w.push_back(draw.from(1, 4));
    out.strides.push_back(draw.from(1, 3));
    out.dilations.push_back(draw.yes(3) ? 2 : 1);
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (std::size_t i = 0; i < rank; ++i) out.pads.push_back(draw.from(0, (out.w[i + 2] - 1) * out.dilations[i]));
  }
  return out;
}

bool all_differ(Dims dims) {
  std::ranges::sort(dims);
  return std::ranges::adjacent_find(dims) == dims.end();
}

/// All dims of the input differ, so that no kernel can confuse them.
RandomConvolution draw_convolution(Draw& draw, bool transposed) {
  while (true) {
    RandomConvolution drawn = draw_any_convolution(draw, transposed);
    if (all_differ(drawn.x)) return drawn;
  }
}

/// Whether the window fits into the padded input in every dim.
bool fits(const RandomConvolution& convolution) {
  const std::size_t rank = convolution.strides.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const int64_t extent = (convolution.w[i + 2] - 1) * convolution.dilations[i] + 1;
    if (extent > convolution.x[i + 2] + convolution.pads[i] + convolution.pads[rank + i]) return false;
  }
  return true;
}

TEST(Exactness, Convolutions) {
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    Draw draw(seed, "conv");
    const RandomConvolution random = draw_convolution(draw, false);
    if (!fits(random)) continue;
    ModelBuilder builder;
    builder.input("x", random.x).constant("w", random.w, draw.integers(element_count(random.w)));
    std::vector<std::string> inputs{"x", "w"};
    if (draw.yes()) {
      builder.constant("b", {random.w[0]}, draw.integers(random.w[0]));
      inputs.emplace_back("b");
    }
    builder.node("Conv", inputs, {"y"}).integers("strides", random.strides).integers("dilations", random.dilations);
    builder.integers("pads", random.pads).integer("group", random.groups).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(random.x, draw.integers(element_count(random.x)))}}, seed));
  }
}

/// Inputs narrower than windows and pads, one output in a dim, windows within the pads: the edge cases of the kernels' counts.
TEST(Exactness, ConvolutionsOverTinyInputs) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Draw draw(seed, "narrow conv");
    RandomConvolution random;
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    const int64_t channels = draw.yes() ? 1 : draw.from(2, 17);
    random.groups = draw.yes(3) ? channels : 1;
    random.x = {draw.from(1, 2), channels};
    random.w = {random.groups * draw.from(1, random.groups > 1 ? 2 : 17), channels / random.groups};
    for (std::size_t i = 0; i < rank; ++i) {
      random.x.push_back(draw.from(1, 3));
      random.w.push_back(draw.from(1, 4));
      random.strides.push_back(draw.from(1, 3));
      random.dilations.push_back(draw.yes(3) ? 2 : 1);
    }
    for (std::size_t i = 0; i < 2 * rank; ++i) random.pads.push_back(draw.from(0, 3));
    if (!fits(random)) continue;
    ModelBuilder builder;
    builder.input("x", random.x).constant("w", random.w, draw.integers(element_count(random.w)));
    builder.constant("b", {random.w[0]}, draw.integers(random.w[0])).node("Conv", {"x", "w", "b"}, {"y"});
    builder.integers("strides", random.strides).integers("dilations", random.dilations).integers("pads", random.pads);
    builder.integer("group", random.groups).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(random.x, draw.integers(element_count(random.x)))}}, seed));
  }
}

/// One channel, no pads: windows are views of the samples.
TEST(Exactness, ShallowWindows) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed, "shallow");
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    Dims x{draw.from(1, 3), 1}, w{draw.from(1, 20), 1}, strides, dilations;
    for (std::size_t i = 0; i < rank; ++i) {
      w.push_back(draw.from(1, 4));
      strides.push_back(draw.from(1, 3));
      dilations.push_back(draw.from(1, 2));
      x.push_back((w.back() - 1) * dilations.back() + draw.from(1, 9));
    }
    ModelBuilder builder(17);
    builder.input("x", x).constant("w", w, draw.integers(element_count(w))).constant("b", {w[0]}, draw.integers(w[0]));
    builder.node("Conv", draw.yes() ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"}, {"c"});
    builder.integers("strides", strides).integers("dilations", dilations).node(draw.yes() ? "Relu" : "Neg", {"c"}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

TEST(Exactness, AutomaticPads) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed, "auto_pad");
    const RandomConvolution random = draw_convolution(draw, false);
    RandomConvolution bare = random;
    std::ranges::fill(bare.pads, 0);
    const char* const automatic = seed % 3 == 0 ? "SAME_UPPER" : seed % 3 == 1 ? "SAME_LOWER" : "VALID";
    if (seed % 3 == 2 && !fits(bare)) continue;
    ModelBuilder builder;
    builder.input("x", random.x).constant("w", random.w, draw.integers(element_count(random.w)));
    builder.node("Conv", {"x", "w"}, {"y"}).integers("strides", random.strides).integer("group", random.groups);
    builder.integers("dilations", random.dilations).text("auto_pad", automatic).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(random.x, draw.integers(element_count(random.x)))}}, seed));
  }
}

TEST(Exactness, TransposedConvolutions) {
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "deconv");
    RandomConvolution random = draw_convolution(draw, true);
    const std::size_t rank = random.strides.size();
    Dims padding;
    bool empty = false;
    for (std::size_t i = 0; i < rank; ++i) {
      padding.push_back(draw.from(0, random.strides[i] - 1));
      const int64_t extent = (random.w[i + 2] - 1) * random.dilations[i] + 1;
      const int64_t size = (random.x[i + 2] - 1) * random.strides[i] + extent + padding[i] - random.pads[i] - random.pads[rank + i];
      empty = empty || size < 1;
    }
    if (empty) continue;
    ModelBuilder builder;
    builder.input("x", random.x).constant("w", random.w, draw.integers(element_count(random.w)));
    const int64_t outputs = random.w[1] * random.groups;
    std::vector<std::string> inputs{"x", "w"};
    if (draw.yes()) {
      builder.constant("b", {outputs}, draw.integers(outputs));
      inputs.emplace_back("b");
    }
    builder.node("ConvTranspose", inputs, {"y"}).integers("strides", random.strides).integers("dilations", random.dilations);
    builder.integers("pads", random.pads).integer("group", random.groups).integers("output_padding", padding).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(random.x, draw.integers(element_count(random.x)))}}, seed));
  }
}

/// One channel or windows of one element: layouts are ambiguous.
TEST(Exactness, ConvolutionsOfFewChannels) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Draw draw(seed, "few channels");
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    const bool transposed = draw.yes();
    const int64_t inputs = draw.from(1, 2), outputs = draw.from(1, 2);
    Dims x{draw.from(1, 3), inputs}, w = transposed ? Dims{inputs, outputs} : Dims{outputs, inputs};
    for (std::size_t i = 0; i < rank; ++i) {
      w.push_back(draw.yes() ? 1 : draw.from(1, 3));
      x.push_back(w.back() + draw.from(0, 4));
    }
    ModelBuilder builder(17);
    builder.input("x", x).constant("w", w, draw.integers(element_count(w))).constant("b", {outputs}, draw.integers(outputs));
    const std::vector<std::string> names = draw.yes() ? std::vector<std::string>{"x", "w", "b"} : std::vector<std::string>{"x", "w"};
    builder.node(transposed ? "ConvTranspose" : "Conv", names, {"c"}).node(draw.yes() ? "Relu" : "Neg", {"c"}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

TEST(Exactness, Pools) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed, "pool");
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    Dims x;
    do {
      x = {draw.from(1, 3), draw.from(1, 19)};
      for (const int64_t dim : distinct(draw, rank, 5, 14)) x.push_back(dim);
    } while (!all_differ(x));
    const bool average = draw.yes();
    Dims kernel, strides, dilations, pads(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      kernel.push_back(draw.from(1, 4));
      strides.push_back(draw.from(1, 3));
      dilations.push_back(draw.yes(4) && kernel[i] < 3 ? 2 : 1);
      pads[i] = draw.from(0, kernel[i] - 1);
      pads[rank + i] = draw.from(0, kernel[i] - 1);
    }
    // An upstream convolution puts the pool into a channels-last region when optimized.
    ModelBuilder builder(19);
    Dims w(x.size(), 1);
    w[0] = w[1] = x[1];
    builder.input("x", x).constant("w", w, draw.integers(element_count(w), 1)).node("Conv", {"x", "w"}, {"c"});
    builder.node(average ? "AveragePool" : "MaxPool", {"c"}, {"y"}).integers("kernel_shape", kernel).integers("strides", strides);
    builder.integers("dilations", dilations).integers("pads", pads).integer("ceil_mode", draw.from(0, 1)).output("y");
    if (average) builder.integer("count_include_pad", draw.from(0, 1));
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

TEST(Exactness, SpatialMeans) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Draw draw(seed, "mean");
    const Dims x{draw.from(1, 3), draw.from(1, 300), 4, 8};
    ModelBuilder builder(18);
    builder.input("x", x).constant("w", {x[1], 1, 1, 1}, draw.integers(x[1])).constant<int64_t>("axes", {2}, {-1, 2});
    builder.node("Conv", {"x", "w"}, {"c"}).integer("group", x[1]);
    builder.node("GlobalAveragePool", {"c"}, {"y"}).node("ReduceMean", {"c", "axes"}, {"z"}).integer("keepdims", 0).output("y").output("z");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

TEST(Exactness, SpatialMeansOfManyRows) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Draw draw(seed, "rows");
    const Dims x{draw.from(1, 2), draw.from(2, 600), draw.from(1, 40), draw.from(9, 40)};
    ModelBuilder builder(18);
    builder.input("x", x).constant("w", {x[1], 1, 1, 1}, draw.integers(x[1])).node("Conv", {"x", "w"}, {"c"}).integer("group", x[1]);
    builder.node("GlobalAveragePool", {"c"}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

/// Of one dim or two, with others inside them in memory or not.
TEST(Exactness, ReductionsOfAnyDims) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed, "columns");
    const Dims x{draw.from(1, 3), draw.from(2, 20), draw.from(1, 70), draw.from(2, seed % 10 == 0 ? 9000 : 9)};
    const std::string op = seed % 3 == 0 ? "ReduceMean" : seed % 3 == 1 ? "ReduceSum" : "ReduceMax";
    const int64_t axis = draw.from(0, 3);
    Dims axes{axis};
    if (draw.yes()) axes.push_back((axis + 1) % 4 - 4);
    ModelBuilder builder(18);
    builder.input("x", x).constant<int64_t>("axes", {std::ssize(axes)}, axes).constant("w", {x[1], 1, 1, 1}, draw.integers(x[1]));
    builder.node("Transpose", {"x"}, {"t"})
        .integers("perm", {2, 0, 3, 1})
        .node(op, {"t", "axes"}, {"y"})
        .integer("keepdims", draw.from(0, 1));
    builder.node("Conv", {"x", "w"}, {"c"}).integer("group", x[1]).node(op, {"c", "axes"}, {"z"}).integer("keepdims", draw.from(0, 1));
    builder.node(op, {"x", "axes"}, {"v"}).output("y").output("z").output("v");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x)))}}, seed));
  }
}

TEST(Exactness, Products) {
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "matmul");
    const int64_t rows = draw.from(1, 20), depth = draw.from(1, 40), columns = draw.from(1, 30);
    ModelBuilder builder(13);
    Inputs inputs;
    const bool constant = draw.yes();
    Dims a, b;
    if (draw.yes()) {
      const bool swap_a = draw.yes(), swap_b = draw.yes();
      a = swap_a ? Dims{depth, rows} : Dims{rows, depth};
      b = swap_b ? Dims{columns, depth} : Dims{depth, columns};
      std::vector<std::string> names{"a", "b"};
      const int64_t kind = draw.from(0, 4);
      const Dims c = kind == 1 ? Dims{columns} : kind == 2 ? Dims{rows, 1} : kind == 3 ? Dims{rows, columns} : Dims{};
      if (kind > 0) {
        builder.constant("c", c, draw.integers(element_count(c)));
        names.emplace_back("c");
      }
      builder.node("Gemm", names, {"y"}).integer("transA", swap_a ? 1 : 0).integer("transB", swap_b ? 1 : 0);
    } else {
      a = {rows, depth};
      b = {depth, columns};
      const int64_t batch = draw.from(2, 4);
      if (draw.yes()) a.insert(a.begin(), batch);
      if (draw.yes(3)) b.insert(b.begin(), draw.yes() ? batch : 1);
      if (draw.yes(3)) a.insert(a.begin(), a.size() == 2 ? 1 : draw.from(2, 3));
      builder.node("MatMul", {"a", "b"}, {"y"});
    }
    builder.node("Relu", {"y"}, {"z"}).output("z");
    builder.input("a", a);
    inputs["a"] = tensor_of(a, draw.integers(element_count(a)));
    if (constant) {
      builder.constant("b", b, draw.integers(element_count(b)));
    } else {
      builder.input("b", b);
      inputs["b"] = tensor_of(b, draw.integers(element_count(b)));
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, inputs, seed));
  }
}

/// Constant weights of several blocks, with the other operands and attributes of a Gemm.
TEST(Exactness, ProductsOfManyBlocks) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed, "blocks");
    const int64_t rows = draw.yes(4) ? 1 : draw.from(2, draw.yes() ? 9 : 200), depth = draw.from(1, draw.yes() ? 70 : 600);
    const int64_t columns = draw.from(1, draw.yes() ? 40 : 300);
    const bool swap_a = draw.yes(3), swap_b = draw.yes();
    const Dims a = swap_a ? Dims{depth, rows} : Dims{rows, depth}, b = swap_b ? Dims{columns, depth} : Dims{depth, columns};
    const Dims c = draw.yes() ? Dims{columns} : Dims{rows, 1};
    ModelBuilder builder(13);
    builder.input("a", a).constant("b", b, draw.integers(element_count(b))).constant("c", c, draw.integers(element_count(c)));
    std::vector<std::string> operands{"a", "b"};
    if (draw.yes()) operands.emplace_back("c");
    builder.node("Gemm", operands, {"y"}).integer("transA", swap_a ? 1 : 0).integer("transB", swap_b ? 1 : 0);
    builder.node(draw.yes() ? "Relu" : "Neg", {"y"}, {"z"}).output("z");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"a", tensor_of(a, draw.integers(element_count(a)))}}, seed));
  }
}

/// A permutation of [0, count).
Dims permutation(Draw& draw, std::size_t count) {
  Dims out;
  while (out.size() < count) {
    const int64_t axis = draw.from(0, static_cast<int64_t>(count) - 1);
    if (std::ranges::find(out, axis) == out.end()) out.push_back(axis);
  }
  return out;
}

/// Dims of size 1 anywhere and operands that come through a Slice and a Transpose: strides then say little about the place of matrices.
TEST(Exactness, ProductsOfPermutedOperands) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed, "permuted matmul");
    const auto rank = static_cast<std::size_t>(draw.from(2, 5));
    const int64_t rows = draw.from(1, 9), depth = draw.from(1, 33), columns = draw.from(1, 9);
    Dims a, b;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      const int64_t dim = draw.yes(3) ? 1 : draw.from(2, 4);
      a.push_back(draw.yes(4) ? 1 : dim);
      b.push_back(draw.yes(4) ? 1 : dim);
    }
    a.insert(a.end(), {rows, depth});
    b.insert(b.end(), {depth, columns});
    ModelBuilder builder(13);
    Inputs inputs;
    for (const auto& [name, wanted] : {std::pair("a", a), std::pair("b", b)}) {
      const Dims order = permutation(draw, rank);
      Dims dims(rank);
      for (std::size_t i = 0; i < rank; ++i) dims[static_cast<std::size_t>(order[i])] = wanted[i];
      const std::string base(name);
      const int64_t axis = draw.from(0, static_cast<int64_t>(rank) - 1), begin = draw.from(0, 2);
      int64_t& size = dims[static_cast<std::size_t>(axis)];
      builder.constant(base + "axis", {1}, std::vector<int64_t>{axis}).constant(base + "begin", {1}, std::vector<int64_t>{begin});
      builder.constant(base + "end", {1}, std::vector<int64_t>{begin + size});
      if (draw.yes()) size += begin + draw.from(0, 2);
      builder.input(base, dims);
      const bool sliced = size != wanted[static_cast<std::size_t>(std::ranges::find(order, axis) - order.begin())];
      if (sliced) builder.node("Slice", {base, base + "begin", base + "end", base + "axis"}, {base + "s"});
      builder.node("Transpose", {sliced ? base + "s" : base}, {base + "t"}).integers("perm", order);
      inputs[base] = tensor_of(dims, draw.integers(element_count(dims)));
    }
    builder.node("MatMul", {"at", "bt"}, {"y"}).output("y");
    EXPECT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, inputs, seed))
        << to_string(a) << to_string(b) << " from " << to_string(inputs["a"].tensor.dims()) << to_string(inputs["b"].tensor.dims());
  }
}

/// Weights for each of a batch, or for several, as ensembles have them.
TEST(Exactness, ProductsWithBatchesOfWeights) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Draw draw(seed, "batches of weights");
    const auto rank = static_cast<std::size_t>(draw.from(3, 5));
    Dims a, b;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      a.push_back(draw.from(1, 4));
      b.push_back(draw.yes() ? 1 : a.back());
    }
    const int64_t depth = draw.from(1, 33), columns = draw.from(1, 20);
    a.insert(a.end(), {draw.from(1, 9), depth});
    b.insert(b.end(), {depth, columns});
    if (draw.yes(3)) b.erase(b.begin());
    if (draw.yes(4)) a.erase(a.begin());
    ModelBuilder builder(13);
    builder.input("a", a).constant("b", b, draw.integers(element_count(b))).constant("c", {columns}, draw.integers(columns));
    builder.node("MatMul", {"a", "b"}, {"m"}).node("Add", {"m", "c"}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"a", tensor_of(a, draw.integers(element_count(a)))}}, seed))
        << to_string(a) << to_string(b);
  }
}

/// Heads as attention has them: [batch, rows, heads, depth] with gaps after any dim, transposed to [batch, heads, rows, depth].
TEST(Exactness, ProductsOfHeads) {
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "heads");
    const int64_t batch = draw.from(1, 3), heads = draw.from(1, 4), depth = draw.from(1, 9);
    ModelBuilder builder(13);
    Inputs inputs;
    for (const std::string name : {"q", "k"}) {
      Dims dims{batch, draw.from(1, 5), heads, depth};
      std::string at = name;
      for (std::size_t axis = 1; axis < dims.size(); ++axis) {
        if (!draw.yes(3)) continue;
        const std::string next = name + std::to_string(axis);
        builder.constant(next + "axis", {1}, std::vector<int64_t>{static_cast<int64_t>(axis)})
            .constant(next + "begin", {1}, std::vector<int64_t>{0});
        builder.constant(next + "end", {1}, std::vector<int64_t>{dims[axis]});
        builder.node("Slice", {at, next + "begin", next + "end", next + "axis"}, {next});
        dims[axis] += draw.from(1, 2);
        at = next;
      }
      builder.node("Transpose", {at}, {name + "t"}).integers("perm", name == "q" ? Dims{0, 2, 1, 3} : Dims{0, 2, 3, 1}).input(name, dims);
      inputs[name] = tensor_of(dims, draw.integers(element_count(dims)));
    }
    builder.node("MatMul", {"qt", "kt"}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, inputs, seed));
  }
}

/// Two terms, each with distinct labels, some of which the output keeps.
struct RandomEinsum {
  std::string left, right, output;
  std::map<char, int64_t> sizes;
  [[nodiscard]] std::string equation() const { return left + "," + right + "->" + output; }
  [[nodiscard]] Dims dims(const std::string& term) const {
    Dims out;
    for (const char label : term) out.push_back(sizes.at(label));
    return out;
  }
};

RandomEinsum draw_einsum(Draw& draw) {
  RandomEinsum out;
  const auto last = static_cast<char>('a' + draw.from(0, 5));
  for (char label = 'a'; label <= last; ++label) {
    out.sizes[label] = draw.yes(4) ? 1 : draw.from(2, 4);
    const int64_t where = draw.from(1, 4);  // left, right, or both
    if (where != 1) out.left.insert(static_cast<std::size_t>(draw.from(0, static_cast<int64_t>(out.left.size()))), 1, label);
    if (where != 2) out.right.insert(static_cast<std::size_t>(draw.from(0, static_cast<int64_t>(out.right.size()))), 1, label);
    if (draw.yes()) out.output.insert(static_cast<std::size_t>(draw.from(0, static_cast<int64_t>(out.output.size()))), 1, label);
  }
  return out;
}

/// The sum over every combination of labels, in sequence.
std::vector<float> brute_force(const RandomEinsum& einsum, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> out(static_cast<std::size_t>(element_count(einsum.dims(einsum.output))), 0.0F);
  std::map<char, int64_t> at;
  for (const auto& [label, size] : einsum.sizes) at[label] = 0;
  const auto flat = [&](const std::string& term) {
    int64_t position = 0;
    for (const char label : term) position = position * einsum.sizes.at(label) + at.at(label);
    return static_cast<std::size_t>(position);
  };
  while (true) {
    out[flat(einsum.output)] += a[flat(einsum.left)] * b[flat(einsum.right)];
    auto label = at.rbegin();
    for (; label != at.rend(); ++label) {
      if (++label->second < einsum.sizes.at(label->first)) break;
      label->second = 0;
    }
    if (label == at.rend()) return out;
  }
}

TEST(Exactness, Einsums) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Draw draw(seed, "einsum");
    const RandomEinsum einsum = draw_einsum(draw);
    const Dims a = einsum.dims(einsum.left), b = einsum.dims(einsum.right);
    const std::vector<float> left = draw.integers(element_count(a)), right = draw.integers(element_count(b));
    ModelBuilder builder(13);
    builder.input("a", a).input("b", b).node("Einsum", {"a", "b"}, {"y"}).text("equation", einsum.equation()).output("y");
    const auto model = builder.build();
    for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
      const RunResult result = run_in(mode, *model, {{"a", tensor_of(a, left)}, {"b", tensor_of(b, right)}});
      ASSERT_EQ(result.outputs[0].dims(), einsum.dims(einsum.output)) << einsum.equation();
      ASSERT_EQ(values_of(result.outputs[0]), brute_force(einsum, left, right)) << einsum.equation() << ", " << to_string(mode);
    }
  }
}

TEST(Exactness, ElementwiseWithBroadcasting) {
  constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Max", "Min"};
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "binary");
    const auto rank = static_cast<std::size_t>(draw.from(1, 5));
    const Dims whole = distinct(draw, rank, 1, 11);
    const auto thinned = [&] {
      Dims dims = whole;
      for (int64_t& dim : dims) dim = draw.yes(3) ? 1 : dim;
      dims.erase(dims.begin(), dims.begin() + draw.from(0, static_cast<int64_t>(rank) - 1));
      return dims;
    };
    ModelBuilder builder(13);
    const Dims a = draw.yes() ? whole : thinned(), b = draw.yes() ? whole : thinned(), c = thinned();
    builder.input("a", a).input("b", b).constant("c", c, draw.integers(element_count(c)));
    builder.node(kOps[draw.from(0, 4)], {"a", "b"}, {"s"}).node(kOps[draw.from(0, 4)], {"c", "s"}, {"t"});
    builder.node("Relu", {"t"}, {"u"}).node(kOps[draw.from(0, 4)], {"u", "a"}, {"y"}).output("y");
    if (draw.yes()) builder.output("t");
    const Inputs inputs{{"a", tensor_of(a, draw.integers(element_count(a)))}, {"b", tensor_of(b, draw.integers(element_count(b)))}};
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, inputs, seed));
  }
}

/// (x − c) · s + b and similar chains, with operands of any dims on either side.
void add_affine_chain(Draw& draw, const Dims& whole, ModelBuilder& builder) {
  using Names = std::vector<std::string>;
  std::string last = "x";
  for (const std::string op : {"Sub", "Mul", "Add", "Relu", "Mul", "Add"}) {
    if (draw.yes(5)) continue;
    const std::string name = last + op[0], constant = name + "c";
    if (op == "Relu") {
      builder.node(op, {last}, {name});
    } else {
      Dims dims = whole;
      for (int64_t& dim : dims) dim = draw.yes() ? 1 : dim;
      builder.constant(constant, dims, draw.integers(element_count(dims)));
      builder.node(op, draw.yes(4) ? Names{constant, last} : Names{last, draw.yes(6) ? "x" : constant}, {name});
    }
    last = name;
  }
  builder.node("Identity", {last}, {"y"}).output("y");
}

/// Runs of a chain that are one function; some inputs have an element that is not finite.
TEST(Exactness, AffineChains) {
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "affine");
    const Dims whole = distinct(draw, static_cast<std::size_t>(draw.from(1, 4)), 1, 40);
    std::vector<float> x = draw.integers(element_count(whole));
    if (draw.yes(4)) x[static_cast<std::size_t>(draw.from(0, std::ssize(x) - 1))] = kSpecial[draw.from(0, 2)];
    ModelBuilder builder(13);
    builder.input("x", whole);
    add_affine_chain(draw, whole, builder);
    const auto model = builder.build();
    const Inputs inputs{{"x", tensor_of(whole, x)}};
    const std::vector<float> wanted = values_of(run_in(Mode::reference, *model, inputs).outputs.at(0));
    const std::vector<float> got = values_of(run_in(Mode::optimized, *model, inputs).outputs.at(0));
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i])))
          << "seed " << seed << ": " << got[i] << ", " << wanted[i];
    }
  }
}

/// Products with whether something is not 0, as derivatives of limits are; some inputs have an element that is not finite.
TEST(Exactness, Masks) {
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed, "mask");
    const Dims whole = distinct(draw, static_cast<std::size_t>(draw.from(1, 4)), 1, 40);
    Dims some = whole;
    for (int64_t& dim : some) dim = draw.yes(3) ? 1 : dim;
    std::vector<float> x = draw.integers(element_count(whole)), t = draw.integers(element_count(whole));
    if (draw.yes(3)) (draw.yes() ? x : t)[static_cast<std::size_t>(draw.from(0, std::ssize(x) - 1))] = kSpecial[draw.from(0, 1)];
    ModelBuilder builder(13);
    builder.input("x", whole)
        .input("t", whole)
        .constant("c", {}, std::vector<float>{2})
        .constant("d", some, draw.integers(element_count(some)));
    const bool differs = draw.yes();
    if (differs) builder.node("Sub", {draw.yes(4) ? "d" : "c", "x"}, {"s"}).node("Mul", {"s", draw.yes(4) ? "d" : "x"}, {"p"});
    builder.node("Cast", {differs ? "p" : "x"}, {"b"}).integer("to", static_cast<int64_t>(DataType::boolean));
    builder.node("Cast", {"b"}, {"f"}).integer("to", static_cast<int64_t>(DataType::float32));
    builder.node("Mul", {"f", draw.yes(4) ? "d" : "t"}, {"y"}).node("Neg", {"y"}, {"z"}).output("z");
    if (draw.yes(4)) builder.output(differs ? "p" : "y");
    const auto model = builder.build();
    const Inputs inputs{{"x", tensor_of(whole, x)}, {"t", tensor_of(whole, t)}};
    const RunResult wanted = run_in(Mode::reference, *model, inputs), got = run_in(Mode::optimized, *model, inputs);
    for (std::size_t k = 0; k < wanted.outputs.size(); ++k) {
      const std::vector<float> a = values_of(got.outputs[k]), b = values_of(wanted.outputs[k]);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) << "seed " << seed;
    }
  }
}

/// Functions whose results several others read, graph outputs among them, and sums along the last dims of what they make.
TEST(Exactness, GraphsOfFunctions) {
  using Names = std::vector<std::string>;
  constexpr const char* kOps[] = {"Add", "Sub", "Mul", "Max", "Relu", "Neg", "Abs"};
  for (uint64_t seed = 0; seed < 800; ++seed) {
    Draw draw(seed, "functions");
    const auto rank = static_cast<std::size_t>(draw.from(2, 4));
    const Dims whole = distinct(draw, rank, 1, draw.yes() ? 40 : 12);
    ModelBuilder builder(13);
    Inputs inputs;
    Names known;
    for (const char* const name : {"a", "b", "c"}) {
      Dims dims = whole;
      for (std::size_t i = 0; known.size() > 1 && i < rank; ++i) dims[i] = draw.yes() ? 1 : dims[i];
      builder.input(name, dims);
      inputs[name] = tensor_of(dims, draw.integers(element_count(dims), 2));
      known.emplace_back(name);
    }
    const auto any = [&](int64_t newest) {
      return known[static_cast<std::size_t>(draw.from(std::max<int64_t>(std::ssize(known) - newest, 0), std::ssize(known) - 1))];
    };
    for (int i = 0; i < 9; ++i) {
      const std::string name = "t" + std::to_string(i);
      const int64_t op = draw.from(0, std::ssize(kOps) - 1);
      // Products of products would leave the whole numbers that f32 has.
      const std::string first = any(op == 2 ? 99 : 2), other = op == 2 ? std::string(1, "abc"[draw.from(0, 2)]) : any(99);
      builder.node("Add", {first, "a"}, {name + "w"}).node(kOps[op], op < 4 ? Names{name + "w", other} : Names{name + "w"}, {name});
      known.push_back(name);
      if (draw.yes(4)) builder.output(name);
    }
    builder.constant("axes", {1}, std::vector<int64_t>{-1});
    builder.node("ReduceSum", {any(3), "axes"}, {"y"}).node("Identity", {known.back()}, {"z"}).output("y").output("z");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, inputs, seed));
  }
}

/// Pools behind a convolution that tell the places of their elements, and elements at these places in channels of their own, read and
/// added.
TEST(Exactness, PlacesOfPooledElements) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed, "places");
    const int64_t images = draw.from(1, 2), channels = draw.from(1, 3) * draw.from(1, 7), kernel = draw.from(1, 3),
                  stride = draw.from(1, 2);
    const int64_t height = draw.from(kernel, 9), width = draw.from(kernel, 9), pad = draw.from(0, kernel - 1);
    const Dims x{images, channels, height, width};
    ModelBuilder builder(16);
    builder.input("x", x).constant("w", {channels, channels, 1, 1}, draw.integers(channels * channels, 1));
    builder.node("Conv", {"x", "w"}, {"c"}).node("MaxPool", {"c"}, {"y", "at"}).integers("kernel_shape", {kernel, kernel});
    builder.integers("strides", {stride, stride}).integers("pads", {pad, pad, pad, pad}).output("y");
    builder.node("Cast", {"at"}, {"at32"}).integer("to", static_cast<int64_t>(DataType::float32)).output("at32");
    std::vector<int64_t> begins;
    for (int64_t i = 0; i < images * channels; ++i) begins.push_back(i * height * width);
    builder.constant("begins", {images, channels, 1}, begins).constant("lines", {3}, std::vector<int64_t>{0, 0, -1});
    builder.node("Reshape", {"at", "lines"}, {"l"}).node("Sub", {"l", "begins"}, {"places"});
    builder.node("Reshape", {"c", "lines"}, {"d"}).node("GatherElements", {"d", "places"}, {"g"}).integer("axis", 2).output("g");
    const Dims lines{images, channels, height * width};
    const bool repeats = draw.yes();
    builder.constant("before", lines,
                     repeats ? std::vector<float>(static_cast<std::size_t>(element_count(lines)), 2) : draw.integers(element_count(lines)));
    // Else the places are not computed: they are read from those in the tensor.
    const bool adds = draw.yes();
    if (adds) builder.node("ScatterElements", {"before", "places", "g"}, {"s"}).integer("axis", -1).text("reduction", "add").output("s");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(x, draw.integers(element_count(x), 1))}}, seed));
  }
}

TEST(Exactness, IndicesOutOfRangeAreRefused) {
  ModelBuilder builder(16);
  builder.input("x", {2, 4}).input("i", {2, 1}, DataType::int64).node("GatherElements", {"x", "i"}, {"y"}).integer("axis", 1).output("y");
  builder.constant("begins", {2, 1}, std::vector<int64_t>{0, 4}).node("Add", {"i", "begins"}, {"whole"}).output("whole");
  builder.node("Sub", {"whole", "begins"}, {"own"}).node("GatherElements", {"x", "own"}, {"z"}).integer("axis", 1).output("z");
  const auto model = builder.build();
  const Inputs inputs{{"x", tensor_of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}};
  for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
    const auto at = [&](int64_t index) {
      Inputs all = inputs;
      Tensor indices(DataType::int64, {2, 1});
      std::ranges::copy(std::vector<int64_t>{0, index}, indices.data<int64_t>());
      all["i"] = indices;
      return run_in(mode, *model, all);
    };
    for (const std::size_t output : {0UL, 2UL}) {
      EXPECT_EQ(values_of(at(-4).outputs[output]), (std::vector<float>{0, 4})) << to_string(mode);
    }
    EXPECT_THROW((void)at(4), Error);
    EXPECT_THROW((void)at(-5), Error);
  }
}

/// Bytes of either signedness over their whole range.
template <class T>
std::vector<T> bytes(Draw& draw, int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& value : out) value = static_cast<T>(draw.from(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  return out;
}

/// A tensor of bytes as input or constant of the model.
void add_bytes(ModelBuilder& builder, Inputs& inputs, Draw& draw, const std::string& name, const Dims& dims, bool is_signed,
               bool constant) {
  const auto add = [&]<class T>(T) {
    const std::vector<T> values = bytes<T>(draw, element_count(dims));
    if (constant) {
      builder.constant(name, dims, values);
      return;
    }
    const DataType type = is_signed ? DataType::int8 : DataType::uint8;
    Tensor tensor(type, dims);
    std::ranges::copy(values, tensor.data<T>());
    builder.input(name, dims, type);
    inputs[name] = tensor;
  };
  if (is_signed)
    add(int8_t{});
  else
    add(uint8_t{});
}

std::vector<float> scales(Draw& draw, int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& value : out) value = static_cast<float>(draw.from(1, 999)) / 4096.0F;
  return out;
}

void expect_equal_integers(const ModelBuilder& builder, const Inputs& inputs, uint64_t seed) {
  const auto model = builder.build();
  const Tensor wanted = contiguous(run_in(Mode::reference, *model, inputs).outputs[0]);
  for (const Mode mode : {Mode::as_written, Mode::optimized}) {
    for (const int threads : {1, 2}) {
      const RunResult result = run_in(mode, *model, inputs, threads);
      const Tensor got = contiguous(result.outputs[0]);
      ASSERT_EQ(got.dims(), wanted.dims());
      ASSERT_EQ(got.type(), wanted.type());
      const auto size = static_cast<std::size_t>(got.element_count()) * memory_size(got.type());
      ASSERT_EQ(std::memcmp(got.bytes(), wanted.bytes(), size), 0)
          << "seed " << seed << ", " << to_string(mode) << ", " << threads << " threads, " << result.info.steps.back().implementation;
    }
  }
}

TEST(Exactness, IntegerConvolutions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed, "integer conv");
    const RandomConvolution random = draw_convolution(draw, false);
    if (!fits(random)) continue;
    ModelBuilder builder;
    Inputs inputs;
    const bool x_signed = draw.yes(), w_signed = draw.yes(), quantized = draw.yes(), per_channel = draw.yes(), dynamic = draw.yes(4);
    add_bytes(builder, inputs, draw, "x", random.x, x_signed, false);
    add_bytes(builder, inputs, draw, "w", random.w, w_signed, !dynamic);
    add_bytes(builder, inputs, draw, "xz", {}, x_signed, draw.yes());
    const Dims channels{random.w[0]}, of_weights = per_channel ? channels : Dims{};
    add_bytes(builder, inputs, draw, "wz", of_weights, w_signed, true);
    if (quantized) {
      builder.constant("xs", {}, scales(draw, 1)).constant("ws", of_weights, scales(draw, per_channel ? random.w[0] : 1));
      builder.constant("ys", {}, std::vector<float>{static_cast<float>(draw.from(1, 99)) / 8.0F});
      add_bytes(builder, inputs, draw, "yz", {}, draw.yes(), true);
      std::vector<std::string> names{"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
      if (draw.yes()) {
        std::vector<int32_t> bias(static_cast<std::size_t>(random.w[0]));
        for (int32_t& value : bias) value = static_cast<int32_t>(draw.from(-99999, 99999));
        builder.constant("b", channels, bias);
        names.emplace_back("b");
      }
      builder.node("QLinearConv", names, {"y"});
    } else {
      builder.node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"});
    }
    builder.integers("strides", random.strides).integers("dilations", random.dilations).integers("pads", random.pads);
    builder.integer("group", random.groups).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_integers(builder, inputs, seed));
  }
}

TEST(Exactness, IntegerProducts) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed, "integer matmul");
    const int64_t rows = draw.from(1, 70), depth = draw.from(1, 200), columns = draw.from(1, 150);
    ModelBuilder builder;
    Inputs inputs;
    const bool a_signed = draw.yes(), b_signed = draw.yes(), quantized = draw.yes();
    Dims a{rows, depth}, b{depth, columns};
    if (draw.yes()) a.insert(a.begin(), draw.from(1, 3));
    if (draw.yes(3)) b.insert(b.begin(), a.size() == 3 && draw.yes() ? a[0] : 1);
    add_bytes(builder, inputs, draw, "a", a, a_signed, false);
    add_bytes(builder, inputs, draw, "b", b, b_signed, draw.yes());
    add_bytes(builder, inputs, draw, "az", {}, a_signed, draw.yes());
    const bool per_column = b.size() == 2 && draw.yes();
    const Dims of_columns = per_column ? Dims{columns} : Dims{};
    add_bytes(builder, inputs, draw, "bz", of_columns, b_signed, true);
    if (quantized) {
      builder.constant("as", {}, scales(draw, 1)).constant("bs", of_columns, scales(draw, per_column ? columns : 1));
      builder.constant("ys", {}, std::vector<float>{static_cast<float>(draw.from(1, 99)) / 2.0F});
      add_bytes(builder, inputs, draw, "yz", {}, draw.yes(), true);
      builder.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"});
    } else {
      builder.node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"});
    }
    builder.output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_integers(builder, inputs, seed));
  }
}

/// A convolution, its BatchNormalization (scales that are powers of two), a residual, a number, and functions that keep integers.
TEST(Exactness, FusedChains) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed, "chain");
    const bool transposed = draw.yes(4);
    RandomConvolution random = draw_convolution(draw, transposed);
    const std::size_t rank = random.strides.size();
    std::ranges::fill(random.pads, 0);
    std::ranges::fill(random.strides, 1);
    std::ranges::fill(random.dilations, 1);
    for (std::size_t i = 0; i < rank; ++i) random.w[i + 2] = 1;
    const int64_t channels = transposed ? random.w[1] * random.groups : random.w[0];
    ModelBuilder builder;
    builder.input("x", random.x).constant("w", random.w, draw.integers(element_count(random.w)));
    builder.node(transposed ? "ConvTranspose" : "Conv", {"x", "w"}, {"c"}).integer("group", random.groups);
    std::string last = "c";
    if (draw.yes()) {
      std::vector<float> scale(static_cast<std::size_t>(channels)), variance(scale.size(), 1.0F);
      for (float& value : scale) value = draw.yes() ? 2.0F : -0.5F;
      builder.constant("scale", {channels}, scale).constant("variance", {channels}, variance);
      builder.constant("mean", {channels}, draw.integers(channels)).constant("bias", {channels}, draw.integers(channels));
      builder.node("BatchNormalization", {last, "scale", "bias", "mean", "variance"}, {"n"}).real("epsilon", 0.0F);
      last = "n";
    }
    if (draw.yes()) {
      builder.node("Relu", {last}, {"r1"});
      last = "r1";
    }
    if (draw.yes()) {
      // The residual is a second convolution, which may or may not be read again.
      builder.constant("v", random.w, draw.integers(element_count(random.w)));
      builder.node(transposed ? "ConvTranspose" : "Conv", {"x", "v"}, {"d"}).integer("group", random.groups);
      builder.node("Add", draw.yes() ? std::vector<std::string>{last, "d"} : std::vector<std::string>{"d", last}, {"s"});
      if (draw.yes(3)) builder.output("d");
      last = "s";
    }
    if (draw.yes()) {
      builder.constant("number", draw.yes() ? Dims{} : Dims(rank + 2, 1), draw.integers(1));
      builder.node(draw.yes() ? "Add" : "Sub",
                   draw.yes() ? std::vector<std::string>{last, "number"} : std::vector<std::string>{"number", last}, {"t"});
      last = "t";
    }
    if (draw.yes()) {
      builder.constant("low", {}, std::vector<float>{-4}).constant("high", {}, std::vector<float>{9});
      builder.node("Clip", {last, "low", "high"}, {"k"});
      last = "k";
    }
    builder.node("Sub", {last, last}, {"zero"}).node("Add", {"zero", last}, {"y"}).output("y");
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(builder, {{"x", tensor_of(random.x, draw.integers(element_count(random.x)))}}, seed));
  }
}

/// Convolutions of one input whose channels a Concat joins, and the operators downstream.
class ConcatOfConvolutions {
 public:
  explicit ConcatOfConvolutions(Draw& draw) : draw_(draw), rank_(static_cast<std::size_t>(draw.from(1, 3))) {
    x_ = {draw.from(1, 2), draw.from(1, 6)};
    for (const int64_t dim : distinct(draw, rank_, 3, 7)) x_.push_back(dim);
    give("x", x_);
    const int64_t count = draw.from(1, 4);
    for (int64_t i = 0; i < count; ++i) add_convolution();
    builder_.node("Concat", parts_, {"c"}).integer("axis", draw.yes() ? 1 : -1 - static_cast<int64_t>(rank_));
    last_ = "c";
    if (!draw.yes(3)) add_normalization();
    if (draw.yes()) add("Relu", {last_}, "r");
    if (draw.yes()) add_gate();
    if (draw.yes(4)) builder_.output(parts_.front());
    if (draw.yes(4)) builder_.output("c");
    builder_.node("Sub", {last_, last_}, {"zero"}).node("Add", {"zero", last_}, {"y"}).output("y");
  }
  [[nodiscard]] const ModelBuilder& builder() const { return builder_; }
  [[nodiscard]] const Inputs& inputs() const { return inputs_; }

 private:
  void give(const std::string& name, const Dims& dims) {
    builder_.input(name, dims);
    inputs_.emplace(name, tensor_of(dims, draw_.integers(element_count(dims))));
  }
  /// A constant, or in one of `one_in` cases an input.
  void make(const std::string& name, const Dims& dims, int64_t one_in) {
    if (draw_.yes(one_in)) return give(name, dims);
    builder_.constant(name, dims, draw_.integers(element_count(dims)));
  }
  void add(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
    builder_.node(op, inputs, {output});
    last_ = output;
  }

  /// Some reuse the previous weights.
  void add_convolution() {
    const std::string name = "p" + std::to_string(parts_.size());
    if (w_.empty() || !draw_.yes(3)) {
      const bool depthwise = draw_.yes(3);
      w_ = {depthwise ? x_[1] * draw_.from(1, 2) : draw_.from(1, 9), depthwise ? 1 : x_[1]};
      w_.insert(w_.end(), rank_, draw_.yes() ? 1 : 3);
      weights_ = "w" + name;
      make(weights_, w_, 6);
    }
    std::vector<std::string> operands{"x", weights_};
    if (draw_.yes()) {
      operands.push_back("b" + name);
      make(operands.back(), {w_[0]}, 4);
    }
    builder_.node("Conv", operands, {name}).integer("group", x_[1] / w_[1]).integers("pads", Dims(2 * rank_, w_.back() / 2));
    channels_ += w_[0];
    parts_.push_back(name);
  }

  /// Scales are powers of two.
  void add_normalization() {
    std::vector<float> scale(static_cast<std::size_t>(channels_));
    for (float& value : scale) value = draw_.yes() ? 2.0F : -0.5F;
    builder_.constant("scale", {channels_}, scale).constant("variance", {channels_}, std::vector<float>(scale.size(), 1.0F));
    builder_.constant("mean", {channels_}, draw_.integers(channels_)).constant("bias", {channels_}, draw_.integers(channels_));
    add("BatchNormalization", {last_, "scale", "bias", "mean", "variance"}, "n");
    builder_.real("epsilon", 0.0F);
  }

  /// x · f(x), which turns integers and halves into quarters at times.
  void add_gate() {
    const std::string x = last_;
    add("HardSigmoid", {x}, "g");
    builder_.real("alpha", 1.0F).real("beta", 0.5F);
    add("Mul", draw_.yes() ? std::vector<std::string>{x, "g"} : std::vector<std::string>{"g", x}, "h");
  }

  Draw& draw_;
  std::size_t rank_;
  Dims x_, w_;  ///< w: of the convolution added last
  std::string weights_, last_;
  std::vector<std::string> parts_;
  int64_t channels_ = 0;
  ModelBuilder builder_;
  Inputs inputs_;
};

TEST(Exactness, NodesDownstreamOfAConcatOfConvolutions) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Draw draw(seed, "concat");
    const ConcatOfConvolutions drawn(draw);
    ASSERT_NO_FATAL_FAILURE(expect_equal_in_all_modes(drawn.builder(), drawn.inputs(), seed));
  }
}

/// The bytes of channels-last weights with a Transpose to the logical order, as in files that relayout writes.
TEST(Exactness, WeightsThroughATranspose) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Draw draw(seed, "transposed weights");
    const int64_t inputs = draw.from(2, 9), outputs = draw.from(2, 9);
    const Dims stored{outputs, 3, 2, inputs}, x{2, inputs, 7, 8};
    const std::vector<float> weights = draw.integers(element_count(stored));
    const Tensor image = tensor_of(x, draw.integers(element_count(x)));
    ModelBuilder direct, through;
    std::vector<float> plain(weights.size());
    const Tensor view = tensor_of(stored, weights).transposed(Dims{0, 3, 1, 2});
    plain = values_of(view);
    direct.input("x", x).constant("w", {outputs, inputs, 3, 2}, plain).node("Conv", {"x", "w"}, {"y"}).output("y");
    through.input("x", x).constant("s", stored, weights).node("Transpose", {"s"}, {"w"}).integers("perm", {0, 3, 1, 2});
    through.node("Conv", {"x", "w"}, {"y"}).output("y");
    for (const Mode mode : {Mode::reference, Mode::as_written, Mode::optimized}) {
      const RunResult a = run_in(mode, *direct.build(), {{"x", image}}), b = run_in(mode, *through.build(), {{"x", image}});
      EXPECT_EQ(values_of(a.outputs[0]), values_of(b.outputs[0])) << "seed " << seed << " " << to_string(mode);
      EXPECT_EQ(a.info.steps.size(), b.info.steps.size()) << "no Transpose runs";
    }
  }
}

}  // namespace
}  // namespace relayout::test
