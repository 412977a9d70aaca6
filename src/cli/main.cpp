// main(): installs the signal handlers, runs the command line, and ends without the destructors of static objects.
#include <unistd.h>

#include <vector>

#include "base/interrupt.h"
#include "cli/common/command.h"

int main(int count, char** words) {
  relayout::install_interrupt_handlers();
  const std::vector<std::string> arguments(words + (count > 0 ? 1 : 0), words + count);
  const int code = relayout::cli::run_program(arguments);
  // All output is written. Destroying what is left would only cost time.
  _exit(code);
}
