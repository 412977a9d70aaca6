// Runs a oneDNN primitive as a step of a plan: binds each operand to its argument.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/kernels/kernel.h"
#include "exec/primitives.h"

namespace relayout::exec {
namespace {

class PrimitiveKernel : public Kernel {
 public:
  PrimitiveKernel(std::unique_ptr<Primitive> primitive, std::vector<std::pair<Argument, int>> roles)
      : primitive_(std::move(primitive)), roles_(std::move(roles)) {}

  void bind(std::size_t operand, std::byte* data) override { primitive_->bind(roles_[operand].first, roles_[operand].second, data); }
  void run() override { primitive_->execute(); }
  [[nodiscard]] std::string implementation() const override { return primitive_->implementation(); }
  [[nodiscard]] int64_t scratchpad_bytes() const override { return primitive_->scratchpad_bytes(); }
  void bind_scratchpad(std::byte* data) override { primitive_->bind(Argument::scratchpad, 0, data); }

 private:
  std::unique_ptr<Primitive> primitive_;
  std::vector<std::pair<Argument, int>> roles_;
};

}  // namespace

std::unique_ptr<Kernel> make_primitive_kernel(std::unique_ptr<Primitive> primitive, std::vector<std::pair<Argument, int>> roles) {
  return std::make_unique<PrimitiveKernel>(std::move(primitive), std::move(roles));
}

}  // namespace relayout::exec
