#pragma once

#include <string>

#include "passes/pass.h"

namespace relayout::passes {

/// Gives input `index` of a node new constant contents. An initializer without another reader is changed in place. An operand that was
/// computed, or stored in another form, for this node alone becomes an initializer of the same name. An operand with other readers is left
/// to them; the new one is called NAME.folded. A missing operand is added as `name`. Names are made unique.
void set_constant_input(Node& node, std::size_t index, TensorData data, const std::string& name, PassContext& context);
/// Sets input `index` to `data` multiplied by `scale`; equal factors for one shared weight share one copy.
void scale_constant_input(Node& node, std::size_t index, const TensorData& data, const Scale& scale, PassContext& context);
/// Adds a constant that `reader` can see: an initializer of `home`, or a Constant node right before `reader` in a function and in nested
/// graphs before IR 4. The name must be free.
Value& add_constant(Graph& home, Node& reader, const std::string& name, TensorData data, Initializer* after);

}  // namespace relayout::passes
