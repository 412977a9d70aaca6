// Multiplies matrices of 8-bit integers with exact sums.

#include "base/positions.h"
#include "exec/kernels/integer_kernel.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

class IntegerMatmulKernel : public ProductKernel {
 public:
  IntegerMatmulKernel(IntegerMatmul product, const IntegerParameters& parameters, Team team)
      : ProductKernel(parameters, product.columns, team), product_(std::move(product)) {}

  void run() override {
    prepare();
    int64_t packed = -1;  // offset of the weights that are packed in the scratchpad
    for (std::size_t i = 0; i < product_.pairs.size(); ++i) {
      const IntegerMatmul::Pair& pair = product_.pairs[i];
      const std::byte* panels = weights_;
      if (!product_.packed) {
        panels = packing_scratch();
        if (packed != pair.weights) {
          pack_panels({weights_ + pair.weights, product_.depth, product_.columns, product_.weights_depth_stride,
                       product_.weights_column_stride, parameters_.weights_type == DataType::uint8},
                      packing_scratch());
        }
        packed = pair.weights;
      }
      multiply(static_cast<int64_t>(i), {product_.rows, product_.depth, product_.columns, 0, panels, pair.destination, product_.columns});
    }
  }

 protected:
  [[nodiscard]] int64_t depth() const override { return product_.depth; }
  [[nodiscard]] int64_t packing_bytes() const override {
    return product_.packed ? 0 : panel_count(product_.columns) * panel_bytes(product_.depth);
  }

  void load_rows(int64_t source, int64_t row, int64_t count, uint8_t* out) const override {
    const std::byte* const first = source_ + element_at(product_.pairs, source).source;
    for (int64_t r = 0; r < count; ++r) {
      std::memcpy(out + r * padded_depth(product_.depth), first + (row + r) * product_.source_row_stride, as_size(product_.depth));
    }
  }

 private:
  IntegerMatmul product_;
};

}  // namespace

std::unique_ptr<Kernel> make_integer_matmul_kernel(const IntegerMatmul& product, const IntegerParameters& parameters, Team team) {
  return std::make_unique<IntegerMatmulKernel>(product, parameters, team);
}

}  // namespace relayout::exec
