#include "real/cli/commands.h"

int main(int argc, char** argv) { return larder::real::run_command_line(argc, argv); }
