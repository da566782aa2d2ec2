#pragma once

#include "core/protocol/answer.h"
#include "proto/larder.pb.h"

// StatusReport, which is longer than all other answers together. Only for the codec's own sources.

namespace larder::columns {

void put_status(const StatusReport& in, wire::StatusReport& out);
Result<AnswerValue> take_status(const wire::StatusReport& in);

}  // namespace larder::columns
