# What `cmake --install` puts in place for those who link the library: one archive of the folders behind
# real/client, the headers behind real/client/pool.h, and what find_package(Larder) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Our libraries behind `target`, itself included, and the packages of others that they link.
function(larder_behind target folders_out packages_out)
  set(folders "")
  set(packages "")
  set(todo ${target})
  while(todo)
    list(POP_FRONT todo name)
    if(name IN_LIST folders OR name IN_LIST packages)
      continue()
    endif()
    if(NOT TARGET larder::${name} AND NOT name STREQUAL "proto_messages")
      list(APPEND packages ${name})
      continue()
    endif()
    list(APPEND folders ${name})
    get_target_property(type ${name} TYPE)
    get_target_property(links ${name} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(APPEND todo ${links})
    endif()
  endwhile()
  set(${folders_out} ${folders} PARENT_SCOPE)
  set(${packages_out} ${packages} PARENT_SCOPE)
endfunction()

larder_behind(real_client folders packages)
set(objects "")
foreach(folder ${folders})
  get_target_property(type ${folder} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:${folder}>)
  endif()
endforeach()
add_library(larder_archive STATIC ${objects})
set_target_properties(larder_archive PROPERTIES OUTPUT_NAME larder LINKER_LANGUAGE CXX)
add_dependencies(all_tests larder_archive)
install(TARGETS larder_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS larder RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Asio's definitions are for our sources only: a user's may use Asio as they like.
list(REMOVE_ITEM packages asio)
list(TRANSFORM packages REPLACE "^(xxhash|re2)$" "Larder::\\1")
set(LARDER_PACKAGES ${packages})
set(LARDER_LIBRARY_PATH ${CMAKE_INSTALL_LIBDIR}/liblarder.a)
set(LARDER_INCLUDE_PATH ${CMAKE_INSTALL_INCLUDEDIR})
set(config_path ${CMAKE_INSTALL_LIBDIR}/cmake/Larder)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/LarderConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/LarderConfig.cmake INSTALL_DESTINATION ${config_path}
  PATH_VARS LARDER_LIBRARY_PATH LARDER_INCLUDE_PATH)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/LarderConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/LarderConfig.cmake
  ${PROJECT_BINARY_DIR}/package/LarderConfigVersion.cmake DESTINATION ${config_path})

install(CODE "set(LARDER_SOURCE ${PROJECT_SOURCE_DIR})
set(LARDER_HEADERS \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/larder)")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstallHeaders.cmake)
