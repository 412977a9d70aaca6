#pragma once

#include "base/file.h"
#include "relayout/datum.h"
#include "verify/inputs/port.h"

namespace relayout {

/// The name of a folder of stored inputs and outputs is this and a number, as in ONNX's backend tests.
inline constexpr std::string_view kDataSetPrefix = "test_data_set_";

/// Reads a value from a file: .npy, otherwise protobuf as in the ONNX backend tests (by `kind`: TensorProto, SequenceProto or
/// OptionalProto). Error{invalid} for other contents; Error{unsupported} for maps, sparse tensors and 2 GiB or more; Error{io}. Messages
/// name the file.
[[nodiscard]] Datum read_data_file(const std::filesystem::path& path, Datum::Kind kind = Datum::Kind::tensor);

/// All bytes of a data file. Error{unsupported} for 2 GiB or more.
[[nodiscard]] std::string whole_data_file(const File& file);

/// A NumPy array file (format 1 to 3): bool, integers, floats, complex numbers of either byte order, fixed-size texts; C or Fortran order.
[[nodiscard]] Tensor parse_npy(std::span<const std::byte> bytes);

/// Error{invalid}, with `name`, if a datum contradicts the port's declaration.
void check_fits(const Datum& datum, const Port& port, const std::string& name);

/// Writes inputs and outputs of one sample as DIRECTORY/test_data_set_NUMBER/{input,output}_I.pb, the form of ONNX's backend tests. The
/// folder appears whole or not at all. Error{usage} if it already exists, Error{io}.
void save_data_set(const std::filesystem::path& directory, int number, const std::vector<Datum>& inputs, const std::vector<Datum>& outputs,
                   const std::vector<std::string>& input_names, const std::vector<std::string>& output_names);

/// A file in a ZIP archive (PKWARE APPNOTE 6.3) such as .npz.
struct ZipEntry {
  std::string name;
  int64_t offset = 0;                ///< of its local header
  int64_t packed = 0, unpacked = 0;  ///< bytes
  int method = 0;                    ///< 0 stored, 8 deflated
  uint32_t crc = 0;
};

/// The archive's directory. Error{invalid} for other files; Error{unsupported} for several disks, 4 GiB or more, and encrypted files.
[[nodiscard]] std::vector<ZipEntry> zip_directory(const File& file);
/// The contents of a file, checked against their checksum.
[[nodiscard]] std::string zip_read(const File& file, const ZipEntry& entry);

}  // namespace relayout
