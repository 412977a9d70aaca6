// Records signals, so that long loops end at their next check.
#include "base/interrupt.h"

#include <signal.h>

#include <atomic>
#include <csignal>

#include "relayout/error.h"

namespace relayout {
namespace {

volatile std::sig_atomic_t g_signal = 0;
std::atomic<bool> g_pipe_closed = false;

void note_signal(int signal) {
  if (g_signal != 0) {
    // A second signal: end as by the signal's default action.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_signal = signal;
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void check_interrupt() {
  if (g_signal == SIGINT) fail(ErrorKind::interrupted, "interrupted");
  if (g_signal == SIGTERM) fail(ErrorKind::terminated, "terminated");
}

void note_closed_pipe() noexcept {
  g_pipe_closed = true;
}

bool is_pipe_closed() noexcept {
  return g_pipe_closed;
}

void end_by_closed_pipe() noexcept {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

}  // namespace relayout
