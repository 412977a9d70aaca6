#pragma once

#include "relayout/error.h"

namespace relayout {

/// Installs handlers that record SIGINT and SIGTERM. A second signal ends the process at once. SIGPIPE and SIGXFSZ are ignored, so that
/// writing gives EPIPE and EFBIG.
void install_interrupt_handlers();
/// Throws Error{interrupted} or Error{terminated} after the signal has arrived. Long loops call it.
void check_interrupt();
/// Whether an error is one of these two, which end the program; other errors end only one model of many.
[[nodiscard]] constexpr bool is_interruption(ErrorKind kind) noexcept {
  return kind == ErrorKind::interrupted || kind == ErrorKind::terminated;
}

/// Records that the reader of standard output has closed it: the Error that follows need not be reported.
void note_closed_pipe() noexcept;
[[nodiscard]] bool is_pipe_closed() noexcept;
/// Ends the program silently, as SIGPIPE does.
void end_by_closed_pipe() noexcept;

}  // namespace relayout
