# stb's single-file libraries (Debian: libstb-dev): target Stb::stb, headers as <stb/stb_image.h>.
find_path(Stb_INCLUDE_DIR stb/stb_image.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Stb REQUIRED_VARS Stb_INCLUDE_DIR)
if(Stb_FOUND AND NOT TARGET Stb::stb)
  add_library(Stb::stb INTERFACE IMPORTED)
  set_target_properties(Stb::stb PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${Stb_INCLUDE_DIR})
endif()
