# A release by the other compiler: what one of them lets pass, the other may not.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_COMPILER clang++-19 CACHE STRING "")
set(RELAYOUT_UNITY OFF CACHE BOOL "")
