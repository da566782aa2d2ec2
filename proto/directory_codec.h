#pragma once

#include <functional>

#include "core/protocol/answer.h"
#include "proto/columns.h"

// What the directory tells of objects: ObjectPage and ObjectDetails. Only for the codec's own
// sources.

namespace larder::columns {

void put_page(const ObjectPage& in, wire::ObjectPage& out);
Result<AnswerValue> take_page(const wire::ObjectPage& in);

// Appends one answer.
void add_details(const ObjectDetails& in, wire::ObjectDetails& out);
// element(i) is the i-th answer to fill in.
Status take_details(const Reader& read, const wire::ObjectDetails& in,
                    const std::function<ObjectDetails&(std::size_t)>& element);

}  // namespace larder::columns
