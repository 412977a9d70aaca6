// Walks the nodes of a program for types, dims and constants, as far as they are known before data is seen.
#include "exec/inference.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "exec/constant_store.h"
#include "exec/program.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Constants up to this size are read during inference: shapes, axes, bounds.
constexpr int64_t kSmallElements = 1024;
/// Results up to this size are computed at plan time.
constexpr int64_t kFoldBytes = int64_t{64} << 20;

/// Whether an operand's elements are never looked at, only its type and dims.
bool reads_type_only(const ProgramNode& node, std::size_t input) {
  return node.op->traits.reads(input) != Reads::elements;
}

std::vector<Datum> compute(const ProgramNode& node, std::span<const Datum* const> inputs, const std::vector<DatumInfo>& infos) {
  std::vector<Datum> outputs(node.outputs.size());
  std::vector<Datum*> pointers(node.outputs.size(), nullptr);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k] < 0) continue;
    outputs[k].kind = infos[k].kind;
    if (infos[k].kind == Datum::Kind::tensor) outputs[k].tensor = Tensor(infos[k].type, infos[k].dims);
    pointers[k] = &outputs[k];
  }
  node.op->compute(node.call, inputs, pointers);
  return outputs;
}

class Walk {
 public:
  Walk(const Program& program, std::vector<ValueState>& states, ConstantStore& store) : program_(program), states_(states), store_(store) {}

