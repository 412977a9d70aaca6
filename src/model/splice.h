#pragma once

#include "model/payload_places.h"
#include "model/segments.h"

namespace relayout {

class Model;

/// The model file to be written. Unchanged wire items are copied from the original file; changed items are re-encoded around their
/// unchanged parts. Payloads to be stored outside are passed to `store`. An unchanged model is a single copy of its file.
[[nodiscard]] Segments splice(const Model& model, PayloadPlaces& store);

}  // namespace relayout
