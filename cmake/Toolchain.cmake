# g++ 12 is refused since it miscompiles ordinary coroutine code: double frees around co_await with
# aggregate or lambda temporaries, seen under AddressSanitizer.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "Larder is built with clang 19 or newer (found ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION}): g++ 12 miscompiles coroutines. Use './dev build', or "
    "'apt-get install clang-19' and -DCMAKE_CXX_COMPILER=clang++-19.")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

set(LARDER_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, comma separated; empty: none")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
  -Wimplicit-fallthrough -Wunused -Werror -fno-omit-frame-pointer
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# Designated initializers that leave defaulted members out are our way to name arguments.
add_compile_options(-Wno-missing-field-initializers -Wno-missing-designated-field-initializers)
add_link_options(-fuse-ld=lld-19)
if(LARDER_SANITIZE)
  add_compile_options(-fsanitize=${LARDER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LARDER_SANITIZE})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Checkouts at different paths share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
endif()
