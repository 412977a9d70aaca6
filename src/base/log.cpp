// Writes warnings and details to standard error.
#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <set>

#include "base/numbers.h"
#include "base/text.h"

namespace relayout {
namespace {

LogLevel g_level = LogLevel::normal;
bool g_once = false;
thread_local int t_mutes = 0;
thread_local std::vector<std::string>* t_held = nullptr;

spdlog::logger& logger() {
  static const auto instance = [] {
    auto created = std::make_shared<spdlog::logger>("relayout", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    created->set_level(spdlog::level::trace);
    return created;
  }();
  return *instance;
}

/// Whether this is the first call with the message.
bool is_new(const std::string& message) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::scoped_lock lock(mutex);
  return known.insert(message).second;
}

}  // namespace

void set_log_level(LogLevel level) {
  g_level = level;
}

LogLevel log_level() {
  return g_level;
}

void write_warnings_once() {
  g_once = true;
}

void log_warning(const std::string& message) {
  if (g_level == LogLevel::quiet || t_mutes > 0) return;
  if (t_held != nullptr) return t_held->push_back(message);
  if (g_once && !is_new(message)) return;
  logger().set_pattern("relayout: warning: %v");
  logger().warn(in_locale(message));
}

MutedWarnings::MutedWarnings() {
  ++t_mutes;
}

MutedWarnings::~MutedWarnings() {
  --t_mutes;
}

HeldWarnings::HeldWarnings() {
  t_held = &messages_;
}

HeldWarnings::~HeldWarnings() {
  t_held = nullptr;
}

void log_detail(const std::string& message) {
  if (g_level != LogLevel::verbose) return;
  logger().set_pattern("relayout: %v");
  logger().info(in_locale(message));
}

void log_time(const std::string& what, double seconds) {
  log_detail(what + ": " + fixed(seconds * 1000, 2) + " ms");
}

}  // namespace relayout
