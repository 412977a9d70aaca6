#pragma once

#include <string>
#include <string_view>

#include "report/json.h"

namespace relayout {

/// A page of one file: nothing is loaded from anywhere, nothing in it runs but `script`; light and dark, readable in black and white and on
/// a phone.
/// `body` is HTML (escape_markup of report/markup.h for what comes from files), `style` what it needs beyond the common style sheet; `data`
/// is what the page shows, for programs. The page's policy lets `script` run and no other: what comes from files cannot.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body, std::string_view style, const Json& data,
                                    std::string_view script = {});

}  // namespace relayout
