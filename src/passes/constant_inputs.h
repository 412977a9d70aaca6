#pragma once

#include <string>

#include "passes/pass.h"

namespace relayout::passes {

/// Gives input `index` of a node new constant contents. An initializer without another reader is changed in place; what was computed
/// or spelled otherwise for this node alone becomes an initializer of the same name; anything with other readers is left to them and
/// copied as NAME.folded. Where there was no input, the new one is called `name`. Names are made unique.
void set_constant_input(Node& node, std::size_t index, TensorData data, const std::string& name, PassContext& context);
/// The same with `data` multiplied; equal factors for one shared weight share one copy.
void scale_constant_input(Node& node, std::size_t index, const TensorData& data, const Scale& scale, PassContext& context);
/// A new constant that `reader` can see: an initializer of `home`, or a Constant node in front of `reader` in a function and in nested
/// graphs before IR 4. The name must be free.
Value& add_constant(Graph& home, Node& reader, const std::string& name, TensorData data, Initializer* after);

}  // namespace relayout::passes
