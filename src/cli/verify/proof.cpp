// Reports what the files alone explain of their differences, and what they do not, the most telling first.

#include "cli/verify/report.h"

namespace relayout::cli {
namespace {

/// Maximum number of lines without -v. Models with more structural differences than this count as different in structure.
constexpr int64_t kMostLines = 3;

using Kind = Unexplained::Kind;

bool is_structural(const Unexplained& entry) {
  return entry.kind == Kind::node_added || entry.kind == Kind::node_removed || entry.kind == Kind::node_changed ||
         entry.kind == Kind::operand || entry.kind == Kind::graph;
}

/// Whether one constant may be the other with its type converted: real numbers to other real types or to a quantizer's integers, dims
/// between 64 and 32 bits. Constants with any other change of type are unrelated.
bool is_conversion(const Unexplained& entry) {
  constexpr auto kSizes = std::to_array<std::string_view>({"i32", "i64"});
  constexpr auto kNever = std::to_array<std::string_view>({"i64", "u64", "bool", "string"});
  const auto is_in = [](const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  const auto is_real = [](std::string_view name) { return name.starts_with('f') || name.starts_with("bf"); };
  if (is_real(entry.type_a)) return !is_in(kNever, entry.type_b);
  return is_in(kSizes, entry.type_a) && is_in(kSizes, entry.type_b);
}

/// Whether the values of a constant could not be compared, because its counterpart has a different shape or an unrelated type.
bool is_apart(const Unexplained& entry) {
  const bool is_constant = entry.kind == Kind::tensor || entry.kind == Kind::weight || entry.kind == Kind::bias;
  if (!is_constant || entry.values != 0) return false;
  return entry.type_a.empty() ? entry.kind == Kind::tensor : !is_conversion(entry);
}

/// Order of the lines: different values, other differences, nodes, then constants that could not be compared.
int rank_of(const Unexplained& entry) {
  if (is_apart(entry)) return 3;
  if (is_structural(entry)) return 2;
  return entry.values > 0 ? 0 : 1;
}

std::string unexplained_line(const std::string& text, const ReportStyle& style) {
  return paint("unexplained", Style::warning, style.color) + "   " + text + "\n";
}

std::string unexplained_lines(const Unexplained& entry, const ReportStyle& style) {
  const std::string& repair = entry.repair.text;
  return unexplained_line(entry.text, style) +
         (repair.empty() ? "" : "     " + paint("repair", Style::good, style.color) + "   " + repair + "\n");
}

/// "the structures differ: 5 nodes only in b.onnx, 7 only in a.onnx, 2 of another operator or version, 9 read other values"
std::string structure_text(const std::vector<const Unexplained*>& entries, const VerifyResult& result) {
  const std::array<std::pair<Kind, std::string>, 6> kWords = {{{Kind::node_added, " only in " + escape(result.b)},
                                                               {Kind::node_removed, " only in " + escape(result.a)},
                                                               {Kind::node_changed, " of another operator or version"},
                                                               {Kind::operand, " read other values"},
                                                               {Kind::attribute, " with other attributes"},
                                                               {Kind::graph, " with other nested graphs"}}};
  bool is_first = true;
  const std::string list = joined(kWords, ", ", [&](const auto& one) {
    // Each attribute has an entry, so a node may have several.
    std::set<std::string_view> names;
    for (const Unexplained* entry : entries) {
      if (entry->kind == one.first) names.insert(entry->name);
    }
    if (names.empty()) return std::string();
    return (std::exchange(is_first, false) ? counted(std::ssize(names), "node") : format_count(std::ssize(names))) + one.second;
  });
  return "the structures differ: " + list;
}

/// Whether most constants and nodes of a pair differ: two unrelated models, not two versions of one.
bool has_little_in_common(const VerifyResult& result) {
  if (!result.lossy.empty()) return false;
  const ProofResult& proof = *result.told_proof();
  std::set<std::string_view> nodes;
  int64_t constants = 0;
  for (const Unexplained& entry : proof.unexplained) {
    if (is_structural(entry) || entry.kind == Kind::attribute) nodes.insert(entry.name);
    constants += entry.kind == Kind::weight || entry.kind == Kind::bias || entry.kind == Kind::tensor ? 1 : 0;
  }
  return static_cast<int64_t>(nodes.size()) > kMostLines && static_cast<int64_t>(nodes.size()) > proof.nodes_equal &&
         constants > proof.tensors_equal + proof.permutations + proof.folds;
}

/// The lines without -v. Models of different structure pair unrelated constants and nodes, whose differences it sums up.
std::string short_list(const VerifyResult& result, const ReportStyle& style) {
  const std::vector<const Unexplained*> entries = telling_first(*result.told_proof());
  std::map<std::pair<std::string, std::string>, int64_t> retyped;
  int64_t structural = 0, apart = 0, lines = 0, hidden = 0;
  for (const Unexplained* entry : entries) {
    structural += is_structural(*entry) ? 1 : 0;
    ++retyped[{entry->type_a, entry->type_b}];
  }
  const bool is_restructured = structural > kMostLines;
  std::string out = is_restructured ? unexplained_line(structure_text(entries, result), style) : "";
  for (const Unexplained* entry : entries) {
    if (is_restructured && (is_structural(*entry) || entry->kind == Kind::attribute)) continue;
    // Conversions of precision change the type of every tensor: one line per pair of types.
    int64_t& alike = retyped[{entry->type_a, entry->type_b}];
    if (is_restructured && is_apart(*entry)) {
      ++apart;
    } else if (!entry->type_a.empty() && alike != 1) {
      const std::string types = " are stored as " + entry->type_b + ", were " + entry->type_a + " (-v)";
      if (const int64_t count = std::exchange(alike, 0); count > 1) out += unexplained_line(counted(count, "tensor") + types, style);
    } else if (lines == kMostLines) {
      ++hidden;
    } else {
      ++lines;
      out += unexplained_lines(*entry, style);
    }
  }
  const std::string constants = counted(apart, "constant has", "constants have");
  if (apart > 0) out += unexplained_line(constants + " no counterpart of the same type and shape (-v)", style);
  return hidden > 0 ? out + "              " + counted(hidden, "more difference") + " (-v)\n" : out;
}

}  // namespace

std::vector<const Unexplained*> telling_first(const ProofResult& proof) {
  std::vector<const Unexplained*> out;
  for (const Unexplained& entry : proof.unexplained) {
    // Differences of the interfaces are reported separately.
    if (entry.kind != Kind::interface) out.push_back(&entry);
  }
  std::ranges::stable_sort(out, {}, [](const Unexplained* entry) { return rank_of(*entry); });
  return out;
}

std::string proof_text(const VerifyResult& result, const ReportStyle& style) {
  if (result.told_proof() == nullptr) return {};
  const ProofResult& proof = *result.told_proof();
  std::string out;
  if (proof.proved) out += paint("proof", Style::good, style.color) + "   " + proof_sentence(result) + "\n";
  if (!style.verbose && has_little_in_common(result)) {
    return unexplained_line("the models have little in common: " + counted(proof.nodes_equal, "node") + " and " +
                                counted(proof.tensors_equal, "constant") + " are the same (-v: each difference)",
                            style);
  }
  if (!style.verbose) return out + short_list(result, style);
  if (!proof.proved) out += "explained     " + proof_counts(result) + "\n";
  const auto part = [](int64_t nodes, const char* what) { return nodes == 0 ? "" : counted(nodes, "node") + " " + what; };
  const std::string parts =
      joined({part(proof.nodes_equal, "equal"), part(proof.folded_nodes, "folded"), part(proof.nodes_bypassed, "bypassed"),
              part(proof.nodes_evaluated, "evaluated"), part(proof.nodes_dead, "that nothing needed gone")},
             ", ");
  if (!parts.empty()) out += "  " + parts + "\n";
  for (const Unexplained* entry : telling_first(proof)) out += unexplained_lines(*entry, style);
  return out;
}

}  // namespace relayout::cli
