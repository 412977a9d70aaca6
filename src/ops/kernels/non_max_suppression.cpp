// Keeps, of overlapping boxes, the one with the best score.

#include <array>
#include <cmath>

#include "base/positions.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

/// Corners of a box; areas and overlaps in f32, as in every implementation.
struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  [[nodiscard]] float area() const { return (right - left) * (bottom - top); }
};

/// [y1, x1, y2, x2] with the corners in any order, or [x center, y center, width, height].
Box box_from(const std::array<float, 4>& numbers, bool center) {
  if (center) {
    const float half_width = numbers[2] / 2, half_height = numbers[3] / 2;
    return {numbers[0] - half_width, numbers[1] - half_height, numbers[0] + half_width, numbers[1] + half_height};
  }
  return {std::min(numbers[1], numbers[3]), std::min(numbers[0], numbers[2]), std::max(numbers[1], numbers[3]),
          std::max(numbers[0], numbers[2])};
}

/// The kept boxes as one array per coordinate, so that many are compared with one box at a time.
struct KeptBoxes {
  std::vector<float> left, top, right, bottom, area;

  void add(const Box& box) {
    left.push_back(box.left), top.push_back(box.top), right.push_back(box.right), bottom.push_back(box.bottom);
    area.push_back(box.area());
  }
};

/// Whether any of the `count` kept boxes from `first` on shares some area with the box.
RELAYOUT_VECTORIZE bool meets_any(const Box& box, const KeptBoxes& kept, std::size_t first, std::size_t count) {
  const float *const left = kept.left.data() + first, *const top = kept.top.data() + first, *const right = kept.right.data() + first;
  const float* const bottom = kept.bottom.data() + first;
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_beside = std::min(box.right, right[i]) > std::max(box.left, left[i]);
    found |= static_cast<int>(is_beside & (std::min(box.bottom, bottom[i]) > std::max(box.top, top[i])));
  }
  return found != 0;
}

/// Whether any of the `count` kept boxes from `first` on overlaps the box by more than `threshold` of their union.
RELAYOUT_VECTORIZE bool overlaps_any(const Box& box, const KeptBoxes& kept, std::size_t first, std::size_t count, float threshold) {
  const float *const left = kept.left.data() + first, *const top = kept.top.data() + first, *const right = kept.right.data() + first;
  const float *const bottom = kept.bottom.data() + first, *const areas = kept.area.data() + first;
  const float area = box.area();
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float width = std::min(box.right, right[i]) - std::max(box.left, left[i]);
    const float height = std::min(box.bottom, bottom[i]) - std::max(box.top, top[i]);
    const float shared = width * height, whole = area + areas[i] - shared;
    const bool is_real = (width > 0) & (height > 0) & (area > 0) & (areas[i] > 0) & (whole > 0);
    found |= static_cast<int>(is_real & (shared / whole > threshold));
  }
  return found != 0;
}

/// Whether a kept box overlaps too much. The best boxes, which most others overlap, come first.
bool is_hidden(const Box& box, const KeptBoxes& kept, float threshold) {
  constexpr std::size_t kTogether = 64;
  for (std::size_t first = 0; first < kept.area.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, kept.area.size() - first);
    if (meets_any(box, kept, first, count) && overlaps_any(box, kept, first, count, threshold)) return true;
  }
  return false;
}

struct Suppression {
  int64_t limit = 0;  ///< boxes per class
  float overlap = 0;
  std::optional<float> score;
  bool center = false;
};

