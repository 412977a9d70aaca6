// Declarations of the functions of the pass table, each in a file of its own name.

#pragma once

#include "passes/pass.h"

namespace relayout::passes {

// The passes of the pass table, one file each.
void fold_batch_norm(Graph& graph, PassContext& context);
void fold_affine(Graph& graph, PassContext& context);
void fold_constants(Graph& graph, PassContext& context);
void inline_functions(Graph& graph, PassContext& context);
void remove_identity(Graph& graph, PassContext& context);
void remove_unused(Graph& graph, PassContext& context);
void precision(Graph& graph, PassContext& context);
void conv_weights_layout(Graph& graph, PassContext& context);
void export_io(Graph& graph, PassContext& context);
void export_transposes(Graph& graph, PassContext& context);

}  // namespace relayout::passes
