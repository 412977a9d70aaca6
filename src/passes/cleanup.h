#pragma once

#include "passes/pass.h"

namespace relayout::passes {

/// Whether a node may go when its results have no reader: operators of the default domain that this tool knows; a node with nested
/// graphs only when all nodes in them are such.
[[nodiscard]] bool is_removable(const Node& node);
/// Whether a node is such and its results have no reader.
[[nodiscard]] bool is_dead(const Node& node);
/// Whether nothing reads the value and no caller sees it.
[[nodiscard]] bool is_unused(const Value& value);
/// Whether a nested graph hands the value on as an output under its own name.
[[nodiscard]] bool is_output_elsewhere(const Value& value);
/// Whether an initializer may go when it has no reader: not overridable, and not named by training_info or a quantization annotation.
[[nodiscard]] bool is_removable(const Initializer& initializer, PassContext& context);
/// Removes what makes `value`, if it is unused, and whatever only that needed: constant chains to their initializers.
void release(Value& value, PassContext& context);
/// Erases a node whose outputs are unused (or have been taken over) and adds what it read to `freed`, nested graphs' captures included.
void erase_node(Node& node, std::vector<Value*>& freed);

}  // namespace relayout::passes
