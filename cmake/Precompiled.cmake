# Headers of other projects that most of our sources include, parsed once for each preset: the compiler takes a
# quarter less time. A source names what it includes all the same: clang-tidy and the check of headers (./dev lint)
# compile without this. Not among them are CLI11 and Asio: whoever includes them compiles or links all that they hold.
file(CONFIGURE OUTPUT precompiled.cpp CONTENT "")
add_library(precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_precompile_headers(precompiled PRIVATE
  <algorithm> <array> <chrono> <coroutine> <cstdint> <deque> <expected> <filesystem> <fstream> <functional>
  <iostream> <map> <memory> <optional> <random> <ranges> <set> <span> <sstream> <string> <string_view> <thread>
  <tuple> <unordered_map> <variant> <vector>
  <boost/unordered/unordered_flat_map.hpp> <boost/unordered/unordered_flat_set.hpp>
  <fmt/format.h> <fmt/ranges.h> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <spdlog/spdlog.h>)
target_link_libraries(precompiled PRIVATE fmt::fmt GTest::gmock GTest::gtest nlohmann_json::nlohmann_json spdlog::spdlog)
# ccache goes by this sum, not by the file, which holds the path of the checkout; and what CMake would include
# beside the file, which is in it already, would have that path on every command line.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
set_target_properties(precompiled PROPERTIES CXX_COMPILER_LAUNCHER "")
file(READ ${CMAKE_CURRENT_LIST_FILE} sum)
string(SHA256 sum "${sum} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM}")
file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/precompiled.dir/cmake_pch.hxx.pch.sum ${sum})
