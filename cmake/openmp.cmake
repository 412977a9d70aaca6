# oneDNN runs on GCC's OpenMP. Another compiler's own runtime beside it would be a second set of threads that never hears of omp_set_num_threads():
# with clang (fuzzing, coverage, clang-tidy) its header is used, GCC's runtime linked, and pragmas are not read: one thread does the work.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
else()
  execute_process(COMMAND g++ -print-file-name=libgomp.so OUTPUT_VARIABLE gcc_openmp OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  add_library(OpenMP::OpenMP_CXX INTERFACE IMPORTED)
  target_compile_options(OpenMP::OpenMP_CXX INTERFACE -Wno-source-uses-openmp -Wno-unknown-pragmas)
  target_link_libraries(OpenMP::OpenMP_CXX INTERFACE ${gcc_openmp})
endif()
