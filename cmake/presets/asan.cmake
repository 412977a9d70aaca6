# Address and undefined-behaviour sanitizers, ended by the first finding. With them GCC 14 takes members that std::regex sets behind
# calls for uninitialized.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_CXX_FLAGS "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized -D_GLIBCXX_ASSERTIONS" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1" CACHE STRING "")
set(RELAYOUT_JEMALLOC OFF CACHE BOOL "")
