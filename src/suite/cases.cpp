// Finds the cases in the folders of a suite: models beside their stored outputs, or originals with the models that are judged.

#include "base/file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "relayout/error.h"
#include "relayout/save_options.h"
#include "suite/suite.h"

namespace relayout {

// Counterparts of originals, by a pattern of names.
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr std::string_view kModelExtension = ".onnx";

std::string without(std::string_view name, std::string_view suffix) {
  return std::string(name.ends_with(suffix) && name.size() > suffix.size() ? name.substr(0, name.size() - suffix.size()) : name);
}

/// Replacement of one word between braces of a pattern.
std::string part_of(const std::string& word, const fs::path& model, const std::string& pattern) {
  std::string name = without(model.filename().string(), kModelExtension);
  if (word == "name") return name;
  if (word == "stem") return without(name, kConvertedSuffix);
  if (word.starts_with("stem%")) return without(name, word.substr(5));
  if (word == "dir") return model.has_parent_path() ? model.parent_path().string() : ".";
  fail(ErrorKind::usage, "pattern " + quote(pattern) + ": " + quote("{" + word + "}") + " is none of {stem}, {stem%SUFFIX}, {name}, {dir}");
}

/// `pattern` with part(word) in place of each {word}.
template <class Part>
std::string filled(const std::string& pattern, const Part& part) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = std::min(pattern.find('{', at), pattern.size());
    out += pattern.substr(at, open - at);
    if (open == pattern.size()) break;
    const std::size_t close = pattern.find('}', open);
    if (close == std::string::npos) fail(ErrorKind::usage, "pattern " + quote(pattern) + ": '{' without its '}'");
    out += part(pattern.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return out;
}

std::string normal(const std::string& name) {
  return fs::path(name).lexically_normal().generic_string();
}

class Pairs {
 public:
  Pairs(const Names& judged, const std::string& pattern, bool is_one_tree)
      : judged_(judged), pattern_(pattern), is_one_tree_(is_one_tree), form_(filled(pattern, [](const std::string&) { return "*"; })) {}

  /// The existing counterparts of an original.
  [[nodiscard]] Names counterparts(const std::string& original) const {
    Names out;
    for (const std::string& name : wanted(original)) {
      const bool is_itself = is_one_tree_ && name == original;
      if (!is_itself && std::ranges::binary_search(judged_, name)) out.push_back(name);
    }
    return out;
  }

  /// Possible names of an original's counterpart, the likelier first.
  [[nodiscard]] Names wanted(const std::string& original) const {
    const std::string by_default = "{name}" + std::string(kConvertedSuffix) + std::string(kModelExtension);
    Names out{normal(model_name_of(pattern_.empty() ? by_default : pattern_, original))};
    if (pattern_.empty() && !is_one_tree_) out.push_back(original);
    return out;
  }

  /// Whether a model's name has the form of the pattern.
  [[nodiscard]] bool is_meant(const std::string& name) const {
    if (pattern_.empty()) return true;
    const bool has_folder = pattern_.find('/') != std::string::npos;
    return glob_match(form_, has_folder ? name : fs::path(name).filename().string());
  }

 private:
  const Names& judged_;
  const std::string& pattern_;
  bool is_one_tree_;
  std::string form_;
};

ModelPairing pairing_of(const std::string& original, const Pairs& pairs) {
  const Names there = pairs.counterparts(original);
  if (there.empty()) return {original, "", "it has no counterpart " + quote(pairs.wanted(original).front())};
  if (there.size() == 1) return {original, there.front(), ""};
  return {original, "", quote(there[0]) + " and " + quote(there[1]) + " are both counterparts of it (--pair PATTERN chooses one)"};
}

std::set<std::string> counterparts_of(const Names& originals, const Pairs& pairs) {
  std::set<std::string> out;
  for (const std::string& original : originals) {
    for (std::string& name : pairs.counterparts(original)) out.insert(std::move(name));
  }
  return out;
}

}  // namespace

std::string model_name_of(const std::string& pattern, const fs::path& model) {
  const std::string out = filled(pattern, [&](const std::string& word) { return part_of(word, model, pattern); });
  return pattern.find('/') == std::string::npos ? (model.parent_path() / out).string() : out;
}

