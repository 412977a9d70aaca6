# Warnings for all targets of relayout, but not for the users of its library.
add_library(relayout_warnings INTERFACE)
target_compile_options(relayout_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # Vectorized loops have no branches: they combine booleans by & and |.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-bitwise-instead-of-logical>
  # In files compiled as one, a local name may shadow one of a different file, and types of unnamed namespaces seem to be in a header.
  $<$<BOOL:${RELAYOUT_UNITY}>:-Wno-shadow>
  $<$<AND:$<BOOL:${RELAYOUT_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  $<$<BOOL:${RELAYOUT_WERROR}>:-Werror>)
target_compile_definitions(relayout_warnings INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
