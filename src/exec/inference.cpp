// Infers types, dims and constants of a program's nodes, up to the first whose result dims depend on data.
#include "exec/inference.h"

#include "base/indexed.h"
#include "base/text.h"
#include "exec/constant_store.h"
#include "exec/program.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

std::vector<Datum> results_of(const ProgramNode& node, std::span<const Datum* const> inputs, const std::vector<DatumInfo>& infos) {
  return compute(*node.op, node.call, inputs, infos, [&](std::size_t k) { return node.output(k) != ValueId::none; });
}

bool are_alike(DataType a, DataType b) {
  return a != b && ((kRealTypes.has(a) && kRealTypes.has(b)) || (kIntegerTypes.has(a) && kIntegerTypes.has(b)));
}

/// Whether two operands are of different real types or of different integer types. Kernels refuse other mixtures themselves.
bool mixes_types(std::span<const DatumInfo* const> inputs) {
  const auto differs = [](const DatumInfo* a, const DatumInfo* b) { return a != nullptr && b != nullptr && are_alike(a->type, b->type); };
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (differs(inputs[k], inputs[i])) return true;
    }
  }
  return false;
}

class Walk {
 public:
  Walk(const Program& program, IdVector<ValueId, ValueState>& states, ConstantStore& store)
      : program_(program), states_(states), store_(store) {}

