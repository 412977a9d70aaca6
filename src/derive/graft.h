// Declares how the graph of one model becomes part of another.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/tensor_data.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::derive {

/// Names of values in the grafted model, and those that they get.
using GraftedNames = std::map<std::string, std::string>;

/// How names are chosen.
enum class Naming {
  prefixed,  ///< all get a prefix
  kept,      ///< those that are taken get it
};

/// Adds the nodes and initializers of a model without functions behind those of another. `bound`: values for inputs of the added one, all
/// of which must be there. Returns the names of all its values. Payloads stay in their files. Error{unsupported} for what cannot be moved.
[[nodiscard]] GraftedNames graft(Model& into, const Model& from, const std::string& prefix, Naming naming, GraftedNames bound);

/// Reads payloads that the file of a model holds into a node's message that is to leave it.
void hold_payloads(const Model& from, onnx::NodeProto& node);
/// The contents of a Constant that a model's file holds; nothing for other forms and nodes.
[[nodiscard]] std::optional<TensorData> constant_contents(const Model& from, const Node& node);

/// Gives two models the same opset of the default domain, and the first the other domains of the second.
void agree_on_opsets(Model& a, Model& b);

}  // namespace relayout::derive
