#pragma once

#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/primitives.h"

namespace relayout::exec::onednn {

/// The one engine and stream of the process.
struct Runtime {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};
[[nodiscard]] Runtime& runtime();

/// Whether the instruction set in use (after ONEDNN_MAX_CPU_ISA) has AVX-512.
[[nodiscard]] bool has_avx512();

[[nodiscard]] dnnl::memory::desc descriptor(const TensorDesc& desc);
[[nodiscard]] dnnl::memory::desc descriptor(const Dims& dims, const Dims& strides);
[[nodiscard]] dnnl::algorithm algorithm_of(Function function);
[[nodiscard]] dnnl::algorithm algorithm_of(BinaryFunction function);

/// Primitive attributes: strict f32 arithmetic, a scratchpad provided by the caller, and these post-ops.
[[nodiscard]] dnnl::primitive_attr attributes(const std::vector<PostOp>& post_ops,
                                              const std::function<TensorDesc(const TensorDesc&)>& adapt = {});

/// Why an implementation of this name must not be used, or an empty string. Refused are names with `ref`, also as part of a composite name,
/// and the plain loop of pooling. ref_fused_convolution only runs two other implementations, which are judged by their names.
[[nodiscard]] std::string objection(const std::string& implementation);

/// Weights reordered to the memory descriptor that a primitive descriptor requires.
class PackedFormat : public WeightsFormat {
 public:
  /// `as_library` turns dims and strides of the spec's weights into those of `target`.
  PackedFormat(dnnl::memory::desc target, std::function<TensorDesc(const TensorDesc&)> as_library)
      : target_(std::move(target)), as_library_(std::move(as_library)) {}
  [[nodiscard]] int64_t bytes() const override { return static_cast<int64_t>(target_.get_size()); }
  [[nodiscard]] std::string key() const override;
  void pack(const TensorDesc& source, const std::byte* data, std::byte* target) const override;

 private:
  dnnl::memory::desc target_;
  std::function<TensorDesc(const TensorDesc&)> as_library_;
};

/// A primitive with its arguments bound ahead of time.
class CompiledPrimitive : public Primitive {
 public:
  CompiledPrimitive(const dnnl::primitive_desc_base& desc, std::vector<std::pair<int, dnnl::memory::desc>> arguments,
                    std::unique_ptr<WeightsFormat> format = nullptr);
  ~CompiledPrimitive() override;
  CompiledPrimitive(const CompiledPrimitive&) = delete;
  CompiledPrimitive& operator=(const CompiledPrimitive&) = delete;
  [[nodiscard]] const std::string& implementation() const noexcept override { return implementation_; }
  [[nodiscard]] int64_t scratchpad_bytes() const noexcept override { return scratchpad_bytes_; }
  [[nodiscard]] const WeightsFormat* weights_format() const noexcept override { return format_.get(); }
  void bind(Argument argument, int index, void* data) override;
  void execute() override;

 private:
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::unique_ptr<WeightsFormat> format_;
  std::string implementation_;
  int64_t scratchpad_bytes_ = 0;
};

/// Chooses the first implementation without an objection. `pd` must come from a constructor with allow_empty.
template <class PrimitiveDesc>
[[nodiscard]] std::string choose(PrimitiveDesc& pd) {
  if (!pd) return "no implementation in oneDNN";
  std::string first;
  while (true) {
    std::string reason = objection(pd.impl_info_str());
    if (reason.empty()) return {};
    if (first.empty()) first = std::move(reason);
    if (!pd.next_impl()) return first;
  }
}

/// Arguments of the post-ops, as pairs for CompiledPrimitive.
void add_operands(std::vector<std::pair<int, dnnl::memory::desc>>& arguments, const std::vector<PostOp>& post_ops,
                  const std::function<TensorDesc(const TensorDesc&)>& adapt = {});

[[nodiscard]] MadePrimitive make(const Convolution& spec);
[[nodiscard]] MadePrimitive make(const Matmul& spec);
[[nodiscard]] MadePrimitive make(const Softmax& spec);
[[nodiscard]] MadePrimitive make(const Reorder& spec);
[[nodiscard]] MadePrimitive make(const Normalization& spec);

// The threads that oneDNN uses, in openmp.cpp.

/// Sets the threads for all parallel work from now on, the library's internal work included.
void use_threads_of(const ThreadSource& source);
/// Threads for primitives made and work started from now on by the calling thread.
void set_library_threads(int threads);
/// Runs work(context, i) for i in [0, count) on the threads that the library uses.
void run_library_parts(int count, void (*work)(void*, int), void* context);

}  // namespace relayout::exec::onednn
