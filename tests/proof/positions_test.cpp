// Tests nodes whose axes and indices agree although one of the models counts them from the end, and near misses.

#include <utility>

#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

void add_integers(onnx::ModelProto& model, const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const int64_t value : values) tensor.add_int64_data(value);
}

using Integers = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

/// x [4, 5, 6] through one node, with up to four lists i, j, k, l: dims and numbers.
Example positioned(const std::string& node, const std::vector<Integers>& lists = {}, const std::string& x = "float[4,5,6] x") {
  return Example("g (" + x + ") => (y) { a = " + node + " y = Relu (a) }").edit([&](onnx::ModelProto& model) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      add_integers(model, std::string(1, static_cast<char>('i' + i)), lists[i].first, lists[i].second);
    }
  });
}

bool are_proved(const std::string& node, const std::vector<Integers>& a, const std::vector<Integers>& b) {
  return prove(positioned(node, a), positioned(node, b)).proved;
}

TEST(ProofOfPositions, IndicesCountedFromTheEnd) {
  const std::string gather = "Gather <axis = 1> (x, i)";
  EXPECT_TRUE(is_proved(prove(positioned(gather, {{{}, {-1}}}), positioned(gather, {{{}, {4}}}))));
  EXPECT_TRUE(are_proved(gather, {{{3}, {0, -2, 1}}}, {{{3}, {-5, 3, 1}}}));
  EXPECT_FALSE(are_proved(gather, {{{}, {-1}}}, {{{}, {3}}}));
  EXPECT_FALSE(are_proved(gather, {{{}, {-1}}}, {{{1}, {4}}})) << "another rank";
  EXPECT_FALSE(prove(positioned(gather, {{{}, {-1}}}, "float[4,N,6] x"), positioned(gather, {{{}, {4}}}, "float[4,N,6] x")).proved)
      << "a free dim";
  const std::string elements = "GatherElements <axis = 2> (x, i)";
  EXPECT_TRUE(are_proved(elements, {{{1, 1, 2}, {-1, 0}}}, {{{1, 1, 2}, {5, -6}}}));
  EXPECT_FALSE(are_proved(elements, {{{1, 1, 2}, {-1, 0}}}, {{{1, 1, 2}, {4, 0}}}));
  // Each number of a row counts within an axis of its own.
  EXPECT_TRUE(are_proved("GatherND (x, i)", {{{2, 2}, {-1, -1, 0, 1}}}, {{{2, 2}, {3, 4, -4, -4}}}));
  EXPECT_FALSE(are_proved("GatherND (x, i)", {{{2, 2}, {-1, -1, 0, 1}}}, {{{2, 2}, {4, 3, -4, -4}}}));
  EXPECT_TRUE(are_proved("GatherND <batch_dims = 1> (x, i)", {{{4, 1}, {-1, 0, 0, 0}}}, {{{4, 1}, {4, 0, 0, 0}}}));
  EXPECT_FALSE(are_proved("GatherND <batch_dims = 1> (x, i)", {{{4, 1}, {-1, 0, 0, 0}}}, {{{4, 1}, {3, 0, 0, 0}}}));
}

TEST(ProofOfPositions, ElementsThatAreWrittenAtThem) {
  const auto scattered = [](const std::string& node, const Integers& at, const std::string& updates) {
    return Example("g (float[4,5,6] x, " + updates + " u) => (y) { a = " + node + " y = Relu (a) }").edit([&](onnx::ModelProto& model) {
      add_integers(model, "i", at.first, at.second);
    });
  };
  const std::string elements = "ScatterElements <axis = 1> (x, i, u)", rows = "ScatterND (x, i, u)";
  const auto proved = [&](const std::string& node, const Integers& a, const Integers& b, const std::string& updates) {
    return prove(scattered(node, a, updates), scattered(node, b, updates)).proved;
  };
  EXPECT_TRUE(proved(elements, {{1, 2, 1}, {-1, 0}}, {{1, 2, 1}, {4, -5}}, "float[1,2,1]"));
  EXPECT_FALSE(proved(elements, {{1, 2, 1}, {-1, 0}}, {{1, 2, 1}, {0, -1}}, "float[1,2,1]"));
  EXPECT_TRUE(proved(rows, {{1, 1}, {-1}}, {{1, 1}, {3}}, "float[1,5,6]"));
  EXPECT_FALSE(proved(rows, {{1, 1}, {-1}}, {{1, 1}, {2}}, "float[1,5,6]"));
}

