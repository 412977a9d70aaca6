// Reports a verification of two models as text and as test cases.
#include "cli/verify/report.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/positions.h"
#include "cli/verify/losses.h"
#include "cli/verify/proof.h"
#include "cli/verify/words.h"

namespace relayout::cli {
namespace {

const SampleMetrics* telling_sample(const OutputComparison& output) {
  return output.telling < output.samples.size() ? &output.samples[output.telling] : nullptr;
}

/// "  floor by sample: 0: 6.5e-07 · 1: 1.2e-02 (ill-conditioned) …"
std::string floors_line(const OutputComparison& output) {
  std::string out;
  for (const SampleMetrics& metrics : output.samples) {
    out += (out.empty() ? "  floor by sample  " : " · ") + std::to_string(metrics.sample) + ": " + scientific(metrics.floor.max);
    if (metrics.ill_conditioned) out += " (ill-conditioned)";
  }
  return out;
}

void add_output(TextTable& table, const OutputComparison& output) {
  const SampleMetrics* const telling = telling_sample(output);
  std::vector<Cell> cells{{escape(output.name), Style::strong}, shape_of(output)};
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  const bool has_elements = telling != nullptr && !std::ranges::all_of(output.samples, is_empty);
  const bool measured = has_elements && is_measured(output.type) && telling->bound.max > 0;
  if (telling != nullptr && !has_elements) {
    cells.emplace_back("no elements");
  } else if (measured) {
    cells.emplace_back("error/range " + error_text(output), output.outcome == Outcome::different ? Style::bad : Style::plain);
    cells.emplace_back("floor " + scientific(output.floor));
    cells.emplace_back(ratio_words(output), has_unusual_ratio(output) ? style_of(output.outcome) : Style::plain);
  } else if (telling != nullptr && output.outcome == Outcome::same) {
    int64_t ties = 0;
    for (const SampleMetrics& metrics : output.samples) ties += metrics.ties;
    cells.emplace_back(ties == 0 ? "equal" : "equal but for " + counted(ties, "tie"));
  }
  if (output.outcome == Outcome::different && measured && telling->max_abs > 0) {
    cells.emplace_back("worst " + to_string(telling->worst.at) + ": " + significant(telling->worst.b, 6) + ", was " +
                       significant(telling->worst.a, 6));
  }
  table.row(std::move(cells));
  if (output.outcome != Outcome::same && !output.reason.empty()) {
    table.line("  " + std::string(to_string(output.outcome)) + ": " + output.reason, style_of(output.outcome));
  }
  for (const std::string& remark : remarks_on(output)) table.line("  " + remark);
  const auto is_ill = [](const SampleMetrics& metrics) { return metrics.ill_conditioned; };
  if (measured && output.samples.size() > 1 && std::ranges::any_of(output.samples, is_ill)) table.line(floors_line(output));
  for (const SampleMetrics& metrics : output.samples) {
    if (metrics.ties == 0) continue;
    table.line("  sample " + std::to_string(metrics.sample) + ": " + metrics.reason);
    break;
  }
  if (!output.hint.empty()) table.line("  " + output.hint);
}

/// "0 · 1 · <2^14": the bins that contain the percentiles 50, 99 and 100.
std::string ulp_text(const std::vector<int64_t>& histogram) {
  int64_t total = 0, sum = 0;
  for (const int64_t count : histogram) total += count;
  std::string p50, p99;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    sum += histogram[bin];
    if (p50.empty() && 2 * sum >= total) p50 = bin_text(bin);
    if (p99.empty() && 100 * sum >= 99 * total) p99 = bin_text(bin);
  }
  if (histogram.empty()) return "–";
  return p50 + " · " + p99 + " · " + bin_text(histogram.size() - 1);
}

std::string samples_table(const OutputComparison& output, const ReportStyle& style) {
  TextTable table({.indent = 4, .gap = 2, .color = style.color, .width = style.width});
  std::vector<Cell> head;
  for (const char* const title : {"sample", "error/range", "floor", "bound", "RMS/σ", "floor", "cosine", "PSNR", "ULP p50 · p99 · max"}) {
    head.emplace_back(title, Style::faint, Align::right);
  }
  table.row(std::move(head));
  for (const SampleMetrics& metrics : output.samples) {
    table.row({right(std::to_string(metrics.sample)), right(scientific(metrics.max_error)), right(scientific(metrics.floor.max)),
               right(scientific(metrics.bound.max)), right(scientific(metrics.rms_error)), right(scientific(metrics.floor.rms)),
               right(fixed(metrics.cosine, 9)), right(std::isinf(metrics.psnr) ? "∞" : fixed(metrics.psnr, 1)),
               right(ulp_text(metrics.ulp_histogram))});
  }
  return table.text();
}

void add_inputs(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  for (const SampleInputs& inputs : result.inputs) {
    if (!style.verbose && inputs.rejected.empty()) continue;
    out += "sample " + std::to_string(inputs.sample);
    for (const auto& [name, dims] : inputs.shapes) out += "  " + escape(name) + " " + to_string(dims);
    if (!inputs.rejected.empty()) out += "  not compared, " + escape(result.a) + " refuses it: " + inputs.rejected;
    out += "\n";
  }
}

/// Adds the unexplained differences, each with the floor of its node.
void add_checks(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  constexpr std::size_t kMostLines = 5;
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  std::vector<const UnexplainedCheck*> checks;
  for (const UnexplainedCheck& check : result.checks) checks.push_back(&check);
  // Different ones first, then by error in floors. Errors may be infinite or NaN, and floors 0.
  const auto order = [](const UnexplainedCheck* check) {
    const double floors = check->error > 0 ? check->error / check->floor : check->error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return std::pair(check->outcome != Outcome::different, std::isnan(floors) ? -std::numeric_limits<double>::infinity() : -floors);
  };
  std::ranges::stable_sort(checks, {}, order);
  if (checks.empty()) return;
  // Differences that are judged at one node with one result share a line.
  const auto is_alike = [](const UnexplainedCheck* x, const UnexplainedCheck* y) {
    return x->node == y->node && x->outcome == y->outcome && x->effect == y->effect && x->error == y->error && x->floor == y->floor;
  };
  table.row({{"unexplained, at its node", Style::faint},
             {"node", Style::faint},
             {"local error", Style::faint, Align::right},
             {"local floor", Style::faint, Align::right}});
  std::size_t shown = 0;
  for (std::size_t lines = 0; shown < checks.size() && (style.verbose || lines < kMostLines); ++lines) {
    const UnexplainedCheck& check = *checks[shown];
    const auto next = std::find_if(checks.begin() + static_cast<std::ptrdiff_t>(shown), checks.end(),
                                   [&](const UnexplainedCheck* other) { return !is_alike(other, &check); });
    const std::size_t alike = style.verbose ? 1 : as_size(next - checks.begin()) - shown;
    shown += alike;
    const Style of = check.outcome == Outcome::different ? Style::bad : Style::plain;
    const std::string others = alike > 1 ? " and " + format_count(static_cast<int64_t>(alike - 1)) + " more" : "";
    table.row({{escape(result.proof->unexplained[check.entry].name) + others, of},
               escape(check.node) + " (" + escape(check.op_type) + ")",
               {error_text(check), of, Align::right},
               {scientific(check.floor), Style::plain, Align::right}});
  }
  out += table.text();
  if (shown < checks.size()) out += "  " + format_count(static_cast<int64_t>(checks.size() - shown)) + " more" + " (-v)\n";
}

/// Adds the first node that computes something different, and the number of others.
void add_divergence(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  const LayerResult* first = nullptr;
  int64_t more = 0;
  for (const LayerResult& layer : result.layers) {
    if (layer.outcome != Outcome::different) continue;
    if (first == nullptr) {
      first = &layer;
    } else {
      ++more;
    }
  }
  if (first == nullptr) return;
  out +=
      paint(divergence_title(result), Style::strong, style.color) + "   " + layer_label(*first) + ", its inputs agree, its output does not";
  const bool is_measured = first->bound > 0 && first->finite;
  out += is_measured ? " (" + scientific(first->error) + ", floor " + scientific(first->floor.max) + ")" : " (" + first->reason + ")";
  out += "\n";
  if (!first->proof.inside.empty()) out += "  inside: " + first->proof.inside + "\n";
  if (!first->replaces.empty()) {
    constexpr std::size_t kMostNodes = 6;
    const std::size_t shown = style.verbose || first->replaces.size() <= kMostNodes + 1 ? first->replaces.size() : kMostNodes;
    out += "  it replaces these nodes of " + escape(result.a) + ":";
    for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? " " : ", ") + first->replaces[i];
    const std::size_t rest = first->replaces.size() - shown;
    out += rest == 0 ? "\n" : " and " + counted(static_cast<int64_t>(rest), "more node") + " (-v)\n";
  }
  if (first->by_structure) {
    out += "  compared with " + quote(first->reference) + " of " + escape(result.a) + ", its counterpart by structure (names differ)\n";
  }
  if (more > 0)
    out += "  " + counted(more, "more node") + " that " + (more == 1 ? "does" : "do") + " so on " + (more == 1 ? "its" : "their") +
           " own (--layers)\n";
}