  Inference run(int first) {
    Inference out;
    const auto nodes = program_.nodes();
    values_ = &out.values;
    for (auto i = static_cast<std::size_t>(first); i < nodes.size(); ++i) {
      const ProgramNode& node = nodes[i];
      if (node.op != nullptr && pass_through(node)) continue;
      auto infos = node.op == nullptr ? std::nullopt : infer_outputs(node);
      if (!infos) {
        out.next = static_cast<int>(i);
        return out;
      }
      if (!fold(node, *infos)) {
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
          if (node.outputs[k] >= 0) set(node.outputs[k], {std::move((*infos)[k]), nullptr, std::nullopt});
        }
        out.nodes.push_back(static_cast<int>(i));
      }
    }
    out.next = static_cast<int>(nodes.size());
    return out;
  }

 private:
  ValueState& state(int value) { return states_[static_cast<std::size_t>(value)]; }

  void set(int value, ValueState known) {
    state(value) = std::move(known);
    values_->push_back(value);
  }

  void set_constant(int value, std::shared_ptr<KnownConstant> constant) {
    DatumInfo info;
    info.type = constant->type();
    info.dims = constant->dims();
    set(value, {std::move(info), std::move(constant), std::nullopt});
  }

  /// Constant nodes, and Identity and Transpose of constants: nothing is read.
  bool pass_through(const ProgramNode& node) {
    const int output = node.output(0);
    if (node.node->op_type() == "Constant") {
      std::shared_ptr<KnownConstant> leaf = store_find_leaf(output);
      if (!leaf) return false;
      set_constant(output, std::move(leaf));
      return true;
    }
    const bool identity = node.node->op_type() == "Identity";
    if (!identity && node.node->op_type() != "Transpose") return false;
    const int input = node.input(0);
    if (input < 0 || !state(input).constant) return false;
    if (identity) {
      set_constant(output, state(input).constant);
      return true;
    }
    const auto infos = infer_outputs(node);  // checks the permutation
    if (!infos) return false;
    const auto rank = static_cast<int64_t>(infos->front().dims.size());
    Dims permutation = node.call.attributes.integers("perm");
    if (permutation.empty()) {
      for (int64_t i = rank; i-- > 0;) permutation.push_back(i);
    }
    set_constant(output, state(input).constant->transposed(permutation));
    return true;
  }

  std::shared_ptr<KnownConstant> store_find_leaf(int value) {
    return store_.find_leaf(*program_.values()[static_cast<std::size_t>(value)]);
  }

  std::optional<std::vector<DatumInfo>> infer_outputs(const ProgramNode& node) {
    for (const bool everything : {false, true}) {
      if (everything && !load_inputs(node)) return std::nullopt;
      std::vector<DatumInfo> infos(node.inputs.size());
      std::vector<const DatumInfo*> pointers(node.inputs.size(), nullptr);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0) continue;
        const ValueState& input = state(node.inputs[i]);
        if (!input.info)
          fail(ErrorKind::defect, "value '" + program_.values()[static_cast<std::size_t>(node.inputs[i])]->name() + "' was not inferred");
        if (input.constant && !input.constant->is_loaded() && input.constant->element_count() <= kSmallElements)
          store_.load(*input.constant);
        infos[i] = *input.info;
        infos[i].value = input.constant && input.constant->is_loaded() ? &input.constant->tensor() : nullptr;
        pointers[i] = &infos[i];
      }
      auto result = node.op->infer(node.call, pointers);
      if (result) {
        for (DatumInfo& info : *result) info.value = nullptr;
        return result;
      }
    }
    return std::nullopt;
  }

  /// Reads constants that are still in the file. Whether there were any.
  bool load_inputs(const ProgramNode& node) {
    bool any = false;
    for (const int input : node.inputs) {
      if (input < 0 || !state(input).constant || state(input).constant->is_loaded()) continue;
      store_.load(*state(input).constant);
      any = true;
    }
    return any;
  }

  [[nodiscard]] bool foldable(const ProgramNode& node, const std::vector<DatumInfo>& infos) {
    if (node.op->traits.has(Trait::random)) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0 || reads_type_only(node, i)) continue;
      if (!state(node.inputs[i]).constant) return false;
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] < 0) continue;
      if (infos[k].kind != Datum::Kind::tensor) return false;
      const auto bytes =
          checked_mul(element_count(infos[k].dims), static_cast<int64_t>(std::max<std::size_t>(memory_size(infos[k].type), 1)));
      if (!bytes || *bytes > kFoldBytes) return false;
    }
    return true;
  }

  bool fold(const ProgramNode& node, const std::vector<DatumInfo>& infos) {
    if (!foldable(node, infos)) return false;
    std::vector<Datum> inputs(node.inputs.size());
    std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      const ValueState& input = state(node.inputs[i]);
      if (input.constant && !reads_type_only(node, i)) {
        inputs[i].tensor = store_.read(*input.constant);
      } else if (input.info->kind == Datum::Kind::tensor) {
        inputs[i].tensor = Tensor(TensorDesc{input.info->type, input.info->dims, contiguous_strides(input.info->dims)}, nullptr, nullptr);
      } else {
        return false;
      }
      pointers[i] = &inputs[i];
    }
    std::vector<Datum> outputs = compute(node, pointers, infos);
    if (node.node->is("ConstantOfShape") && node.output(0) >= 0) store_.edit(node.node->output(0)->name(), outputs[0].tensor);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] >= 0) set_constant(node.outputs[k], std::make_shared<KnownConstant>(std::move(outputs[k].tensor)));
    }
    return true;
  }

  const Program& program_;
  std::vector<ValueState>& states_;
  ConstantStore& store_;
  std::vector<int>* values_ = nullptr;
};

}  // namespace

Inference infer(const Program& program, int first, std::vector<ValueState>& states, ConstantStore& store) {
  return Walk(program, states, store).run(first);
}

std::vector<Datum> compute_now(const ProgramNode& node, std::span<const Datum* const> inputs) {
  std::vector<DatumInfo> infos(inputs.size());
  std::vector<const DatumInfo*> pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    infos[i] = info_of(*inputs[i]);
    pointers[i] = &infos[i];
  }
  const auto outputs = node.op->infer(node.call, pointers);
  if (!outputs) fail(ErrorKind::defect, node.node->label() + ": its outputs cannot be inferred though its inputs are there");
  return compute(node, inputs, *outputs);
}

}  // namespace relayout
