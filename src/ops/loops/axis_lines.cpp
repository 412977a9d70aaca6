// Visits a tensor line by line, for kernels that need a whole line at once.

#include "ops/loops/axis_lines.h"

#include "base/threads.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Calls run(offset in elements, stride, count, elements before) for each run of the last dim.
template <class Run>
void for_each_run(const AxisLine& line, const Run& run) {
  if (line.dims.empty()) return run(0, 1, 1, 0);
  const int64_t total = element_count(line.dims);
  if (total == 0) return;
  // Dims with a common stride form one run.
  std::size_t last = line.dims.size() - 1;
  int64_t length = line.dims[last];
  const int64_t step = line.strides[last];
  for (; last > 0 && line.strides[last - 1] == step * length; --last) length *= line.dims[last - 1];
  if (last == 0) return run(0, step, length, 0);
  Dims index(line.dims.size(), 0);
  int64_t offset = 0;
  for (int64_t done = 0; done < total; done += length) {
    run(offset, step, length, done);
    for (std::size_t axis = last; axis-- > 0;) {
      offset += line.strides[axis];
      if (++index[axis] < line.dims[axis]) break;
      offset -= index[axis] * line.strides[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

template <class Domain>
void AxisLine::read(DataType type, const std::byte* data, Domain* out) const {
  const int64_t size = element_stride(type);
  for_each_run(*this, [&](int64_t offset, int64_t stride, int64_t count, int64_t done) {
    load(type, data + offset * size, stride, count, out + done);
  });
}

template <class Domain>
void AxisLine::write(DataType type, std::byte* data, const Domain* from) const {
  const int64_t size = element_stride(type);
  for_each_run(*this, [&](int64_t offset, int64_t stride, int64_t count, int64_t done) {
    store(type, data + offset * size, stride, count, from + done);
  });
}

template void AxisLine::read(DataType, const std::byte*, double*) const;
template void AxisLine::read(DataType, const std::byte*, int64_t*) const;
template void AxisLine::read(DataType, const std::byte*, uint64_t*) const;
template void AxisLine::write(DataType, std::byte*, const double*) const;
template void AxisLine::write(DataType, std::byte*, const int64_t*) const;
template void AxisLine::write(DataType, std::byte*, const uint64_t*) const;

Operand reduced_operand(const Tensor& out, const std::vector<bool>& reduced, bool keeps) {
  Operand result{out.bytes(), element_stride(out.type()), Dims(reduced.size(), 0)};
  std::size_t next = 0;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) result.strides[i] = out.strides()[next];
    if (!reduced[i] || keeps) ++next;
  }
  return result;
}

Dims reduced_dims(const Dims& dims, const std::vector<bool>& reduced, bool keeps) {
  Dims result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!reduced[i])
      result.push_back(dims[i]);
    else if (keeps)
      result.push_back(1);
  }
  return result;
}

AxisLines::AxisLines(const Dims& dims, const std::vector<bool>& along) : dims_(dims), along_(along) {
  for (std::size_t i = 0; i < dims.size(); ++i) (along[i] ? length_ : count_) *= dims[i];
}

void AxisLines::for_each(int threads, std::vector<Operand> operands,
                         const std::function<void(std::byte* const*, const std::vector<AxisLine>&)>& visit) const {
  std::vector<AxisLine> lines(operands.size());
  Dims outer;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    Dims outer_strides;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (along_[i]) {
        lines[k].dims.push_back(dims_[i]);
        lines[k].strides.push_back(operands[k].strides[i]);
      } else {
        outer_strides.push_back(operands[k].strides[i]);
        if (k == 0) outer.push_back(dims_[i]);
      }
    }
    operands[k].strides = std::move(outer_strides);
  }
  const int64_t enough = std::max<int64_t>(length_ * count_ / kParallelElements, 1);
  const int64_t tasks = std::min<int64_t>({enough, threads, count_});
  // Tasks are ranges of line numbers, so that they do not depend on how the loop merges dims.
  const auto visit_lines = [&](int64_t begin, int64_t end) {
    std::vector<std::byte*> data(operands.size());
    for (int64_t number = begin; number < end; ++number) {
      for (std::size_t k = 0; k < operands.size(); ++k) data[k] = operands[k].data;
      int64_t rest = number;
      for (std::size_t axis = outer.size(); axis-- > 0;) {
        const int64_t index = rest % outer[axis];
        rest /= outer[axis];
        for (std::size_t k = 0; k < operands.size(); ++k) data[k] += index * operands[k].strides[axis] * operands[k].size;
      }
      visit(data.data(), lines);
    }
  };
  if (tasks <= 1) return visit_lines(0, count_);
  parallel_for(tasks, static_cast<int>(tasks), [&](int64_t task) { visit_lines(count_ * task / tasks, count_ * (task + 1) / tasks); });
}

}  // namespace relayout
