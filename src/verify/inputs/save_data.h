#pragma once

#include <filesystem>
#include <vector>

#include "relayout/datum.h"

namespace relayout {

/// Writes inputs and outputs of one sample as DIRECTORY/test_data_set_NUMBER/{input,output}_I.pb, the form of ONNX's backend tests. The
/// folder appears whole or not at all. Error{usage} if it already exists, Error{io}.
void save_data_set(const std::filesystem::path& directory, int number, const std::vector<Datum>& inputs, const std::vector<Datum>& outputs,
                   const std::vector<std::string>& input_names, const std::vector<std::string>& output_names);

}  // namespace relayout
