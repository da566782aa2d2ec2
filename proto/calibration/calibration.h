#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/time.h"

// What `larder calibrate` finds out about a machine, as values: what each step of a call costs, and
// what a fixed set of workloads makes of a real pool. calibration_files.h reads and writes them.

namespace larder {

// Where it was measured, when, and beside what.
struct CalibratedMachine {
  std::string processor;  // as the kernel names it
  std::uint32_t cores = 1;
  Bytes memory;
  Bytes cache;  // of the last level; zero: not known
  std::string kernel;
  std::string program;  // its version
  std::string date;     // ISO 8601, UTC
  // How much of all processor time others used meanwhile, in thousandths. Above 50 or so the
  // figures are those of a busy machine.
  std::uint32_t others_permille = 0;
  bool operator==(const CalibratedMachine&) const = default;
};

// One figure, measured several times: the middle one, the least and the greatest.
struct Figure {
  std::uint64_t value = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Figure&) const = default;
};
// Precondition: there is a number. Of two in the middle the lower one.
Figure figure_of(std::vector<std::uint64_t> numbers);

// What a call costs, step by step, over one transport: times in nanoseconds of processor time, but
// for the first two, which are latencies.
struct CallCosts {
  Figure hand_over;       // of a call: from the thread that makes it to the client's, and back
  Figure message;         // one way, between any two processes: until the other one runs
  Figure request;         // the master, for each request ...
  Figure lookup;          // ... and for each item of it
  Figure existence;       //
  Figure put_start;       //
  Figure put_end;         //
  Figure node_request;    // a node, for each request ...
  Figure node_read;       // ... and each extent that it sends
  Figure node_fill;       // ... or takes
  Figure client_request;  // a client, for each call of the master ...
  Figure client_item;     // ... and for each item of it
  Figure client_get;      // and for each item that it reads ...
  Figure client_put;      // ... or writes
  Figure thread_rate;     // bytes a second that one thread moves of reads, hashing included
  Figure fill_mib;  // the node's more for each MiB of a put, which it hashes and has not cached
  Figure cold_mib;  // a client's more for each MiB that is not warm
  bool operator==(const CallCosts&) const = default;
};
// So much of what is on its way from and to a host is warm; of what is more the caches hold less.
// The rate is measured with calls of just that, since caches that a virtual machine is told of are
// not those that it has to itself.
inline constexpr Bytes warm_bytes{16 << 20};
// Under which names they stand in files, in this order.
inline constexpr std::array<std::pair<std::string_view, Figure CallCosts::*>, 17> cost_names{{
    {"hand_over_ns", &CallCosts::hand_over},
    {"message_ns", &CallCosts::message},
    {"request_ns", &CallCosts::request},
    {"lookup_ns", &CallCosts::lookup},
    {"existence_ns", &CallCosts::existence},
    {"put_start_ns", &CallCosts::put_start},
    {"put_end_ns", &CallCosts::put_end},
    {"node_request_ns", &CallCosts::node_request},
    {"node_read_ns", &CallCosts::node_read},
    {"node_fill_ns", &CallCosts::node_fill},
    {"client_request_ns", &CallCosts::client_request},
    {"client_item_ns", &CallCosts::client_item},
    {"client_get_ns", &CallCosts::client_get},
    {"client_put_ns", &CallCosts::client_put},
    {"thread_bytes_per_second", &CallCosts::thread_rate},
    {"fill_ns_each_mib", &CallCosts::fill_mib},
    {"cold_ns_each_mib", &CallCosts::cold_mib},
}};

// How the bytes of a workload move. local: master, node and client in one process, without sockets.
enum class CalibratedTransport : std::uint8_t { local, tcp };
inline constexpr std::array<std::pair<std::string_view, CalibratedTransport>, 2> transport_names{{
    {"local", CalibratedTransport::local},
    {"tcp", CalibratedTransport::tcp},
}};

struct TransportCosts {
  CalibratedTransport transport = CalibratedTransport::tcp;
  CallCosts costs;
  bool operator==(const TransportCosts&) const = default;
};

// What could not be measured, and why: "shm", "there is no such transport yet".
struct NotMeasured {
  std::string what;
  std::string why;
  bool operator==(const NotMeasured&) const = default;
};

struct CalibratedCosts {
  CalibratedMachine machine;
  std::vector<TransportCosts> transports;  // each at most once
  std::vector<NotMeasured> not_measured;
  const CallCosts* find(CalibratedTransport transport) const;
  bool operator==(const CalibratedCosts&) const = default;
};

// Clients that each make one call after the other, of `batch` items.
struct Workload {
  enum class Operation : std::uint8_t {
    get,    // of values that are there
    put,    // of new ones
    mixed,  // three gets, then a put, by each client
  };
  CalibratedTransport transport = CalibratedTransport::tcp;
  Operation operation = Operation::get;
  Bytes size;  // of a value
  std::uint32_t clients = 1;
  std::uint32_t batch = 1;
  bool operator==(const Workload&) const = default;
};
inline constexpr std::array<std::pair<std::string_view, Workload::Operation>, 3> operation_names{{
    {"get", Workload::Operation::get},
    {"put", Workload::Operation::put},
    {"mixed", Workload::Operation::mixed},
}};
// "tcp get 64 KiB, 4 clients x 8"
std::string to_string(const Workload& workload);

// What came of one run of it.
struct WorkloadRun {
  Duration time{0};         // that was measured
  Bytes moved;              // of values, meanwhile; of calls that cross an end, their part
  std::uint64_t calls = 0;  // that were timed
  Duration p50{0};          // of a call
  Duration p99{0};
  Duration master_cpu{0};
  Duration node_cpu{0};
  Duration client_cpu{0};  // of all clients; where all is in one process, of that
  Duration others_cpu{0};  // of everything else on the machine
  double bytes_per_second() const {
    return static_cast<double>(moved.value) * 1e9 / static_cast<double>(time.count());
  }
  bool operator==(const WorkloadRun&) const = default;
};

// One call, by when it began and ended, counted from the begin of what is measured: before it, both
// are negative.
struct TimedCall {
  Duration begin{0};
  Duration end{0};
};
// Of what lies in [0, time): the bytes (`of_a_call` each), and how long the calls took that began
// there. Without the processor times.
WorkloadRun summary(const std::vector<TimedCall>& calls, Bytes of_a_call, Duration time);

struct MeasuredWorkload {
  Workload workload;
  std::vector<WorkloadRun> runs;
  bool operator==(const MeasuredWorkload&) const = default;
};

struct Measurements {
  CalibratedMachine machine;
  std::vector<MeasuredWorkload> workloads;
  std::vector<NotMeasured> not_measured;
  bool operator==(const Measurements&) const = default;
};

}  // namespace larder
