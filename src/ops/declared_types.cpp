// Refuses a model that declares another element type for a value than its operator gives ("its result … is …, the file declares …").

#include "ops/declared_types.h"

#include <cstddef>
#include <string>
#include <variant>

#include "base/text.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/value_type.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {
namespace {

int index_of(const Node& node, const Value& output) {
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) == &output) return static_cast<int>(i);
  }
  return -1;
}

/// The type of a node's result: its fixed type, or that of the nearest value upstream with the same type whose type is declared.
DataType made_type(const Node& node, int index) {
  for (const Node* from = &node; from != nullptr;) {
    const auto rule = type_rule(*from, index);
    if (const auto* const fixed = std::get_if<DataType>(&rule)) return *fixed;
    const auto* const like = std::get_if<const Value*>(&rule);
    if (like == nullptr) break;
    const DataType declared = declared_type(**like);
    if (declared != DataType::undefined) return declared;
    from = (*like)->producer();
    if (from != nullptr) index = index_of(*from, **like);
  }
  return DataType::undefined;
}

void check_result(const Model& model, const Node& node, std::size_t index) {
  const Value* const value = node.output(index);
  if (value == nullptr) return;
  const DataType declared = declared_type(*value);
  if (declared == DataType::undefined) return;
  const DataType made = made_type(node, static_cast<int>(index));
  if (made == DataType::undefined || made == declared) return;
  fail(ErrorKind::invalid, escape(model.name()) + ": " + type_conflict(*value, made));
}

}  // namespace

std::string type_conflict(const Value& result, DataType made) {
  return "node " + result.producer()->label() + ": its result " + quote(result.name()) + " is " + std::string(name_of(made)) +
         ", the file declares " + std::string(name_of(declared_type(result)));
}

void check_declared_types(const Model& model) {
  for_each_node(model, [&](const Node& node) {
    for (std::size_t i = 0; i < node.outputs().size(); ++i) check_result(model, node, i);
  });
}

}  // namespace relayout
