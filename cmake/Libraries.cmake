# Who may include whom. A folder includes itself and what its line names, transitively.
# ./dev lint reads this table too.

larder_library(core/base      DEPENDS xxhash Boost::headers)
larder_library(core/space     DEPENDS core/base)
larder_library(core/eviction  DEPENDS core/base)
larder_library(core/catalog   DEPENDS core/space core/eviction core/protocol)
larder_library(core/protocol  DEPENDS core/base)
larder_library(core/ports     DEPENDS core/protocol)
larder_library(core/master    DEPENDS core/catalog core/protocol)
larder_library(core/node      DEPENDS core/space core/protocol)
larder_library(core/client    DEPENDS core/ports)
larder_library(workloads      DEPENDS core/base nlohmann_json::nlohmann_json)
larder_library(workloads/lockstep DEPENDS workloads core/client)

larder_protobuf(proto_messages proto/larder.proto)
larder_library(proto          DEPENDS core/ports proto_messages)

larder_library(real/rpc       DEPENDS proto core/master asio spdlog::spdlog Threads::Threads)
larder_library(real/transport DEPENDS real/rpc core/node)

larder_library(sim/kernel     DEPENDS core/base)
larder_library(sim/fabric     DEPENDS sim/kernel core/ports)
larder_library(sim/cluster    DEPENDS sim/fabric core/master core/node core/client)
larder_library(sim/explore    DEPENDS sim/cluster)
larder_library(sim/cache      DEPENDS core/eviction workloads)
larder_library(sim/replay     DEPENDS sim/cluster workloads/lockstep)
larder_library(sim/cli        DEPENDS sim/cache CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json)
larder_program(larder-sim     sim/main.cpp DEPENDS sim/cli)

larder_library(tests/support  DEPENDS GTest::gtest)  # what tests of several folders need

larder_test(unit/core/base      DEPENDS core/base LABELS quick)
larder_test(unit/core/protocol  DEPENDS core/protocol LABELS quick)
larder_test(unit/core/space     DEPENDS core/space core/protocol rapidcheck LABELS quick)
larder_test(unit/core/eviction  DEPENDS core/eviction rapidcheck LABELS quick)
larder_test(unit/core/catalog   DEPENDS core/catalog rapidcheck LABELS quick)
larder_test(unit/core/master    DEPENDS core/master rapidcheck LABELS quick)
larder_test(unit/core/node      DEPENDS core/node rapidcheck LABELS quick)
larder_test(unit/core/ports     DEPENDS core/ports LABELS quick)
larder_test(unit/core/client    DEPENDS core/client LABELS quick)
larder_test(unit/proto          DEPENDS proto rapidcheck LABELS quick)
larder_test(unit/workloads      DEPENDS workloads tests/support LABELS quick)
larder_test(unit/real/rpc       DEPENDS real/rpc rapidcheck LABELS quick threaded)
larder_test(unit/real/transport DEPENDS real/transport LABELS quick threaded)
larder_test(unit/sim/kernel     DEPENDS sim/kernel LABELS quick threaded)
larder_test(unit/sim/fabric     DEPENDS sim/fabric LABELS quick)
larder_test(unit/sim/cluster    DEPENDS sim/cluster LABELS quick threaded)
larder_test(unit/sim/cache      DEPENDS sim/cache rapidcheck LABELS quick)
larder_test(unit/sim/cli        DEPENDS sim/cli tests/support LABELS quick)

larder_bench(core space_bench.cpp  DEPENDS core/space core/protocol)
larder_bench(core eviction_bench.cpp  DEPENDS core/eviction)
larder_bench(sim cache_bench.cpp  DEPENDS sim/cache)
