#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/node/node.h"
#include "core/ports/transport.h"
#include "sim/cluster/process.h"
#include "sim/fabric/connection.h"
#include "sim/fabric/network.h"

namespace larder::sim {

class ClientProcess;
class NodeProcess;

// How the simulated transports behave.
struct TransportSettings {
  bool one_sided = false;  // reads: the node's process is not asked; fills: the node fetches
  Bytes transfer_bytes_max = 1_GiB;
  bool content = true;                      // false: capacity runs; no byte and no stamp is moved
  bool shuffled = true;                     // chunks come in any order
  Bytes hashed_per_second{10'000'000'000};  // by a node, before it seals
  Duration hash_jitter{200'000};            // it is busy, or not scheduled, for a part of this
  Duration abort_time{2'000'000};           // what the node ends is physically ended within this
  Duration broken_queue_pair{50'000'000};   // until a one-sided reader learns that a node died
};

// One Transfer of a client with one node, from submit() to the end. Either process can end it, by
// closing its connection or by dying: then no byte is copied any more, at once, and the other one
// learns it later, or not. Held by the client's transport, by the node, and by what is on its way.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  struct Parts {
    Network& network;
    const TransportSettings& settings;
    Random& random;
    ClientProcess& client;
    NodeProcess& node;
    std::string endpoint;  // where the node is looked for; it may have another one by now
    Completion* completion = nullptr;
    Time deadline;
  };

  explicit Exchange(const Parts& parts);
  virtual ~Exchange();

  virtual void begin() = 0;
  const Completion* completion() const { return parts_.completion; }
  // The client goes away; the completion is not called.
  void abandon();
  // A process was stopped or goes on.
  virtual void pace_changed() {}
  virtual void node_dies() = 0;
  virtual void abort_fill(FillId) {}
  virtual void abort_read(ReadId) {}

 protected:
  // One item's bytes on their way.
  class ItemFlow final : public Flow {
   public:
    ItemFlow(Exchange& exchange, std::size_t item, const Plan& plan)
        : Flow(exchange.parts_.network, plan), exchange_(exchange), item_(item) {}

   private:
    void copy(Bytes offset, Bytes length) override { exchange_.copy(item_, offset, length); }
    void corrupt(Bytes offset) override { exchange_.corrupt(item_, offset); }
    void finish() override { exchange_.moved(item_); }
    Exchange& exchange_;
    std::size_t item_;
  };

  virtual void copy(std::size_t item, Bytes offset, Bytes length) = 0;
  virtual void corrupt(std::size_t item, Bytes offset) = 0;
  virtual void moved(std::size_t item) = 0;
  virtual void set_all_results(const Error& error) = 0;
  // The client's end closes.
  virtual void close_at_client() = 0;

  void start_flow(std::size_t item, Route route, Bytes length, bool paused);
  void stop_flow(std::size_t item) { flows_[item].reset(); }
  void stop_flows();
  // Ends the exchange for the client: with an error that all its items get, or with the results as
  // they are. Nothing happens if it has ended. Destroys whatever the completion destroys.
  void finish_at_client(Status status);
  bool over_at_client() const { return over_at_client_; }
  Error failure(std::string sentence) const;

  Parts parts_;
  std::vector<std::unique_ptr<ItemFlow>> flows_;

 private:
  HostAlarm deadline_;
  bool over_at_client_ = false;
};

// An exchange over a connection: a request, then the items' bytes, then an answer. Items go one
// after another as on one stream, or all at once (one-sided: the node fetches), but the parts of
// one extent always in order.
class StreamExchange : public Exchange {
 public:
  explicit StreamExchange(const Parts& parts) : Exchange(parts) {}

  void begin() override;
  void pace_changed() override;
  void node_dies() override;

 protected:
  virtual std::size_t items() const = 0;
  virtual Bytes request_size() const = 0;
  virtual bool follows_previous(std::size_t item) const = 0;
  // At the node: takes the item, and starts its flow or calls item_done().
  virtual void begin_item(std::size_t item) = 0;
  // At the client: what the node answered is put where the caller wants it.
  virtual void deliver_results() = 0;
  // At the node: the writer or reader has gone.
  virtual void end_items_of_gone_client() = 0;
  void close_at_client() override;

  void item_done(std::size_t item);
  void item_done_soon(std::size_t item);  // from inside begin_item()
  bool at_node() const { return at_node_; }
  bool client_gone() const { return client_gone_; }
  // At the node: closes the connection.
  void close_at_node();
  void leave_node();
  bool paused() const;
  ConnectionId connection_id_;

 private:
  void reach_node();
  void accept();
  void begin_next(std::size_t from);
  void answer();

  std::shared_ptr<Connection> connection_;
  bool at_node_ = false;  // the node knows it
  bool client_gone_ = false;
  std::size_t done_ = 0;
};

class FillExchange final : public StreamExchange {
 public:
  FillExchange(const Parts& parts, Fill fill);

  void abort_fill(FillId id) override;

 private:
  // What the node holds of an item: its own copy of the record.
  struct Item {
    std::string texts[4];
    FillItem item;
    std::optional<FillId> fill;  // in flight at the node
    bool hashing = false;
    Status result;
  };

  std::size_t items() const override { return items_.size(); }
  Bytes request_size() const override;
  bool follows_previous(std::size_t item) const override;
  void begin_item(std::size_t item) override;
  void copy(std::size_t item, Bytes offset, Bytes length) override;
  void corrupt(std::size_t item, Bytes offset) override;
  void moved(std::size_t item) override;
  void deliver_results() override;
  void end_items_of_gone_client() override;
  void set_all_results(const Error& error) override;
  void seal(std::size_t item);
  void end_aborted();
  void tell_unsealed(const char* why) const;

  Fill fill_;
  std::vector<Item> items_;
  std::vector<FillId> aborted_;
};

class ReadExchange final : public StreamExchange {
 public:
  ReadExchange(const Parts& parts, Read read);

  void abort_read(ReadId id) override;

 private:
  struct Item {
    ReadItem item;
    std::optional<ReadId> read;  // in flight at the node
    std::optional<std::uint64_t> checksum;
    Status result;
  };

  std::size_t items() const override { return items_.size(); }
  Bytes request_size() const override;
  bool follows_previous(std::size_t) const override { return true; }
  void begin_item(std::size_t item) override;
  void copy(std::size_t item, Bytes offset, Bytes length) override;
  void corrupt(std::size_t item, Bytes offset) override;
  void moved(std::size_t item) override;
  void deliver_results() override;
  void end_items_of_gone_client() override;
  void set_all_results(const Error& error) override;

  const std::string tenant_;
  Read read_;
  std::vector<Item> items_;
};

// A read over verbs: the node's process is not asked. Each range's bytes come on their own, and its
// footer is read when they are all there.
class OneSidedRead final : public Exchange {
 public:
  OneSidedRead(const Parts& parts, Read read);

  void begin() override;
  void node_dies() override;

 private:
  void copy(std::size_t item, Bytes offset, Bytes length) override;
  void corrupt(std::size_t item, Bytes offset) override;
  void moved(std::size_t item) override;
  void set_all_results(const Error& error) override;
  void close_at_client() override;
  void read_footer(std::size_t item);

  Read read_;
  std::size_t left_ = 0;
};

}  // namespace larder::sim
