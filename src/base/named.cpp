// Adds the name of a file to errors about its contents ("FILE: …"), unless they begin with it.
#include "base/named.h"

#include <string>

#include "base/text.h"
#include "relayout/error.h"

namespace relayout {

void fail_named(const std::string& name, const Error& error) {
  const std::string prefix = escape(name) + ": ", what = error.what();
  fail(error.kind(), what.starts_with(prefix) ? what : prefix + what, error.hint());
}

}  // namespace relayout
