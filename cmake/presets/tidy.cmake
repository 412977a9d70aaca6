# Only configured, never built: the compile commands clang-tidy reads.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON CACHE BOOL "")
set(RELAYOUT_UNITY OFF CACHE BOOL "")
