// Finds certain dims and small contents of a graph's values by walking upstream, without recursion: each depends on the other.

#include "base/positions.h"
#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/partial_dims.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {
namespace {

/// Whether a value has no producer, or a Constant as producer: its facts need no other values.
bool is_source(const Value& value) {
  return value.producer() == nullptr || value.producer()->is("Constant");
}

std::optional<Constant> constant_source(const Value& value, Constants& constants) {
  auto found = constants.find(value);
  auto* const constant = std::get_if<Constant>(&found);
  return constant != nullptr ? std::optional(std::move(*constant)) : std::nullopt;
}

PartialDims dims_of_source(const Value& value, Constants& constants) {
  if (const auto constant = constant_source(value, constants)) return constant->dims;
  if (const Initializer* const initializer = value.initializer(); initializer != nullptr && initializer->data && !value.is_overridable())
    return initializer->data->dims();
  const bool is_contract = value.is_model_input();
  const auto declared = is_contract ? value.declared() : std::nullopt;
  return declared && declared->has_shape ? PartialDims(declared->dims) : std::nullopt;
}

std::optional<PartialContents> contents_of_source(const Value& value, Constants& constants) {
  const auto constant = constant_source(value, constants);
  if (!constant || constant->strings || element_count(constant->dims) > kMostContents) return std::nullopt;
  return PartialContents(constant->load());
}

std::shared_ptr<const PartialContents> boxed(std::optional<PartialContents> contents) {
  return contents ? std::make_shared<const PartialContents>(std::move(*contents)) : nullptr;
}

std::optional<PartialContents> unboxed(const std::shared_ptr<const PartialContents>& contents) {
  return contents != nullptr ? std::optional(*contents) : std::nullopt;
}

}  // namespace

/// A node's operands for which answers exist; records each requested answer that is missing.
class CertainShapes::Operands : public PartialOperands {
 public:
  Operands(const Node& node, const CertainShapes& known, Constants& constants) : node_(node), known_(known), constants_(constants) {}
  [[nodiscard]] bool has(std::size_t input) override { return node_.input(input) != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override {
    if (!has(input)) return std::nullopt;
    const auto found = known_.dims_.find(node_.input(input));
    return found != known_.dims_.end() ? found->second : note<Dims>(input, Question::dims);
  }
  [[nodiscard]] DataType type(std::size_t input) override { return constants_.type_of(*node_.input(input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override {
    if (!has(input)) return std::nullopt;
    const auto found = known_.contents_.find(node_.input(input));
    return found != known_.contents_.end() ? unboxed(found->second) : note<PartialContents>(input, Question::contents);
  }
  [[nodiscard]] const std::vector<Open>& missing() const noexcept { return missing_; }
  void start_again() { missing_.clear(); }

 private:
  template <class Answer>
  std::optional<Answer> note(std::size_t input, Question question) {
    missing_.push_back({node_.input(input), question});
    return std::nullopt;
  }

  const Node& node_;
  const CertainShapes& known_;
  Constants& constants_;
  std::vector<Open> missing_;
};

PartialDims CertainShapes::of(const Value& value, Constants& constants) {
  answer({&value, Question::dims}, constants);
  return dims_.at(&value);
}

std::optional<PartialContents> CertainShapes::contents(const Value& value, Constants& constants) {
  answer({&value, Question::contents}, constants);
  return unboxed(contents_.at(&value));
}

bool CertainShapes::is_answered(const Open& open) const {
  return open.question == Question::dims ? dims_.contains(open.value) : contents_.contains(open.value);
}

void CertainShapes::answer(Open first, Constants& constants) {
  std::vector<Open> open = {first};
  while (!open.empty()) {
    const Open top = open.back();
    const Value& value = *top.value;
    if (is_answered(top)) {
      open.pop_back();
    } else if (is_source(value)) {
      if (top.question == Question::dims) {
        dims_.emplace(&value, dims_of_source(value, constants));
      } else {
        contents_.emplace(&value, boxed(contents_of_source(value, constants)));
      }
    } else {
      const Node& node = *value.producer();
      const OpCall call(node, node.opset());
      const auto output = as_size(value.output_index());
      Operands operands(node, *this, constants);
      // The dims of all operands first: the rules for an operator with many operands may request them one by one.
      for (std::size_t i = 0; top.question == Question::dims && i < node.inputs().size(); ++i) (void)operands.dims(i);
      PartialDims dims;
      std::optional<PartialContents> contents;
      if (operands.missing().empty()) {
        if (top.question == Question::dims) {
          dims = partial_dims(call, output, operands);
        } else {
          contents = partial_contents(call, output, operands);
        }
      }
      if (!operands.missing().empty()) {
        for (const Open& missing : operands.missing()) open.push_back(missing);
      } else if (top.question == Question::dims) {
        dims_.emplace(&value, std::move(dims));
      } else {
        contents_.emplace(&value, boxed(std::move(contents)));
      }
    }
  }
}

FunctionInstance CertainShapes::compose(const Op& op, const Node& call, Constants& constants) {
  // The dims of all operands first: a body that needs a missing answer is refused at once.
  for (const Value* input : call.inputs()) {
    if (input != nullptr) answer({input, Question::dims}, constants);
  }
  Operands operands(call, *this, constants);
  for (;;) {
    FunctionInstance body = relayout::compose(op, call, operands);
    const std::vector<Open> missing = operands.missing();
    if (missing.empty()) return body;
    operands.start_again();
    for (const Open& asked : missing) answer(asked, constants);
  }
}

void CertainShapes::forget(const Value& value) {
  dims_.erase(&value);
  contents_.erase(&value);
}

void CertainShapes::clear() {
  dims_.clear();
  contents_.clear();
}

}  // namespace relayout