std::vector<ModelPairing> pair_models(const Names& originals, const Names& judged, const std::string& pattern, bool is_one_tree) {
  const Pairs pairs(judged, pattern, is_one_tree);
  const std::set<std::string> led_to = counterparts_of(originals, pairs);
  const auto is_led_to = [&](const std::string& name) { return led_to.contains(name); };
  std::vector<ModelPairing> out;
  if (is_one_tree) {
    // A model that is no counterpart of another is an original; its counterparts are not. All others are counterparts only of counterparts:
    // they count as originals, so that no case is lost.
    Names roots;
    std::ranges::remove_copy_if(originals, std::back_inserter(roots), is_led_to);
    const std::set<std::string> taken = counterparts_of(roots, pairs);
    for (const std::string& name : originals) {
      if (!taken.contains(name)) out.push_back(pairing_of(name, pairs));
    }
    return out;
  }
  for (const std::string& original : originals) out.push_back(pairing_of(original, pairs));
  for (const std::string& name : judged) {
    if (!is_led_to(name) && pairs.is_meant(name)) out.push_back({"", name, "it has no original"});
  }
  return out;
}

// Cases.
namespace {

namespace fs = std::filesystem;
using Entries = std::vector<SuiteEntry>;

constexpr std::string_view kModel = "model.onnx", kExtension = ".onnx", kOutput = "_output_0.pb";

/// One folder of a tree, with the names of its entries by kind, sorted.
struct Folder {
  fs::path path, relative;
  std::vector<std::string> files, folders;
  std::vector<std::string> linked;  ///< links to folders
};

void check_folder(const fs::path& tree) {
  std::error_code ignored;
  if (fs::is_directory(tree, ignored)) return;
  fail_io(tree.string(), fs::exists(tree, ignored) ? "is not a folder" : "no such folder");
}

Folder read_folder(const fs::path& path, const fs::path& relative) {
  std::error_code ignored;
  Folder out{path, relative, {}, {}, {}};
  for (const fs::directory_entry& entry : entries_of(path)) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory(ignored)) {
      (entry.is_symlink(ignored) ? out.linked : out.folders).push_back(std::move(name));
    } else if (entry.is_regular_file(ignored)) {
      out.files.push_back(std::move(name));
    }
  }
  return out;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::binary_search(names, name);
}

/// Calls visit(folder) for every folder of a tree except `except` and the folders below it. Links are not followed.
template <class Visit>
void walk(const fs::path& path, const fs::path& relative, const fs::path& except, const Visit& visit) {
  std::error_code ignored;
  if (!except.empty() && fs::equivalent(path, except, ignored)) return;
  const Folder folder = read_folder(path, relative);
  visit(folder);
  for (const std::string& name : folder.folders) walk(path / name, relative / name, except, visit);
}

