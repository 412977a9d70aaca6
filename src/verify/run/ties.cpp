// Explains exact outputs that differ by choices among nearly equal numbers, as rounding may decide them either way.
#include "verify/run/ties.h"

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/noise.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"

namespace relayout {

namespace {

/// "scores 0.51 and 0.52 are 0.01 apart, rounding may be 1.0e-05"
std::string competitors(const char* what, double x, double y, double tolerance) {
  return std::string(what) + " " + exact_number(x) + " and " + exact_number(y) + " are " + scientific(std::fabs(x - y)) +
         " apart, rounding may be " + scientific(tolerance);
}

/// Counts differing elements that rounding may have decided, and keeps the text about the first.
class TieCount {
 public:
  void tie(const std::string& text) {
    if (ties_++ == 0) first_tie_ = text;
  }
  void unexplained(const std::string& text) {
    if (unexplained_.empty()) unexplained_ = text;
  }
  /// A tie if two numbers are at most `tolerance` apart, as rounding may be; otherwise an element that no tie explains.
  void weigh(double x, double y, double tolerance, const char* what) {
    const std::string text = competitors(what, x, y, tolerance);
    tolerance > 0 && std::fabs(x - y) <= tolerance ? tie(text) : unexplained(text);
  }
  [[nodiscard]] TieVerdict verdict() const {
    return {unexplained_.empty() && ties_ > 0, ties_, unexplained_.empty() ? first_tie_ : unexplained_};
  }

 private:
  int64_t ties_ = 0;
  std::string first_tie_, unexplained_;
};

/// Operands by which a decider decided.
class DeciderOperands {
 public:
  explicit DeciderOperands(const std::vector<DeciderOperand>& all) : all_(&all) {}
  /// Has no value if it is absent.
  [[nodiscard]] const DeciderOperand& operator[](std::size_t i) const {
    static const DeciderOperand kNone;
    return i < all_->size() ? (*all_)[i] : kNone;
  }
  /// nullopt if it is absent or not of real numbers.
  [[nodiscard]] std::optional<std::vector<double>> numbers(std::size_t i) const {
    const Tensor& value = (*this)[i].value;
    return value && kRealTypes.has(value.type()) ? std::optional(reals_of(value)) : std::nullopt;
  }
  [[nodiscard]] double scalar(std::size_t i, double otherwise) const {
    const auto values = numbers(i);
    return values && !values->empty() ? values->front() : otherwise;
  }

 private:
  const std::vector<DeciderOperand>* all_;
};

/// Whether a node rounds to steps of a scale that is an operand.
bool is_quantizer(const Node& node) {
  return has_trait(node, Trait::quantizes) && has_trait(node, Trait::jumps) && node.input(1) != nullptr;
}

/// Index, in a tensor of dims `of` that is broadcast to `dims`, of element `flat`.
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

/// Whether a node chooses one of its labels by scores that are its second output.
bool is_classifier(const Node& node) {
  return node.domain() == kMlDomain && node.op_type().ends_with("Classifier") && node.output(1) != nullptr;
}

/// The values that a decider compares.
std::vector<const Value*> compared_values(const Node& decider) {
  if (is_classifier(decider)) return {decider.output(1)};
  return {decider.inputs().begin(), decider.inputs().end()};
}

/// Places in a classifier's labels of the elements of a result; −1 where it is no label.
std::vector<std::ptrdiff_t> places_in_labels(const Attributes& attributes, const Tensor& result) {
  const Tensor dense = contiguous(result);
  const auto find_all = [&](const auto& labels, const auto* elements) {
    std::vector<std::ptrdiff_t> out;
    for (int64_t i = 0; i < dense.element_count(); ++i) {
      const auto found = std::ranges::find(labels, elements[i]);
      out.push_back(found == labels.end() ? -1 : found - labels.begin());
    }
    return out;
  };
  if (dense.type() == DataType::string) return find_all(attributes.texts("classlabels_strings"), dense.data<std::string>());
  if (dense.type() != DataType::int64) return {};
  const char* const name = attributes.has("classlabels_ints") ? "classlabels_ints" : "classlabels_int64s";
  return find_all(attributes.integers(name), dense.data<int64_t>());
}

/// Compares two results of a decider.
class Explanation {
 public:
  Explanation(const Node& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference, const Tensor& candidate)
      : node_(decider), attributes_(decider), operands_(operands), reference_(reference), candidate_(candidate) {}

