#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {

/// Path of a browser, or nothing.
inline std::string browser() {
  for (const char* const name : {"chromium", "chromium-browser", "google-chrome", "chrome"}) {
    const ProcessResult found = run_process({"/bin/sh", "-c", std::string("command -v ") + name});
    if (found.code == 0) return found.out.substr(0, found.out.find('\n'));
  }
  return {};
}

/// The document of a page in a browser, after all scripts have run.
inline ProcessResult browse(const std::string& chromium, const TemporaryFolder& folder, const std::string& page,
                            const std::vector<std::string>& options) {
  std::vector<std::string> command{chromium, "--headless", "--no-sandbox", "--disable-gpu",
                                   "--user-data-dir=" + (folder / "profile").string()};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back("file://" + (folder / page).string());
  return run_process(command, {.timeout = 120});
}

/// A page in a frame of this width; `script` sees its document as `page`.
inline ProcessResult browse_frame(const std::string& chromium, const TemporaryFolder& folder, const std::string& page, int width,
                                  const std::string& script) {
  std::ifstream file(folder / page);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string quoted;
  for (const char c : text) quoted += c == '&' ? "&amp;" : c == '\'' ? "&#39;" : std::string(1, c);
  std::ofstream(folder / "frame.html")
      << "<!doctype html><meta charset='utf-8'><body><iframe id='frame' style='border:0;height:900px;width:" << width << "px' srcdoc='"
      << quoted << R"('></iframe><script>
    document.getElementById('frame').addEventListener('load', event => {
      const page = event.target.contentDocument;)"
      << script << "});</script>";
  return browse(chromium, folder, "frame.html", {"--dump-dom", "--virtual-time-budget=5000", "--window-size=2000,1000"});
}

/// The rows left in the first searched table of a page after words are typed: "2 rows, said 2 of 24".
inline std::string rows_found(const std::string& chromium, const TemporaryFolder& folder, const std::string& page,
                              const std::string& words) {
  const ProcessResult result = browse_frame(chromium, folder, page, 1280, R"(
      const search = page.querySelector('p.search'), input = search.querySelector('input');
      input.value = ')" + words + R"(';
      input.dispatchEvent(new Event('input', {bubbles: true}));
      const rows = [...page.querySelectorAll('p.search ~ .wide tbody tr')].filter(row => row.getClientRects().length > 0);
      document.body.textContent = 'FOUND ' + rows.length + ' rows, said ' + search.querySelector('output').textContent + '.';)");
  const std::size_t at = result.out.find("FOUND "), end = result.out.find('.', at);
  return at == std::string::npos ? result.err : result.out.substr(at + 6, end - at - 6);
}

/// Pixels by which content exceeds a page of this width or a box that would have to be scrolled sideways; nothing if not measured. A window
/// cannot be as narrow as a phone, a frame can.
inline std::optional<int> pixels_cut(const std::string& chromium, const TemporaryFolder& folder, const std::string& page, int width) {
  const ProcessResult result = browse_frame(chromium, folder, page, width, R"(
      const boxes = [page.documentElement, ...page.querySelectorAll('.wide, section')];
      document.body.textContent = 'CUT ' + Math.max(...boxes.map(box => box.scrollWidth - box.clientWidth)) + ' OF ' + boxes.length;)");
  const std::size_t at = result.out.find("CUT ");
  if (at == std::string::npos) return std::nullopt;
  return std::atoi(result.out.c_str() + at + 4);
}

/// Number of sheets of a printed page; nothing where no browser is installed or runs.
inline std::optional<int> sheets_printed(const TemporaryFolder& folder, const std::string& page) {
  const std::string chromium = browser();
  if (chromium.empty()) return std::nullopt;
  (void)browse(chromium, folder, page, {"--print-to-pdf=" + (folder / "page.pdf").string()});
  std::ifstream file(folder / "page.pdf");
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int sheets = 0;
  constexpr std::string_view kSheet = "/Type /Page\n";
  for (std::size_t at = text.find(kSheet); at != std::string::npos; at = text.find(kSheet, at + 1)) ++sheets;
  return sheets;
}

/// Draws a page of a folder, wide and narrow; skips where no browser is installed or runs.
inline void expect_drawn(const TemporaryFolder& folder, const std::string& page) {
  const std::string chromium = browser();
  if (chromium.empty()) GTEST_SKIP() << "no Chromium on this machine: the page is not drawn";
  for (const char* const size : {"1280,1600", "400,1600"}) {
    const std::string picture = (folder / "page.png").string();
    std::filesystem::remove(picture);
    const ProcessResult drawn = browse(chromium, folder, page, {std::string("--window-size=") + size, "--screenshot=" + picture});
    if (drawn.code != 0 || !std::filesystem::exists(picture))
      GTEST_SKIP() << "this Chromium does not run here: " << drawn.err.substr(0, 400);
    // A blank page compresses to a few kilobytes.
    EXPECT_GT(std::filesystem::file_size(picture), 20'000U) << size;
    EXPECT_THAT(drawn.err, testing::Not(testing::HasSubstr("Refused to"))) << "the page's own policy allows all that it needs";
  }
  for (const int width : {400, 1280, 1920}) EXPECT_EQ(pixels_cut(chromium, folder, page, width), 0) << page << " at " << width;
}

}  // namespace relayout::test
