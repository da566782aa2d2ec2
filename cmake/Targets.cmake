add_custom_target(all_tests)       # what asan builds: no programs that nobody tests, no benchmarks
add_custom_target(threaded_tests)  # what tsan builds: the tests labelled "threaded"
add_custom_target(all_benches)
add_custom_target(all_fuzzers)

# larder_library(FOLDER [DEPENDS FOLDER|TARGET ...]): one library for one folder, all of its *.cpp and
# *.h. It links only with what DEPENDS names; ./dev lint holds #include lines against the same table.
function(larder_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  if(NOT sources AND NOT headers)
    return()
  endif()
  set(links "")
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" target ${dependency})
    list(APPEND links ${target})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_precompile_headers(${name} REUSE_FROM precompiled)
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  # A source begins with its own header (tools/lint sees to that), so only those without one are left
  # to be compiled alone.
  set(alone "")
  foreach(header ${headers})
    string(REGEX REPLACE "\\.h$" ".cpp" source ${header})
    if(NOT source IN_LIST sources OR header MATCHES "/real/rpc/asio.h$")
      list(APPEND alone ${header})
    endif()
  endforeach()
  target_sources(${name} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers}
    FILE_SET alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
  set_target_properties(${name} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY alone)
  target_include_directories(${name} ${scope} ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} ${scope} ${links})
  add_library(larder::${name} ALIAS ${name})
endfunction()

# larder_program(NAME SOURCE [DEPENDS ...]): a program in build/PRESET/bin.
function(larder_program name source)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source})
    return()
  endif()
  add_executable(${name} ${source})
  target_precompile_headers(${name} REUSE_FROM precompiled)
  string(REPLACE "/" "_" links "${ARG_DEPENDS}")
  target_link_libraries(${name} PRIVATE ${links})
endfunction()

# larder_test(FOLDER [LABELS ...] DEPENDS ...): one GoogleTest program of all *.cpp below tests/FOLDER,
# one CTest test. Labels: quick (seconds; ./dev test quick runs it), threaded (tsan runs it).
function(larder_test folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" name test_${folder})
  string(REPLACE "/" "_" links "${ARG_DEPENDS}")
  add_executable(${name} ${sources})
  target_precompile_headers(${name} REUSE_FROM precompiled)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${links} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${folder} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${folder} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1800)
  add_dependencies(all_tests ${name})
  if("threaded" IN_LIST ARG_LABELS)
    add_dependencies(threaded_tests ${name})
  endif()
endfunction()

# larder_process_test(FILE): tests/integration/FILE, Python's unittest over real processes.
# Label: integration.
function(larder_process_test file)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/tests/integration/${file} OR NOT TARGET larder)
    return()
  endif()
  string(REGEX REPLACE "^test_(.*)\\.py$" "integration/\\1" name ${file})
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B tests/integration/${file}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS integration TIMEOUT 900
    ENVIRONMENT "LARDER=$<TARGET_FILE:larder>")
  add_dependencies(all_tests larder larder-sim larder-values larder-busy)
endfunction()

# larder_bench(GROUP FILE DEPENDS ... [PROGRAMS ...]): the Google Benchmark program tests/bench/FILE, one
# of those that `./dev bench GROUP` runs. Only release builds it. It may start the PROGRAMS, which lie
# beside it. tests/bench/report.h says how it reports.
function(larder_bench group file)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PROGRAMS" ${ARGN})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/tests/bench/${file} OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  string(REGEX REPLACE "_bench\\.cpp$" "" stem ${file})
  string(REPLACE "/" "_" links "${ARG_DEPENDS}")
  add_executable(bench-${group}-${stem} tests/bench/${file})
  target_precompile_headers(bench-${group}-${stem} REUSE_FROM precompiled)
  target_include_directories(bench-${group}-${stem} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench-${group}-${stem} PRIVATE ${links} benchmark::benchmark
    benchmark::benchmark_main)
  add_dependencies(all_benches bench-${group}-${stem} ${ARG_PROGRAMS})
endfunction()

# A benchmark that has SimGrid as its peer, if tools/simgrid.sh has unpacked it into build/simgrid.
function(larder_bench_against_simgrid target)
  set(root ${PROJECT_SOURCE_DIR}/build/simgrid/usr)
  set(libraries ${root}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  if(NOT TARGET ${target} OR NOT EXISTS ${libraries}/libsimgrid.so)
    return()
  endif()
  target_compile_definitions(${target} PRIVATE LARDER_SIMGRID)
  target_include_directories(${target} SYSTEM PRIVATE ${root}/include)
  target_link_libraries(${target} PRIVATE ${libraries}/libsimgrid.so)
  target_link_options(${target} PRIVATE -Wl,-rpath,${libraries} -Wl,-rpath-link,${libraries}
    -Wl,--disable-new-dtags)
endfunction()

# larder_fuzz(FILE DEPENDS ...): the libFuzzer program tests/fuzz/FILE, which only the presets asan
# and fuzz-fast build. Inputs to start from lie in tests/fuzz/corpus/NAME, where FILE is NAME_fuzz.cpp.
function(larder_fuzz file)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/tests/fuzz/${file} OR NOT LARDER_SANITIZE MATCHES "fuzzer")
    return()
  endif()
  string(REGEX REPLACE "_fuzz\\.cpp$" "" stem ${file})
  string(REPLACE "/" "_" links "${ARG_DEPENDS}")
  add_executable(fuzz-${stem} tests/fuzz/${file})
  target_precompile_headers(fuzz-${stem} REUSE_FROM precompiled)
  target_include_directories(fuzz-${stem} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz-${stem} PRIVATE ${links})
  target_link_options(fuzz-${stem} PRIVATE -fsanitize=fuzzer)
  add_dependencies(all_fuzzers fuzz-${stem})
endfunction()

# larder_protobuf(NAME FILE): the C++ of one .proto file, compiled without our warnings; its header is a
# system header.
function(larder_protobuf name file)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
    return()
  endif()
  string(REGEX REPLACE "\\.proto$" ".pb" stem ${PROJECT_BINARY_DIR}/generated/${file})
  get_filename_component(folder ${stem} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${stem}.cc ${stem}.h DEPENDS ${file} VERBATIM
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR} --cpp_out=${PROJECT_BINARY_DIR}/generated ${file}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_library(${name} STATIC ${stem}.cc ${stem}.h)
  target_compile_options(${name} PRIVATE -w)
  target_include_directories(${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()
