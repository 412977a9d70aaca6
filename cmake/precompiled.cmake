# Headers of libraries that most files include, parsed once per kind of target: parsing is more than half of a file's compile time.
# None of relayout's headers is among them, so that a changed header rebuilds only the files that include it. Files still include every
# header that they use: the tidy preset, which checks this, has no precompiled headers.
set(precompiled_standard <algorithm> <array> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)
set(precompiled_sources ${precompiled_standard} <onnx/onnx_pb.h>)
set(precompiled_tests ${precompiled_standard} <gmock/gmock.h> <gtest/gtest.h> <onnx/onnx_pb.h>)
