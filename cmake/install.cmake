# Rules of `cmake --install`: the installed tree works without the build folder and without the build root.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(relayout_library_dir ${CMAKE_INSTALL_LIBDIR}/relayout)

# The library is for programs built on systems with ONNX's development files. On systems that need a build root, only its tests use it
# (cmake --install … --component library).
set(library COMPONENT library)
if(RELAYOUT_BUILD_ROOT)
  list(APPEND library EXCLUDE_FROM_ALL)
endif()
install(TARGETS relayout EXPORT relayout ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${library})
install(DIRECTORY include/relayout DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${library})
install(EXPORT relayout NAMESPACE relayout:: FILE relayoutTargets.cmake DESTINATION ${relayout_library_dir}/cmake ${library})
configure_package_config_file(cmake/relayoutConfig.cmake.in relayoutConfig.cmake INSTALL_DESTINATION ${relayout_library_dir}/cmake
  PATH_VARS relayout_library_dir)
write_basic_package_version_file(relayoutConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/relayoutConfig.cmake ${PROJECT_BINARY_DIR}/relayoutConfigVersion.cmake
  DESTINATION ${relayout_library_dir}/cmake ${library})

if(TARGET relayout_onednn)
  set_target_properties(relayout_onednn PROPERTIES INSTALL_RPATH "\$ORIGIN")
  install(TARGETS relayout_onednn LIBRARY DESTINATION ${relayout_library_dir} COMPONENT executor)
endif()
if(TARGET relayout_cli)
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/relayout)
  set_target_properties(relayout_cli PROPERTIES INSTALL_RPATH "\$ORIGIN/${to_libraries}")
  install(TARGETS relayout_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

  # The program writes its man pages, so that they and its help cannot differ.
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/relayout.1
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_BINARY_DIR}/man
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C.UTF-8 $<TARGET_FILE:relayout_cli> help --man ${PROJECT_BINARY_DIR}/man
    DEPENDS relayout_cli VERBATIM)
  add_custom_target(relayout_man ALL DEPENDS ${PROJECT_BINARY_DIR}/man/relayout.1)
  foreach(section IN ITEMS 1 7)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} FILES_MATCHING PATTERN "*.${section}")
  endforeach()
  install(FILES cmake/completions/relayout.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME relayout)
  install(FILES cmake/completions/relayout.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES cmake/completions/_relayout DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

  # With a build root, its libraries are installed too, including loader and C library. A launcher finds them relative to itself.
  if(RELAYOUT_BUILD_ROOT)
    find_program(PATCHELF patchelf)
    set(modules)
    if(TARGET relayout_onednn)
      set(modules "$<TARGET_FILE:relayout_onednn>")
    endif()
    configure_file(cmake/install_libraries.cmake.in install_libraries.in.cmake @ONLY)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/install_libraries.cmake INPUT ${PROJECT_BINARY_DIR}/install_libraries.in.cmake)
    install(SCRIPT ${PROJECT_BINARY_DIR}/install_libraries.cmake)
  endif()
endif()
