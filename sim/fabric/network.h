#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "sim/fabric/flow.h"
#include "sim/fabric/host.h"
#include "sim/fabric/rate_model.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

// What a link does to messages, one by one. Probabilities are from 0 to 1.
struct LinkFaults {
  double lose = 0;
  double duplicate = 0;
  double reorder = 0;
  double corrupt = 0;            // who gets it sees that it is broken
  double corrupt_chunk = 0;      // of each chunk of a flow: nobody sees it but by a checksum
  Duration delay{0};             // each message is later by this
  Duration jitter{0};            // each message is later by a part of this
  Duration disorder{1'000'000};  // a reordered message, or a second copy, by a part of this
};

// The network between the hosts of one world: messages, which are small and whole, and flows, which
// take time (flow.h). Links keep the order of messages but for those that `reorder` picks and for
// second copies. Nothing crosses a blocked route: messages, also those on their way, are lost;
// flows wait.
class Network {
 public:
  struct Config {
    Bytes chunk = 4_KiB;  // flows are copied in pieces of this size
  };
  struct Counters {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;  // copies
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
    std::uint64_t blocked = 0;  // copies
    std::uint64_t corrupted = 0;
    std::uint64_t corrupted_chunks = 0;
    Bytes moved;  // by flows
  };

  Network(Kernel& kernel, const Config& config, std::unique_ptr<RateModel> rates);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  // Precondition: no flow is left.
  ~Network();

  HostId add_host(const HostSpec& spec);
  const HostSpec& host(HostId id) const { return hosts_[id.value]; }
  std::size_t hosts() const { return hosts_.size(); }

  // Calls deliver() when the message arrives: never, once or twice. `deliver` is copied for each
  // arrival, and must itself find out whether whom it is for still lives. `label` as in Event.
  template <class Deliver>
  void send(Route route, Bytes size, std::uint32_t label, Deliver deliver) {
    send(route, size, label, std::move(deliver), [] {});
  }
  // Calls lost() for a copy that does not arrive, perhaps from inside this call.
  template <class Deliver, class Lost>
  void send(Route route, Bytes size, std::uint32_t label, Deliver deliver, Lost lost) {
    send(route, size, label, std::move(deliver), lost, lost);
  }
  // Calls corrupted() where a copy arrives with other bytes than were sent.
  template <class Deliver, class Lost, class Corrupted>
  void send(Route route, Bytes size, std::uint32_t label, Deliver deliver, Lost lost,
            Corrupted corrupted);
  // Between arrival at an idle network and sending, without faults.
  Duration latency(Route route) const;

  void set_faults(const LinkFaults& faults);  // of all links between different hosts
  void set_faults(Route route, const LinkFaults& faults);

  // One direction.
  void set_blocked(Route route, bool blocked);
  bool blocked(Route route) const { return link(route).blocked; }
  // Cuts these hosts off from all others, both ways.
  void isolate(std::span<const HostId> island);
  // No route is blocked any more.
  void heal();
  void degrade(HostId host, double share);

  // What holds messages of its own on their way, and with them perhaps itself.
  class Droppable : public boost::intrusive::list_base_hook<
                        boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
   public:
    // Nothing arrives any more. Gives what is to be destroyed when all have been dropped.
    virtual std::vector<std::function<void()>> drop() = 0;

   protected:
    ~Droppable() = default;
  };
  void add(Droppable& droppable) { droppables_.push_back(droppable); }
  // The world ends. Call it once all processes are dead, or what is on its way is never freed.
  void drop_all();

  const Counters& counters() const { return counters_; }

 private:
  friend class Flow;

  struct Link {
    LinkFaults faults;
    bool blocked = false;
    Instant last_arrival{};
  };

  Link& link(Route route) { return links_[route.from.value][route.to.value]; }
  const Link& link(Route route) const { return links_[route.from.value][route.to.value]; }
  Duration part_of(Duration whole);
  // When the copies of a message that is sent now arrive; instant_never: not at all.
  struct Arrivals {
    Instant first = instant_never;
    Instant second = instant_never;
    bool corrupted = false;  // the first
  };
  Arrivals draw_arrivals(Route route, Bytes size);
  bool arrives(Route route);
  bool corrupts_chunk(Route route);

  void add(Flow& flow);
  void remove(Flow& flow) noexcept;
  void start_rate(Flow& flow);
  void end_rate(Flow& flow);
  void apply_rates();
  void reconsider_flows();

  Kernel& kernel_;
  Config config_;
  std::unique_ptr<RateModel> rates_;
  Random message_random_;
  Random flow_random_;
  std::vector<HostSpec> hosts_;
  std::vector<std::vector<Link>> links_;
  std::vector<Flow*> flows_;  // by number; null: free
  std::vector<std::uint32_t> free_numbers_;
  std::vector<RateModel::FlowRate> changed_;
  boost::intrusive::list<Droppable, boost::intrusive::constant_time_size<false>> droppables_;
  Counters counters_;
};

template <class Deliver, class Lost, class Corrupted>
void Network::send(Route route, Bytes size, std::uint32_t label, Deliver deliver, Lost lost,
                   Corrupted corrupted) {
  const auto [first, second, broken] = draw_arrivals(route, size);
  if (second != instant_never) {
    kernel_.post(second, label, [this, route, deliver] {
      if (arrives(route)) deliver();
    });
  }
  if (first == instant_never) return lost();
  if (broken) {
    kernel_.post(first, label, [this, route, lost, corrupted = std::move(corrupted)] {
      if (arrives(route)) {
        corrupted();
      } else {
        lost();
      }
    });
    return;
  }
  kernel_.post(first, label, [this, route, deliver = std::move(deliver), lost = std::move(lost)] {
    if (arrives(route)) {
      deliver();
    } else {
      lost();
    }
  });
}

}  // namespace larder::sim
