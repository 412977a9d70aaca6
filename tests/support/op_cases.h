#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout::test {

/// Data of an operand of an op case.
enum class Fill {
  normal,    ///< N(0, 2²): beyond the bounds of HardSigmoid and friends
  unit,      ///< uniform in (−1, 1)
  small,     ///< uniform in (−0.1, 0.1)
  positive,  ///< uniform in [0.5, 2)
  integers,  ///< whole numbers from −8 to 8 (0 to 16 where unsigned)
  distinct,  ///< a permutation of 0, 1, 2 …: no ties
  boolean,
  values,  ///< as listed
};

struct OperandCase {
  DataType type = DataType::float32;  ///< undefined: the operand is absent
  Dims dims;
  Fill fill = Fill::normal;
  std::vector<double> listed;  ///< for Fill::values
  bool constant = false;       ///< an initializer of the model
};

/// One operator in one form, for tests of correctness, of other executions and of speed.
struct OpCase {
  std::string name;  ///< unique
  std::string op;
  std::string attributes;  ///< as in ONNX's textual syntax, without the brackets
  std::vector<OperandCase> inputs;
  int64_t opset = 22;
  int outputs = 1;
};

inline void PrintTo(const OpCase& op_case, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << op_case.name;
}

/// All cases: at least one for every operator of the op table, except those without operands or with random results.
[[nodiscard]] const std::vector<OpCase>& op_cases();

/// Operators at shapes from well-known networks, with constant weights: the cost of execution in practice.
[[nodiscard]] const std::vector<OpCase>& network_cases();

/// The case as a model: inputs and constants x0, x1 …, outputs y0, y1 …, one node.
[[nodiscard]] std::unique_ptr<Model> model_of(const OpCase& op_case);
/// The case as a message.
[[nodiscard]] onnx::ModelProto message_of(const OpCase& op_case);
/// Data for each operand (an empty tensor for an absent one), from a seed.
[[nodiscard]] std::vector<Tensor> data_of(const OpCase& op_case, uint64_t seed = 1);

/// The data that the model's caller passes, by name.
[[nodiscard]] Inputs inputs_of(const OpCase& op_case, const std::vector<Tensor>& data);

/// A tensor with these values, rounded to its type; zeros where there are none.
[[nodiscard]] Tensor tensor_of_values(DataType type, const Dims& dims, const std::vector<double>& values);
/// The elements of a tensor in row-major order.
[[nodiscard]] std::vector<double> numbers_of(const Tensor& tensor);

/// Runs one operator on data with relayout's kernel. `op` may have attributes, as in "Softmax <axis = 1>". An empty tensor is an absent
/// operand.
[[nodiscard]] std::vector<Datum> run_op(const std::string& op, const std::vector<Datum>& inputs, int64_t opset = 22, int outputs = 1);
/// The first output of run_op().
[[nodiscard]] Tensor run_one(const std::string& op, const std::vector<Datum>& inputs, int64_t opset = 22);

}  // namespace relayout::test
