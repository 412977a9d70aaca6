# Warnings of all our targets, apart from what their users see.
add_library(relayout_warnings INTERFACE)
target_compile_options(relayout_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # Loops that are to be widened have no branches: & and | of truths there.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-bitwise-instead-of-logical>
  # Of files compiled as one, a local name may be that of another file's, and types of unnamed namespaces seem to be those of a header.
  $<$<BOOL:${RELAYOUT_UNITY}>:-Wno-shadow>
  $<$<AND:$<BOOL:${RELAYOUT_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  $<$<BOOL:${RELAYOUT_WERROR}>:-Werror>)
target_compile_definitions(relayout_warnings INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
