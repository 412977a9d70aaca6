// Lists the passes in running order with the reason for each one's place.

#include "passes/pass.h"
#include "relayout/layout.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

bool always(const PassOptions&) {
  return true;
}
bool folds(const PassOptions& options) {
  return options.fold;
}
bool simplifies(const PassOptions& options) {
  return options.simplify;
}
bool changes_precision(const PassOptions& options) {
  return options.precision != DataType::undefined;
}
bool narrows_integers(const PassOptions& options) {
  return options.narrow_integers;
}
bool changes_dims(const PassOptions& options) {
  return options.dims.any();
}
bool takes_bytes(const PassOptions& options) {
  return !options.bytes.names.empty() && !options.undo_io;
}
bool gives_bytes(const PassOptions& options) {
  return !options.output_bytes.names.empty() && !options.undo_io;
}
bool undoes_io(const PassOptions& options) {
  return options.undo_io;
}
bool renames(const PassOptions& options) {
  return !options.renames.empty();
}
bool shares_weights(const PassOptions& options) {
  return options.share_weights;
}
bool scrambles(const PassOptions& options) {
  return options.scramble.has_value();
}
bool strips(const PassOptions& options) {
  return options.strip.any();
}
bool orders_weights(const PassOptions& options) {
  return options.layout != WeightsLayout::keep;
}
// Contiguous is the way back: it removes exported Transposes.
bool exports_io(const PassOptions& options) {
  return options.export_io || options.layout == WeightsLayout::contiguous;
}
bool exports_transposes(const PassOptions& options) {
  return options.export_transposes || options.layout == WeightsLayout::contiguous;
}

constexpr Pass kPasses[] = {
    // Before all others, which use the sizes that are known.
    {"set-dims", "sizes of inputs, and the constants that hold them (--set-dim, --set-shape, --free-dim)", set_dims, changes_dims},
    // Before all that change what nested graphs hold, which is copied as the file has it.
    {"inline-branches", "the graph that an If always takes", inline_branches, simplifies, true},
    {"inline-loops", "the body of a Loop that runs once, and the first values of one that never runs", inline_loops, simplifies, true},
    // Early, so that dead readers do not block folds. Later passes remove the nodes that they make dead.
    {"remove-unused", "nodes and initializers without a reader", remove_unused, always},
    {"inline-functions", "calls of functions between a BatchNormalization and the operator it folds into", inline_functions, always},
    {"remove-identity", "nodes that pass their operand on unchanged", remove_identity, simplifies, true},
    {"split-sequences", "parts taken from a sequence as those of a Split", split_sequences, simplifies, true},
    {"default-operands", "initial states of zeros, which recurrent operators assume without them", default_operands, simplifies, true},
    // Before the folds, which take its arithmetic into convolutions, and after passes that leave these as the only readers of an input.
    {"byte-input", "inputs that take bytes of images (--input-u8), with the arithmetic on them", byte_input, takes_bytes},
    {"byte-output", "outputs that give bytes of images (--output-u8), with the arithmetic to them", byte_output, gives_bytes},
    {"undo-io", "inputs and outputs as before --io nhwc, --input-u8 and --output-u8 (--undo-io)", undo_io, undoes_io},
    {"fold-batch-norm", "BatchNormalization into Conv, ConvTranspose, Gemm and MatMul on either side", fold_batch_norm, folds},
    // After fold-batch-norm: affines folded together with a BatchNormalization need no match of their own.
    {"fold-affine", "Mul, Add, Sub, Div and Neg by constants per channel into the same operators", fold_affine, folds},
    // After the folds: constants that only they need are never stored.
    {"fold-constants", "constant expressions, where that does not enlarge the model", fold_constants, simplifies, true},
    {"reshape-requests", "dims of a Reshape that are computed: its operand's own, or as the element count tells", reshape_requests,
     simplifies, true},
    // After constants are folded: its lists of several numbers are made from those of the file.
    {"merge-slices", "two Slices in a row as one", merge_slices, simplifies, true},
    {"merge-pairs", "two Transposes, reshapes or Casts in a row as one, or none where they cancel", merge_pairs, simplifies, true},
    // After the folds, which make constants equal and merge into operators with one reader.
    {"merge-equal", "nodes that compute the same from the same operands", merge_equal, simplifies, true},
    // After the folds, which take factors into operators.
    {"merge-quotients", "a product with the reciprocal of a root as one quotient", merge_quotients, simplifies, true},
    {"product-bias", "MatMul and Add of a constant row as one Gemm", product_bias, simplifies, true},
    // After the folds, which change weights, and before they have another type or order.
    {"scramble", "random numbers of the same mean and spread instead of the weights (--scramble)", scramble, scrambles},
    {"share-weights", "equal initializers of a graph stored once (--share-weights)", share_weights, shares_weights},
    // After the folds, which round to the existing type; before weights are read through a Transpose. Its Casts may have constant operands.
    {"precision", "weights and activations in 16 bits (--precision bf16, fp16), or in 32 (fp32)", precision, changes_precision, true},
    // After all that compute with sizes, which stay in 64 bits.
    {"narrow-integers", "inputs and constants of int64 in 32 bits where nothing changes (--int32)", narrow_integers, narrows_integers},
    // After the folds, which change weights: one in channels-last order is read through a Transpose.
    {"conv-weights-layout", "convolution weights in channels-last order, or back in contiguous order", conv_weights_layout, orders_weights},
    // After all that copy nodes with their annotations.
    {"strip", "descriptions and metadata (--strip)", strip, strips},
    // After all others, which know the names of the given file; exports add names made from those of inputs and outputs.
    {"rename", "other names of inputs, outputs and free dims (--rename)", rename, renames},
    // Last: exports describe how the finished graph is run.
    {"export-io", "graph inputs and outputs in channels-last order (--io nhwc), or back", export_io, exports_io},
    {"export-transposes", "the borders of the layout plan as pairs of Transposes (--emit transposes), or back", export_transposes,
     exports_transposes},
};

constexpr bool names_are_unique() {
  for (const Pass& a : kPasses) {
    if (std::ranges::count(kPasses, a.name, &Pass::name) != 1) return false;
  }
  return true;
}
static_assert(names_are_unique());

}  // namespace

std::span<const Pass> pass_table() {
  return kPasses;
}

const Pass* find_pass(std::string_view name) {
  const auto* const found = std::ranges::find(kPasses, name, &Pass::name);
  return found != std::end(kPasses) ? found : nullptr;
}

}  // namespace relayout::passes
