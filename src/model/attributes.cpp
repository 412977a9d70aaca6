// Reads attributes of nodes by type, also from files without declared types; messages for a wrong type; detects references to a function's
// attributes.
#include "model/attributes.h"

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

using onnx::AttributeProto;

/// The declared type, or for files older than that requirement, the type of the non-empty field.
AttributeProto::AttributeType type_of(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

std::string type_name(AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT:
      return "a float";
    case AttributeProto::INT:
      return "an integer";
    case AttributeProto::STRING:
      return "a string";
    case AttributeProto::TENSOR:
      return "a tensor";
    case AttributeProto::FLOATS:
      return "a list of floats";
    case AttributeProto::INTS:
      return "a list of integers";
    case AttributeProto::STRINGS:
      return "a list of strings";
    default:
      return "of another type";
  }
}

thread_local Attributes::Observer observer_of_thread;

}  // namespace

void Attributes::observe(Observer observer) {
  observer_of_thread = std::move(observer);
}

const AttributeProto* Attributes::look_up(std::string_view name) const {
  if (observer_of_thread) observer_of_thread(*node_, name);
  return lookup_ ? lookup_(name) : node_->attribute(name);
}

/// The attribute, or nullptr when absent; fails when it is of a different type.
const AttributeProto* Attributes::find(std::string_view name, int type) const {
  const AttributeProto* const attribute = look_up(name);
  if (attribute == nullptr) return nullptr;
  const auto place = [&] { return "node " + node_->label() + ": attribute " + quote(name) + " "; };
  if (!attribute->ref_attr_name().empty()) fail(ErrorKind::unsupported, place() + "takes its value from the caller of the function");
  const AttributeProto::AttributeType found = type_of(*attribute);
  // An empty list in a file without types has no field that tells its type.
  const bool is_list = type == AttributeProto::FLOATS || type == AttributeProto::INTS || type == AttributeProto::STRINGS;
  if (found == type || (found == AttributeProto::UNDEFINED && is_list)) return attribute;
  fail(ErrorKind::invalid, place() + "is " + type_name(found) + ", not " + type_name(static_cast<AttributeProto::AttributeType>(type)));
}

bool Attributes::has(std::string_view name) const {
  return look_up(name) != nullptr;
}

std::optional<int64_t> Attributes::integer(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::INT);
  if (attribute == nullptr) return std::nullopt;
  return attribute->i();
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  return integer(name).value_or(otherwise);
}

std::optional<float> Attributes::real(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::FLOAT);
  if (attribute == nullptr) return std::nullopt;
  return attribute->f();
}

float Attributes::real(std::string_view name, float otherwise) const {
  return real(name).value_or(otherwise);
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* const attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? std::string(otherwise) : attribute->s();
}

std::vector<int64_t> Attributes::integers(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> Attributes::reals(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> Attributes::texts(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

const onnx::TensorProto* Attributes::tensor(std::string_view name) const {
  const AttributeProto* const attribute = find(name, AttributeProto::TENSOR);
  return attribute == nullptr ? nullptr : &attribute->t();
}

bool Attributes::has_reference() const {
  for (const AttributeProto& attribute : node_->message().attribute()) {
    if (attribute.ref_attr_name().empty()) continue;
    const AttributeProto* const found = look_up(attribute.name());
    if (found != nullptr && !found->ref_attr_name().empty()) return true;
  }
  return false;
}

}  // namespace relayout
