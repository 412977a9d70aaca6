# Source-based coverage: run the tests with LLVM_PROFILE_FILE set, then llvm-profdata-19 merge and llvm-cov-19 report.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_CXX_FLAGS "-fprofile-instr-generate -fcoverage-mapping" CACHE STRING "")
