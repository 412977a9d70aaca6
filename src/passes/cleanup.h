#pragma once

#include "passes/pass.h"

namespace relayout::passes {

/// Whether a node may be removed when its results are unused: its operator is known to this tool, and so are the operators of all nodes in
/// its nested graphs.
[[nodiscard]] bool is_removable(const Node& node);
/// Whether a node is removable and all its results are unused.
[[nodiscard]] bool is_dead(const Node& node);
/// Whether no node reads the value and no graph outputs it.
[[nodiscard]] bool is_unused(const Value& value);
/// Whether a nested graph outputs the value under its own name, or the body of a Loop that computes it lists it twice.
[[nodiscard]] bool is_output_elsewhere(const Value& value);
/// Whether an initializer may be removed when it is unused: it is not overridable, the model has no training_info, and no quantization
/// annotation refers to it.
[[nodiscard]] bool is_removable(const Initializer& initializer, PassContext& context);
/// Removes the producer or initializer of `value`, if it is unused, and all inputs that only that needed: constant chains to their
/// initializers.
void release(Value& value, PassContext& context);
/// Erases a node whose outputs are unused (or have been taken over) and adds its inputs to `freed`, captures of nested graphs included.
void erase_node(Node& node, std::vector<Value*>& freed);

}  // namespace relayout::passes
