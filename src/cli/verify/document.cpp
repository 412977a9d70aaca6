// Writes a verification of two models for other programs: as a document, and as test cases.

#include <cmath>

#include "cli/verify/report.h"
#include "relayout/derivative_check.h"

namespace relayout::cli {
namespace {

Json layer_json(const LayerResult& layer) {
  Json out = Json().set("sample", layer.sample).set("node", layer.node).set("op", layer.op_type).set("tensor", layer.tensor);
  out.set("reference", layer.reference).set("by_structure", layer.by_structure).set("replaces", layer.replaces);
  out.set("dtype", name_of(layer.type)).set("shape", layer.dims).set("verdict", to_string(layer.outcome)).set("reason", layer.reason);
  out.set("local_err", layer.error).set("local_rms", layer.rms).set("local_floor", layer.floor.max).set("local_floor_rms", layer.floor.rms);
  if (!layer.proof.inside.empty()) out.set("inside", layer.proof.inside);
  if (!layer.finite) out.set("finite", false);
  out.set("ratio", layer.ratio).set("bound", layer.bound).set("depth_err", layer.depth.error).set("depth_floor", layer.depth.floor);
  return out;
}

Json proof_json(const ProofResult& proof, bool is_rounded) {
  Json out;
  out.set("proved", proof.proved)
      .set("across_types", is_rounded)
      .set("weights_folded", proof.folds)
      .set("weights_permuted", proof.permutations);
  out.set("nodes_rewritten", proof.rewritten);
  out.set("folds_near", proof.near_folds).set("folds_near_ulp", proof.near_ulp);
  out.set("tensors_equal", proof.tensors_equal).set("nodes_equal", proof.nodes_equal).set("nodes_folded", proof.folded_nodes);
  out.set("nodes_bypassed", proof.nodes_bypassed).set("nodes_evaluated", proof.nodes_evaluated).set("nodes_dead", proof.nodes_dead);
  return std::move(out.set("unexplained", Json::list(proof.unexplained, [](const Unexplained& entry) {
                             Json line;
                             line.set("kind", to_string(entry.kind)).set("side", entry.in_first ? "a" : "b").set("name", entry.name);
                             if (const Repair& repair = entry.repair; !repair.text.empty()) {
                               Json said = Json().set("field", repair.field).set("is", repair.is).set("was", repair.was);
                               line.set("repair", said.set("text", repair.text));
                             }
                             return std::move(line.set("text", entry.text).set("values", entry.values).set("largest", entry.largest));
                           })));
}

/// The origin of a bound.
const char* bound_by(bool least_bound) {
  return least_bound ? "type" : "floor";
}

Json sample_json(const SampleMetrics& metrics, uint64_t seed) {
  Json out = Json().set("sample", metrics.sample).set("seed", seed).set("shape", metrics.dims).set("verdict", to_string(metrics.outcome));
  if (!metrics.reason.empty()) out.set("reason", metrics.reason);
  out.set("ill_conditioned", metrics.ill_conditioned);
  out.set("err", metrics.max_error).set("rms", metrics.rms_error).set("floor", metrics.floor.max).set("floor_rms", metrics.floor.rms);
  out.set("ratio", metrics.ratio).set("bound", metrics.bound.max).set("bound_rms", metrics.bound.rms);
  out.set("bound_by", bound_by(metrics.least_bound));
  out.set("reference_run", metrics.reference_run).set("max_abs", metrics.max_abs).set("at", metrics.worst.at);
  out.set("a", metrics.worst.a).set("b", metrics.worst.b).set("cosine", metrics.cosine).set("psnr", metrics.psnr);
  out.set("ulp", metrics.ulp_histogram).set("mismatches", metrics.mismatches).set("ties", metrics.ties);
  out.set("beyond_tolerance", metrics.beyond_tolerance);
  const NonFinite& counts = metrics.non_finite;
  out.set("nan", Json().set("a", counts.nan_a).set("b", counts.nan_b).set("both", counts.nan_both));
  out.set("infinite_mismatches", counts.infinite);
  if (metrics.top1) out.set("top1", *metrics.top1);
  if (metrics.top5) out.set("top5", *metrics.top5);
  return out;
}

Json loss_json(const Loss& loss) {
  Json out;
  out.set("snr", loss.snr).set("worst_snr", loss.worst_snr).set("cosine", loss.cosine).set("err", loss.error).set("match", loss.match);
  if (loss.top1) out.set("top1", *loss.top1);
  if (loss.top5) out.set("top5", *loss.top5);
  return out;
}

Json output_json(const OutputComparison& output, uint64_t seed) {
  Json out = Json().set("name", output.name).set("dtype", name_of(output.type)).set("shape", output.dims).set("declared", output.shape);
  out.set("verdict", to_string(output.outcome)).set("reason", output.reason).set("hint", output.hint);
  out.set("err", output.max_error).set("rms", output.rms_error).set("floor", output.floor).set("bound", output.bound);
  out.set("ratio", output.ratio).set("bound_by", bound_by(output.least_bound));
  if (output.loss) out.set("loss", loss_json(*output.loss));
  return std::move(out.set("samples", Json::list(output.samples, [&](const auto& metrics) { return sample_json(metrics, seed); })));
}

Json inputs_json(const SampleInputs& inputs) {
  Json out = Json().set("sample", inputs.sample).set("shapes", inputs.shapes).set("dims", inputs.dims);
  if (!inputs.files.empty()) {
    Json files;
    for (const auto& [name, file] : inputs.files) files.set(name, file.string());
    out.set("files", std::move(files));
  }
  if (inputs.deviation > 0) out.set("deviation", inputs.deviation);
  if (!inputs.rejected.empty()) out.set("rejected", inputs.rejected);
  return out;
}

Json interface_json(const InterfaceDifference& one) {
  Json out = Json().set("side", one.side).set("name", one.name).set("field", field_text(one)).set("a", one.a).set("b", one.b);
  return std::move(out.set("remark", one.remark).set("adapted", one.adapted));
}

Json doubt_json(const Doubt& doubt) {
  Json out = Json().set("name", doubt.name).set("node", doubt.node).set("output", doubt.output).set("text", doubt.text);
  return std::move(out.set("allowed", doubt.allowed));
}

/// What was compared, and how.
Json head_json(const VerifyResult& result) {
  Json out = Json().set("schema", "relayout.verify/1");
  out.set("tool", Json().set("version", kVersion).set("onednn", result.onednn).set("isa", result.isa));
  out.set("a", Json().set("path", result.a).set("sha256", result.sha256_a));
  out.set("b", Json().set("path", result.b).set("sha256", result.sha256_b));
  out.set("options", Json().set("seed", result.seed).set("samples", result.samples).set("k", 5).set("threads", result.threads));
  out.set("identical", result.identical).set("inputs", Json::list(result.inputs, inputs_json));
  return out;
}

}  // namespace

Json verify_json(const VerifyResult& result, bool allow_inconclusive) {
  Json out = head_json(result);
  out.set("interface", Json::list(result.interface, interface_json)).set("doubts", Json::list(result.doubts, doubt_json));
  out.set("unexplained", Json::list(result.checks, [&](const UnexplainedCheck& check) {
            Json entry = Json().set("name", result.proof->unexplained[check.entry].name).set("node", check.node).set("op", check.op_type);
            entry.set("sample", check.sample).set("local_err", check.error).set("local_floor", check.floor).set("bound", check.bound);
            return std::move(entry.set("felt", check.effect != UnexplainedCheck::Effect::none).set("verdict", to_string(check.outcome)));
          }));
  const ProofResult* const proof = result.told_proof();
  out.set("structure", proof != nullptr ? proof_json(*proof, result.rounded_proof.has_value()) : Json());
  Json unsupported = unsupported_json(result.unsupported_a, "a");
  const Json others = unsupported_json(result.unsupported_b, "b");
  for (std::size_t i = 0; i < others.size(); ++i) unsupported.add(*others.at(i));
  const auto first = std::ranges::find(result.layers, Outcome::different, &LayerResult::outcome);
  out.set("unsupported", std::move(unsupported));
  out.set("first_divergence", first == result.layers.end() ? Json() : layer_json(*first));
  out.set("layers", Json::list(result.layers, layer_json));
  if (!result.losses.empty()) {
    out.set("losses", Json::list(result.losses, [](const QuantizationLoss& loss) {
              Json entry = Json().set("node", loss.node).set("op", loss.op_type).set("tensor", loss.tensor).set("snr", loss.snr);
              return std::move(entry.set("expected_snr", loss.expected).set("clipped", loss.clipped).set("fault", loss.fault));
            }));
  }
  out.set("outputs", Json::list(result.outputs, [&](const auto& output) { return output_json(output, result.seed); }));
  out.set("remarks", result.remarks).set("reference_run", result.reference_run);
  out.set("lossy", result.lossy).set("verdict", verdict_word(result)).set("reason", full_reason(result)).set("defect", result.defect);
  out.set("exit_code", exit_code(result, allow_inconclusive));
  out.set("left_out", result.left_out)
      .set("runs", Json::list(result.stages, [](const VerifyStage& stage) {
             Json entry;
             return std::move(entry.set("what", stage.what).set("a", stage.runs_a).set("b", stage.runs_b).set("cpu", stage.seconds));
           }));
  const double a = result.seconds_a, b = result.seconds_b;
  return std::move(out.set("seconds", Json().set("total", result.seconds).set("a", a).set("b", b).set("floor", result.seconds_floor)));
}

Json derivative_json(const DerivativeCheckResult& result) {
  const auto json_of = [](const CheckedDerivative& one) {
    Json out = Json().set("name", one.name).set("holds", one.holds).set("tested", one.is_told);
    if (std::isfinite(one.error)) out.set("error", one.error).set("bound", one.bound);
    return out;
  };
  return Json()
      .set("schema", "relayout.verify-derivative/1")
      .set("model", result.model.string())
      .set("derivative", result.derivative.string())
      .set("verdict", exit_code(result) == 0 ? "same" : "different")
      .set("derivatives", Json::list(result.derivatives, json_of))
      .set("different_outputs", result.different_outputs)
      .set("samples", result.samples)
      .set("bound", result.bound);
}

// Test cases.
JunitCase verify_case(const std::string& name, const std::string& judged) {
  return judged_case("relayout.verify." + std::filesystem::path(judged).stem().string(), name, judged);
}

namespace {

/// The cases of one pair of models.
class PairSuite {
 public:
  PairSuite(const VerifyResult& result, bool allow_inconclusive)
      : result_(result),
        allows_(exit_code(result, allow_inconclusive) == 0),
        suite_{"verify", result.a + " " + result.b, junit_now(), properties(result), {}} {}

