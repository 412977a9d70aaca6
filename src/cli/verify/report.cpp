// Reports a verification of two models as text and as test cases.
#include "cli/verify/report.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "base/positions.h"
#include "relayout/derivative_check.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kMostLosses = 5;  ///< lines without -v

/// "floor by sample  0: 6.5e-07 · 1: 1.2e-02 (ill-conditioned) …"
std::string floors_text(const OutputComparison& output) {
  return "floor by sample  " + joined(output.samples, " · ", [](const SampleMetrics& metrics) {
           return std::to_string(metrics.sample) + ": " + scientific(metrics.floor.max) +
                  (metrics.ill_conditioned ? " (ill-conditioned)" : "");
         });
}

/// Whether no element is a number in either model.
bool is_nan_in_both(const OutputComparison& output) {
  return std::ranges::all_of(output.samples, [](const SampleMetrics& metrics) {
    return metrics.sums.elements > 0 && metrics.non_finite.nan_both == metrics.sums.elements;
  });
}

void add_output(Table& table, const OutputComparison& output) {
  const SampleMetrics* const telling = output.telling < output.samples.size() ? &output.samples[output.telling] : nullptr;
  std::vector<Cell> cells{{escape(output.name), Style::strong}, shape_of(output)};
  const auto is_empty = [](const SampleMetrics& metrics) { return std::ranges::find(metrics.dims, 0) != metrics.dims.end(); };
  const bool has_elements = telling != nullptr && !std::ranges::all_of(output.samples, is_empty);
  const bool measured = has_elements && is_measured(output.type) && telling->bound.max > 0;
  if (telling != nullptr && !has_elements) {
    cells.emplace_back("no elements");
  } else if (measured && is_nan_in_both(output)) {
    cells.emplace_back("no finite value");
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
    table.note(std::string(to_string(output.outcome)) + ": " + output.reason, style_of(output.outcome));
  }
  for (const std::string& remark : remarks_on(output)) table.note(remark);
  const bool is_ill = std::ranges::find(output.samples, true, &SampleMetrics::ill_conditioned) != output.samples.end();
  if (measured && output.samples.size() > 1 && is_ill) table.note(floors_text(output));
  const auto tied = std::ranges::find_if(output.samples, [](const SampleMetrics& metrics) { return metrics.ties != 0; });
  if (tied != output.samples.end()) table.note("sample " + std::to_string(tied->sample) + ": " + tied->reason);
  if (!output.hint.empty()) table.note(output.hint);
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
  Table table({.indent = 4, .gap = 2, .color = style.color, .width = style.width});
  table.head({right("sample"), right("error/range"), right("floor"), right("bound"), right("RMS/σ"), right("floor"), right("cosine"),
              right("PSNR"), right("ULP p50 · p99 · max")});
  for (const SampleMetrics& metrics : output.samples) {
    table.row({std::to_string(metrics.sample), scientific(metrics.max_error), scientific(metrics.floor.max), scientific(metrics.bound.max),
               scientific(metrics.rms_error), scientific(metrics.floor.rms), fixed(metrics.cosine, 9),
               std::isinf(metrics.psnr) ? "∞" : fixed(metrics.psnr, 1), ulp_text(metrics.ulp_histogram)});
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
  if (result.checks.empty()) return;
  std::vector<const UnexplainedCheck*> checks;
  for (const UnexplainedCheck& check : result.checks) checks.push_back(&check);
  // Different ones first, then by error in floors. Errors may be infinite or NaN, and floors 0.
  const auto order = [](const UnexplainedCheck* check) {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    const double floors = check->error > 0 ? check->error / check->floor : check->error == 0 ? 0 : kMost;
    return std::pair(check->outcome != Outcome::different, std::isnan(floors) ? -kMost : -floors);
  };
  std::ranges::stable_sort(checks, {}, order);
  // Differences that are judged at one node with one result share a line.
  const auto key = [](const UnexplainedCheck* check) {
    return std::tie(check->node, check->outcome, check->effect, check->error, check->floor);
  };
  Table table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  const bool is_rounding = result.rounded_proof && result.rounded_proof->proved;
  table.head({is_rounding ? "rounded, at its node" : "unexplained, at its node", "node", right("local error"), right("local floor")});
  std::span<const UnexplainedCheck* const> rest = checks;
  for (std::size_t lines = 0; !rest.empty() && (style.verbose || lines < kMostLines); ++lines) {
    const UnexplainedCheck& check = *rest.front();
    const auto next = std::ranges::find_if(rest, [&](const UnexplainedCheck* other) { return key(other) != key(&check); });
    const std::size_t alike = style.verbose ? 1 : std::max<std::size_t>(as_size(next - rest.begin()), 1);  // NaN equals nothing
    rest = rest.subspan(alike);
    const Style of = check.outcome == Outcome::different ? Style::bad : Style::plain;
    const std::string others = alike > 1 ? " and " + format_count(static_cast<int64_t>(alike) - 1) + " more" : "";
    table.row({Cell(escape(result.proof->unexplained[check.entry].name) + others, of),
               escape(check.node) + " (" + escape(check.op_type) + ")", Cell(error_text(check), of), scientific(check.floor)});
  }
  out += table.text();
  if (!rest.empty()) out += "  " + format_count(std::ssize(rest)) + " more (-v)\n";
}

/// Adds the first node that computes something different, and the number of others.
void add_divergence(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  const auto first = std::ranges::find(result.layers, Outcome::different, &LayerResult::outcome);
  if (first == result.layers.end()) return;
  const bool is_measured = first->bound > 0 && first->finite;
  const std::string why = is_measured ? scientific(first->error) + ", floor " + scientific(first->floor.max) : first->reason;
  const std::string apart = nodes_in_one_only(result, *first);
  out += paint(divergence_title(result), Style::strong, style.color) + "   " + layer_label(*first) +
         (apart.empty() ? ", its inputs agree, its output does not (" : ", where " + apart + " (") + why + ")\n";
  if (!first->proof.inside.empty()) out += "  inside: " + first->proof.inside + "\n";
  if (!first->replaces.empty()) {
    constexpr std::size_t kMostNodes = 6;
    const std::size_t all = first->replaces.size(), shown = style.verbose || all <= kMostNodes + 1 ? all : kMostNodes;
    out += "  it replaces these nodes of " + escape(result.a) + ": " + joined(std::span(first->replaces).first(shown), ", ");
    out += shown == all ? "\n" : " and " + counted(static_cast<int64_t>(all - shown), "more node") + " (-v)\n";
  }
  if (first->by_structure) {
    out += "  compared with " + quote(first->reference) + " of " + escape(result.a) + ", its counterpart by structure (names differ)\n";
  }
  const int64_t more = std::ranges::count(result.layers, Outcome::different, &LayerResult::outcome) - 1;
  if (more > 0) out += "  " + counted(more, "more node that does so on its own", "more nodes that do so on their own") + " (--layers)\n";
}

/// Adds the loss of each output, where b computes in coarser numbers.
void add_loss(std::string& out, const VerifyResult& result, const ReportStyle& style) {
  if (result.lossy.empty()) return;
  Table table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  for (const OutputComparison& output : result.outputs) {
    if (output.loss) table.row({{escape(output.name), Style::strong}, loss_text(output)});
    if (!is_finite(output)) table.row({{escape(output.name), Style::strong}, {ratio_words(output), Style::bad}});
  }
  out += result.lossy + "\n" + table.text();
}

/// Unexplained differences that the samples do not distinguish from rounding, when the verdict `same` depends on the samples alone.
std::string differences_within_rounding(const VerifyResult& result) {
  const ProofResult* const proof = result.told_proof();
  if (result.outcome != Outcome::same || proof == nullptr) return {};
  // Differences of the interface are not rounding and have separate lines.
  const auto is_of_nodes = [](const Unexplained& entry) { return entry.kind != Unexplained::Kind::interface; };
  const int64_t count = std::ranges::count_if(proof->unexplained, is_of_nodes);
  if (count == 0) return {};
  return counted(count, "unexplained difference stays", "unexplained differences stay") + " within rounding (--strict refuses " +
         (count == 1 ? "it" : "them") + ")";
}

/// The text of a doubt. A difference of the files that a line above tells is named by its node alone.
std::string short_text(const Doubt& doubt, const VerifyResult& result) {
  const ProofResult* const proof = result.told_proof();
  for (const Unexplained& entry : proof != nullptr ? proof->unexplained : std::vector<Unexplained>()) {
    const std::string clause = entry.text + ", and ";
    if (doubt.text.starts_with(clause)) return quote(entry.name) + ": " + doubt.text.substr(clause.size());
  }
  return doubt.text;
}

/// Doubts apart from the one that the verdict states.
std::string other_doubts(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive) return {};
  const Doubt* const stated = stated_doubt(result);
  return joined(result.doubts, "", [&](const Doubt& doubt) {
    const std::string where = doubt.output.empty() ? "" : "output " + quote(doubt.output) + ": ";
    return &doubt == stated ? "" : "also in doubt (" + doubt.name + "): " + where + short_text(doubt, result) + "\n";
  });
}

