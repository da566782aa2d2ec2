#pragma once

#include <cstdint>

namespace larder::sim {

// Kinds of events, for the state hash.
enum ClusterLabel : std::uint32_t {
  service_label = 0x100,
  tick_label,
  request_label,
  reply_label,
  refusal_label,
  connect_label,
  node_request_label,
  node_answer_label,
  command_label,
  timer_label,
  deadline_label,
  resend_label,
  keep_alive_label,
  transfer_label,
  transfer_answer_label,
  verify_label,
  abort_label,
  footer_read_label,
  begin_label,
  reap_label,
  restart_label,
};

}  // namespace larder::sim
