// Copies elements at listed positions of each axis, for resizing and padding, which compute the positions.

#include "base/positions.h"
#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/call.h"
#include "ops/kernels/gather.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// out[i] = source[positions[i] · step].
template <class T>
RELAYOUT_VECTORIZE void pick_row(const T* source, int64_t step, const int64_t* positions, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = source[positions[i] * step];
}

/// Writes each of `count` elements twice.
template <class T>
RELAYOUT_VECTORIZE void double_row(const T* source, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    const T value = source[i];
    out[2 * i] = value;
    out[2 * i + 1] = value;
  }
}

/// A dim of the result, with the position in the source for each position.
struct PickedDim {
  std::vector<int64_t> positions;
  int64_t from_stride = 0, to_stride = 0;
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(positions.size()); }
};

/// Elements adjacent in the source and in the result.
struct PickedRun {
  int64_t from = 0, to = 0, length = 0;
};

bool is_whole(const PickedDim& dim, int64_t source_size) {
  if (dim.size() != source_size) return false;
  for (int64_t i = 0; i < source_size; ++i) {
    if (element_at(dim.positions, i) != i) return false;
  }
  return true;
}

/// The innermost elements of the result, as a contiguous block, and the dims around it, outermost first.
struct PickPlan {
  std::vector<PickedDim> outer;
  PickedDim inner;
  int64_t block = 1;            ///< elements for each position of `inner`
  std::vector<PickedRun> runs;  ///< of the inner dim, in elements, if they are longer than a few elements on average
  bool doubles = false;         ///< the inner dim is each element twice
};

PickPlan plan_of(const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out) {
  std::vector<std::size_t> order;  // by stride of the result, largest first
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (out.dims()[i] != 1 || x.dims()[i] != 1) order.push_back(i);
  }
  const auto is_outside = [&](std::size_t a, std::size_t b) {  // dims of one position outermost
    const bool one = out.dims()[a] == 1, other = out.dims()[b] == 1;
    return one != other ? one : out.strides()[a] > out.strides()[b];
  };
  std::ranges::stable_sort(order, is_outside);
  PickPlan plan;
  for (const std::size_t i : order) plan.outer.push_back({positions[i], x.strides()[i], out.strides()[i]});
  // Dims that are whole and stored alike in source and result join the block, except the outermost.
  while (plan.outer.size() > 1) {
    const PickedDim& last = plan.outer.back();
    const PickedDim& around = plan.outer[plan.outer.size() - 2];
    const int64_t block = plan.block * last.size();
    if (last.from_stride != plan.block || last.to_stride != plan.block || around.from_stride != block || around.to_stride != block) break;
    if (!is_whole(last, x.dims()[order[plan.outer.size() - 1]])) break;
    plan.block = block;
    plan.outer.pop_back();
  }
  if (plan.outer.empty()) plan.outer.push_back({{0}, 1, 1});
  plan.inner = std::move(plan.outer.back());
  plan.outer.pop_back();
  const PickedDim& inner = plan.inner;
  constexpr int64_t kLongRun = 8;
  bool doubles = plan.block == 1 && inner.from_stride == 1 && inner.size() % 2 == 0;
  for (int64_t i = 0; i < inner.size(); ++i) {
    const int64_t from = element_at(inner.positions, i);
    doubles = doubles && from == i / 2;
    const bool continues = i > 0 && from == element_at(inner.positions, i - 1) + 1 && inner.from_stride == plan.block;
    if (continues) {
      plan.runs.back().length += plan.block;
    } else {
      plan.runs.push_back({from * inner.from_stride, i * inner.to_stride, plan.block});
    }
  }
  plan.doubles = doubles;
  if (static_cast<int64_t>(plan.runs.size()) * kLongRun > inner.size() * plan.block) plan.runs.clear();
  return plan;
}

template <class T>
void pick_inner(const PickPlan& plan, const T* source, T* target) {
  const PickedDim& inner = plan.inner;
  if (plan.doubles) return double_row(source, inner.size() / 2, target);
  for (const PickedRun& run : plan.runs) std::copy_n(source + run.from, run.length, target + run.to);
  if (!plan.runs.empty()) return;
  if (plan.block == 1) return pick_row(source, inner.from_stride, inner.positions.data(), inner.size(), target);
  for (int64_t i = 0; i < inner.size(); ++i) {
    const T* const from = source + element_at(inner.positions, i) * inner.from_stride;
    T* const to = target + i * inner.to_stride;
    for (int64_t k = 0; k < plan.block; ++k) to[k] = from[k];
  }
}

/// Picks rows of the inner dim; a row with the same source as the previous one is a copy of it.
void pick_numbers(int threads, const PickPlan& plan, const Tensor& x, const Tensor& out) {
  int64_t rows = 1;
  for (const PickedDim& dim : plan.outer) rows *= dim.size();
  const int64_t length = plan.inner.size() * plan.block;
  with_storage(x.type(), [&]<class T>(const T&) {
    const int64_t tasks = std::clamp<int64_t>(rows * length / kParallelElements, 1, std::max(threads, 1));
    parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) {
      const T* before = nullptr;
      T* last = nullptr;
      const int64_t first = rows * task / tasks;
      std::vector<int64_t> index(plan.outer.size());  // of the row; advanced row by row
      for (std::size_t k = plan.outer.size(), rest = as_size(first); k-- > 0;) {
        const auto dim = as_size(plan.outer[k].size());
        index[k] = static_cast<int64_t>(rest % dim);
        rest /= dim;
      }
      for (int64_t row = first; row < rows * (task + 1) / tasks; ++row) {
        int64_t from = 0, to = 0;
        for (std::size_t k = 0; k < plan.outer.size(); ++k) {
          from += element_at(plan.outer[k].positions, index[k]) * plan.outer[k].from_stride;
          to += index[k] * plan.outer[k].to_stride;
        }
        for (std::size_t k = plan.outer.size(); k-- > 0;) {
          if (++index[k] < plan.outer[k].size()) break;
          index[k] = 0;
        }
        const T* const source = x.data<T>() + from;
        T* const target = out.data<T>() + to;
        if (source == before) {
          std::copy_n(last, length, target);
        } else {
          pick_inner(plan, source, target);
        }
        before = source;
        last = target;
      }
    });
  });
}

}  // namespace

void pick_elements(const OpCall& call, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out) {
  if (x.type() != DataType::string && out.element_count() > 0) {
    const PickPlan plan = plan_of(x, positions, out);
    if (plan.inner.size() == 1 || plan.inner.to_stride == plan.block) return pick_numbers(call.threads, plan, x, out);
  }
  Tensor source = x;
  for (std::size_t i = 0; i < positions.size(); ++i) source = taken(call, source, i, positions[i]);
  copy_elements(call.threads, out, source);
}

}  // namespace relayout