/// The option that accepts the doubts of an inconclusive verdict, or the doubts that it has accepted.
std::string allowance(const VerifyResult& result) {
  if (result.outcome != Outcome::inconclusive || result.is_blocked()) return {};
  std::vector<std::string> open, allowed;
  for (const Doubt& doubt : result.doubts) {
    std::vector<std::string>& names = doubt.allowed ? allowed : open;
    if (std::ranges::find(names, doubt.name) == names.end()) names.push_back(doubt.name);
  }
  return !open.empty() ? "--allow " + joined(open, ",") + " takes it" : allowed.empty() ? "" : "allowed: " + joined(allowed, ",");
}

/// "same   4 samples, seed 1, …   exit 0"; --quiet omits the circumstances of the run.
std::string verdict_line(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style) {
  Table verdict({.color = style.color, .width = style.width});
  const std::string word = verdict_word(result);
  const Style word_style = !result.defect.empty() ? Style::bad : style_of(result.outcome);
  const Doubt* const doubt = stated_doubt(result);
  const std::string reason = (doubt == nullptr ? "" : doubt->name + ": ") + verdict_reason(result);
  const std::string details = joined(
      {reason, differences_within_rounding(result), style.quiet ? "" : allowance(result), style.quiet ? "" : circumstances(result)}, " · ");
  verdict.row({{word, word_style}, details, exit_text(exit_code(result, allow_inconclusive))});
  return verdict.text();
}

}  // namespace

