// Pairs the models of two folders by a pattern of their names, and says which have no counterpart or several.
#include "suite/counterparts.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "relayout/error.h"
#include "relayout/save_options.h"
#include "relayout/suite.h"

namespace relayout {
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

}  // namespace relayout