  TieVerdict run() {
    if (reference_.dims() != candidate_.dims() || reference_.type() != candidate_.type()) return {};
    if (is_classifier(node_)) {
      labelled();
      return tally_.verdict();
    }
    if (!kNumericTypes.has(reference_.type()) && reference_.type() != DataType::boolean) return {};
    a_ = reals_of(reference_);
    b_ = reals_of(candidate_);
    if (node_.is("ArgMax") || node_.is("ArgMin")) {
      chosen_indices();
    } else if (node_.is("TopK")) {
      best_indices();
    } else if (is_quantizer(node_)) {
      quantized();
    } else if (has_trait(node_, Trait::casts)) {
      cast();
    } else {
      compared();
    }
    return tally_.verdict();
  }

 private:
  /// The label of the largest score, of one per label.
  void labelled() {
    const auto scores = operands_.numbers(0);
    const auto of_a = places_in_labels(attributes_, reference_), of_b = places_in_labels(attributes_, candidate_);
    if (!scores || of_a.empty() || scores->size() % of_a.size() != 0) return;
    const auto labels = static_cast<std::ptrdiff_t>(scores->size() / of_a.size());
    for (std::size_t row = 0; row < of_a.size(); ++row) {
      if (of_a[row] == of_b[row]) continue;
      if (std::min(of_a[row], of_b[row]) < 0 || std::max(of_a[row], of_b[row]) >= labels) return tally_.unexplained("no label of A");
      const double* const of_row = scores->data() + static_cast<std::ptrdiff_t>(row) * labels;
      tally_.weigh(of_row[of_a[row]], of_row[of_b[row]], 2 * operands_[0].tolerance, "scores");
    }
  }

  /// The index of the largest or smallest element along an axis.
  void chosen_indices() {
    const auto scores = operands_.numbers(0);
    if (!scores) return;
    const Dims& dims = operands_[0].value.dims();
    const auto axis = checked_axis(attributes_.integer("axis", 0), dims.size());
    if (!axis) return;
    const int64_t length = dims[*axis], inner = element_count(std::span(dims).subspan(*axis + 1));
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
    tally_.weigh(*x, *y, 2 * operands_[0].tolerance, "scores");
  }

  /// TopK's second output.
  void best_indices() {
    const auto scores = operands_.numbers(0);
    if (!scores) return;
    const Dims &dims = operands_[0].value.dims(), &out = reference_.dims();
    const auto axis = checked_axis(attributes_.integer("axis", -1), dims.size());
    if (!axis || out.size() != dims.size()) return;
    const int64_t length = dims[*axis], count = out[*axis], inner = element_count(std::span(dims).subspan(*axis + 1));
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
    const auto x = operands_.numbers(0), y = operands_.numbers(1);
    if (!x || !y) return;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const auto flat = static_cast<int64_t>(i);
      const std::size_t at_x = broadcast_index(reference_.dims(), operands_[0].value.dims(), flat);
      const std::size_t at_y = broadcast_index(reference_.dims(), operands_[1].value.dims(), flat);
      if (at_x >= x->size() || at_y >= y->size()) return tally_.unexplained("");
      tally_.weigh((*x)[at_x], (*y)[at_y], operands_[0].tolerance + operands_[1].tolerance, "operands");
    }
  }

  /// Towards zero: ties are at whole numbers. To bool: at zero.
  void cast() {
    const auto x = operands_.numbers(0);
    if (!x || x->size() != a_.size()) return;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const double edge = reference_.type() == DataType::boolean ? 0 : std::round((*x)[i]);
      if (std::fabs(a_[i] - b_[i]) > 1) {
        tally_.unexplained(exact_number(b_[i]) + ", was " + exact_number(a_[i]));
      } else {
        tally_.weigh((*x)[i], edge, operands_[0].tolerance, "value and edge");
      }
    }
  }

  /// To nearest: ties are at halves of the scale.
  void quantized() {
    const auto x = operands_.numbers(0), scale = operands_.numbers(1);
    if (!x || !scale || x->size() != a_.size()) return;
    const ScaleSharing::Places places = ScaleSharing::of(node_).places(reference_.dims(), std::ssize(*scale));
    if (places == nullptr) return;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      if (a_[i] == b_[i]) continue;
      const double step = (*scale)[places(static_cast<int64_t>(i))], at = (*x)[i] / step;
      if (std::fabs(a_[i] - b_[i]) > 1) {
        tally_.unexplained(exact_number(b_[i]) + ", was " + exact_number(a_[i]));
      } else {
        // A number reduced by a share of itself crosses the boundary below, however near the one above is.
        const double tolerance = operands_[0].tolerance / std::fabs(step), below = b_[i] < a_[i] ? operands_[0].share_below : 0;
        const double edge = std::floor(at) + (below > 0 && at < std::floor(at) + 0.5 - tolerance ? -0.5 : 0.5);
        tally_.weigh(at, edge, tolerance + below * std::fabs(at), "value and edge (in steps)");
      }
    }
  }

  const Node& node_;
  Attributes attributes_;
  DeciderOperands operands_;
  const Tensor &reference_, &candidate_;
  std::vector<double> a_, b_;
  TieCount tally_;
};