Table layers_table(const VerifyResult& result, const ReportStyle& style) {
  Table table({.indent = 2, .gap = 2, .color = style.color, .width = style.width});
  table.head({"node by node", "", right("alone"), right("floor"), right("in place"), right("floor")});
  const auto number = [](const std::optional<double>& value) { return value ? scientific(*value) : "–"; };
  for (const LayerResult& layer : result.layers) {
    const Style of = layer.outcome == Outcome::different ? Style::bad : Style::plain;
    table.row({Cell(layer_label(layer), of), std::string(name_of(layer.type)) + " " + to_string(layer.dims), Cell(error_text(layer), of),
               scientific(layer.floor.max), number(layer.depth.error), number(layer.depth.floor)});
    if (of == Style::bad) table.note(layer.reason, of);
  }
  return table;
}

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
  Table table({.color = style.color, .width = style.width});
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
    const std::size_t all = result.losses.size(), shown = style.verbose ? all : std::min(kMostLosses, all);
    out += losses_table(result, shown, style).text();
    if (shown < all) out += "  " + counted(static_cast<int64_t>(all - shown), "more node") + " (-v)\n";
  }
  const bool listed = std::ranges::any_of(result.layers, [](const LayerResult& layer) { return layer.depth.error.has_value(); });
  if (style.layers && listed) out += layers_table(result, style).text();
  if (!result.defect.empty()) out += paint("defect in relayout: " + result.defect, Style::bad, style.color) + "\n";
  return out + other_doubts(result) + verdict_line(result, allow_inconclusive, style);
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
        suite_{"relayout verify " + result.a + " " + result.b, junit_now(), properties(result), {}} {}

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

std::string derivative_text(const DerivativeCheckResult& result, const ReportStyle& style) {
  const bool holds = exit_code(result) == 0;
  std::string out;
  for (const std::string& name : result.different_outputs) out += "  " + quote(name) + " is not what the original computes\n";
  for (const CheckedDerivative& one : result.derivatives) {
    const std::string floor = one.bound > result.bound ? ", within the " + significant(one.bound, 2) + " of the differences' rounding" : "";
    const std::string error = !one.is_told && one.error == 0 ? "lost in rounding on every sample: nothing was tested"
                              : std::isfinite(one.error)     ? "relative error " + significant(one.error, 2) + floor
                                                             : "other dims, or not finite";
    if (!style.quiet || !one.holds)
      out += "  " + std::string(one.holds ? "holds" : one.error == 0 ? "open " : "WRONG") + "   " + quote(one.name) + "   " + error + "\n";
  }
  return out + (holds ? "same" : "different") + "   central differences, " + counted(result.samples, "sample") + ", bound " +
         significant(result.bound, 2) + "\n";
}

JunitSuite junit_suite(const VerifyResult& result, bool allow_inconclusive) {
  return PairSuite(result, allow_inconclusive).make();
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
