// Finds the choice between nearly equal numbers that an exact output shows, and counts the elements that rounding may have decided.
#include "verify/ties.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/attributes.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/elements.h"
#include "verify/noise.h"
#include "verify/session.h"

namespace relayout {
namespace {

/// Of two numbers, or of anything that may be equal.
bool is_comparison(const Node& node) {
  return has_trait(node, Trait::makes_boolean) && has_trait(node, Trait::jumps);
}

std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> out;
  out.reserve(as_size(tensor.element_count()));
  for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> values) { out.insert(out.end(), values.begin(), values.end()); });
  return out;
}

/// Element `flat` of a tensor of dims `dims` in one of dims `of` that is broadcast to it.
std::size_t broadcast_index(const Dims& dims, const Dims& of, int64_t flat) {
  int64_t index = 0, stride = 1;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const std::size_t axis = dims.size() - 1 - k;
    const int64_t at = flat % dims[axis];
    flat /= dims[axis];
    if (k >= of.size()) continue;
    const int64_t length = of[of.size() - 1 - k];
    index += (length == 1 ? 0 : at) * stride;
    stride *= length;
  }
  return as_size(index);
}

/// Counts ties, and remembers what to say of the first.
class Tally {
 public:
  void tie(const std::string& text) {
    if (ties_++ == 0) first_tie_ = text;
  }
  void unexplained(const std::string& text) {
    if (unexplained_.empty()) unexplained_ = text;
  }
  [[nodiscard]] TieVerdict verdict() const {
    return {unexplained_.empty() && ties_ > 0, ties_, unexplained_.empty() ? first_tie_ : unexplained_};
  }

 private:
  int64_t ties_ = 0;
  std::string first_tie_, unexplained_;
};

/// "scores 0.51 and 0.52 (may be 1.0e-05 apart)"
std::string competitors(const char* what, double x, double y, double tolerance) {
  return std::string(what) + " " + exact_number(x) + " and " + exact_number(y) + " are " + short_number(std::fabs(x - y)) +
         " apart, rounding may be " + short_number(tolerance);
}

/// One result of a decider against the other.
class Explanation {
 public:
  Explanation(const Decider& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference, const Tensor& candidate)
      : node_(*decider.node), attributes_(*decider.node), operands_(operands), reference_(reference), candidate_(candidate) {}

  TieVerdict run() {
    if (operands_.empty() || !operands_.front().value) return {};
    if (node_.is("NonMaxSuppression")) {
      boxes();
      return tally_.verdict();
    }
    if (reference_.dims() != candidate_.dims() || reference_.type() != candidate_.type()) return {};
    a_ = doubles_of(reference_);
    b_ = doubles_of(candidate_);
    if (node_.is("ArgMax") || node_.is("ArgMin")) {
      chosen_indices();
    } else if (node_.is("TopK")) {
      best_indices();
    } else if (node_.is("QuantizeLinear")) {
      quantized();
    } else if (node_.is("Cast")) {
      cast();
    } else {
      compared();
    }
    return tally_.verdict();
  }

