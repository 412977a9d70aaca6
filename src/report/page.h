#pragma once

#include <string>
#include <string_view>

#include "report/json.h"

namespace relayout {

/// A self-contained page: it loads nothing, and runs nothing but `script`. It has light and dark styles, and is readable in black and white
/// and on a phone.
/// `body` is HTML, in which text from files must be escaped (escape_markup() of report/markup.h). `style` extends the common style sheet.
/// `data` is the content of the page for programs. The page's policy allows only `script` to run, so that text from files cannot.
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body, std::string_view style, const Json& data,
                                    std::string_view script = {});

}  // namespace relayout
