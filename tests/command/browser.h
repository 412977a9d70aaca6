#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/process.h"
#include "support/temporary_folder.h"

namespace relayout::test {

/// Where a browser is, or nothing.
inline std::string browser() {
  for (const char* const name : {"chromium", "chromium-browser", "google-chrome", "chrome"}) {
    const ProcessResult found = run_process({"/bin/sh", "-c", std::string("command -v ") + name});
    if (found.code == 0) return found.out.substr(0, found.out.find('\n'));
  }
  return {};
}

/// Draws a page of a folder, wide and narrow; skips where no browser is or runs.
inline void expect_drawn(const TemporaryFolder& folder, const std::string& page) {
  const std::string chromium = browser();
  if (chromium.empty()) GTEST_SKIP() << "no Chromium on this machine: the page is not drawn";
  for (const char* const size : {"1280,1600", "400,1600"}) {
    const std::string picture = (folder / "page.png").string();
    std::filesystem::remove(picture);
    const ProcessResult drawn =
        run_process({chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + (folder / "profile").string(),
                     std::string("--window-size=") + size, "--screenshot=" + picture, "file://" + (folder / page).string()},
                    {.timeout = 120});
    if (drawn.code != 0 || !std::filesystem::exists(picture))
      GTEST_SKIP() << "this Chromium does not run here: " << drawn.err.substr(0, 400);
    // A page that shows nothing compresses to a few kilobytes.
    EXPECT_GT(std::filesystem::file_size(picture), 20'000U) << size;
    EXPECT_THAT(drawn.err, testing::Not(testing::HasSubstr("Refused to"))) << "the page's own policy allows all that it needs";
  }
}

}  // namespace relayout::test
