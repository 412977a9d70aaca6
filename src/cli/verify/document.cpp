// Writes a verification of two models as a document for other programs.
#include "cli/verify/losses.h"
#include "cli/verify/report.h"
#include "cli/verify/words.h"

namespace relayout::cli {
namespace {

Json layer_json(const LayerResult& layer) {
  Json out = Json::object();
  out.set("sample", layer.sample).set("node", layer.node).set("op", layer.op_type).set("tensor", layer.tensor);
  out.set("reference", layer.reference).set("by_structure", layer.by_structure).set("replaces", layer.replaces);
  out.set("dtype", name_of(layer.type)).set("shape", layer.dims).set("verdict", to_string(layer.outcome)).set("reason", layer.reason);
  out.set("local_err", layer.error).set("local_rms", layer.rms).set("local_floor", layer.floor.max).set("local_floor_rms", layer.floor.rms);
  if (!layer.proof.inside.empty()) out.set("inside", layer.proof.inside);
  if (!layer.finite) out.set("finite", false);
  out.set("ratio", layer.ratio).set("bound", layer.bound).set("depth_err", layer.depth.error).set("depth_floor", layer.depth.floor);
  return out;
}

Json checks_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const UnexplainedCheck& check : result.checks) {
    Json entry = Json::object();
    entry.set("name", result.proof->unexplained[check.entry].name).set("node", check.node).set("op", check.op_type);
    entry.set("sample", check.sample).set("local_err", check.error).set("local_floor", check.floor).set("bound", check.bound);
    out.add(std::move(entry.set("felt", check.effect != UnexplainedCheck::Effect::none).set("verdict", to_string(check.outcome))));
  }
  return out;
}

Json proof_json(const ProofResult& proof) {
  Json out = Json::object();
  out.set("proved", proof.proved).set("weights_folded", proof.folds).set("weights_permuted", proof.permutations);
  out.set("nodes_rewritten", proof.rewritten);
  out.set("folds_near", proof.near_folds).set("folds_near_ulp", proof.near_ulp);
  out.set("tensors_equal", proof.tensors_equal).set("nodes_equal", proof.nodes_equal).set("nodes_folded", proof.folded_nodes);
  out.set("nodes_bypassed", proof.nodes_bypassed).set("nodes_evaluated", proof.nodes_evaluated).set("nodes_dead", proof.nodes_dead);
  Json unexplained = Json::array();
  for (const Unexplained& entry : proof.unexplained) {
    Json line = Json::object();
    line.set("kind", to_string(entry.kind)).set("side", entry.in_first ? "a" : "b").set("name", entry.name).set("text", entry.text);
    unexplained.add(std::move(line.set("values", entry.values).set("largest", entry.largest)));
  }
  return std::move(out.set("unexplained", std::move(unexplained)));
}

/// The origin of a bound.
const char* bound_by(bool least_bound) {
  return least_bound ? "type" : "floor";
}

Json sample_json(const SampleMetrics& metrics, uint64_t seed) {
  Json out = Json::object();
  out.set("sample", metrics.sample).set("seed", seed).set("shape", metrics.dims).set("verdict", to_string(metrics.outcome));
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
  out.set("nan", Json::object().set("a", counts.nan_a).set("b", counts.nan_b).set("both", counts.nan_both));
  out.set("infinite_mismatches", counts.infinite);
  if (metrics.top1) out.set("top1", *metrics.top1);
  if (metrics.top5) out.set("top5", *metrics.top5);
  return out;
}

Json output_json(const OutputComparison& output, uint64_t seed) {
  Json out = Json::object();
  out.set("name", output.name).set("dtype", name_of(output.type)).set("shape", output.dims).set("declared", output.shape);
  out.set("verdict", to_string(output.outcome)).set("reason", output.reason).set("hint", output.hint);
  out.set("err", output.max_error).set("rms", output.rms_error).set("floor", output.floor).set("bound", output.bound);
  out.set("ratio", output.ratio).set("bound_by", bound_by(output.least_bound));
  if (output.loss) out.set("loss", loss_json(*output.loss));
  Json samples = Json::array();
  for (const SampleMetrics& metrics : output.samples) samples.add(sample_json(metrics, seed));
  return std::move(out.set("samples", std::move(samples)));
}

