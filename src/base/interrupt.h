#pragma once

#include "relayout/error.h"

namespace relayout {

/// Handlers for SIGINT and SIGTERM that note the signal (SIGPIPE and SIGXFSZ are ignored: writing gives EPIPE and EFBIG). A second signal
/// ends the process at once.
void install_interrupt_handlers();
/// Throws Error{interrupted} or Error{terminated} once the signal has come. Long loops call it.
void check_interrupt();
/// Whether an error is one of these two: it ends the program, where others end one model of many.
[[nodiscard]] constexpr bool is_interruption(ErrorKind kind) noexcept {
  return kind == ErrorKind::interrupted || kind == ErrorKind::terminated;
}

/// The reader of standard output has gone: the Error that follows need not be told.
void note_closed_pipe() noexcept;
[[nodiscard]] bool is_pipe_closed() noexcept;
/// Ends the program as SIGPIPE does, without a word.
void end_by_closed_pipe() noexcept;

}  // namespace relayout
