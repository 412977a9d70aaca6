// Declares kernels, places and steps, of which plans consist, and divides the work of a step among threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/primitives.h"
#include "relayout/tensor.h"

namespace relayout::exec {

// Numbers of the parts of a plan; see base/indexed.h.

enum class BufferId : int { none = -1 };
enum class SlotId : int { none = -1 };

/// One piece of work of a plan with its operands bound ahead of time: running it looks nothing up and allocates nothing. The factory of a
/// kernel numbers its operands, inputs before outputs.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Address of element [0, 0, …] of an operand.
  virtual void bind(std::size_t operand, std::byte* data) = 0;
  virtual void run() = 0;
  [[nodiscard]] virtual std::string implementation() const = 0;
  [[nodiscard]] virtual int64_t scratchpad_bytes() const { return 0; }
  virtual void bind_scratchpad(std::byte*) {}
};

/// Place of a tensor: buffer of the plan, offset, strides.
struct Place {
  BufferId buffer = BufferId::none;
  int64_t offset = 0;  ///< bytes to element [0, 0, …]
  TensorDesc desc;
  explicit operator bool() const noexcept { return buffer != BufferId::none; }
};

struct StepOperand {
  BufferId buffer = BufferId::none;
  int64_t offset = 0;
};

struct Step {
  std::unique_ptr<Kernel> kernel;
  std::vector<StepOperand> operands;
  int threads = 1;
};

/// Elements that justify a separate part: at 1 to 4 a nanosecond some 4 to 16 µs, several times the cost of calling a thread.
inline constexpr int64_t kElementsPerPart = 16384;

/// The threads that relayout's kernels may use: those of the primitives' pool.
struct Team {
  PrimitiveLibrary* library = nullptr;  ///< null: the caller's thread alone
  int threads = 1;

  /// work(begin, end) over pieces of [0, count), one per thread, each at least `grain` long. Must not throw.
  template <class Work>
  void divide(int64_t count, int64_t grain, const Work& work) const {
    const int64_t wanted = library == nullptr ? 1 : std::min<int64_t>(threads, count / std::max<int64_t>(grain, 1));
    if (wanted <= 1) {
      work(int64_t{0}, count);
      return;
    }
    struct Context {
      const Work& work;
      int64_t count, parts;
    } context{work, count, wanted};
    const auto piece = [](void* opaque, int i) {
      const auto& shared = *static_cast<const Context*>(opaque);
      shared.work(shared.count * i / shared.parts, shared.count * (i + 1) / shared.parts);
    };
    library->parallel(static_cast<int>(wanted), piece, &context);
  }
};

/// A kernel of relayout from one tensor of f32, operand 0, to another, operand 1.
class FloatKernel : public Kernel {
 public:
  void bind(std::size_t operand, std::byte* data) override {
    if (operand == 0) {
      source_ = reinterpret_cast<const float*>(data);
    } else {
      destination_ = reinterpret_cast<float*>(data);
    }
  }
  [[nodiscard]] std::string implementation() const override { return "own"; }

 protected:
  const float* source_ = nullptr;
  float* destination_ = nullptr;
};

/// A primitive of the library; `roles` gives the argument of each operand.
[[nodiscard]] std::unique_ptr<Kernel> make_primitive_kernel(std::unique_ptr<Primitive> primitive,
                                                            std::vector<std::pair<Argument, int>> roles);
/// Copies operand 0 to operand 1, of the same dims and any strides. Not for strings.
[[nodiscard]] std::unique_ptr<Kernel> make_copy_kernel(const TensorDesc& source, const TensorDesc& destination, Team team);

}  // namespace relayout::exec
