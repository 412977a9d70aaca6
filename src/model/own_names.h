#pragma once

namespace relayout {

class Model;

/// Gives inputs and initializers of nested graphs that hide an outer value a name of their own, with a warning. ONNX forbids such names,
/// and ONNX Runtime takes the inner value. To be called for a new model, whose graphs are built.
void give_own_names(Model& model);

}  // namespace relayout
