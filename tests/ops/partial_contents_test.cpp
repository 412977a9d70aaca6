// Tests the rules for partly known contents: elements that they call certain must equal the kernels' results, whatever the hidden ones are.

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/evaluate.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

using Contents = std::vector<std::optional<PartialContents>>;

class Hidden : public PartialOperands {
 public:
  explicit Hidden(const Contents& contents) : contents_(contents) {}
  bool has(std::size_t input) override { return input < contents_.size() && contents_[input].has_value(); }
  PartialDims dims(std::size_t input) override { return has(input) ? PartialDims(contents_[input]->values.dims()) : std::nullopt; }
  DataType type(std::size_t input) override { return contents_[input]->values.type(); }
  std::optional<PartialContents> contents(std::size_t input) override { return contents_[input]; }

 private:
  const Contents& contents_;
};

bool is_small(const std::vector<Tensor>& data) {
  for (const Tensor& tensor : data) {
    if (tensor && (tensor.type() == DataType::string || tensor.element_count() > kMostContents)) return false;
  }
  return true;
}

std::optional<std::vector<Datum>> run(const Node& node, const std::vector<Tensor>& data) {
  const std::vector<Datum> inputs(data.begin(), data.end());
  std::vector<const Datum*> pointers;
  for (const Datum& input : inputs) pointers.push_back(input.tensor ? &input : nullptr);
  try {
    return run_node(node, pointers);
  } catch (const Error&) {
    return std::nullopt;  // other elements may be invalid operands of this operator
  }
}

/// The elements of `one` where they are certain, of `other` elsewhere.
Tensor mixed(const PartialContents& one, const Tensor& other) {
  Tensor out(one.values.type(), one.values.dims());
  const std::size_t size = memory_size(out.type());
  for (std::size_t i = 0; i < one.certain.size(); ++i) {
    const Tensor& from = one.certain[i] ? one.values : other;
    std::memcpy(out.bytes() + i * size, from.bytes() + i * size, size);
  }
  return out;
}

/// The number of elements claimed as certain; fails if one of them differs.
std::size_t expect_certain(const PartialContents& said, const Tensor& made) {
  EXPECT_EQ(said.values.dims(), made.dims());
  EXPECT_EQ(said.values.type(), made.type());
  if (said.values.dims() != made.dims() || said.values.type() != made.type()) return 0;
  const std::size_t size = memory_size(made.type());
  const Tensor dense = contiguous(made);
  std::size_t count = 0;
  for (std::size_t i = 0; i < said.certain.size(); ++i) {
    if (!said.certain[i]) continue;
    ++count;
    EXPECT_EQ(std::memcmp(said.values.bytes() + i * size, dense.bytes() + i * size, size), 0) << "element " << i;
  }
  return count;
}

/// Operators in chains over Shapes.
std::vector<OpCase> cases_of_shapes() {
  const OperandCase dims{DataType::int64, {5}, Fill::integers, {}}, pair{DataType::int64, {2}, Fill::integers, {}};
  const auto listed = [](std::vector<double> values) {
    return OperandCase{DataType::int64, {static_cast<int64_t>(values.size())}, Fill::values, std::move(values)};
  };
  return {
      {"dims joined", "Concat", "axis = 0", {dims, pair, dims}},
      {"dims picked", "Gather", "", {dims, listed({1, -1, 3})}},
      {"dims cut", "Slice", "", {dims, listed({-1}), listed({-9}), listed({0}), listed({-2})}},
      {"dims in rows", "Reshape", "", {OperandCase{DataType::int64, {6}, Fill::integers, {}}, listed({2, -1})}},
      {"dims turned", "Transpose", "", {OperandCase{DataType::int64, {2, 3}, Fill::integers, {}}}},
      {"dims chosen", "Where", "", {OperandCase{DataType::boolean, {2}, Fill::boolean, {}}, pair, pair}},
      {"dims added", "Add", "", {OperandCase{DataType::int64, {2, 1}, Fill::integers, {}}, dims}},
      {"dims spread", "Expand", "", {pair, listed({3, 1})}},
      {"dims padded", "Pad", "", {dims, listed({1, 2}), OperandCase{DataType::int64, {}, Fill::integers, {}}}},
      {"dims scattered", "ScatterElements", "", {dims, listed({1, 4}), pair}},
      {"dims multiplied", "ReduceProd", "", {dims}},
  };
}

TEST(PartialContents, CertainElementsDoNotDependOnTheOthers) {
  std::mt19937_64 random(1);
  std::set<std::string> partly_known;  // operators with a certain element although not all operands were certain
  std::vector<OpCase> cases = op_cases();
  std::ranges::move(cases_of_shapes(), std::back_inserter(cases));
  for (const OpCase& op_case : cases) {
    SCOPED_TRACE(op_case.name);
    const std::vector<Tensor> data = data_of(op_case);
    if (!is_small(data)) continue;
    const auto model = model_of(op_case);
    const Node& node = model->graph().nodes().front();
    for (int round = 0; round < 16; ++round) {
      Contents contents;
      bool is_whole = true;
      for (const Tensor& tensor : data) {
        contents.push_back(tensor ? std::optional<PartialContents>(tensor) : std::nullopt);
        const bool hides = tensor && random() % 2 == 0;
        for (std::size_t i = 0; hides && i < contents.back()->certain.size(); ++i) {
          contents.back()->certain[i] = random() % 3 != 0;
          is_whole = is_whole && contents.back()->certain[i];
        }
      }
      std::vector<Tensor> others = data_of(op_case, 2 + static_cast<uint64_t>(round));
      for (std::size_t i = 0; i < others.size(); ++i) {
        if (contents[i]) others[i] = mixed(*contents[i], contiguous(others[i]));
      }
      const auto made = run(node, others);
      if (!made) continue;
      Hidden operands(contents);
      for (std::size_t k = 0; k < made->size(); ++k) {
        const auto said = partial_contents(OpCall(node, node.opset()), k, operands);
        if (!said || (*made)[k].kind != Datum::Kind::tensor) continue;
        if (expect_certain(*said, (*made)[k].tensor) > 0 && !is_whole) partly_known.insert(op_case.op);
      }
    }
  }
  for (const char* op : {"Add", "Cast", "Concat", "Gather", "Mul", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
                         "Where", "Pad", "Expand"}) {
    EXPECT_TRUE(partly_known.contains(op)) << op;
  }
  EXPECT_FALSE(partly_known.contains("ReduceProd"));
}

}  // namespace
}  // namespace relayout::test