Json inputs_json(const VerifyResult& result) {
  Json out = Json::array();
  for (const SampleInputs& inputs : result.inputs) {
    Json shapes = Json::object(), dims = Json::object();
    for (const auto& [name, shape] : inputs.shapes) shapes.set(name, shape);
    for (const auto& [name, value] : inputs.dims) dims.set(name, value);
    Json entry = Json::object();
    entry.set("sample", inputs.sample).set("shapes", std::move(shapes)).set("dims", std::move(dims));
    Json files = Json::object();
    for (const auto& [name, file] : inputs.files) files.set(name, file.string());
    if (!inputs.files.empty()) entry.set("files", std::move(files));
    if (inputs.deviation > 0) entry.set("deviation", inputs.deviation);
    if (!inputs.rejected.empty()) entry.set("rejected", inputs.rejected);
    out.add(std::move(entry));
  }
  return out;
}

}  // namespace

Json verify_json(const VerifyResult& result, bool allow_inconclusive) {
  Json out = Json::object();
  out.set("schema", "relayout.verify/1");
  out.set("tool", Json::object().set("version", kVersion).set("onednn", result.onednn).set("isa", result.isa));
  out.set("a", Json::object().set("path", result.a).set("sha256", result.sha256_a));
  out.set("b", Json::object().set("path", result.b).set("sha256", result.sha256_b));
  Json options = Json::object();
  options.set("seed", result.seed).set("samples", result.samples).set("k", 5).set("threads", result.threads);
  out.set("options", std::move(options)).set("identical", result.identical).set("inputs", inputs_json(result));
  Json interface = Json::array();
  for (const InterfaceDifference& difference : result.interface) {
    Json entry = Json::object();
    entry.set("side", difference.side).set("name", difference.name).set("field", field_text(difference)).set("a", difference.a);
    interface.add(std::move(entry.set("b", difference.b).set("remark", difference.remark).set("adapted", difference.adapted)));
  }
  out.set("interface", std::move(interface));
  Json doubts = Json::array();
  for (const Doubt& doubt : result.doubts) {
    Json entry = Json::object();
    entry.set("name", doubt.name).set("node", doubt.node).set("output", doubt.output).set("text", doubt.text);
    doubts.add(std::move(entry.set("allowed", doubt.allowed)));
  }
  out.set("doubts", std::move(doubts));
  out.set("unexplained", checks_json(result));
  out.set("structure", result.proof ? proof_json(*result.proof) : Json());
  Json unsupported = unsupported_json(result.unsupported_a, "a");
  const Json others = unsupported_json(result.unsupported_b, "b");
  for (std::size_t i = 0; i < others.size(); ++i) unsupported.add(*others.at(i));
  out.set("unsupported", std::move(unsupported));
  Json outputs = Json::array();
  for (const OutputComparison& output : result.outputs) outputs.add(output_json(output, result.seed));
  Json layers = Json::array(), first;
  for (const LayerResult& layer : result.layers) {
    layers.add(layer_json(layer));
    if (layer.outcome == Outcome::different && !first.is_object()) first = layer_json(layer);
  }
  out.set("first_divergence", std::move(first)).set("layers", std::move(layers));
  if (!result.losses.empty()) out.set("losses", losses_json(result));
  out.set("outputs", std::move(outputs)).set("remarks", result.remarks).set("reference_run", result.reference_run);
  out.set("lossy", result.lossy).set("verdict", verdict_word(result)).set("reason", full_reason(result)).set("defect", result.defect);
  out.set("exit_code", exit_code(result, allow_inconclusive));
  Json seconds = Json::object();
  seconds.set("total", result.seconds).set("a", result.seconds_a).set("b", result.seconds_b).set("floor", result.seconds_floor);
  return std::move(out.set("seconds", std::move(seconds)));
}

}  // namespace relayout::cli
