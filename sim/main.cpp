#include "sim/cli/commands.h"

int main(int argc, char** argv) { return larder::sim::run_command_line(argc, argv); }