/// Adds the loss of each output, where b computes in coarser numbers.
void add_loss(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  if (result.lossy.empty()) return;
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  for (const OutputComparison& output : result.outputs) {
    if (output.loss) table.row({{escape(output.name), Style::strong}, loss_text(output)});
  }
  out += result.lossy + "\n" + table.text();
}

/// The table of errors against depth.
std::string layers_table(const VerifyResult& result, const ReportStyle& style) {
  TextTable table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  table.row({{"node by node", Style::faint},
             "",
             right("alone", Style::faint),
             right("floor", Style::faint),
             right("in place", Style::faint),
             right("floor", Style::faint)});
  const auto number = [](const std::optional<double>& value) { return value ? scientific(*value) : std::string("–"); };
  for (const LayerResult& layer : result.layers) {
    const bool bad = layer.outcome == Outcome::different;
    table.row({{layer_label(layer), bad ? Style::bad : Style::plain},
               std::string(name_of(layer.type)) + " " + to_string(layer.dims),
               right(error_text(layer), bad ? Style::bad : Style::plain),
               right(scientific(layer.floor.max)),
               right(number(layer.depth.error)),
               right(number(layer.depth.floor))});
    if (bad) table.line("    " + layer.reason, Style::bad);
  }
  return table.text();
}

/// Unexplained differences that the samples do not distinguish from rounding, when the verdict `same` depends on the samples alone.
std::string differences_within_rounding(const VerifyResult& result) {
  if (result.outcome != Outcome::same || !result.proof) return {};
  // Differences of the interface are not rounding and have separate lines.
  const auto is_of_nodes = [](const Unexplained& entry) { return entry.kind != Unexplained::Kind::interface; };
  const int64_t count = std::ranges::count_if(result.proof->unexplained, is_of_nodes);
  if (count == 0) return {};
  return counted(count, "unexplained difference stays", "unexplained differences stay") + " within rounding (--strict refuses " +
         (count == 1 ? "it" : "them") + ")";
}

