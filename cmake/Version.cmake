# What `larder --version` says. The commit is read when CMake runs, and CMake runs again when it changes.
set(LARDER_COMMIT "")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE LARDER_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(log AND EXISTS ${log})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
endif()
set_source_files_properties(terminal/version.cpp PROPERTIES COMPILE_DEFINITIONS
  "LARDER_VERSION=\"${PROJECT_VERSION}\";LARDER_COMMIT=\"${LARDER_COMMIT}\";LARDER_BUILD_TYPE=\"${CMAKE_BUILD_TYPE}\"")
