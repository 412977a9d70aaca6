#pragma once

namespace relayout {

/// Handlers for SIGINT and SIGTERM that note the signal (SIGPIPE and SIGXFSZ are ignored: writing gives EPIPE and EFBIG). A second signal
/// ends the process at once.
void install_interrupt_handlers();
/// Throws Error{interrupted} or Error{terminated} once the signal has come. Long loops call it.
void check_interrupt();

}  // namespace relayout
