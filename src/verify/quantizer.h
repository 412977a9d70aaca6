#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/constants.h"
#include "ops/quantized_form.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/range.h"
#include "verify/scale_sharing.h"

namespace relayout {

/// Real numbers that integers stand for, (q − zero) · scale each, with constant parameters: those of a QuantizeLinear or DequantizeLinear,
/// or of the weight that an operator reads as integers.
class Quantizer {
 public:
  /// Of a QuantizeLinear or DequantizeLinear. Nothing where scale or zero point are no constants or the type is none of integers.
  [[nodiscard]] static std::optional<Quantizer> of(const Node& node, Constants& constants);
  /// Of a weight of a node that weight_reader() knows, as the operator that it stands for reads it, or transposed.
  [[nodiscard]] static std::optional<Quantizer> of_weight(const Node& node, std::size_t weight, Constants& constants, bool transposed);
  /// Of integers that nodes read by one scale, all the same: a DequantizeLinear, or products of two operands in integers.
  [[nodiscard]] static std::optional<Quantizer> of_moved(const Value& integers, Constants& constants);
  /// A DynamicQuantizeLinear: 8 bits between the least and the largest of the elements.
  [[nodiscard]] static Quantizer dynamic();

  /// Whether elements beyond the ends of the grid become its ends, or go on in its steps: then rounding alone is lost.
  enum class Ends { saturate, open };
  /// Rounds the elements of a contiguous tensor of real numbers in place; false where its dims do not suit the parameters.
  bool round(const Tensor& tensor, Ends ends) const;
  /// Whether all elements have one scale.
  [[nodiscard]] bool is_one_for_all() const noexcept { return scales_.size() == 1; }
  [[nodiscard]] bool suits(const Dims& dims) const { return sharing_.places(dims, static_cast<int64_t>(scales_.size())) != nullptr; }
  /// That of a matrix whose axes are exchanged.
  [[nodiscard]] Quantizer transposed() const;
  /// The numbers that it takes at every place along its axis.
  [[nodiscard]] Range range() const;
  /// Elements that lie beyond the ends.
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
  /// The integer that a number becomes, before the ends.
  [[nodiscard]] double step(double value, double scale, double zero) const;

  bool is_dynamic_ = false;
  std::vector<double> scales_, zeros_;  ///< one, or one for each place; of zeros also one for all
  std::vector<double> codes_;           ///< values of the integers, where they are no grid: sorted
  ScaleSharing sharing_;
  double lowest_ = 0, highest_ = 0;
  DataType division_ = DataType::float32;  ///< the type in which numbers are divided by the scale
};

/// Of a node that reads weights as integers and makes sums or real numbers of them: how it stands for an operator on real numbers, which
/// has its weights at the same inputs. nullptr for any other node.
[[nodiscard]] const QuantizedForm* weight_reader(const Node& node);

/// Whether an input of a node is rounded to 8 bits by its own least and largest elements.
[[nodiscard]] bool is_rounded_dynamically(const Node& reader, std::size_t index);

/// The QuantizeLinear that everything reads a value through; nullptr where something reads it as it is, or nothing does.
[[nodiscard]] const Node* quantizer_behind(const Value& value);

/// Ranges of the inputs that quantizers read, moved perhaps on the way.
[[nodiscard]] std::map<std::string, Range> ranges_of_inputs(const Graph& graph);

}  // namespace relayout
