// Fuzzes the contents of an input: .npy, ZIP archives (.npz), images. Any bytes are refused or give a value that fits.

#include <cstdlib>

#include "base/file.h"
#include "relayout/error.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace relayout;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto attempt = [](const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::defect || error.kind() == ErrorKind::usage) std::abort();
    }
  };
  attempt([&] { (void)parse_npy(std::as_bytes(std::span(bytes))); });
  attempt([&] {
    const auto file = File::from_bytes(bytes, "fuzz");
    for (const ZipEntry& entry : zip_directory(*file)) (void)zip_read(*file, entry);
  });
  attempt([&] {
    Port port;
    port.type = DataType::uint8;
    port.has_shape = true;
    port.dims = {-1, 3, 8, 8};
    port.symbols.assign(4, "");
    (void)image_tensor(std::as_bytes(std::span(bytes)), port, {});
  });
  return 0;
}
