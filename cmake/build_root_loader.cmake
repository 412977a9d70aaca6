# Programs built inside a build root also run outside of it, unchanged: they use the root's loader and libraries.
# A run path of the old kind (DT_RPATH) also applies to dependencies of libraries, which would otherwise be the system's.
if(RELAYOUT_BUILD_ROOT)
  set(root_libraries ${RELAYOUT_BUILD_ROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  file(GLOB root_loader ${root_libraries}/ld-linux*.so.*)
  if(NOT root_loader)
    message(FATAL_ERROR "${RELAYOUT_BUILD_ROOT} is no build root: it has no loader")
  endif()
  add_link_options(LINKER:--disable-new-dtags LINKER:-rpath,${root_libraries} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:LINKER:--dynamic-linker=${root_loader}>)
endif()
