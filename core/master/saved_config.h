#pragma once

#include "core/base/archive.h"
#include "core/base/error.h"
#include "core/master/config.h"

namespace larder {

// The configuration with which a saved master ran: the begin of what Master::save() writes. Errors:
// those of the archive.
Result<MasterConfig> saved_config(Archive& archive);

}  // namespace larder
