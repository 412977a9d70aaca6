// Formulas (in the header) of LSTM and GRU cells for double and f32 alike: gates, peepholes, input_forget, linear_before_reset, time of a
// step in each direction; number of gates and default activations.
#include "ops/recurrent_cell.h"

#include <string_view>

namespace relayout::recurrent_cell {

const Kind& kind_of(std::string_view op_type) {
  static const Kind rnn{1, {"Tanh"}}, gru{3, {"Sigmoid", "Tanh"}}, lstm{4, {"Sigmoid", "Tanh", "Tanh"}};
  return op_type == "RNN" ? rnn : op_type == "GRU" ? gru : lstm;
}

}  // namespace relayout::recurrent_cell
