// Verifies a conversion before its result gets a name, at several sizes where the conversion changes sizes.

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/log.h"
#include "base/positions.h"
#include "base/text.h"
#include "convert/convert.h"
#include "model/save.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/save_options.h"
#include "relayout/types.h"
#include "relayout/verify.h"

namespace relayout {
namespace {

/// The files of one verification.
struct Draft {
  std::filesystem::path original, file, folder;
  const ConvertOptions* options;
  VerifyOptions verification;

  [[nodiscard]] VerifyResult against(const std::filesystem::path& other, const VerifyOptions& how) const {
    // What was bytes is compared with bytes of the numbers that the result has instead.
    return options->rewrite.undo_io ? verify(file, other, how) : verify(other, file, how);
  }
  [[nodiscard]] bool is_same(const VerifyResult& result) const { return exit_code(result, options->verification.allow_inconclusive) == 0; }
  /// The original with other sizes.
  [[nodiscard]] std::filesystem::path copy(const DimEdits& dims) const {
    ConvertOptions copying;
    copying.load = options->load;
    copying.passes = {"set-dims"};
    copying.rewrite.dims = dims;
    copying.threads = options->threads;
    std::filesystem::path out = folder / "copy.onnx";
    (void)convert(original, out, copying);
    return out;
  }
};

/// Options that free what was fixed and gets another size: the original runs with no other.
DimEdits freeing(const Graph& graph, const DimEdits& edits) {
  DimEdits out;
  for (const auto& [name, dims] : edits.shapes) {
    const Value* const input = graph.find(name);
    const auto declared = input != nullptr ? input->declared() : std::nullopt;
    for (std::size_t i = 0; declared && i < std::min(dims.size(), declared->dims.size()); ++i) {
      if (declared->dims[i] < 0 || dims[i] < 0 || declared->dims[i] == dims[i]) continue;
      if (edits.free.contains({name, static_cast<int64_t>(i)})) continue;
      // Dims that change together have one name.
      const std::string symbol = "axis " + std::to_string(i) + " of " + std::to_string(declared->dims[i]) + " → " + std::to_string(dims[i]);
      out.free[{name, static_cast<int64_t>(i)}] = symbol;
    }
  }
  return out;
}

/// Gives differences from dims that were freed for the comparison the sizes that the original has.
void name_old_sizes(const Graph& original, const DimEdits& freed, VerifyResult& result) {
  for (InterfaceDifference& difference : result.interface) {
    const Value* const input = original.find(difference.name);
    const auto place = freed.free.find({difference.name, difference.axis ? static_cast<int64_t>(*difference.axis) : -1});
    if (input != nullptr && place != freed.free.end()) difference.a = std::to_string(input->declared()->dims[*difference.axis]);
  }
}

/// Compares a result with free dims and copies of the original that have one size each.
VerifyResult verify_sizes(const Draft& draft, const Graph& original, VerifyResult first) {
  const DimEdits& edits = draft.options->rewrite.dims;
  std::vector<std::string> symbols;
  for (const auto& [place, symbol] : edits.free) {
    if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  }
  constexpr std::size_t kWanted = 2;
  std::string said;
  for (const std::string& symbol : symbols) {
    std::size_t tried = 0;
    int64_t old_size = 1;
    const auto at = [&](int64_t size) {
      DimEdits set{edits.sizes, edits.shapes, {}};
      for (const auto& [place, name] : edits.free) {
        const auto declared = original.find(place.first)->declared();
        const std::size_t axis = as_size(place.second < 0 ? place.second + std::ssize(declared->dims) : place.second);
        Dims& dims = set.shapes.try_emplace(place.first, Dims(declared->dims.size(), -1)).first->second;
        if (name != symbol) continue;
        old_size = declared->dims[axis];
        dims[axis] = size;
      }
      return set;
    };
    std::vector<int64_t> sizes{1, 2, 3, 7};
    (void)at(1);
    sizes.insert(sizes.end(), {2 * old_size, 3 * old_size});
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i >= 4 && tried >= kWanted) break;
      std::filesystem::path copy;
      try {
        copy = draft.copy(at(sizes[i]));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        continue;  // too small for a window, for instance
      }
      VerifyResult result = draft.against(copy, draft.verification);
      const std::string size = symbol + " = " + std::to_string(sizes[i]);
      result.a = draft.original.string() + " with " + size;
      said += (said.empty() ? "" : ", ") + escape(size);
      ++tried;
      if (!draft.is_same(result)) return result;
    }
    if (tried < kWanted) {
      fail(ErrorKind::unsupported,
           escape(draft.original.string()) + ": --verify: the original runs with no other size for " + quote(symbol));
    }
  }
  first.remarks.push_back("with " + said + " set, the original computes the same as the result");
  return first;
}

}  // namespace

VerifyResult verify_draft(Model& model, const ConvertResult& result, const ConvertOptions& options, SaveOptions saving) {
  if (is_stream(result.input)) fail(ErrorKind::usage, "a model from standard input cannot be read again to be verified");
  const PrivateFolder folder;
  Draft draft{result.input, folder.path() / (is_stream(result.output) ? "model.onnx" : result.output.filename()), folder.path() / "copies",
              &options, options.verification};
  saving.progress = nullptr;
  saving.sync = false;
  save(model, draft.file, saving);
  VerifyOptions& verification = draft.verification;
  verification.load = options.load;
  verification.images_last = options.rewrite.export_io || options.rewrite.undo_io || options.rewrite.layout == WeightsLayout::contiguous;
  verification.bytes = options.rewrite.bytes;
  verification.output_bytes = options.rewrite.output_bytes;
  // Undefined: no precision was requested.
  if (options.rewrite.precision == DataType::float32) {
    verification.allow_interface = verification.allow_interface || options.rewrite.io_precision;
  } else {
    verification.precision = options.rewrite.precision;
  }
  verification.threads = options.threads;
  // The model has been read, with its warnings.
  const MutedWarnings said_already;
  for (const auto& [from, to] : options.rewrite.renames) {
    if (model.graph().find(to) != nullptr) verification.renames.emplace(from, to);  // not a dim's
  }
  const DimEdits& dims = options.rewrite.dims;
  if (!dims.sizes.empty() || !dims.shapes.empty() || options.rewrite.narrow_integers) verification.allow_interface = true;
  std::filesystem::path original = result.input;
  std::unique_ptr<Model> source;
  DimEdits freed;
  if (dims.any()) {
    std::filesystem::create_directory(draft.folder);
    source = Model::load(result.input, options.load);
    freed = freeing(source->graph(), dims);
    if (freed.any()) original = draft.copy(freed);
  }
  VerifyResult out = draft.against(original, verification);
  const bool is_turned = options.rewrite.undo_io;
  out.a = (is_turned ? result.output : result.input).string();
  if (freed.any()) name_old_sizes(source->graph(), freed, out);
  if (!dims.free.empty() && draft.is_same(out)) out = verify_sizes(draft, source->graph(), std::move(out));
  out.b = (is_turned ? result.input : result.output).string();
  return out;
}

}  // namespace relayout
