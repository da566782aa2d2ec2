#pragma once

#include "core/base/identity.h"
#include "core/protocol/answer.h"
#include "core/protocol/command.h"
#include "core/protocol/request.h"

// What messages are, apart from how they came about (core/base/identity.h).

namespace larder {

void add_identity(const ExtentName& name, Identity& identity);
// Of what a master answers to nodes and to puts, gets and removals; what is for people counts only
// by its kind, and an error by its code.
void add_identity(const Answer& answer, Identity& identity);
// Of what a node asks. Precondition: nodes ask it.
void add_identity(const RequestBody& body, Identity& identity);
void add_identity(const Command& command, Identity& identity);

}  // namespace larder