/// Remaining boxes of one image and class, best score first; of equal scores the lower index first.
std::vector<int64_t> remaining_boxes(const std::vector<Box>& boxes, const std::vector<float>& scores, const Suppression& rule) {
  std::vector<int64_t> candidates;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!rule.score || scores[i] > *rule.score) candidates.push_back(static_cast<int64_t>(i));
  }
  const auto score = [&](int64_t i) { return element_at(scores, i); };
  std::ranges::stable_sort(candidates,
                           [&](int64_t a, int64_t b) { return score(a) > score(b) || (!std::isnan(score(a)) && std::isnan(score(b))); });
  std::vector<int64_t> out;
  KeptBoxes kept;
  for (const int64_t candidate : candidates) {
    if (static_cast<int64_t>(out.size()) >= rule.limit) break;
    const Box& box = element_at(boxes, candidate);
    if (is_hidden(box, kept, rule.overlap)) continue;
    kept.add(box);
    out.push_back(candidate);
  }
  return out;
}

/// Rows (image, class, box) of the result.
std::vector<std::array<int64_t, 3>> suppress(const Tensor& boxes, const Tensor& scores, const Suppression& rule) {
  std::vector<std::array<int64_t, 3>> rows;
  const int64_t images = boxes.dims()[0], count = boxes.dims()[1], classes = scores.dims()[1];
  const Tensor dense_boxes = contiguous(boxes), dense_scores = contiguous(scores);
  for (int64_t image = 0; image < images; ++image) {
    std::vector<Box> here;
    for (int64_t i = 0; i < count; ++i) {
      std::array<float, 4> numbers;
      load(boxes.type(), dense_boxes.bytes() + (image * count + i) * 4 * element_stride(boxes.type()), 1, 4, numbers.data());
      here.push_back(box_from(numbers, rule.center));
    }
    for (int64_t c = 0; c < classes; ++c) {
      std::vector<float> values(as_size(count));
      load(scores.type(), dense_scores.bytes() + (image * classes + c) * count * element_stride(scores.type()), 1, count, values.data());
      for (const int64_t box : remaining_boxes(here, values, rule)) rows.push_back({image, c, box});
    }
  }
  return rows;
}

/// Contents of the scalar operands, or nothing when one is not known yet.
std::optional<Suppression> suppression_of(const OpCall& call, InputInfos inputs) {
  Suppression rule;
  rule.center = call.attributes.integer("center_point_box", 0) != 0;
  for (std::size_t i = 2; i < inputs.size(); ++i) {
    const DatumInfo* info = optional_tensor_info(call, inputs, i, i == 2 ? TypeSet{DataType::int64} : kRealTypes);
    if (info == nullptr || element_count(info->dims) == 0) continue;
    if (info->value == nullptr) return std::nullopt;
    if (i == 2)
      rule.limit = integer_of(call, *info->value);
    else if (i == 3)
      rule.overlap = static_cast<float>(real_of(call, *info->value));
    else
      rule.score = static_cast<float>(real_of(call, *info->value));
  }
  return rule;
}

}  // namespace

Inferred infer_non_max_suppression(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 5);
  const DatumInfo& boxes = tensor_info(call, inputs, 0, kRealTypes);
  const DatumInfo& scores = tensor_info(call, inputs, 1, kRealTypes);
  const bool fits = boxes.dims.size() == 3 && scores.dims.size() == 3 && boxes.dims[2] == 4 && boxes.dims[0] == scores.dims[0] &&
                    boxes.dims[1] == scores.dims[2];
  if (!fits) reject(call, "boxes " + to_string(boxes.dims) + " and scores " + to_string(scores.dims) + " do not fit");
  const auto rule = suppression_of(call, inputs);
  if (!rule || boxes.value == nullptr || scores.value == nullptr) return std::nullopt;
  return one(call, DataType::int64, {static_cast<int64_t>(suppress(*boxes.value, *scores.value, *rule).size()), 3});
}

void non_max_suppression(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const auto rows = suppress(tensor_at(inputs, 0), tensor_at(inputs, 1), *suppression_of(call, KnownInfos(inputs).get()));
  auto* to = out.data<int64_t>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j)
      to[static_cast<int64_t>(i) * out.strides()[0] + static_cast<int64_t>(j) * out.strides()[1]] = rows[i][j];
  }
}

}  // namespace relayout::kernels
