#include <array>

#include "sim/exhaustive/small_world.h"

// The small worlds that come with the program. A value of 128B is two chunks, and takes 192B of its
// segment with its footer.

namespace larder::sim {

std::span<const NamedWorld> named_worlds() {
  static constexpr std::array<NamedWorld, 10> all{{
      {"two-writers", R"(# Two writers and a reader on one key.
one-sided
values up to 128B
chunk 64B
node0 1KiB
client0
client1
client2
at 1s client0 put k 128B
at 1s client1 put k 128B
at 1s client2 get k
)"},
      {"evict-and-put-again",
       R"(# Put, evict and put again under a reader, with room for one value and a lease that may end.
one-sided
values up to 128B
chunk 64B
timing lease 50ms
timing exists-lease 50ms
timing wait-for-space 20s
node0 192B
client0
client1
at 0s client0 put a 128B
at 0s client1 get a
at 1s client0 put b 128B
at 1s client0 put a 128B
at 1s client1 get a
may pass once
)"},
      {"writer-crash",
       R"(# A writer may crash at every point; another one takes its key over when its time is up.
values up to 64B
chunk 64B
timing wait-for-space 20s
node0 1KiB
client0
client1
at 1s client0 put k 64B
at 1s client1 put k 64B
at 1s client1 get k
may crash client0 once
may pass once
)"},
      {"upsert-and-readers", R"(# A value is replaced under two readers, who look at footers.
one-sided
values up to 128B
chunk 64B
node0 1KiB
client0
client1
client2
at 0s client0 put k 128B
at 1s client0 upsert k 128B
at 1s client1 get k
at 1s client2 get k
)"},
      {"remove-and-put",
       R"(# A removal against a put into the same place, and whoever reads in between.
one-sided
values up to 128B
chunk 64B
node0 192B
client0
client1
client2
at 0s client0 put k 128B
at 1s client0 remove k force
at 1s client1 put k 128B
at 1s client2 get k
)"},
      {"node-restart",
       R"(# A node may die at every point of a put and of a read, and come back empty.
one-sided
values up to 64B
chunk 64B
node0 1KiB
client0
client1
at 1s client0 put k 64B
at 1s client1 get k
may crash node0 once
)"},
      {"master-restart",
       R"(# A master restarts between a fill and its PutEnd, and there is room for one value.
values up to 64B
chunk 64B
node0 128B
client0
client1
at 1s client0 put k 64B
at 1s client1 put j 64B
may restart master0 once
)"},
      {"late-fill",
       R"(# A fill comes after its put was timed out and retired, into the place of the next one.
values up to 64B
chunk 64B
timing wait-for-space 20s
node0 128B
client0
client1
at 1s client0 put k 64B
at 1s client1 put j 64B
at 1s client1 get j
may pass once
)"},
      {"two-masters",
       R"(# A second master is started beside the first one, and the pool turns to it.
one-sided
values up to 64B
chunk 64B
shared-state
master1
node0 1KiB
client0
client1
at 1s client0 put k 64B
at 1s client1 get k
may start master1
)"},
      {"two-replicas", R"(# Two copies of a value, one of which may be lost with its node.
one-sided
values up to 64B
chunk 64B
node0 1KiB
node1 1KiB
client0
client1
at 1s client0 put k 64B replicas 2
at 1s client1 get k
may crash node1 once
)"},
  }};
  return all;
}

}  // namespace larder::sim
