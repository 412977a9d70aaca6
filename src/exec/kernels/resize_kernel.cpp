// Interpolates f32 tensors by given positions and weights, slab by slab.

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "ops/kernels/resize.h"

namespace relayout::exec {
namespace {

/// Tails of fewer elements are computed element by element.
constexpr int64_t kShortTail = 16;

RELAYOUT_VECTORIZE void scale_row(float* out, const float* x, float a, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = a * x[i];
}

RELAYOUT_VECTORIZE void sum_rows(float* out, const float* x, float a, const float* y, float b, int64_t count) {
  RELAYOUT_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = a * x[i] + b * y[i];
}

RELAYOUT_VECTORIZE void add_row(float* out, const float* x, float a, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += a * x[i];
}

RELAYOUT_VECTORIZE void sum_elements(float* out, const float* line, const int32_t* at, const float* weights, int64_t count) {
  const int32_t* const next = at + count;
  const float* const other = weights + count;
  RELAYOUT_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = weights[i] * line[at[i]] + other[i] * line[next[i]];
}

RELAYOUT_VECTORIZE void add_elements(float* out, const float* line, const int32_t* at, const float* weights, int64_t count) {
  RELAYOUT_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] += weights[i] * line[at[i]];
}

/// One dim and the sizes of its slabs.
struct Level {
  const ResizeTaps* taps = nullptr;
  int64_t source_slab = 1, result_slab = 1;  ///< elements of one position: in the source, and once the inner dims are interpolated
};

/// Positions and weights of the innermost dim by element, where its tail is short.
struct ElementTaps {
  std::vector<int32_t> at;
  std::vector<float> weights;
};

ElementTaps by_element(const ResizeTaps& taps, int64_t tail) {
  ElementTaps out;
  for (int64_t i = 0; i < taps.count * taps.out; ++i) {
    const int64_t at = element_at(taps.at, i);
    for (int64_t k = 0; k < tail; ++k) {
      out.at.push_back(static_cast<int32_t>(at == taps.in ? at * tail : at * tail + k));
      out.weights.push_back(static_cast<float>(element_at(taps.weights, i)));
    }
  }
  return out;
}

struct Plan {
  std::vector<Level> levels;  ///< the outermost first
  ElementTaps elements;       ///< empty where the tail is long
};

/// The work of one thread: keeps the slabs that neighbouring results share.
class Resampler {
 public:
  explicit Resampler(const Plan& plan) : plan_(plan), kept_(plan.levels.size()) {
    for (std::size_t i = 0; i < plan.levels.size(); ++i) {
      kept_[i].resize(as_size(plan.levels[i].taps->count));
      for (Slab& slab : kept_[i]) slab.values.resize(as_size(plan.levels[i].result_slab));
    }
    const Level& last = plan.levels.back();
    if (!plan.elements.at.empty()) line_.assign(as_size(last.taps->in * last.result_slab) + 1, 0.0F);
  }

  /// Computes position `p` along the outermost dim of the block at `source`.
  void run(const float* source, int64_t p, float* out) { run_level(0, source, p, out); }

  /// Computes all positions of the innermost dim, element by element.
  void run_elements(const Level& last, const float* from, float* out) {
    const int64_t source = last.taps->in * last.source_slab, result = last.taps->out * last.result_slab;
    std::copy_n(from, source, line_.data());
    for (int64_t t = 0; t < last.taps->count; t += t == 0 ? 2 : 1) {
      const int32_t* const at = plan_.elements.at.data() + t * result;
      const float* const weights = plan_.elements.weights.data() + t * result;
      if (t == 0) {
        sum_elements(out, line_.data(), at, weights, result);
      } else {
        add_elements(out, line_.data(), at, weights, result);
      }
    }
  }

 private:
  struct Slab {
    const float* source = nullptr;  ///< the source of `values`
    std::vector<float> values;
  };

  void run_level(std::size_t level, const float* source, int64_t p, float* out) {
    const Level& here = plan_.levels[level];
    const bool is_last = level + 1 == plan_.levels.size();
    int64_t terms = 0;
    const float* before = nullptr;
    float factor = 0;
    for (int64_t t = 0; t < here.taps->count; ++t) {
      const int64_t i = t * here.taps->out + p, at = element_at(here.taps->at, i);
      if (at == here.taps->in) continue;
      const float* const from = source + at * here.source_slab;
      const float* const slab = is_last ? from : interpolated(level, from, at);
      const auto weight = static_cast<float>(element_at(here.taps->weights, i));
      if (terms == 1) sum_rows(out, before, factor, slab, weight, here.result_slab);
      if (terms > 1) add_row(out, slab, weight, here.result_slab);
      before = slab, factor = weight, ++terms;
    }
    if (terms == 0) std::fill_n(out, here.result_slab, 0.0F);
    if (terms == 1) scale_row(out, before, factor, here.result_slab);
  }

  /// Slab `at` of a dim, interpolated along the inner dims. The inputs of one output are kept in different places.
  const float* interpolated(std::size_t level, const float* from, int64_t at) {
    const Level &here = plan_.levels[level], &inside = plan_.levels[level + 1];
    Slab& slab = element_at(kept_[level], at % here.taps->count);
    if (slab.source == from) return slab.values.data();
    slab.source = from;
    if (level + 2 == plan_.levels.size() && !plan_.elements.at.empty()) {
      run_elements(inside, from, slab.values.data());
    } else {
      for (int64_t p = 0; p < inside.taps->out; ++p) run_level(level + 1, from, p, slab.values.data() + p * inside.result_slab);
    }
    return slab.values.data();
  }

  const Plan& plan_;
  std::vector<std::vector<Slab>> kept_;  ///< by dim, then by position modulo the number of taps
  std::vector<float> line_;              ///< the innermost dim's source, followed by a 0
};

class ResizeKernel : public FloatKernel {
 public:
  ResizeKernel(Interpolation what, Team team) : what_(std::move(what)), team_(team) {
    int64_t source = what_.tail, result = what_.tail;
    for (std::size_t i = what_.dims.size(); i-- > 0;) {
      const ResizeTaps& taps = what_.dims[i];
      plan_.levels.insert(plan_.levels.begin(), {&taps, source, result});
      source *= taps.in, result *= taps.out;
    }
    source_block_ = source;
    if (what_.tail < kShortTail) plan_.elements = by_element(what_.dims.back(), what_.tail);
  }

  void run() override {
    const Level& outer = plan_.levels.front();
    const bool by_line = plan_.levels.size() == 1 && !plan_.elements.at.empty();
    const int64_t rows = by_line ? 1 : outer.taps->out, row = by_line ? outer.taps->out * outer.result_slab : outer.result_slab;
    team_.divide(what_.blocks * rows, kElementsPerPart / row + 1, [&](int64_t begin, int64_t end) {
      Resampler resampler(plan_);
      for (int64_t i = begin; i < end; ++i) {
        const float* const source = source_ + i / rows * source_block_;
        if (by_line) {
          resampler.run_elements(outer, source, destination_ + i * row);
        } else {
          resampler.run(source, i % rows, destination_ + i * row);
        }
      }
    });
  }

 private:
  Interpolation what_;
  Team team_;
  Plan plan_;
  int64_t source_block_ = 1;  ///< elements
};

}  // namespace

std::unique_ptr<Kernel> make_resize_kernel(Interpolation what, Team team) {
  return std::make_unique<ResizeKernel>(std::move(what), team);
}

}  // namespace relayout::exec