/// The name of a case that is the tree itself.
std::string name_of_tree(const fs::path& tree) {
  const fs::path path = fs::absolute(tree).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

SuiteEntry folder_case(const std::string& name, const fs::path& folder) {
  return {name, folder / kModel, folder, {}, ""};
}
SuiteEntry light_case(const std::string& name, const fs::path& model) {
  return {name, model, model.parent_path(), {}, ""};
}

/// A case light_vgg19 for light_vgg19.onnx with light_vgg19_output_0.pb.
void add_light_cases(const Folder& folder, Entries& out) {
  for (const std::string& file : folder.files) {
    if (!file.ends_with(kExtension)) continue;
    const std::string stem = file.substr(0, file.size() - kExtension.size());
    if (has(folder.files, stem + std::string(kOutput))) {
      out.push_back(light_case((folder.relative / stem).generic_string(), folder.path / file));
    }
  }
}

Entries find_stored(const fs::path& tree) {
  Entries out;
  walk(tree, {}, {}, [&](const Folder& folder) {
    const std::string name = folder.relative.empty() ? name_of_tree(tree) : folder.relative.generic_string();
    if (has(folder.files, kModel)) out.push_back(folder_case(name, folder.path));
    for (const std::string& link : folder.linked) {
      const fs::path path = folder.path / link;
      if (fs::is_regular_file(path / kModel)) out.push_back(folder_case((folder.relative / link).generic_string(), path));
    }
    add_light_cases(folder, out);
  });
  return out;
}

Entries find_pairs(const SuiteTrees& trees) {
  std::error_code ignored;
  const bool is_one_tree = fs::equivalent(trees.tree, trees.against, ignored);
  const auto originals = find_models(trees.tree, is_one_tree ? fs::path() : trees.against);
  const auto judged = is_one_tree ? originals : find_models(trees.against, trees.tree);
  Entries out;
  for (const ModelPairing& pairing : pair_models(originals, judged, trees.pair, is_one_tree)) {
    SuiteEntry& entry = out.emplace_back();
    entry.name = pairing.original.empty() ? "unpaired:" + pairing.counterpart : pairing.original;
    if (!pairing.original.empty()) entry.model = trees.tree / pairing.original;
    if (!pairing.counterpart.empty()) entry.other = trees.against / pairing.counterpart;
    entry.fault = pairing.fault;
  }
  return out;
}

/// The case of stored outputs with this name; nullopt: none.
std::optional<SuiteEntry> stored_case(const fs::path& tree, const std::string& name) {
  const fs::path relative(name);
  if (name == name_of_tree(tree) && fs::is_regular_file(tree / kModel)) return folder_case(name, tree);
  if (name.empty() || relative.is_absolute() || relative.lexically_normal() != relative || *relative.begin() == "..") return std::nullopt;
  if (relative == "." || !relative.has_filename()) return std::nullopt;
  if (fs::is_regular_file(tree / relative / kModel)) return folder_case(name, tree / relative);
  const fs::path light = tree / (name + std::string(kExtension));
  if (fs::is_regular_file(light) && fs::is_regular_file(tree / (name + std::string(kOutput)))) return light_case(name, light);
  return std::nullopt;
}

void check_trees(const SuiteTrees& trees) {
  for (const fs::path& tree : {trees.tree, trees.against}) {
    if (!tree.empty()) check_folder(tree);
  }
}

[[noreturn]] void refuse_name(const SuiteTrees& trees, const std::string& name) {
  fail(ErrorKind::usage, "no case of " + escape(trees.tree.string()) + " is called " + quote(name), "--list prints their names");
}

}  // namespace

const fs::path& SuiteEntry::judged() const {
  return data.empty() ? other : model;
}

std::vector<std::string> find_models(const fs::path& tree, const fs::path& except) {
  check_folder(tree);
  std::vector<std::string> out;
  walk(tree, {}, except, [&](const Folder& folder) {
    for (const std::string& file : folder.files) {
      if (file.ends_with(kExtension)) out.push_back((folder.relative / file).generic_string());
    }
  });
  std::ranges::sort(out);
  return out;
}

Entries find_cases(const SuiteTrees& trees) {
  check_trees(trees);
  Entries out = trees.against.empty() ? find_stored(trees.tree) : find_pairs(trees);
  if (out.empty()) {
    const std::string tree = escape(trees.tree.string());
    if (!trees.against.empty()) fail(ErrorKind::invalid, tree + ": no .onnx file below it");
    fail(ErrorKind::invalid, tree + ": no model.onnx below it", "with --against DIR, each .onnx file of it is a case");
  }
  std::ranges::sort(out, {}, &SuiteEntry::name);
  const auto twice = std::ranges::adjacent_find(out, {}, &SuiteEntry::name);
  if (twice != out.end()) fail(ErrorKind::invalid, escape(trees.tree.string()) + ": two cases are called " + quote(twice->name));
  return out;
}

Entries find_cases(const SuiteTrees& trees, std::vector<std::string> names) {
  check_trees(trees);
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  Entries out;
  if (trees.against.empty()) {
    for (const std::string& name : names) {
      std::optional<SuiteEntry> entry = stored_case(trees.tree, name);
      if (!entry) refuse_name(trees, name);
      out.push_back(std::move(*entry));
    }
    return out;
  }
  Entries all = find_cases(trees);
  for (const std::string& name : names) {
    const auto found = std::ranges::lower_bound(all, name, {}, &SuiteEntry::name);
    if (found == all.end() || found->name != name) refuse_name(trees, name);
    out.push_back(*found);
  }
  return out;
}

SuiteExtent extent_of(const std::vector<std::string>& names) {
  Sha256 digest;
  for (const std::string& name : names) digest.update(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
  return {static_cast<int64_t>(names.size()), to_hex(digest.finish())};
}

}  // namespace relayout
