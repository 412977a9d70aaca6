# libFuzzer on the targets of tests/fuzz, all our code instrumented.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_CXX_FLAGS "-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1" CACHE STRING "")
set(RELAYOUT_FUZZ ON CACHE BOOL "")
set(RELAYOUT_TESTS OFF CACHE BOOL "")
set(RELAYOUT_JEMALLOC OFF CACHE BOOL "")
