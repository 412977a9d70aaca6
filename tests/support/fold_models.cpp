#include "support/fold_models.h"

#include <cmath>

#include "relayout/findings.h"
#include "relayout/model.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {

std::string head(int opset, int ir_version) {
  return "<ir_version: " + std::to_string(ir_version) + ", opset_import: [\"\" : " + std::to_string(opset) + "]>";
}

std::string parameters(int channels, const std::string& suffix, const std::string& type) {
  std::string out;
  for (const char* const name : {"s", "b", "m", "var"}) {
    out += (out.empty() ? "" : ", ") + type + "[" + std::to_string(channels) + "] " + name + suffix;
  }
  return out;
}

TextModel conv_bn(const std::string& body, const std::string& listed, const std::string& model_head) {
  const std::string more = listed.empty() ? "" : ", " + listed;
  return TextModel("g (float[2,3,5,6] x) => (float[2,4,3,4] y) <float[4,3,3,3] W, float[4] B, " + parameters(4) + more + "> {" + body + "}",
                   model_head);
}

TextModel with_initializers_as_inputs(TextModel model) {
  return model.edit([](onnx::ModelProto& message) {
    message.set_ir_version(3);
    for (const auto& tensor : message.graph().initializer()) {
      auto& input = *message.mutable_graph()->add_input();
      input.set_name(tensor.name());
      auto& type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(tensor.data_type());
      for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
    }
  });
}

void PrintTo(const FoldCase& row, std::ostream* out) {
  *out << row.name;
}

void expect_case(const FoldCase& row) {
  const TextModel model(row.model, head(row.opset));
  if (!row.kept && !row.is_skipped_silently) {
    expect_fold(model, row.folded);
    return;
  }
  const PassResult result = run(kFolds, model);
  EXPECT_TRUE(result.bytes == model.bytes()) << "changed to\n" << to_text(*result.model);
  const std::vector<Reason> reasons = result.reasons();
  if (row.kept) {
    EXPECT_TRUE(std::ranges::find(reasons, *row.kept) != reasons.end()) << "not " << to_string(*row.kept) << ":\n" << result.details();
  } else {
    EXPECT_TRUE(reasons.empty()) << result.details();
  }
}

std::vector<double> old_values(const TextModel& model, const std::string& name) {
  for (const auto& tensor : model.message().graph().initializer()) {
    if (tensor.name() == name) return values_of(tensor);
  }
  throw std::logic_error("no initializer " + name);
}

double factor_of(const TextModel& model, std::size_t channel, double epsilon) {
  return old_values(model, "s").at(channel) / std::sqrt(old_values(model, "var").at(channel) + epsilon);
}

}  // namespace relayout::test
