// Explains boxes that one of two results alone keeps, where their numbers differ by no more than rounding.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/ties.h"

namespace relayout {
namespace {

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

}  // namespace

TieVerdict explain_boxes(const Node& node, const std::vector<DeciderOperand>& operands, const Tensor& reference, const Tensor& candidate) {
  return BoxTies(node, operands, reference, candidate).run();
}

}  // namespace relayout
