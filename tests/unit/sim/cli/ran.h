#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cli/commands.h"

namespace larder::sim {

// A command line of larder-sim that was run in this process.
struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

inline Ran run(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"larder-sim"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run_command_line(static_cast<int>(argv.size()), argv.data());
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace larder::sim