TEST(ProofOfPositions, AxesCountedFromTheEnd) {
  const std::vector<std::string> nodes = {"ArgMax <axis = @> (x)",
                                          "Softmax <axis = @> (x)",
                                          "Concat <axis = @> (x, x)",
                                          "Flatten <axis = @> (x)",
                                          "ReduceMax <axes = [@]> (x)",
                                          "LpNormalization <axis = @> (x)",
                                          "MeanVarianceNormalization <axes = [@]> (x)"};
  const auto with = [](std::string node, const std::string& axis) {
    node.replace(node.find('@'), 1, axis);
    return node.starts_with("ArgMax") ? Example("g (float[4,5,6] x) => (y) { a = " + node + " y = Abs (a) }") : positioned(node);
  };
  for (const std::string& node : nodes) {
    EXPECT_TRUE(is_proved(prove(with(node, "1"), with(node, "-2")))) << node;
    EXPECT_FALSE(prove(with(node, "1"), with(node, "-1")).proved) << node;
  }
  EXPECT_TRUE(are_proved("ReduceSum (x, i)", {{{2}, {0, 2}}}, {{{2}, {-1, -3}}}));
  EXPECT_FALSE(are_proved("ReduceSum (x, i)", {{{2}, {0, 2}}}, {{{2}, {-1, -2}}}));
  // Unsqueeze counts axes in its result.
  EXPECT_TRUE(are_proved("Unsqueeze (x, i)", {{{1}, {3}}}, {{{1}, {-1}}}));
  EXPECT_FALSE(are_proved("Unsqueeze (x, i)", {{{1}, {2}}}, {{{1}, {-1}}}));
  for (const std::string node : {"CumSum (x, i)", "CumProd (x, i)"}) {
    EXPECT_TRUE(are_proved(node, {{{}, {2}}}, {{{}, {-1}}})) << node;
    EXPECT_FALSE(are_proved(node, {{{}, {1}}}, {{{}, {-1}}})) << node;
  }
  // The schema of the first Concat has no default; its specification says 1.
  const auto joined = [](const std::string& node) { return Example("g (float[4,5,6] x) => (y) { a = " + node + " y = Relu (a) }", 3); };
  EXPECT_FALSE(prove(joined("Concat (x, x)"), joined("Concat <axis = 0> (x, x)")).proved);
  // Without an axis, Compress reads all elements in sequence: that is not axis 0.
  const std::string all = "Compress (x, c)", first = "Compress <axis = 0> (x, c)";
  const auto compressed = [](const std::string& node) {
    return Example("g (float[4,5,6] x, bool[4] c) => (y) { a = " + node + " y = Relu (a) }");
  };
  EXPECT_FALSE(prove(compressed(all), compressed(first)).proved);
}

TEST(ProofOfPositions, PartsThatBeginAndEndCountedFromTheEnd) {
  const auto slice = [](const std::vector<int64_t>& begins, const std::vector<int64_t>& ends, const std::vector<int64_t>& axes,
                        const std::vector<int64_t>& steps, const std::string& x = "float[4,5,6] x") {
    const std::vector<int64_t> dims = {std::ssize(begins)};
    return positioned("Slice (x, i, j, k, l)", {{dims, begins}, {dims, ends}, {dims, axes}, {dims, steps}}, x);
  };
  const Example before = slice({1, -3}, {-1, INT64_MAX}, {0, -1}, {1, 2});
  EXPECT_TRUE(is_proved(prove(before, slice({3, 1}, {6, 3}, {2, 0}, {2, 1}))));
  EXPECT_FALSE(prove(before, slice({3, 1}, {6, 4}, {2, 0}, {2, 1})).proved);
  EXPECT_FALSE(prove(before, slice({3, 1}, {6, 3}, {2, 0}, {1, 1})).proved);
  EXPECT_FALSE(prove(before, slice({3, 1}, {6, 3}, {1, 0}, {2, 1})).proved);
  EXPECT_FALSE(prove(slice({-1}, {-9}, {1}, {-1}), slice({4}, {0}, {1}, {-1})).proved) << "backwards, and without the first";
  const std::string free = "float[4,N,6] x";
  EXPECT_FALSE(prove(slice({-1}, {INT64_MAX}, {1}, {1}, free), slice({4}, {INT64_MAX}, {1}, {1}, free)).proved);
  EXPECT_TRUE(is_proved(prove(slice({-1}, {INT64_MAX}, {1}, {1}, free), slice({-1}, {INT64_MAX}, {-2}, {1}, free))));
  EXPECT_TRUE(is_proved(prove(slice({1}, {INT64_MAX}, {1}, {1}, free), slice({1}, {INT32_MAX}, {-2}, {1}, free))));
  EXPECT_TRUE(is_proved(prove(slice({-1}, {INT64_MIN}, {1}, {-1}, free), slice({-1}, {INT32_MIN}, {1}, {-1}, free))));
  EXPECT_FALSE(prove(slice({1}, {INT64_MAX}, {1}, {1}, free), slice({1}, {1000}, {1}, {1}, free)).proved);
  EXPECT_FALSE(prove(slice({1}, {INT64_MAX}, {1}, {1}, free), slice({1}, {-1}, {1}, {1}, free)).proved);
}

}  // namespace
}  // namespace relayout::test
