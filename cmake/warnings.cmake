# Warnings of all our targets, apart from what their users see.
add_library(relayout_warnings INTERFACE)
target_compile_options(relayout_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${RELAYOUT_WERROR}>:-Werror>)
target_compile_definitions(relayout_warnings INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
