// Runs one process of a suite, ends it after its time, and keeps the beginning of what it prints.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/positions.h"
#include "base/text.h"
#include "base/times.h"
#include "relayout/error.h"
#include "suite/suite.h"

namespace relayout {
namespace {

/// Bytes that are kept of each stream.
constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr int kNotStarted = 127;

[[noreturn]] void fail_with_errno(const std::string& what) {
  fail(ErrorKind::io, what + ": " + system_message(errno));
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_ = -1;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_with_errno("no pipe to a program");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read, write;
};

/// The child between fork and exec: only calls that are safe after a fork of one thread of several.
[[noreturn]] void become(char* const* arguments, int nothing, int out, int err, pid_t parent) {
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  execv(arguments[0], arguments);
  _exit(kNotStarted);
}

class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT(*-const-cast): execv's type
    arguments.push_back(nullptr);
    const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const pid_t parent = getpid();
    id_ = fork();
    if (id_ < 0) fail_with_errno("cannot start " + quote(command.front()));
    if (id_ == 0) become(arguments.data(), nothing.number(), out_.write.number(), err_.write.number(), parent);
    out_.write.close();
    err_.write.close();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }

  /// Seconds since its start.
  [[nodiscard]] double seconds() const { return watch_.seconds(); }
  /// Reads its output until it has closed both streams or `timeout` seconds are over; false in the latter case.
  bool read_all(double timeout, std::string& out, std::string& err) {
    constexpr int kLookAround = 100;  // milliseconds between checks for signals
    std::array<pollfd, 2> streams{pollfd{out_.read.number(), POLLIN, 0}, pollfd{err_.read.number(), POLLIN, 0}};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
      check_interrupt();
      const double left = std::ceil((timeout - seconds()) * 1000);
      if (left <= 0) return false;
      if (poll(streams.data(), streams.size(), static_cast<int>(std::min<double>(left, kLookAround))) < 0 && errno != EINTR)
        fail_with_errno("poll");
      take(streams[0], out);
      take(streams[1], err);
    }
    return true;
  }

  void end() { kill(id_, SIGKILL); }

  /// Its status once it has ended; it is killed `timeout` seconds after its start.
  int wait(double timeout) {
    int status = 0;
    // It has closed its streams and is about to end; most do within the first pauses.
    constexpr useconds_t kLeastPause = 20, kMostPause = 2000;
    for (useconds_t pause = kLeastPause; waitpid(id_, &status, WNOHANG) == 0; pause = std::min(2 * pause, kMostPause)) {
      if (seconds() > timeout) end();
      usleep(pause);
    }
    id_ = 0;
    return status;
  }

 private:
  static void take(pollfd& stream, std::string& text) {
    if (stream.fd < 0 || stream.revents == 0) return;
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(stream.fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      stream.fd = -1;
      return;
    }
    text.append(buffer.data(), std::min(as_size(count), kMostOutput - text.size()));
  }

  Stopwatch watch_;
  pid_t id_ = 0;
  Pipe out_, err_;
};

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, double timeout) {
  ChildResult result;
  Child child(command);
  result.timed_out = !child.read_all(timeout, result.out, result.err);
  if (result.timed_out) child.end();
  const int status = child.wait(timeout);
  if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (result.signal == SIGKILL && child.seconds() > timeout) result.timed_out = true;
  result.seconds = child.seconds();
  return result;
}

}  // namespace relayout