/// Doubts apart from the one that the verdict states.
std::string other_doubts(const VerifyResult& result) {
  std::string out;
  if (result.outcome != Outcome::inconclusive) return out;
  for (const Doubt& doubt : result.doubts) {
    const bool is_stated = doubt.output.empty() ? result.reason == doubt.text : verdict_reason(result).ends_with(": " + doubt.text);
    if (is_stated) continue;
    out +=
        "also in doubt (" + doubt.name + "): " + (doubt.output.empty() ? "" : "output " + quote(doubt.output) + ": ") + doubt.text + "\n";
  }
  return out;
}

/// The option that accepts the doubts of an inconclusive verdict, or the doubts that it has accepted.
std::string allowance(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive || result.is_blocked()) return {};
  std::string open, allowed;
  for (const Doubt& doubt : result.doubts) {
    std::string& names = doubt.allowed ? allowed : open;
    if (("," + names + ",").find("," + doubt.name + ",") == std::string::npos) names += (names.empty() ? "" : ",") + doubt.name;
  }
  return !open.empty() ? "--allow " + open + " takes it" : allowed.empty() ? "" : "allowed: " + allowed;
}

/// "same   4 samples, seed 1, …   exit 0"; --quiet omits the circumstances of the run.
std::string verdict_line(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style) {
  TextTable verdict({.color = style.color, .width = style.width});
  const std::string word = verdict_word(result);
  const Style word_style = !result.defect.empty() ? Style::bad : style_of(result.outcome);
  std::string details = verdict_reason(result);
  for (const std::string& part : {differences_within_rounding(result), style.quiet ? std::string() : allowance(result),
                                  style.quiet ? std::string() : circumstances(result)}) {
    if (!part.empty()) details += (details.empty() ? "" : " · ") + part;
  }
  verdict.row({{word, word_style}, details, exit_text(exit_code(result, allow_inconclusive))});
  return verdict.text();
}

}  // namespace

