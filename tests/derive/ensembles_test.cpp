// Tests that one net with the weights of several computes, through operators that may keep channels side by side, what each net does.
#include "relayout/execute.h"
#include "relayout/merge.h"
#include "relayout/model.h"
#include "support/derivatives.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

constexpr int64_t kParts = 3;

/// A net behind two convolutions, with the weights of part `part`.
std::string net_of(const std::string& nodes, int64_t part) {
  TextModel text(
      "g (float[N, 2, 4, 6] x) => (float y) <float[3, 2, 3, 3] w, float[3, 3, 1, 1] v> { a = Conv <pads = [1, 1, 1, 1]> (x, w) "
      "b = Tanh (a) c = Conv (b, v) " +
          nodes + " }",
      R"(<ir_version: 8, opset_import: ["" : 18]>)");
  for (const auto& [name, dims] : {std::pair<std::string, Dims>{"w", {3, 2, 3, 3}}, {"v", {3, 3, 1, 1}}}) {
    const Tensor drawn = random_tensor(DataType::float64, dims, name + std::to_string(part), -1, 1);
    text.set(name, {drawn.data<double>(), drawn.data<double>() + drawn.element_count()});
  }
  text.edit(
      [](onnx::ModelProto& model) { model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape(); });
  return text.bytes();
}

Tensor result_of(const Model& model, const Datum& x) {
  ExecuteOptions options;
  options.mode = Mode::reference;
  return contiguous(Executor(model.graph(), options).run({{"x", x}}).at(0).tensor);
}

TEST(Ensemble, ComputesWhatEachNetDoes) {
  const std::string both = "d = Concat <axis = 1> (b, c) ";
  for (const std::string& nodes : {
           both + "y = Softplus (d)",
           std::string("y = Concat <axis = -1> (c, b)"),
           std::string("y = Concat <axis = 0> (b, c, b)"),
           both + "y = Flatten (d)",
           both + "s = Constant <value_ints = [0, 2, 3, -1]> () y = Reshape (d, s)",
           both + "s = Constant <value_ints = [-1, 6, 24]> () y = Reshape (d, s)",
           both + "m = Constant <value_ints = [-2, 3]> () y = ReduceMean <keepdims = 0> (d, m)",
           both + "m = Constant <value_ints = [2]> () y = ReduceMax (d, m)",
           both + "m = Constant <value_ints = [1]> () y = ReduceSum (d, m)",
           both + "m = Constant <value_ints = [-1, 1]> () y = ReduceL2 <keepdims = 0> (d, m)",
           both + "m = Constant <value_ints = [1, 2, 3]> () y = ReduceMean <keepdims = 0> (d, m)",
           both + "f = Flatten (d) m = Constant <value_ints = [1]> () y = ReduceLogSumExp <keepdims = 0> (f, m)",
       }) {
    const TemporaryFolder folder;
    std::vector<std::filesystem::path> files;
    for (int64_t part = 0; part < kParts; ++part) {
      files.push_back(folder / ("part" + std::to_string(part) + ".onnx"));
      write_file(files.back(), net_of(nodes, part));
    }
    ModelMergeOptions options;
    options.combine = {Combine::stack};
    options.batched = true;
    ASSERT_EQ(merge_ensemble(files, folder / "all.onnx", options).difference, "") << nodes;
    const Datum x = random_tensor(DataType::float32, {2, 2, 4, 6}, "x", -1, 1);
    const Tensor all = result_of(*Model::load(folder / "all.onnx"), x);
    for (int64_t part = 0; part < kParts; ++part) {
      const Tensor alone = result_of(*Model::load(files.at(static_cast<std::size_t>(part))), x);
      Dims dims = alone.dims();
      dims.insert(dims.begin(), kParts);
      ASSERT_EQ(all.dims(), dims) << nodes;
      for (int64_t i = 0; i < alone.element_count(); ++i) {
        ASSERT_NEAR(all.data<float>()[part * alone.element_count() + i], alone.data<float>()[i], 2e-5) << nodes << " part " << part;
      }
    }
  }
}

}  // namespace
}  // namespace relayout::test
