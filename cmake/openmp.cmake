# oneDNN runs on GCC's OpenMP. Another compiler's own runtime beside it would be a second set of threads that never gets set_threads():
# with clang (fuzzing, coverage, clang-tidy) the header comes from GCC, pragmas are read as if there were one thread.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
else()
  execute_process(COMMAND g++ -print-file-name=include OUTPUT_VARIABLE gcc_headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND g++ -print-file-name=libgomp.so OUTPUT_VARIABLE gcc_openmp OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
  target_compile_options(OpenMP::OpenMP_CXX INTERFACE "SHELL:-idirafter ${gcc_headers}" -Wno-source-uses-openmp)
  target_link_libraries(OpenMP::OpenMP_CXX INTERFACE ${gcc_openmp})
endif()
