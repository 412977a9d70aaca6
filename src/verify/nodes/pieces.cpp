// The ranges between the cuts of an operator (ops/cuts has the numbers) that its operands can reach, and their words; for a comparison of
// two varying operands, which has no cuts, true and false.
#include "verify/nodes/pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "ops/bounds.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "verify/nodes/value_bounds.h"

namespace relayout {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Whether a run shows the elements of a value: a node computes it, or a caller passes it.
bool is_shown(const Value& value) {
  return value.producer() != nullptr || value.is_model_input();
}

/// Both results of a comparison whose operands both vary.
std::vector<Piece> results_of(const Node& node) {
  const bool can_vary = compares(predicate_of(node)) && node.input(0) != node.input(1);
  if (!can_vary || node.output(0) == nullptr) return {};
  return {{&node, node.output(0), 0, 0, true}, {&node, node.output(0), 1, 1, true}};
}

bool can_reach(const Bounds& bounds, const Piece& piece) {
  if (piece.is_point) return bounds.lowest <= piece.above && piece.above <= bounds.highest;
  return bounds.highest > piece.above && bounds.lowest < piece.below;
}

}  // namespace

double Piece::depth(double number) const {
  if (!is_point) return number > above && number < below ? std::min(number - above, below - number) : 0;
  if (number != above) return 0;
  return watched == node->output(0) ? kInfinity : std::max(1.0, std::fabs(number));
}

std::string Piece::text() const {
  if (watched == node->output(0)) return above != 0 ? "true" : "false";
  if (is_point) return exact_number(above);
  if (below == kInfinity) return "number above " + exact_number(above);
  if (above == -kInfinity) return "number below " + exact_number(below);
  return "number between " + exact_number(above) + " and " + exact_number(below);
}

std::vector<Piece> pieces_of(const Node& node, ValueBounds& bounds, bool is_wide) {
  if (!is_wide && node.is("Exp")) return {};
  const auto cuts = cuts_of(node, bounds.types(), [&](const Value& value) { return bounds.of(value); });
  const Value* const watched = cuts ? node.input(cuts->operand) : nullptr;
  if (watched == nullptr || !is_shown(*watched)) return results_of(node);
  std::vector<Piece> out;
  if (cuts->is_point) {
    out.push_back({&node, watched, cuts->numbers.front(), cuts->numbers.front(), true});
  } else {
    double above = -kInfinity;
    for (const double cut : cuts->numbers) {
      if (cut > above) out.push_back({&node, watched, above, cut, false});
      above = std::max(above, cut);
    }
    if (!cuts->numbers.empty()) out.push_back({&node, watched, above, kInfinity, false});
  }
  const Bounds found = bounds.of(*watched);
  std::erase_if(out, [&](const Piece& piece) { return !can_reach(found, piece); });
  return out;
}

const Value* before_limits(const Value& value) {
  const Value* at = &value;
  while (at->producer() != nullptr) {
    const Node& node = *at->producer();
    const Traits traits = traits_of(node);
    if (!limits(node) && !traits.has(Trait::clips) && !traits.has(Trait::casts) && !traits.moves_input(0)) return at;
    const auto varies = [](const Value* input) { return input != nullptr && !input->is_stored_constant(); };
    if (std::ranges::count_if(node.inputs(), varies) != 1) return at;
    at = *std::ranges::find_if(node.inputs(), varies);
  }
  return at;
}

}  // namespace relayout
