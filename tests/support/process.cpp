#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ios>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace relayout::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A file in memory with the contents `text`, at its beginning.
int memory_file(std::string_view text) {
  const int descriptor = memfd_create("test", MFD_CLOEXEC);
  if (descriptor < 0) throw std::runtime_error("memfd_create");
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) throw std::runtime_error("write to a memory file");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

std::string contents(int descriptor) {
  std::string out(static_cast<std::size_t>(lseek(descriptor, 0, SEEK_END)), '\0');
  const ssize_t got = pread(descriptor, out.data(), out.size(), 0);
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  close(descriptor);
  return out;
}

/// The data that a child needs, prepared before fork.
struct Prepared {
  std::vector<std::string> words, environment;
  std::vector<char*> argv, envp;
  int in = -1, out = -1, err = -1;
  int terminal = -1;  ///< the end that this process reads
};

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool replaced = std::ranges::any_of(options.environment, [&](const auto& pair) { return text.starts_with(pair.first + "="); });
    if (!replaced) out.push_back(text);
  }
  for (const auto& [name, value] : options.environment) {
    if (!value.empty()) out.push_back(name + "=" + value);
  }
  return out;
}

int closed_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  close(ends[0]);
  return ends[1];
}

void open_streams(Prepared& child, const ProcessOptions& options) {
  child.in = memory_file(options.input);
  if (options.terminal) {
    int inner = -1;
    if (openpty(&child.terminal, &inner, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("openpty");
    child.out = inner;
    child.err = dup(inner);
    return;
  }
  child.err = memory_file("");
  if (options.output) {
    child.out = open(options.output->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  } else {
    child.out = options.output_closed_pipe ? closed_pipe() : memory_file("");
  }
  if (child.out < 0) throw std::runtime_error("cannot open the output of a test's program");
}

[[noreturn]] void become(const Prepared& child, const ProcessOptions& options) {
  dup2(child.in, STDIN_FILENO);
  dup2(child.out, STDOUT_FILENO);
  dup2(child.err, STDERR_FILENO);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(126);
  if (options.file_size_limit >= 0) {
    const auto size = static_cast<rlim_t>(options.file_size_limit);
    const rlimit limit{size, size};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::signal(SIGPIPE, SIG_DFL);
  if (options.in_child) options.in_child();
  execve(child.argv[0], child.argv.data(), child.envp.data());
  _exit(127);
}

/// Reads the output of the terminal; false when its other end is closed.
bool drain(int terminal, std::string& out) {
  char buffer[4096];
  pollfd waiting{terminal, POLLIN, 0};
  while (poll(&waiting, 1, 0) > 0) {
    const ssize_t got = read(terminal, buffer, sizeof buffer);
    if (got <= 0) return false;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return true;
}

/// Waits for the child, and sends the signal of the options.
int watch(pid_t pid, const Prepared& child, const ProcessOptions& options, ProcessResult& result, rusage& usage) {
  const auto start = Clock::now();
  bool sent = false;
  while (true) {
    int status = 0;
    if (child.terminal >= 0) (void)drain(child.terminal, result.out);
    if (wait4(pid, &status, WNOHANG, &usage) == pid) {
      result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
      return status;
    }
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    if (options.signal_after && !sent && elapsed >= options.signal_after->first) {
      kill(pid, options.signal_after->second);
      sent = true;
    }
    if (elapsed > options.timeout) {
      kill(pid, SIGKILL);
      result.timed_out = true;
    }
    usleep(elapsed < 0.05 ? 200 : 2000);
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  Prepared child;
  child.words = command;
  child.environment = environment_of(options);
  for (std::string& word : child.words) child.argv.push_back(word.data());
  for (std::string& entry : child.environment) child.envp.push_back(entry.data());
  child.argv.push_back(nullptr);
  child.envp.push_back(nullptr);
  open_streams(child, options);

  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) become(child, options);
  ProcessResult result;
  rusage usage{};
  const int status = watch(pid, child, options, result, usage);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.peak_kib = usage.ru_maxrss;
  close(child.in);
  if (options.terminal) {
    (void)drain(child.terminal, result.out);
    close(child.out);
    close(child.err);
    close(child.terminal);
    return result;
  }
  if (options.output || options.output_closed_pipe) {
    close(child.out);
  } else {
    result.out = contents(child.out);
  }
  result.err = contents(child.err);
  return result;
}

std::size_t line_count(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n')) + (text.empty() || text.back() == '\n' ? 0 : 1);
}

}  // namespace relayout::test