  JunitSuite make() {
    std::vector<std::string> differences;
    for (const InterfaceDifference& difference : result_.interface) {
      if (!difference.remark) differences.push_back(sentence(difference, result_));
    }
    const std::string first = differences.empty() ? "" : differences.front();
    if (!differences.empty()) differences.erase(differences.begin());
    add("interface", first.empty() ? Outcome::same : Outcome::different, first, joined(differences, "\n"));
    for (const OutputComparison& output : result_.outputs) add_output(output);
    JunitCase& whole = add("verdict", result_.outcome, verdict_reason(result_), details());
    if (const auto failure = failure_of(result_)) {
      whole.status = JunitCase::Status::error;
      whole.message = failure->line();
    }
    whole.seconds = result_.seconds;  // of all outputs together
    return std::move(suite_);
  }

 private:
  static std::vector<std::pair<std::string, std::string>> properties(const VerifyResult& result) {
    std::vector<std::pair<std::string, std::string>> out{
        {"relayout", std::string(kVersion)},
        {"oneDNN", result.onednn + (result.isa.empty() ? "" : ", " + result.isa)},
        {"seed", std::to_string(result.seed)},
        {"samples", std::to_string(result.samples)},
        {"bound", std::to_string(kFloorFactor) + " × floor, at least the least bound of the type"}};
    if (const ProofResult* const proof = result.told_proof()) out.emplace_back("proved", proof->proved ? "yes" : "no");
    if (!result.lossy.empty()) out.emplace_back("loss", result.lossy);
    for (const std::string& sentence : loss_sentences(result)) out.emplace_back("loss by node", sentence);
    return out;
  }