  Inference run(NodeId first) {
    Inference out;
    const auto& nodes = program_.nodes();
    values_ = &out.values;
    for (const NodeId id : IdRange(first, nodes.end_id())) {
      const ProgramNode& node = nodes[id];
      if (node.op != nullptr && pass_through(node)) continue;
      auto infos = node.op == nullptr ? std::nullopt : infer_outputs(node);
      if (!infos) {
        out.next = id;
        return out;
      }
      if (!fold(node, *infos)) {
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
          if (node.outputs[k] != ValueId::none) set(node.outputs[k], {std::move((*infos)[k]), nullptr, std::nullopt});
        }
        out.nodes.push_back(id);
      }
    }
    out.next = nodes.end_id();
    return out;
  }

 private:
  ValueState& state(ValueId value) { return states_[value]; }

  void set(ValueId value, ValueState known) {
    check_declared(program_.values()[value], *known.info);
    state(value) = std::move(known);
    values_->push_back(value);
  }

  void set_constant(ValueId value, std::shared_ptr<KnownConstant> constant) {
    DatumInfo info;
    info.type = constant->type();
    info.dims = constant->dims();
    set(value, {std::move(info), std::move(constant), std::nullopt});
  }

  /// Constant nodes, and Identity and Transpose of constants: no elements are read.
  bool pass_through(const ProgramNode& node) {
    const ValueId output = node.output(0);
    if (node.node->op_type() == "Constant") {
      std::shared_ptr<KnownConstant> leaf = store_find_leaf(output);
      if (!leaf) return false;
      set_constant(output, std::move(leaf));
      return true;
    }
    const bool identity = node.node->op_type() == "Identity";
    if (!identity && node.node->op_type() != "Transpose") return false;
    const ValueId input = node.input(0);
    if (input == ValueId::none || !state(input).constant) return false;
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

  std::shared_ptr<KnownConstant> store_find_leaf(ValueId value) { return store_.find_leaf(*program_.values()[value]); }

  /// A file whose nodes compute other types than it declares is refused by every program that checks types. (For outputs of the model,
  /// verify reports a difference instead.)
  static void check_declared(const Value* value, const DatumInfo& info) {
    if (value == nullptr || value->producer() == nullptr || value->is_output() || info.kind != Datum::Kind::tensor) return;
    const DataType declared = declared_type(*value);
    if (declared != DataType::undefined && declared != info.type) throw TypeError(type_conflict(*value, info.type));
  }

  /// Operands that share a type variable in ONNX's schema must be of one type.
  void check_types(const ProgramNode& node, std::span<const DatumInfo* const> inputs) {
    const OpSignature* const signature = mixes_types(inputs) ? signatures_.find(*node.node) : nullptr;
    if (signature == nullptr) return;
    std::map<int, std::size_t> first;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int variable = signature->input(i).variable;
      if (inputs[i] == nullptr || variable < 0 || inputs[i]->kind != Datum::Kind::tensor) continue;
      const std::size_t other = first.emplace(variable, i).first->second;
      if (inputs[other]->type == inputs[i]->type) continue;
      const auto described = [&](std::size_t k) {
        return quote(node.node->input(k)->name()) + " (" + std::string(name_of(inputs[k]->type)) + ")";
      };
      throw TypeError("node " + node.node->label() + ": operands " + described(other) + " and " + described(i) +
                      " are of two types where it takes one");
    }
  }

  std::optional<std::vector<DatumInfo>> infer_outputs(const ProgramNode& node) {
    for (const bool everything : {false, true}) {
      if (everything && !load_inputs(node)) return std::nullopt;
      KnownInfos infos(node.inputs.size());
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == ValueId::none) continue;
        const ValueState& input = state(node.inputs[i]);
        if (!input.info) fail(ErrorKind::defect, "value '" + program_.values()[node.inputs[i]]->name() + "' was not inferred");
        if (input.constant && !input.constant->is_loaded() && input.constant->element_count() <= kSmallElements)
          store_.load(*input.constant);
        DatumInfo info = *input.info;
        info.value = input.constant && input.constant->is_loaded() ? &input.constant->tensor() : nullptr;
        infos.set(i, std::move(info));
      }
      check_types(node, infos.get());
      auto result = node.op->infer(node.call, infos.get());
      if (result) {
        for (DatumInfo& info : *result) info.value = nullptr;
        return result;
      }
    }
    return std::nullopt;
  }

  /// Reads constants that are still in the file. Returns whether there were any.
  bool load_inputs(const ProgramNode& node) {
    bool any = false;
    for (const ValueId input : node.inputs) {
      if (input == ValueId::none || !state(input).constant || state(input).constant->is_loaded()) continue;
      store_.load(*state(input).constant);
      any = true;
    }
    return any;
  }

  [[nodiscard]] bool foldable(const ProgramNode& node, const std::vector<DatumInfo>& infos) {
    return is_computed_early(infos, [&](std::size_t k) { return node.output(k) != ValueId::none; }) &&
           follows_from(*node.op, *node.node,
                        [&](std::size_t i) { return node.input(i) == ValueId::none || state(node.input(i)).constant != nullptr; });
  }

  bool fold(const ProgramNode& node, const std::vector<DatumInfo>& infos) {
    if (!foldable(node, infos)) return false;
    std::vector<Datum> inputs(node.inputs.size());
    std::vector<const Datum*> pointers(node.inputs.size(), nullptr);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == ValueId::none) continue;
      const ValueState& input = state(node.inputs[i]);
      const bool is_read = node.op->traits.reads(i) == Reads::elements;
      if (!is_read && input.info->kind != Datum::Kind::tensor) return false;
      inputs[i].tensor = is_read ? store_.read(*input.constant) : without_elements(input.info->type, input.info->dims);
      pointers[i] = &inputs[i];
    }
    std::vector<Datum> outputs = results_of(node, pointers, infos);
    if (node.node->is("ConstantOfShape") && node.output(0) != ValueId::none) store_.edit(node.node->output(0)->name(), outputs[0].tensor);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] != ValueId::none) set_constant(node.outputs[k], std::make_shared<KnownConstant>(std::move(outputs[k].tensor)));
    }
    return true;
  }

  const Program& program_;
  IdVector<ValueId, ValueState>& states_;
  ConstantStore& store_;
  std::vector<ValueId>* values_ = nullptr;
  OpSignatures signatures_;
};

}  // namespace

Inference infer(const Program& program, NodeId first, IdVector<ValueId, ValueState>& states, ConstantStore& store) {
  return Walk(program, states, store).run(first);
}

std::vector<Datum> compute_now(const ProgramNode& node, std::span<const Datum* const> inputs) {
  std::vector<Datum> outputs =
      infer_and_compute(*node.op, node.call, inputs, [&](std::size_t k) { return node.output(k) != ValueId::none; });
  outputs.resize(node.outputs.size());
  return outputs;
}

}  // namespace relayout::exec