using Box = std::array<int64_t, 3>;  ///< batch, class, box

std::set<Box> boxes_of(const Tensor& tensor) {
  std::set<Box> out;
  if (tensor.rank() != 2 || tensor.dims()[1] != 3) return out;
  const Tensor dense = contiguous(tensor);
  for (int64_t i = 0; i < dense.dims()[0]; ++i) {
    const int64_t* const row = dense.data<int64_t>() + 3 * i;
    out.insert({row[0], row[1], row[2]});
  }
  return out;
}

double overlap(const std::array<double, 4>& p, const std::array<double, 4>& q) {
  const double height = std::min(p[2], q[2]) - std::max(p[0], q[0]), width = std::min(p[3], q[3]) - std::max(p[1], q[1]);
  if (height <= 0 || width <= 0) return 0;
  const double shared = height * width;
  const double all = (p[2] - p[0]) * (p[3] - p[1]) + (q[2] - q[0]) * (q[3] - q[1]) - shared;
  return all > 0 ? shared / all : 0;
}

/// Explains boxes that only one of two results of a NonMaxSuppression keeps.
class BoxTies {
 public:
  BoxTies(const Node& node, const std::vector<DeciderOperand>& operands, const Tensor& reference, const Tensor& candidate)
      : attributes_(node), operands_(operands), reference_(reference), candidate_(candidate) {}

  TieVerdict run() {
    compare();
    return tally_.verdict();
  }

 private:
  /// A box that only one side keeps has to be at a threshold, tied with another box, or overlap a box that is a tie.
  void compare() {
    const auto corners_of_all = operands_.numbers(0), scores = operands_.numbers(1);
    if (!corners_of_all || !scores || reference_.type() != DataType::int64 || candidate_.type() != DataType::int64) return;
    if (operands_[0].value.rank() != 3 || operands_[1].value.rank() != 3) return;
    const std::set<Box> a = boxes_of(reference_), b = boxes_of(candidate_);
    std::set<Box> apart, all = a;
    std::ranges::set_symmetric_difference(a, b, std::inserter(apart, apart.end()));
    all.insert(b.begin(), b.end());
    const Dims& dims = operands_[1].value.dims();
    for (const Box& box : all) {
      if (box[0] < 0 || box[0] >= dims[0] || box[1] < 0 || box[1] >= dims[1] || box[2] < 0 || box[2] >= dims[2]) {
        return tally_.unexplained("a box that is not there");
      }
    }
    const double threshold = operands_.scalar(3, 0);
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
    // The same boxes in another order: where two rows differ, their scores have to be nearly equal.
    if (apart.empty()) order(score);
  }

  /// Corners of a box, smaller coordinates first.
  [[nodiscard]] std::array<double, 4> corners(const std::vector<double>& all, const Box& box) const {
    const Dims& dims = operands_[0].value.dims();
    const auto at = as_size((box[0] * dims[1] + box[2]) * 4);
    if (attributes_.integer("center_point_box", 0) == 1) {
      const double x = all[at], y = all[at + 1], w = all[at + 2] / 2, h = all[at + 3] / 2;
      return {y - h, x - w, y + h, x + w};
    }
    return {std::min(all[at], all[at + 2]), std::min(all[at + 1], all[at + 3]), std::max(all[at], all[at + 2]),
            std::max(all[at + 1], all[at + 3])};
  }

