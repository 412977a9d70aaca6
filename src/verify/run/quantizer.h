#pragma once

#include <map>

#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

/// Elements of a tensor that share a scale.
struct ScaleSharing {
  enum class How : uint8_t {
    axis,          ///< elements of one place along `axis`, or all
    blocks,        ///< `block` places along `axis`
    rows,          ///< of a matrix [K, N], `block` rows of a column; the scales of a column are adjacent
    column_major,  ///< `block` elements of a matrix in column-major order
    leading,       ///< consecutive elements, equally many for each scale
  };
  How how = How::axis;
  int64_t axis = 0, block = 1;
  bool is_transposed = false;  ///< of a matrix: the other fields describe its transpose

  /// Sharing by the attributes `axis` and `block_size` of QuantizeLinear and DequantizeLinear.
  [[nodiscard]] static ScaleSharing of(const Node& node);

  /// Index of an element's scale, by the index of the element.
  using Places = std::function<std::size_t(int64_t)>;
  /// nullptr if a tensor of these dims cannot have `count` scales in this way.
  [[nodiscard]] Places places(const Dims& dims, int64_t count) const;

 private:
  [[nodiscard]] Places along_axis(const Dims& dims, int64_t count) const;
  [[nodiscard]] Places in_matrix(const Dims& dims, int64_t count) const;
};

/// Real numbers that integers represent, (q − zero) · scale each, with constant parameters: those of a QuantizeLinear or DequantizeLinear,
/// or of a weight that an operator reads as integers.
class Quantizer {
 public:
  /// Of a QuantizeLinear or DequantizeLinear. nullopt unless scale and zero point are constants and the type is one of integers.
  [[nodiscard]] static std::optional<Quantizer> of(const Node& node, Constants& constants);
  /// Of a weight of a node that weight_reader() knows, in the layout of the equivalent operator on real numbers, or transposed.
  [[nodiscard]] static std::optional<Quantizer> of_weight(const Node& node, std::size_t weight, Constants& constants, bool transposed);
  /// Of integers that all nodes read by the same single scale: DequantizeLinears, or products of two integer operands.
  [[nodiscard]] static std::optional<Quantizer> of_moved(const Value& integers, Constants& constants);
  /// Of a DynamicQuantizeLinear: 8 bits between the smallest and the largest element.
  [[nodiscard]] static Quantizer dynamic();

  /// Whether elements beyond the ends of the grid become its ends, or continue in its steps, so that only rounding is lost.
  enum class Ends { saturate, open };
  /// Rounds the elements of a contiguous tensor of real numbers in place; false if its dims do not suit the parameters.
  bool round(const Tensor& tensor, Ends ends) const;
  /// Whether all elements have one scale.
  [[nodiscard]] bool is_one_for_all() const noexcept { return scales_.size() == 1; }
  [[nodiscard]] bool suits(const Dims& dims) const { return sharing_.places(dims, static_cast<int64_t>(scales_.size())) != nullptr; }
  /// The quantizer of the transposed matrix.
  [[nodiscard]] Quantizer transposed() const;
  /// The numbers within the ends at every place along the axis.
  [[nodiscard]] Bounds range() const;
  /// Number of elements beyond the ends.
  [[nodiscard]] int64_t count_beyond(const Tensor& tensor) const;

 private:
  [[nodiscard]] static std::optional<Quantizer> of_integers(const Node& node, Constants& constants, DataType type, const Value* scale,
                                                            const Value* zero);
  static std::optional<Quantizer> of_blocks(const Node& node, Constants& constants);
  static std::optional<Quantizer> of_codes(const Node& node, Constants& constants);
  [[nodiscard]] static Quantizer spanning(const std::vector<double>& values);
  [[nodiscard]] bool is_sound() const;
  void set_ends(bool is_signed, int bits);
  template <class Visit>
  bool for_each(const Tensor& tensor, const Visit& visit) const;
  /// The integer of a number, before it is limited to the ends.
  [[nodiscard]] double step(double value, double scale, double zero) const;

  bool is_dynamic_ = false;
  std::vector<double> scales_, zeros_;  ///< one, or one for each place; zeros may also be one for all
  std::vector<double> codes_;           ///< values of the integers if they form no grid, sorted
  ScaleSharing sharing_;
  double lowest_ = 0, highest_ = 0;
  DataType division_ = DataType::float32;  ///< the type in which numbers are divided by the scale
};

/// Form of a node that reads integer weights and computes sums or real numbers: the equivalent operator on real numbers has its weights at
/// the same inputs. nullptr for any other node.
[[nodiscard]] const QuantizedForm* weight_reader(const Node& node);

/// Whether an input of a node is rounded to 8 bits by its own smallest and largest elements.
[[nodiscard]] bool is_rounded_dynamically(const Node& reader, std::size_t index);

/// The QuantizeLinear through which all nodes read a value; nullptr if a node or a caller reads it directly, or none reads it.
[[nodiscard]] const Node* quantizer_downstream(const Value& value);

/// Ranges of the quantizers that read inputs, directly or through nodes that only move elements.
[[nodiscard]] std::map<std::string, Bounds> ranges_of_inputs(const Graph& graph);

/// Whether a node rounds to a quantized type: its result is an integer that represents a real number.
[[nodiscard]] bool quantizes(const Node& node);

/// Whether a value holds such integers, perhaps rearranged.
[[nodiscard]] bool holds_steps(const Value& value);

/// Constants and results of a model that are quantized.
struct QuantizedWork {
  int bits = 0;             ///< of the narrowest of them; 0: nothing is quantized
  int64_t constants = 0;    ///< weights as integers that represent real numbers
  int64_t activations = 0;  ///< results that nodes round to such integers
  [[nodiscard]] int64_t tensors() const noexcept { return constants + activations; }
};
[[nodiscard]] QuantizedWork quantized_work(const Graph& graph);

/// Whether b quantizes and a does not, or b to fewer bits.
[[nodiscard]] bool is_coarser(const QuantizedWork& b, const QuantizedWork& a) noexcept;

/// "B quantizes 34 tensors to int8 (21 weights, 13 activations)"
[[nodiscard]] std::string describe(const QuantizedWork& b);

}  // namespace relayout
