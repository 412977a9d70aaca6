// main(): installs the signal handlers, runs the command line, and ends without destroying the models.
#include <unistd.h>

#include <vector>

#include "base/interrupt.h"
#include "cli/common/command.h"

int main(int count, char** words) {
  relayout::install_interrupt_handlers();
  const std::vector<std::string> arguments(words + (count > 0 ? 1 : 0), words + count);
  const int code = relayout::cli::run_program(arguments);
  // All output is written. Destroying the models would only cost time.
  _exit(code);
}