 private:
  [[nodiscard]] const DeciderOperand& operand(std::size_t i) const {
    static const DeciderOperand kNone;
    return i < operands_.size() ? operands_[i] : kNone;
  }
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::size_t i) const {
    if (!operand(i).value || !kRealTypes.has(operand(i).value.type())) return std::nullopt;
    return doubles_of(operand(i).value);
  }

  void weigh(double x, double y, double tolerance, const char* what) {
    const std::string text = competitors(what, x, y, tolerance);
    if (tolerance > 0 && std::fabs(x - y) <= tolerance) {
      tally_.tie(text);
    } else {
      tally_.unexplained(text);
    }
  }

  /// The index of the largest or smallest along an axis.
  void chosen_indices() {
    const auto scores = numbers(0);
    if (!scores) return;
    const Dims& dims = operand(0).value.dims();
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = attributes_.integer("axis", 0);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return;
    const int64_t length = dims[as_size(axis)];
    int64_t inner = 1;
    for (int64_t k = axis + 1; k < rank; ++k) inner *= dims[as_size(k)];
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const auto row = static_cast<int64_t>(i);
      weigh_indices(*scores, (row / inner) * length * inner + row % inner, inner, length, a_[i], b_[i]);
    }
  }

  void weigh_indices(const std::vector<double>& scores, int64_t first, int64_t stride, int64_t length, double a, double b) {
    const auto score = [&](double index) -> std::optional<double> {
      if (!(index >= 0) || index >= static_cast<double>(length)) return std::nullopt;
      const auto at = as_size(first + static_cast<int64_t>(index) * stride);
      return at < scores.size() ? std::optional(scores[at]) : std::nullopt;
    };
    const auto x = score(a), y = score(b);
    if (!x || !y) return tally_.unexplained("index " + exact_number(b) + " is not in range");
    weigh(*x, *y, 2 * operand(0).tolerance, "scores");
  }

  /// TopK's second output.
  void best_indices() {
    const auto scores = numbers(0);
    if (!scores) return;
    const Dims &dims = operand(0).value.dims(), &out = reference_.dims();
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = attributes_.integer("axis", -1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || out.size() != dims.size()) return;
    const int64_t length = dims[as_size(axis)], count = out[as_size(axis)];
    int64_t inner = 1;
    for (int64_t k = axis + 1; k < rank; ++k) inner *= dims[as_size(k)];
    const int64_t rows = count == 0 ? 0 : static_cast<int64_t>(a_.size()) / count;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t outer = row / inner, within = row % inner;
      std::set<double> seen;
      for (int64_t k = 0; k < count; ++k) {
        const auto at = as_size((outer * count + k) * inner + within);
        if (!seen.insert(b_[at]).second) return tally_.unexplained("index " + exact_number(b_[at]) + " appears twice");
        if (a_[at] != b_[at]) weigh_indices(*scores, outer * length * inner + within, inner, length, a_[at], b_[at]);
      }
    }
  }

  void compared() {
    const auto x = numbers(0), y = numbers(1);
    if (!x || !y) return;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const auto flat = static_cast<int64_t>(i);
      const std::size_t at_x = broadcast_index(reference_.dims(), operand(0).value.dims(), flat);
      const std::size_t at_y = broadcast_index(reference_.dims(), operand(1).value.dims(), flat);
      if (at_x >= x->size() || at_y >= y->size()) return tally_.unexplained("");
      weigh((*x)[at_x], (*y)[at_y], operand(0).tolerance + operand(1).tolerance, "operands");
    }
  }

  /// Towards zero: ties lie at whole numbers. To bool: at zero.
  void cast() {
    const auto x = numbers(0);
    if (!x || x->size() != a_.size()) return;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const double edge = reference_.type() == DataType::boolean ? 0 : std::round((*x)[i]);
      if (std::fabs(a_[i] - b_[i]) > 1) {
        tally_.unexplained(exact_number(b_[i]) + ", was " + exact_number(a_[i]));
      } else {
        weigh((*x)[i], edge, operand(0).tolerance, "value and edge");
      }
    }
  }

  /// To the nearest: ties lie at halves of the scale.
  void quantized() {
    const auto x = numbers(0), scale = numbers(1);
    if (!x || !scale || scale->empty() || x->size() != a_.size()) return;
    const Dims& dims = reference_.dims();
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t axis = attributes_.integer("axis", 1);
    if (axis < 0) axis += rank;
    int64_t inner = 1;
    for (int64_t k = axis + 1; k < rank; ++k) inner *= dims[as_size(k)];
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const std::size_t channel = scale->size() == 1 ? 0 : (i / as_size(inner)) % scale->size();
      const double step = (*scale)[channel], at = (*x)[i] / step;
      if (std::fabs(a_[i] - b_[i]) > 1) {
        tally_.unexplained(exact_number(b_[i]) + ", was " + exact_number(a_[i]));
      } else {
        // What falls by a share of itself crosses the boundary below, however near the one above is.
        const double tolerance = operand(0).tolerance / std::fabs(step), below = b_[i] < a_[i] ? operand(0).share_below : 0;
        const double edge = std::floor(at) + (below > 0 && at < std::floor(at) + 0.5 - tolerance ? -0.5 : 0.5);
        weigh(at, edge, tolerance + below * std::fabs(at), "value and edge (in steps)");
      }
    }
  }

  using Box = std::array<int64_t, 3>;  ///< batch, class, box

  static std::set<Box> boxes_of(const Tensor& tensor) {
    std::set<Box> out;
    if (tensor.rank() != 2 || tensor.dims()[1] != 3) return out;
    const Tensor dense = contiguous(tensor);
    for (int64_t i = 0; i < dense.dims()[0]; ++i) {
      const int64_t* const row = dense.data<int64_t>() + 3 * i;
      out.insert({row[0], row[1], row[2]});
    }
    return out;
  }

  [[nodiscard]] double scalar(std::size_t i, double otherwise) const {
    const auto values = numbers(i);
    return values && !values->empty() ? values->front() : otherwise;
  }

  /// Corners of a box, smaller first.
  [[nodiscard]] std::array<double, 4> corners(const std::vector<double>& all, const Box& box) const {
    const Dims& dims = operand(0).value.dims();
    const auto at = as_size((box[0] * dims[1] + box[2]) * 4);
    if (attributes_.integer("center_point_box", 0) == 1) {
      const double x = all[at], y = all[at + 1], w = all[at + 2] / 2, h = all[at + 3] / 2;
      return {y - h, x - w, y + h, x + w};
    }
    return {std::min(all[at], all[at + 2]), std::min(all[at + 1], all[at + 3]), std::max(all[at], all[at + 2]),
            std::max(all[at + 1], all[at + 3])};
  }

  static double overlap(const std::array<double, 4>& p, const std::array<double, 4>& q) {
    const double height = std::min(p[2], q[2]) - std::max(p[0], q[0]), width = std::min(p[3], q[3]) - std::max(p[1], q[1]);
    if (height <= 0 || width <= 0) return 0;
    const double shared = height * width;
    const double all = (p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - shared;
    return all > 0 ? shared / all : 0;
  }

  /// Boxes that only one side keeps: at a threshold, or overlapping one that is.
  void boxes() {
    const auto corners_of_all = numbers(0), scores = numbers(1);
    if (!corners_of_all || !scores || reference_.type() != DataType::int64 || candidate_.type() != DataType::int64) return;
    if (operand(0).value.rank() != 3 || operand(1).value.rank() != 3) return;
    const std::set<Box> a = boxes_of(reference_), b = boxes_of(candidate_);
    std::set<Box> apart, all = a;
    std::ranges::set_symmetric_difference(a, b, std::inserter(apart, apart.end()));
    all.insert(b.begin(), b.end());
    const Dims& dims = operand(1).value.dims();
    for (const Box& box : all) {
      if (box[0] < 0 || box[0] >= dims[0] || box[1] < 0 || box[1] >= dims[1] || box[2] < 0 || box[2] >= dims[2]) {
        return tally_.unexplained("a box that is not there");
      }
    }
    const double threshold = scalar(3, 0);
    const auto score = [&](const Box& box) { return (*scores)[as_size((box[0] * dims[1] + box[1]) * dims[2] + box[2])]; };
    std::set<Box> pending = apart;
    for (bool again = true; again;) {
      again = false;
      for (auto at = pending.begin(); at != pending.end();) {
        const std::string why = why_flipped(*at, all, apart, pending, *corners_of_all, score, threshold);
        if (why.empty()) {
          ++at;
          continue;
        }
        tally_.tie(why);
        at = pending.erase(at);
        again = true;
      }
    }
    if (!pending.empty()) {
      const Box& box = *pending.begin();
      tally_.unexplained("box " + std::to_string(box[2]) + " of score " + exact_number(score(box)) +
                         (a.contains(box) ? " is not kept" : " is kept"));
    }
    // The same boxes in another order: each pair of neighbours that changed places has scores as near as that.
    if (apart.empty()) order(score);
  }

  template <class Score>
  std::string why_flipped(const Box& box, const std::set<Box>& all, const std::set<Box>& apart, const std::set<Box>& pending,
                          const std::vector<double>& corners_of_all, const Score& score, double threshold) const {
    const double near = operand(1).tolerance, least = scalar(4, -std::numeric_limits<double>::infinity());
    if (std::fabs(score(box) - least) <= near) return competitors("score and threshold", score(box), least, near);
    const auto mine = corners(corners_of_all, box);
    const double size = std::max(std::min(mine[2] - mine[0], mine[3] - mine[1]), 1e-30);
    const double near_overlap = 8 * operand(0).tolerance / size + 1e-6;
    int64_t kept = 0;
    for (const Box& other : all) {
      if (other == box || other[0] != box[0] || other[1] != box[1]) continue;
      ++kept;
      const double iou = overlap(mine, corners(corners_of_all, other));
      if (std::fabs(iou - threshold) <= near_overlap) return competitors("overlap and threshold", iou, threshold, near_overlap);
      // Which of two overlapping ones came first, or one that was itself a tie.
      const bool flipped = apart.contains(other);
      if (flipped && iou > threshold && std::fabs(score(box) - score(other)) <= 2 * near) {
        return competitors("scores", score(box), score(other), 2 * near);
      }
      if (flipped && iou > threshold && !pending.contains(other)) return "box " + std::to_string(box[2]) + " overlaps one that is a tie";
      // The last of those that there is room for.
      if (flipped && std::fabs(score(box) - score(other)) <= 2 * near && kept >= static_cast<int64_t>(scalar(2, 0))) {
        return competitors("scores at the last place", score(box), score(other), 2 * near);
      }
    }
    return {};
  }

  template <class Score>
  void order(const Score& score) {
    if (reference_.dims() != candidate_.dims()) return tally_.unexplained("a box appears twice");
    const Tensor x = contiguous(reference_), y = contiguous(candidate_);
    for (int64_t i = 0; i < x.dims()[0]; ++i) {
      const int64_t *const p = x.data<int64_t>() + 3 * i, *const q = y.data<int64_t>() + 3 * i;
      if (std::equal(p, p + 3, q)) continue;
      weigh(score({p[0], p[1], p[2]}), score({q[0], q[1], q[2]}), 2 * operand(1).tolerance, "scores");
    }
  }

  const Node& node_;
  Attributes attributes_;
  const std::vector<DeciderOperand>& operands_;
  const Tensor &reference_, &candidate_;
  std::vector<double> a_, b_;
  Tally tally_;
};

