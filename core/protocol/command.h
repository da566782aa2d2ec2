#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/base/id.h"
#include "core/protocol/object.h"

// What a master tells a node, unasked, over the node's connection.

namespace larder {

// Take these out of use, whether you hold them or not, and confirm each (ConfirmRetirement). Sent
// again until it is confirmed.
struct RetireExtents {
  std::vector<ExtentName> extents;
};

// Read these again and report those that do not match their checksum (ReportCorrupt).
struct VerifyExtents {
  std::vector<ExtentName> extents;
};

// The report of this registration is complete and taken.
struct InventoryTaken {
  std::uint64_t registration = 0;
};

using CommandBody = std::variant<RetireExtents, VerifyExtents, InventoryTaken>;

struct Command {
  IncarnationId incarnation;  // whom it is for; another one drops it
  Epoch epoch;
  InstanceId instance;
  PutId lowest_unfinished;  // on that node; below it an unknown put counts as retired
  CommandBody body;
};

}  // namespace larder
