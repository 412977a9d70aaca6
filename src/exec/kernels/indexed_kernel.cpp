// Reads elements of f32 at indices along one axis, and adds elements there.
#include "base/positions.h"
#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/program.h"
#include "ops/kernels/gather.h"

namespace relayout::exec {
namespace {

/// Whether all of [−length, length) holds.
RELAYOUT_VECTORIZE bool are_within(const int64_t* indices, int64_t count, int64_t length) {
  uint64_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) beyond |= static_cast<uint64_t>(indices[i] + length) | static_cast<uint64_t>(length - 1 - indices[i]);
  return beyond >> 63U == 0;
}

class IndexedKernel : public Kernel {
 public:
  IndexedKernel(const IndexedLines& shape, IndexedUse use, const ProgramNode& node, Team team)
      : shape_(shape), use_(use), node_(node), team_(team) {}

  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) indices_ = reinterpret_cast<const int64_t*>(data);
    if (operand == 1) source_ = reinterpret_cast<const float*>(data);
    const bool is_number = operand == 2 && use_ == IndexedUse::add_to_number;
    if (is_number) number_ = reinterpret_cast<const float*>(data);
    if (operand >= 2 && !is_number) destination_ = reinterpret_cast<float*>(data);
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

  void run() override {
    check();
    const int64_t each = shape_.indexed * shape_.inner;
    team_.divide(shape_.outer, kElementsPerPart / std::max<int64_t>(each, 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i * each, block = i * shape_.length * shape_.inner;
        if (use_ == IndexedUse::add_to_number) std::fill_n(destination_ + block, shape_.length * shape_.inner, *number_);
        if (use_ == IndexedUse::read) {
          read(indices_ + from, source_ + block, destination_ + from);
        } else {
          add(indices_ + from, source_ + from, destination_ + block);
        }
      }
    });
  }

 private:
  /// Nothing may throw in the threads.
  void check() const {
    const std::span<const int64_t> all(indices_, as_size(shape_.outer * shape_.indexed * shape_.inner));
    if (are_within(all.data(), std::ssize(all), shape_.length)) return;
    for (const int64_t index : all) (void)checked_index(node_.call, index, shape_.length);
  }

  [[nodiscard]] int64_t place(int64_t index) const { return (index < 0 ? index + shape_.length : index) * shape_.inner; }

  void read(const int64_t* indices, const float* from, float* to) const {
    for (int64_t k = 0; k < shape_.indexed; ++k, indices += shape_.inner, to += shape_.inner) {
      for (int64_t i = 0; i < shape_.inner; ++i) to[i] = from[place(indices[i]) + i];
    }
  }

  void add(const int64_t* indices, const float* from, float* to) const {
    for (int64_t k = 0; k < shape_.indexed; ++k, indices += shape_.inner, from += shape_.inner) {
      for (int64_t i = 0; i < shape_.inner; ++i) to[place(indices[i]) + i] += from[i];
    }
  }

  IndexedLines shape_;
  IndexedUse use_;
  const ProgramNode& node_;
  Team team_;
  const int64_t* indices_ = nullptr;
  const float *source_ = nullptr, *number_ = nullptr;
  float* destination_ = nullptr;
};

}  // namespace

std::unique_ptr<Kernel> make_indexed_kernel(const IndexedLines& shape, IndexedUse use, const ProgramNode& node, Team team) {
  return std::make_unique<IndexedKernel>(shape, use, node, team);
}

}  // namespace relayout::exec