bool is_decider(const Node& node) {
  if (!node.domain().empty()) return false;
  return node.is("ArgMax") || node.is("ArgMin") || node.is("TopK") || node.is("NonMaxSuppression") || node.is("QuantizeLinear") ||
         is_comparison(node);
}

bool may_be_float(const Value* value) {
  if (value == nullptr) return false;
  const auto declared = value->declared();
  return !declared || declared->type == DataType::undefined || traits(declared->type).is_float;
}

/// Collects the operands that nodes make, in one run.
std::unordered_map<const Value*, Tensor> run_for(const Side& a, const Decider& decider, const Inputs& inputs, ExecuteOptions options) {
  std::unordered_map<const Value*, Tensor> made;
  const auto wanted = decider.node->inputs();
  options.mode = Mode::as_written;
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Value* const value = node.output(k);
      if (value == nullptr || std::ranges::find(wanted, value) == wanted.end() || !outputs[k].tensor) continue;
      const Tensor dense = contiguous(outputs[k].tensor);
      if (!kNumericTypes.has(dense.type())) continue;
      Tensor copy(dense.type(), dense.dims());
      std::copy_n(dense.bytes(), as_size(dense.element_count()) * memory_size(dense.type()), copy.bytes());
      made.insert_or_assign(value, copy);
    }
  };
  Session session(a, std::move(options));
  (void)session.run(inputs);
  return made;
}

}  // namespace