std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style) {
  if (style.quiet) return verdict_line(result, allow_inconclusive, style);
  std::string out;
  for (const InterfaceDifference& difference : result.interface) {
    if (difference.remark && !difference.adapted && !style.verbose) continue;
    out += paint(sentence(difference, result), difference.remark ? Style::faint : Style::bad, style.color) + "\n";
  }
  out += unsupported_lines(result, style.verbose);
  // A quantized model differs nearly everywhere, so its loss comes first.
  add_loss(out, result, style);
  out += proof_text(result, style);
  add_inputs(out, result, style);
  for (const std::string& remark : result.remarks) out += remark + "\n";
  TextTable table({.color = style.color, .width = style.width});
  for (const OutputComparison& output : result.outputs) {
    if (output.samples.empty() && output.outcome == Outcome::same) continue;
    add_output(table, output);
  }
  out += table.text();
  if (style.verbose) {
    for (const OutputComparison& output : result.outputs) {
      if (output.samples.empty() || !is_measured(output.type)) continue;
      out += "  " + escape(output.name) + "\n" + samples_table(output, style);
    }
  }
  add_checks(out, result, style);
  if (result.losses.empty()) {
    add_divergence(out, result, style);
  } else {
    out += losses_table(result, style);
  }
  const bool listed = std::ranges::any_of(result.layers, [](const LayerResult& layer) { return layer.depth.error.has_value(); });
  if (style.layers && listed) out += layers_table(result, style);
  if (!result.defect.empty()) out += paint("defect in relayout: " + result.defect, Style::bad, style.color) + "\n";
  return out + other_doubts(result) + verdict_line(result, allow_inconclusive, style);
}

// Test cases.
namespace {

/// A case of a model that is judged on its own.
JunitCase verify_case(const std::string& name, const std::string& judged) {
  return judged_case("relayout.verify." + std::filesystem::path(judged).stem().string(), name, judged);
}

/// Builds the cases of one pair of models.
class PairSuite {
 public:
  PairSuite(const VerifyResult& result, bool allow_inconclusive)
      : result_(result), allow_inconclusive_(exit_code(result, allow_inconclusive) == 0) {
    suite_.name = "relayout verify " + result.a + " " + result.b;
    suite_.timestamp = junit_now();
  }

  JunitSuite make() {
    add_properties();
    add_interface();
    for (const OutputComparison& output : result_.outputs) add_output(output);
    add_whole();
    // The time is that of all outputs together.
    if (!suite_.cases.empty()) suite_.cases.back().seconds = result_.seconds;
    return std::move(suite_);
  }

 private:
  JunitCase& add(const std::string& name) { return suite_.cases.emplace_back(verify_case(name, result_.b)); }

  void add_properties() {
    suite_.properties = {{"relayout", std::string(kVersion)},
                         {"oneDNN", result_.onednn + (result_.isa.empty() ? "" : ", " + result_.isa)},
                         {"seed", std::to_string(result_.seed)},
                         {"samples", std::to_string(result_.samples)},
                         {"bound", std::to_string(kFloorFactor) + " × floor, at least the least bound of the type"}};
    if (result_.proof) suite_.properties.emplace_back("proved", result_.proof->proved ? "yes" : "no");
    if (!result_.lossy.empty()) suite_.properties.emplace_back("loss", result_.lossy);
    for (const std::string& sentence : loss_sentences(result_)) suite_.properties.emplace_back("loss by node", sentence);
  }

