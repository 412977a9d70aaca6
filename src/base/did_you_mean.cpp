// The hint "did you mean …?": the known word with the fewest edits, if these are fewer than a third of its letters plus two.
#include "base/did_you_mean.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace relayout {
namespace {

std::string_view nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string_view best;
  const std::size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  std::size_t best_distance = letters / 3 + 2;  // from this distance on it is an unrelated word
  for (const std::string_view candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string_view before) {
  const std::string_view nearest = nearest_word(word, known);
  return nearest.empty() ? std::string() : std::string(before) + "did you mean " + quote(nearest) + "?";
}

}  // namespace relayout
