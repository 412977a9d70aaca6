#pragma once

#include "model/payload_places.h"
#include "model/segments.h"

namespace relayout {

class Model;

/// The model file as it is to be written: every wire item that was not touched is copied from its place in the original, changed ones
/// are made anew around what did not change. Payloads that go outside are handed to `store`. An untouched model is one copy of its file.
[[nodiscard]] Segments splice(const Model& model, PayloadPlaces& store);

}  // namespace relayout