std::optional<Decider> decider_of(const Value& output) {
  constexpr int kMostSteps = 32;
  const Value* at = &output;
  for (int step = 0; step < kMostSteps && at->producer() != nullptr; ++step) {
    const Node& node = *at->producer();
    if (is_decider(node)) return Decider{&node, at->output_index()};
    if (node.is("Cast")) {
      // From a float it decides itself; from an exact type it only carries on.
      const Value* const from = node.input(0);
      const bool carries =
          from != nullptr && from->producer() != nullptr &&
          (is_decider(*from->producer()) || has_trait(*from->producer(), Trait::keeps_order) || from->producer()->is("Cast"));
      if (!carries) return may_be_float(from) ? std::optional(Decider{&node, 0}) : std::nullopt;
    } else if (!has_trait(node, Trait::keeps_order)) {
      return std::nullopt;
    }
    if (node.input(0) == nullptr) return std::nullopt;
    at = node.input(0);
  }
  return std::nullopt;
}

TieVerdict explain_ties(const Decider& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                        const Tensor& candidate) {
  return Explanation(decider, operands, reference, candidate).run();
}

std::vector<DeciderOperand> decider_operands(const Side& a, const Decider& decider, const std::function<Inputs()>& inputs,
                                             const ExecuteOptions& execute, int draws, DataType grain) {
  const auto made = run_for(a, decider, inputs(), execute);
  const Inputs given = inputs();
  Constants constants;
  std::vector<DeciderOperand> operands;
  for (const Value* const value : decider.node->inputs()) {
    DeciderOperand& operand = operands.emplace_back();
    if (value == nullptr) continue;
    if (const auto found = made.find(value); found != made.end()) {
      operand.value = found->second;
    } else if (const auto input = given.find(value->name()); input != given.end()) {
      operand.value = input->second.tensor;
    } else if (const auto constant = constants.value(*value)) {
      operand.value = *constant;
    }
  }
  const WeightNoise noise(a.model->graph());
  for (int draw = 0; draw < draws; ++draw) {
    ExecuteOptions options = execute;
    options.edit_constant = noise.draw(options.seed, draw, grain);
    const auto moved = run_for(a, decider, inputs(), std::move(options));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto found = moved.find(decider.node->input(i));
      if (found == moved.end() || found->second.dims() != operands[i].value.dims()) continue;
      Yardstick yardstick;
      yardstick.add(operands[i].value);
      const double apart = distance(operands[i].value, found->second).max_abs;
      const DataType type = operands[i].value.type();
      if (!is_measured(type)) continue;
      const double minimum = dtype_minimum(unit_roundoff(grain) > unit_roundoff(type) ? grain : type) * yardstick.range();
      operands[i].tolerance = std::max({operands[i].tolerance, kFloorFactor * apart, minimum});
    }
  }
  return operands;
}

}  // namespace relayout