  template <class Score>
  std::string why_flipped(const Box& box, const std::set<Box>& all, const std::set<Box>& apart, const std::set<Box>& pending,
                          const std::vector<double>& corners_of_all, const Score& score, double threshold) const {
    const double near = operands_[1].tolerance, least = operands_.scalar(4, -std::numeric_limits<double>::infinity());
    if (std::fabs(score(box) - least) <= near) return competitors("score and threshold", score(box), least, near);
    const auto mine = corners(corners_of_all, box);
    const double size = std::max(std::min(mine[2] - mine[0], mine[3] - mine[1]), 1e-30);
    const double near_overlap = 8 * operands_[0].tolerance / size + 1e-6;
    int64_t kept = 0;
    for (const Box& other : all) {
      if (other == box || other[0] != box[0] || other[1] != box[1]) continue;
      ++kept;
      const double iou = overlap(mine, corners(corners_of_all, other));
      if (std::fabs(iou - threshold) <= near_overlap) return competitors("overlap and threshold", iou, threshold, near_overlap);
      // Overlapping boxes: a tie decides which of them comes first, or the other box is itself a tie.
      const bool flipped = apart.contains(other);
      if (flipped && iou > threshold && std::fabs(score(box) - score(other)) <= 2 * near) {
        return competitors("scores", score(box), score(other), 2 * near);
      }
      if (flipped && iou > threshold && !pending.contains(other)) return "box " + std::to_string(box[2]) + " overlaps one that is a tie";
      // Boxes that compete for the last place of max_output_boxes_per_class.
      if (flipped && std::fabs(score(box) - score(other)) <= 2 * near && kept >= static_cast<int64_t>(operands_.scalar(2, 0))) {
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
      tally_.weigh(score({p[0], p[1], p[2]}), score({q[0], q[1], q[2]}), 2 * operands_[1].tolerance, "scores");
    }
  }

  Attributes attributes_;
  DeciderOperands operands_;
  const Tensor &reference_, &candidate_;
  TieCount tally_;
};

bool is_decider(const Node& node) {
  if (!node.domain().empty()) return is_classifier(node);
  return node.is("ArgMax") || node.is("ArgMin") || node.is("TopK") || node.is("NonMaxSuppression") || is_quantizer(node) ||
         compares(predicate_of(node));
}

/// Whether a value is what a decider decided: TopK's largest numbers and a classifier's scores are none.
bool is_decided(const Value& value) {
  const Node* const node = value.producer();
  return node != nullptr && is_decider(*node) && value.output_index() == (node->is("TopK") ? 1 : 0);
}

bool may_be_float(const Value* value) {
  if (value == nullptr) return false;
  const auto declared = value->declared();
  return !declared || declared->type == DataType::undefined || traits(declared->type).is_float;
}

/// Collects, in one run of a, the operands that nodes compute; with `noise` as moved by a draw of it.
std::unordered_map<const Value*, Tensor> run_for(const Pair& pair, const Node& decider, const Inputs& inputs,
                                                 const WeightNoise* noise = nullptr, int draw = 0) {
  std::unordered_map<const Value*, Tensor> made;
  ExecuteOptions options = pair.execute_options(Mode::as_written);
  const auto wanted = compared_values(decider);
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
  if (noise != nullptr) noise->apply(options, draw, pair.grain);
  pair.steps->next("ties");
  (void)pair.open(pair.a, std::move(options))->run(inputs);
  return made;
}

}  // namespace

const Node* decider_of(const Value& output) {
  constexpr int kMostSteps = 32;
  const Value* at = &output;
  for (int step = 0; step < kMostSteps && at->producer() != nullptr; ++step) {
    const Node& node = *at->producer();
    if (is_decided(*at)) return &node;
    const Value* const from = node.input(0);
    if (from == nullptr) return nullptr;
    if (has_trait(node, Trait::casts)) {
      // From a float it decides itself; from an exact type it only passes on a decision.
      const Node* const before = from->producer();
      const bool carries =
          is_decided(*from) || (before != nullptr && (has_trait(*before, Trait::keeps_order) || has_trait(*before, Trait::casts)));
      if (!carries) return may_be_float(from) ? &node : nullptr;
    } else if (!has_trait(node, Trait::keeps_order) && predicate_of(node) != Predicate::logical_not) {
      return nullptr;
    }
    at = from;
  }
  return nullptr;
}

TieVerdict explain_ties(const Node& decider, const std::vector<DeciderOperand>& operands, const Tensor& reference,
                        const Tensor& candidate) {
  if (operands.empty() || !operands.front().value) return {};
  if (decider.is("NonMaxSuppression")) return BoxTies(decider, operands, reference, candidate).run();
  return Explanation(decider, operands, reference, candidate).run();
}

std::vector<DeciderOperand> decider_operands(const Pair& pair, const Node& decider, const std::function<Inputs()>& inputs, int draws) {
  const auto made = run_for(pair, decider, inputs());
  const Inputs given = inputs();
  Constants constants;
  std::vector<DeciderOperand> operands;
  for (const Value* const value : compared_values(decider)) {
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
  const WeightNoise noise(pair.a.model->graph());
  const auto compared = compared_values(decider);
  for (int draw = 0; draw < draws; ++draw) {
    const auto moved = run_for(pair, decider, noise.inputs(inputs(), pair.options->seed, draw, pair.grain), &noise, draw);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto found = moved.find(compared[i]);
      if (found == moved.end() || found->second.dims() != operands[i].value.dims()) continue;
      const DataType type = operands[i].value.type();
      if (!is_measured(type)) continue;
      const double apart = distance(operands[i].value, found->second).max_abs;
      const double minimum = dtype_minimum(coarser(type, pair.grain)) * Yardstick(operands[i].value).range();
      operands[i].tolerance = std::max({operands[i].tolerance, kFloorFactor * apart, minimum});
    }
  }
  return operands;
}

}  // namespace relayout
