// Concatenates tensors in one pass over the destination where their order allows it.

#include "base/vectorize.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Least bytes that a thread writes: 64 KiB, as in other kernels that only move elements.
constexpr int64_t kPartBytes = kElementsPerPart * 4;
/// Mean length of the runs, in bytes, from which one pass is faster: 1.4 to 2 times from 32 on, as fast at 16 and 24, four times as slow at
/// 8 (three operands of 2.4 MB together, AVX-512, 2026-11-26).
constexpr int64_t kLeastRun = 32;
/// From this length on the C library copies: it knows the sizes of the caches, and how to write around them.
constexpr int64_t kLongRun = 1 << 16;

/// Copies in blocks of a constant length; the last block overlaps the one before. A call for each run would take longer than most runs do.
template <int kBlock>
[[gnu::always_inline]] inline void copy_blocks(const std::byte* from, std::byte* to, int64_t bytes) {
  for (int64_t i = 0; i + kBlock <= bytes; i += kBlock) std::memcpy(to + i, from + i, kBlock);
  if (bytes % kBlock != 0) std::memcpy(to + bytes - kBlock, from + bytes - kBlock, kBlock);
}

[[gnu::always_inline]] inline void copy_run(const std::byte* from, std::byte* to, int64_t bytes) {
  if (bytes >= kLongRun) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  } else if (bytes >= 64) {
    copy_blocks<64>(from, to, bytes);
  } else if (bytes >= 16) {
    copy_blocks<16>(from, to, bytes);
  } else if (bytes >= 4) {
    copy_blocks<4>(from, to, bytes);
  } else {
    copy_blocks<1>(from, to, bytes);
  }
}

/// The run of bytes of one source in each row of the destination.
struct Run {
  const std::byte* source = nullptr;
  int64_t stride = 0;  ///< bytes from one run of the source to the next
  int64_t bytes = 0;
};

/// Writes bytes [begin, end) of a destination whose rows are the concatenated runs.
RELAYOUT_VECTORIZE void copy_rows(const std::vector<Run>& runs, int64_t row_bytes, std::byte* destination, int64_t begin, int64_t end) {
  int64_t row = begin / row_bytes, skipped = begin % row_bytes;
  for (int64_t at = begin; at < end; ++row) {
    for (const Run& run : runs) {
      if (skipped >= run.bytes) {
        skipped -= run.bytes;
        continue;
      }
      const int64_t bytes = std::min(run.bytes - skipped, end - at);
      copy_run(run.source + row * run.stride + skipped, destination + at, bytes);
      at += bytes;
      skipped = 0;
      if (at == end) return;
    }
  }
}

/// Writes the destination in one pass.
class RowsKernel : public Kernel {
 public:
  RowsKernel(std::vector<Run> runs, int64_t rows, Team team) : runs_(std::move(runs)), rows_(rows), team_(team) {
    for (const Run& run : runs_) row_bytes_ += run.bytes;
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand < runs_.size()) {
      runs_[operand].source = data;
    } else {
      destination_ = data;
    }
  }
  void run() override {
    team_.divide(rows_ * row_bytes_, kPartBytes,
                 [&](int64_t begin, int64_t end) { copy_rows(runs_, row_bytes_, destination_, begin, end); });
  }
  [[nodiscard]] std::string implementation() const override { return "copy"; }

 private:
  std::vector<Run> runs_;
  int64_t rows_, row_bytes_ = 0;
  Team team_;
  std::byte* destination_ = nullptr;
};

/// Copies each source into its slice.
class SlicesKernel : public Kernel {
 public:
  SlicesKernel(const std::vector<TensorDesc>& sources, const TensorDesc& destination, std::size_t axis, Team team) {
    int64_t offset = 0;
    for (const TensorDesc& source : sources) {
      const TensorDesc slice{source.type, source.dims, destination.strides};
      copies_.push_back(make_copy_kernel(source, slice, team));
      offsets_.push_back(offset * static_cast<int64_t>(memory_size(source.type)));
      offset += source.dims[axis] * destination.strides[axis];
    }
  }

  void bind(std::size_t operand, std::byte* data) override {
    if (operand < copies_.size()) return copies_[operand]->bind(0, data);
    for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i]->bind(1, data + offsets_[i]);
  }
  void run() override {
    for (const auto& copy : copies_) copy->run();
  }
  [[nodiscard]] std::string implementation() const override { return "copy"; }

 private:
  std::vector<std::unique_ptr<Kernel>> copies_;
  std::vector<int64_t> offsets_;
};

/// The run of a source in each of `rows` rows of the destination; nothing where the source is in another order or its runs have gaps.
std::optional<Run> run_of(const TensorDesc& source, const TensorDesc& destination, int64_t rows) {
  const auto element = static_cast<int64_t>(memory_size(source.type));
  const Loops loops = simplify(source.dims, {source.strides, destination.strides}, 1);
  const int64_t length = relayout::element_count(source.dims) / rows;
  const std::size_t rank = loops.dims.size();
  if (rank == 1) {
    // One row, rows of one element each, or rows that follow each other in the source as they do in the destination.
    const int64_t step = loops.strides[0][0];
    if (length != 1 && step != 1) return std::nullopt;
    return Run{nullptr, step * length * element, length * element};
  }
  if (rank != 2 || loops.dims[0] != rows || loops.strides[0][1] != 1 || loops.strides[1][1] != 1) return std::nullopt;
  return Run{nullptr, loops.strides[0][0] * element, length * element};
}

/// Rows of a destination without gaps: positions of the dims outside `axis`.
int64_t rows_of(const TensorDesc& destination, std::size_t axis) {
  return relayout::element_count(destination.dims) / (destination.dims[axis] * destination.strides[axis]);
}

}  // namespace

std::unique_ptr<Kernel> make_concat_kernel(const std::vector<TensorDesc>& sources, const TensorDesc& destination, std::size_t axis,
                                           Team team) {
  const int64_t rows = rows_of(destination, axis);
  const int64_t row_bytes = relayout::element_count(destination.dims) / rows * static_cast<int64_t>(memory_size(destination.type));
  std::vector<Run> runs;
  for (const TensorDesc& source : sources) {
    const auto run = run_of(source, destination, rows);
    if (!run || row_bytes < kLeastRun * static_cast<int64_t>(sources.size()))
      return std::make_unique<SlicesKernel>(sources, destination, axis, team);
    runs.push_back(*run);
  }
  return std::make_unique<RowsKernel>(std::move(runs), rows, team);
}

}  // namespace relayout::exec
