// A program that uses relayout as a library: converts a model, says what became of each BatchNormalization, runs the result on ones and
// proves that it computes what the original does. `example MODEL RESULT`; 0 when the proof leaves nothing open.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "relayout/convert.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace {

/// A tensor of ones for an input; free dims are 1.
relayout::Tensor ones_for(const relayout::Value& input) {
  const auto declared = input.declared();
  if (!declared || declared->type != relayout::DataType::float32) {
    throw relayout::Error(relayout::ErrorKind::unsupported, "input " + input.name() + " is not float32");
  }
  relayout::Dims dims = declared->dims;
  for (int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  relayout::Tensor out(relayout::DataType::float32, dims);
  std::fill_n(out.data<float>(), out.element_count(), 1.0F);
  return out;
}

void print_findings(const relayout::Findings& findings) {
  for (const relayout::Finding& finding : findings) {
    if (finding.op_type != "BatchNormalization") continue;
    const bool is_done = finding.verdict == relayout::Verdict::done;
    std::printf("%s: %s\n", finding.node.c_str(), is_done ? finding.detail.c_str() : std::string(text(finding.reason)).c_str());
  }
}

void run(const relayout::Model& model) {
  relayout::Inputs inputs;
  for (const relayout::Value* const input : model.graph().inputs()) {
    if (input->initializer() == nullptr) inputs[input->name()] = relayout::Datum(ones_for(*input));
  }
  relayout::Executor executor(model.graph(), {});
  const relayout::Outputs outputs = executor.run(inputs);
  std::printf("%zu steps, first output of dims %s\n", executor.plan_info().steps.size(),
              relayout::to_string(outputs.front().tensor.dims()).c_str());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: example MODEL RESULT\n");
    return 2;
  }
  try {
    const std::filesystem::path model = arguments[1], result = arguments[2];
    print_findings(relayout::convert(model, result, {}).findings);
    const auto before = relayout::Model::load(model), after = relayout::Model::load(result);
    run(*after);
    const relayout::ProofResult proof = relayout::prove(*before, *after);
    std::printf("%lld weights folded, %zu differences unexplained\n", static_cast<long long>(proof.folds), proof.unexplained.size());
    return proof.proved ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
