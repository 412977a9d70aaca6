// Random networks before and after the passes: the same function, a valid model, nothing left to do the second time, a proof that explains
// every change. Failing networks are shrunk and printed as text.

#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <cstdlib>
#include <iostream>

#include "base/random.h"
#include "model/float_elements.h"
#include "model/save.h"
#include "ops/operands.h"
#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/compute.h"
#include "support/many.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/random_network.h"
#include "support/shrink.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

constexpr uint64_t kSeeds = kMany * 6 / 100;  ///< networks in all: 6,000
constexpr uint64_t kParts = 8;                ///< tests that share them, to run several at a time

/// Passes that run on the network of a seed: all; those on by default; or these without conv-weights-layout.
std::vector<const passes::Pass*> passes_of(uint64_t seed) {
  std::vector<const passes::Pass*> out;
  for (const passes::Pass& pass : passes::pass_table()) {
    if (pass.name.starts_with("export-")) continue;  // they change the interface, or add nodes on purpose
    if (seed % 4 == 0 || (pass.on_by_default() && (seed % 4 == 1 || pass.name != "conv-weights-layout"))) out.push_back(&pass);
  }
  return out;
}

struct Converted {
  std::string bytes;
  int64_t rewrites = 0;
};

Converted convert(const std::string& bytes, uint64_t seed) {
  const auto model = Model::from_bytes(bytes);
  passes::PassContext context;
  passes::run_passes(*model, passes_of(seed), context);
  model->graph().validate();
  return {to_bytes(*model), context.rewrites};
}

Tensor random_tensor(const Value& input, uint64_t sample) {
  const ShapeInfo shape = *input.declared();
  Dims dims = shape.dims;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0) dims[d] = std::stoll(shape.symbols[d].substr(1));  // "d5"
  }
  Tensor out(shape.type, dims);
  if (shape.type == DataType::boolean) {
    *out.data<bool>() = sample % 2 == 0;
    return out;
  }
  const RandomStream random(11, input.name(), sample);
  std::vector<double> values(static_cast<std::size_t>(out.element_count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.normal(i);
  return from_doubles(shape.type, dims, values).load();
}

/// Data for every input; from the second sample on also for initializers that a caller may replace.
Inputs random_inputs(const Model& model, uint64_t sample) {
  Inputs out;
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() != nullptr && (sample == 0 || !input->is_overridable() || !is_scalable(input->declared()->type))) continue;
    out[input->name()] = Datum(random_tensor(*input, sample));
    if (input->initializer() == nullptr) continue;
    // A variance stays positive, whichever initializer it is.
    std::vector<double> values = reals_of(out[input->name()].tensor);
    for (double& value : values) value = std::fabs(value) + 0.5;
    out[input->name()] = Datum(from_doubles(input->declared()->type, input->declared()->dims, values).load());
  }
  return out;
}

/// Runs a model in the executor's reference mode, or node by node where it has nodes that the executor does not support.
Outputs run(const Model& model, const Inputs& inputs) {
  if (!Executor::unsupported(model.graph()).empty()) return compute(model, inputs);
  ExecuteOptions options;
  options.mode = Mode::reference;
  options.threads = 1;
  Executor executor(model.graph(), options);
  return executor.run(inputs);
}

/// Largest difference of correct evaluations, relative to the largest value of the outputs.
double tolerance(DataType type) {
  return type == DataType::float64 ? 1e-10 : type == DataType::float32 ? 1e-4 : 0.1;
}

std::string difference(const Tensor& expected, const Tensor& found, double range) {
  if (expected.type() != found.type() || expected.dims() != found.dims()) return "is of another type or shape";
  const std::vector<double> a = reals_of(expected), b = reals_of(found);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_same =
        std::isfinite(a[i]) ? std::fabs(a[i] - b[i]) <= tolerance(expected.type()) * range : a[i] == b[i] || std::isnan(a[i]);
    if (!is_same) return "element " + std::to_string(i) + " was " + std::to_string(a[i]) + ", is " + std::to_string(b[i]);
  }
  return {};
}