  JunitCase& add(const std::string& name, Outcome outcome, const std::string& reason, const std::string& details) {
    JunitCase& one = suite_.cases.emplace_back(verify_case(name, result_.b));
    one.details = details;
    if (outcome == Outcome::different) {
      one.status = JunitCase::Status::failed;
      one.message = reason;
    } else if (outcome == Outcome::inconclusive) {
      one.status = allows_ ? JunitCase::Status::skipped : JunitCase::Status::failed;
      one.message = "inconclusive: " + reason;
    }
    return one;
  }

  void add_output(const OutputComparison& output) {
    bool is_shown = !output.samples.empty() && output.outcome != Outcome::different;
    for (const SampleMetrics& metrics : output.samples) {
      const std::string name = output.name + " sample " + std::to_string(metrics.sample);
      const bool differs = metrics.outcome == Outcome::different, is_open = output.outcome == Outcome::inconclusive;
      const Outcome outcome = differs ? Outcome::different : is_open ? Outcome::inconclusive : Outcome::same;
      add(name, outcome, differs ? metrics.reason : output.reason, differs ? output.hint : "");
      is_shown = is_shown || differs;
    }
    // The outputs differ for a reason outside the samples: missing, or declared differently.
    if (is_shown || (output.samples.empty() && output.outcome == Outcome::same)) return;
    const bool differs = output.outcome == Outcome::different;
    add(output.name, differs ? Outcome::different : Outcome::inconclusive, output.reason, differs ? output.hint : "");
  }

  /// What belongs to no output.
  [[nodiscard]] std::string details() const {
    std::vector<std::string> lines;
    for (const Doubt& doubt : result_.doubts) {
      if (result_.outcome == Outcome::inconclusive) lines.push_back(doubt.name + (doubt.allowed ? " (allowed): " : ": ") + doubt.text);
    }
    std::ranges::copy(loss_sentences(result_), std::back_inserter(lines));
    if (const LayerResult* const wrong = first_wrong(result_)) {
      lines = {std::string(divergence_title(result_)) + ": " + layer_label(*wrong) + ": " + wrong->reason};
    }
    const ProofResult* const proof = result_.told_proof();
    const std::string unexplained = proof != nullptr ? joined(proof->unexplained, "\n", &Unexplained::text) : "";
    return joined({joined(lines, "\n"), unexplained}, "\n");
  }

  const VerifyResult& result_;
  bool allows_;
  JunitSuite suite_;
};

}  // namespace

JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive) {
  return PairSuite(result, allow_inconclusive).make();
}

JunitSuite junit_suite(const std::string& model, const Failure& failure) {
  JunitSuite suite{"verify", model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  JunitCase& one = suite.cases.emplace_back(verify_case("verdict", model));
  one.status = JunitCase::Status::error;
  one.message = failure.line();
  one.details = "exit " + std::to_string(failure.code);
  return suite;
}

}  // namespace relayout::cli
