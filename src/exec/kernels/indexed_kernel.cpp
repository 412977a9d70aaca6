// Reads elements of f32 at indices along one axis, and adds elements there.
#include <atomic>

#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/program.h"
#include "ops/kernels/gather.h"

namespace relayout::exec {
namespace {

/// Wraps, as Sub does.
int64_t less(int64_t index, int64_t begin) {
  return static_cast<int64_t>(static_cast<uint64_t>(index) - static_cast<uint64_t>(begin));
}

/// Whether all differences of indices and what their lines begin with are in [−length, length).
RELAYOUT_VECTORIZE bool are_within(const int64_t* indices, const int64_t* begins, int64_t lines, int64_t inner, int64_t length) {
  const auto least = static_cast<uint64_t>(length);
  uint64_t beyond = 0;
  for (int64_t line = 0; line < lines; ++line, indices += inner) {
    for (int64_t i = 0; i < inner; ++i) {
      const uint64_t index = static_cast<uint64_t>(indices[i]) - static_cast<uint64_t>(begins[i]);
      beyond |= (index + least) | (least - 1 - index);
    }
  }
  return beyond >> 63U == 0;
}

class IndexedKernel : public Kernel {
 public:
  IndexedKernel(const IndexedLines& shape, IndexedUse use, std::vector<int64_t> begins, const ProgramNode& node, Team team)
      : shape_(shape), use_(use), begins_(std::move(begins)), node_(node), team_(team) {
    if (begins_.empty()) begins_.resize(as_size(shape.inner));
    begins_stride_ = std::ssize(begins_) == shape.inner ? 0 : shape.inner;
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) indices_ = reinterpret_cast<const int64_t*>(data);
    if (operand == 1) source_ = reinterpret_cast<const float*>(data);
    const bool is_number = operand == 2 && use_ == IndexedUse::add_to_number;
    if (is_number) number_ = reinterpret_cast<const float*>(data);
    if (operand >= 2 && !is_number) destination_ = reinterpret_cast<float*>(data);
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    const int64_t each = shape_.indexed * shape_.inner;
    std::atomic<bool> is_beyond = false;  // nothing may throw in the threads
    team_.divide(shape_.outer, kElementsPerPart / std::max<int64_t>(each, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i * each, block = i * shape_.length * shape_.inner;
        const int64_t* const begins = begins_.data() + i * begins_stride_;
        if (!are_within(indices_ + from, begins, shape_.indexed, shape_.inner, shape_.length)) {
          is_beyond = true;
          continue;
        }
        if (use_ == IndexedUse::add_to_number) std::fill_n(destination_ + block, shape_.length * shape_.inner, *number_);
        if (use_ == IndexedUse::read) {
          read(indices_ + from, begins, source_ + block, destination_ + from);
        } else {
          add(indices_ + from, begins, source_ + from, destination_ + block);
        }
      }
    });
    if (is_beyond) name_index();
  }

 private:
  /// Throws for the first index that is out of range.
  void name_index() const {
    for (int64_t i = 0; i < shape_.outer * shape_.indexed * shape_.inner; ++i) {
      const int64_t line = i / (shape_.indexed * shape_.inner);
      const int64_t begin = element_at(begins_, line * begins_stride_ + i % shape_.inner);
      (void)checked_index(node_.call, less(indices_[i], begin), shape_.length);
    }
  }

  [[nodiscard]] int64_t place(int64_t index) const { return (index < 0 ? index + shape_.length : index) * shape_.inner; }

  void read(const int64_t* indices, const int64_t* begins, const float* from, float* to) const {
    for (int64_t k = 0; k < shape_.indexed; ++k, indices += shape_.inner, to += shape_.inner) {
      for (int64_t i = 0; i < shape_.inner; ++i) to[i] = from[place(less(indices[i], begins[i])) + i];
    }
  }

  void add(const int64_t* indices, const int64_t* begins, const float* from, float* to) const {
    for (int64_t k = 0; k < shape_.indexed; ++k, indices += shape_.inner, from += shape_.inner) {
      for (int64_t i = 0; i < shape_.inner; ++i) to[place(less(indices[i], begins[i])) + i] += from[i];
    }
  }

  IndexedLines shape_;
  IndexedUse use_;
  std::vector<int64_t> begins_;
  int64_t begins_stride_ = 0;
  const ProgramNode& node_;
  Team team_;
  const int64_t* indices_ = nullptr;
  const float *source_ = nullptr, *number_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_indexed_kernel(const IndexedLines& shape, IndexedUse use, std::vector<int64_t> begins, const ProgramNode& node,
                                            Team team) {
  return std::make_unique<IndexedKernel>(shape, use, std::move(begins), node, team);
}

}  // namespace relayout::exec