std::string different_values(const Model& before, const Model& after) {
  for (uint64_t sample = 0; sample < 2; ++sample) {
    const Inputs inputs = random_inputs(before, sample);
    const Outputs expected = run(before, inputs), found = run(after, inputs);
    if (expected.size() != found.size()) return "another number of outputs";
    double range = 0;
    for (const Outputs* outputs : {&expected, &found}) {
      for (const Datum& output : *outputs) {
        for (const double value : reals_of(output.tensor)) range = std::isfinite(value) ? std::max(range, std::fabs(value)) : range;
      }
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string what = difference(expected[i].tensor, found[i].tensor, range);
      if (!what.empty()) return "output " + before.graph().outputs()[i]->name() + " of sample " + std::to_string(sample) + ": " + what;
    }
  }
  return {};
}

bool passes_checker(const std::string& bytes) {
  onnx::ModelProto message;
  message.ParseFromString(bytes);
  try {
    onnx::checker::check_model(message);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string interface_of(const Model& model) {
  std::string out;
  for (const Value* input : model.graph().inputs()) {
    if (input->initializer() == nullptr || input->is_overridable()) out += input->info()->ShortDebugString() + "\n";
  }
  for (const auto& output : model.graph().message()->output()) out += output.ShortDebugString() + "\n";
  return out;
}

/// Number of linear operators that run: those of a function once per call.
int64_t count_linear(const Graph& graph) {
  int64_t out = 0;
  for (const Node& node : graph.nodes()) {
    for (const auto& function : graph.model().functions()) {
      if (node.domain() == "local" && function->function()->name() == node.op_type()) out += count_linear(*function);
    }
    out += node.is("Conv") || node.is("ConvTranspose") || node.is("Gemm") || node.is("MatMul") ? 1 : 0;
    for (const auto& nested : node.subgraphs()) out += count_linear(*nested);
  }
  return out;
}

/// The fault of the conversion of a model, or nothing. Throws the errors of loading and running the original.
std::string complaint(const std::string& bytes, uint64_t seed) {
  const auto before = Model::from_bytes(bytes);
  for (uint64_t sample = 0; sample < 2; ++sample) (void)run(*before, random_inputs(*before, sample));
  try {
    const Converted converted = convert(bytes, seed);
    const auto after = Model::from_bytes(converted.bytes);
    if (passes_checker(bytes) && !passes_checker(converted.bytes)) return "the checker refuses the result";
    if (interface_of(*before) != interface_of(*after)) return "the interface changed";
    if (count_linear(after->graph()) > count_linear(before->graph())) return "there are more linear operators than before";
    if (std::string what = different_values(*before, *after); !what.empty()) return what;
    if (const Converted again = convert(converted.bytes, seed); again.bytes != converted.bytes)
      return "twice is not once: becomes\n" + to_text(*Model::from_bytes(again.bytes)) + "from\n";
    const ProofResult proof = prove(*before, *after, {.digests = false});
    if (!proof.unexplained.empty()) return "not proved: " + proof.unexplained.front().text;
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// The kind of a complaint: shrinking must not drift from one defect to a different one.
std::string kind_of(const std::string& complaint) {
  return complaint.substr(0, complaint.find_first_of(" :"));
}

std::string shrunk(const onnx::ModelProto& model, const std::string& what, uint64_t seed) {
  const auto fails = [&](const onnx::ModelProto& candidate) {
    try {
      const std::string bytes = candidate.SerializeAsString();
      return kind_of(complaint(bytes, seed)) == kind_of(what);
    } catch (const std::exception&) {
      return false;  // no longer a valid model
    }
  };
  const onnx::ModelProto small = shrink(model, fails);
  const std::string bytes = small.SerializeAsString();
  return complaint(bytes, seed) + "\n" + described(small) + "becomes\n" + to_text(*Model::from_bytes(convert(bytes, seed).bytes));
}

class AnyNetwork : public testing::TestWithParam<uint64_t> {};

TEST_P(AnyNetwork, StaysTheSameFunction) {
  int64_t rewritten = 0;
  int failures = 0;
  for (uint64_t seed = GetParam(); seed < kSeeds && failures < 3; seed += kParts) {
    const RandomNetwork network(seed);
    const std::string bytes = network.model().SerializeAsString();
    std::string what;
    try {
      what = complaint(bytes, seed);
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << " makes no valid model: " << error.what() << "\n" << network.model().ShortDebugString();
    }
    rewritten += convert(bytes, seed).rewrites > 0 ? 1 : 0;
    if (what.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << what << "\nshrunk: " << shrunk(network.model(), what, seed);
  }
  // Networks where nothing folds test nothing.
  EXPECT_GT(rewritten, failures > 0 ? 0 : static_cast<int64_t>(kSeeds / kParts / 5));
}

TEST(RandomNetworks, AgreeInAnIndependentEvaluator) {
  constexpr uint64_t kCompared = 300;
  const char* const chosen = std::getenv("RELAYOUT_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  const TemporaryFolder folder;
  for (uint64_t seed = 0; seed < kCompared; ++seed) {
    const std::string bytes = RandomNetwork(seed).model().SerializeAsString(), name = std::to_string(seed);
    write_file(folder / (name + ".before.onnx"), bytes);
    write_file(folder / (name + ".after.onnx"), convert(bytes, seed).bytes);
  }
  const std::string script = source_folder() + "/tests/property/reference.py";
  const ProcessResult result = run_process({"/usr/bin/env", python, script, folder.path()}, {.timeout = 300});
  if (result.code == 77 || result.code == 127) {
    GTEST_SKIP() << "no Python with onnx (RELAYOUT_PYTHON names one): " << result.out << result.err;
  }
  std::cout << result.out;
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Fold, AnyNetwork, testing::Range<uint64_t>(0, kParts));

// Tests of the tests above: valid networks, and faults that are noticed.

TEST(RandomNetworks, AreValidByTheChecker) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const onnx::ModelProto model = RandomNetwork(seed).model();
    EXPECT_NO_THROW(onnx::checker::check_model(model)) << "seed " << seed;
  }
}

TEST(RandomNetworks, WrongFoldIsNoticed) {
  int noticed = 0, tried = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string bytes = RandomNetwork(seed).model().SerializeAsString();
    onnx::ModelProto changed;
    changed.ParseFromString(convert(bytes, seed).bytes);
    for (auto& tensor : *changed.mutable_graph()->mutable_initializer()) {
      const auto type = static_cast<DataType>(tensor.data_type());
      if (!is_scalable(type) || tensor.dims_size() < 3) continue;
      const Dims dims(tensor.dims().begin(), tensor.dims().end());
      const std::vector<double> wrong(static_cast<std::size_t>(element_count(dims)), 0.375);
      tensor.set_raw_data(from_doubles(type, dims, wrong).load().bytes(), wrong.size() * memory_size(type));
      ++tried;
      noticed += different_values(*Model::from_bytes(bytes), *Model::from_bytes(changed.SerializeAsString())).empty() ? 0 : 1;
      break;
    }
  }
  EXPECT_GT(tried, 50);
  EXPECT_GT(noticed, tried * 3 / 4);
}

TEST(Shrink, KeepsTheRelevantNodes) {
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto has_norm = [](const onnx::ModelProto& model) {
      try {
        return std::ranges::any_of(Model::from_bytes(model.SerializeAsString())->graph().nodes(),
                                   [](const Node& node) { return node.is("BatchNormalization"); });
      } catch (const Error&) {
        return false;
      }
    };
    const onnx::ModelProto model = RandomNetwork(seed).model();
    if (!has_norm(model)) continue;
    const onnx::ModelProto small = shrink(model, has_norm);
    // Nodes may compute parameters, and one may have to produce the right number of channels.
    EXPECT_LE(small.graph().node_size(), 6) << described(small);
    EXPECT_EQ(small.graph().output_size(), 1);
    EXPECT_NE(described(small).find("BatchNormalization"), std::string::npos);
    ++shrunk;
  }
  EXPECT_GT(shrunk, 5);
}

}  // namespace
}  // namespace relayout::test