  void add_interface() {
    JunitCase& one = add("interface");
    for (const InterfaceDifference& difference : result_.interface) {
      if (difference.remark) continue;
      one.status = JunitCase::Status::failed;
      (one.message.empty() ? one.message : one.details) += (one.details.empty() ? "" : "\n") + sentence(difference, result_);
    }
  }

  void add_output(const OutputComparison& output) {
    for (const SampleMetrics& metrics : output.samples) {
      JunitCase& one = add(output.name + " sample " + std::to_string(metrics.sample));
      if (metrics.outcome == Outcome::different) {
        one.status = JunitCase::Status::failed;
        one.message = metrics.reason;
        one.details = output.hint;
      } else if (output.outcome == Outcome::inconclusive) {
        set_inconclusive(one, output.reason);
      }
    }
    // The outputs differ for a reason outside the samples: missing, or declared differently.
    const auto is_different = [](const SampleMetrics& metrics) { return metrics.outcome == Outcome::different; };
    if (!output.samples.empty() && (output.outcome != Outcome::different || std::ranges::any_of(output.samples, is_different))) return;
    if (output.samples.empty() && output.outcome == Outcome::same) return;
    JunitCase& one = add(output.name);
    if (output.outcome == Outcome::different) {
      one.status = JunitCase::Status::failed;
      one.message = output.reason;
      one.details = output.hint;
    } else {
      set_inconclusive(one, output.reason);
    }
  }

  void set_inconclusive(JunitCase& one, const std::string& reason) const {
    one.status = allow_inconclusive_ ? JunitCase::Status::skipped : JunitCase::Status::failed;
    one.message = "inconclusive: " + reason;
  }

  /// Adds the overall verdict, with the details that belong to no output.
  void add_whole() {
    JunitCase& one = add("verdict");
    if (const auto failure = failure_of(result_)) {
      one.status = JunitCase::Status::error;
      one.message = failure->line();
    } else if (result_.outcome == Outcome::different) {
      one.status = JunitCase::Status::failed;
      one.message = verdict_reason(result_);
    } else if (result_.outcome == Outcome::inconclusive) {
      set_inconclusive(one, verdict_reason(result_));
    }
    for (const Doubt& doubt : result_.doubts) {
      if (result_.outcome != Outcome::inconclusive) break;
      one.details += (one.details.empty() ? "" : "\n") + doubt.name + (doubt.allowed ? " (allowed): " : ": ") + doubt.text;
    }
    for (const std::string& sentence : loss_sentences(result_)) one.details += (one.details.empty() ? "" : "\n") + sentence;
    if (const LayerResult* const wrong = first_wrong(result_)) {
      one.details = std::string(divergence_title(result_)) + ": " + layer_label(*wrong) + ": " + wrong->reason;
    }
    if (!result_.proof) return;
    for (const Unexplained& entry : result_.proof->unexplained) one.details += (one.details.empty() ? "" : "\n") + entry.text;
  }

  const VerifyResult& result_;
  bool allow_inconclusive_;
  JunitSuite suite_;
};

}  // namespace

JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive) {
  return PairSuite(result, allow_inconclusive).make();
}

JunitSuite junit_suite(const DataResult& result) {
  JunitSuite suite{"relayout verify " + result.model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  for (const DataCase& stored : result.cases) {
    JunitCase& one = suite.cases.emplace_back(verify_case(stored.name, result.model));
    one.seconds = stored.seconds;
    one.message = stored.message.empty() ? stored.status : stored.message;
    if (stored.status == "unsupported") {
      one.status = JunitCase::Status::error;
    } else if (stored.status != "passed") {
      one.status = JunitCase::Status::failed;
    }
  }
  return suite;
}

JunitSuite junit_suite(const std::string& model, const Failure& failure) {
  JunitSuite suite{"relayout verify " + model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  JunitCase& one = suite.cases.emplace_back(verify_case("verdict", model));
  one.status = JunitCase::Status::error;
  one.message = failure.line();
  one.details = "exit " + std::to_string(failure.code);
  return suite;
}

}  // namespace relayout::cli
