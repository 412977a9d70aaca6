#include "ops/pick.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/threads.h"
#include "base/vectorize.h"
#include "ops/dtypes.h"
#include "ops/gather.h"
#include "ops/op.h"
#include "ops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// out[i] = source[positions[i] · step].
template <class T>
RELAYOUT_VECTORIZE void pick_row(const T* source, int64_t step, const int64_t* positions, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = source[positions[i] * step];
}

/// Each of `count` elements twice.
template <class T>
RELAYOUT_VECTORIZE void double_row(const T* source, int64_t count, T* out) {
  for (int64_t i = 0; i < count; ++i) {
    const T value = source[i];
    out[2 * i] = value;
    out[2 * i + 1] = value;
  }
}

/// Rows run along the dim that is innermost in the result; those that come from the same row as the one before are copies of it.
void pick_numbers(int threads, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out) {
  std::size_t inner = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (out.strides()[i] <= out.strides()[inner] && out.dims()[i] > 1) inner = i;
  }
  std::vector<std::size_t> outer;  // by stride of the result, largest first
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (i != inner) outer.push_back(i);
  }
  std::ranges::stable_sort(outer, [&](std::size_t a, std::size_t b) { return out.strides()[a] > out.strides()[b]; });
  const std::vector<int64_t>& along = positions[inner];
  bool doubles = along.size() % 2 == 0, is_whole = x.dims()[inner] == out.dims()[inner];
  for (std::size_t i = 0; i < along.size(); ++i) {
    doubles = doubles && along[i] == static_cast<int64_t>(i / 2);
    is_whole = is_whole && along[i] == static_cast<int64_t>(i);
  }
  int64_t rows = 1;
  for (const std::size_t i : outer) rows *= out.dims()[i];
  const int64_t length = out.dims()[inner], step = x.strides()[inner];
  const bool moves_bytes = is_whole && step == 1;
  with_storage(x.type(), [&]<class T>(const T&) {
    const int64_t tasks = std::clamp<int64_t>(rows * length / kParallelElements, 1, std::max(threads, 1));
    parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) {
      const T* before = nullptr;
      T* last = nullptr;
      const int64_t first = rows * task / tasks;
      std::vector<int64_t> index(outer.size());  // of the row, counted on from here
      for (int64_t k = static_cast<int64_t>(outer.size()) - 1, rest = first; k >= 0; --k) {
        const int64_t dim = out.dims()[outer[static_cast<std::size_t>(k)]];
        index[static_cast<std::size_t>(k)] = rest % dim;
        rest /= dim;
      }
      for (int64_t row = first; row < rows * (task + 1) / tasks; ++row) {
        int64_t from = 0, to = 0;
        for (std::size_t k = 0; k < outer.size(); ++k) {
          from += positions[outer[k]][static_cast<std::size_t>(index[k])] * x.strides()[outer[k]];
          to += index[k] * out.strides()[outer[k]];
        }
        for (std::size_t k = outer.size(); k-- > 0;) {
          if (++index[k] < out.dims()[outer[k]]) break;
          index[k] = 0;
        }
        const T* const source = x.data<T>() + from;
        T* const target = out.data<T>() + to;
        if (source == before) {
          std::copy_n(last, length, target);
        } else if (moves_bytes) {
          std::copy_n(source, length, target);
        } else if (doubles && step == 1) {
          double_row(source, length / 2, target);
        } else {
          pick_row(source, step, along.data(), length, target);
        }
        before = source;
        last = target;
      }
    });
  });
}

}  // namespace

void pick_elements(const OpCall& call, const Tensor& x, const std::vector<std::vector<int64_t>>& positions, const Tensor& out) {
  const bool has_rows = std::ranges::find(out.strides(), 1) != out.strides().end();
  if (x.type() != DataType::string && has_rows) return pick_numbers(call.threads, x, positions, out);
  Tensor source = x;
  for (std::size_t i = 0; i < positions.size(); ++i) source = taken(call, source, i, positions[i]);
  copy_elements(call.threads, out, source);
}

}  // namespace relayout
