#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/capacity/client_session.h"
#include "sim/capacity/pool_node.h"
#include "sim/fabric/fabric.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// Objects of one operation that go between an engine's host and one node in one piece: the request
// that the node has to serve, the bytes, and the word that they are there. Where processes share
// the cores of their host, one object follows the other as in real/transport: while the node works
// on one, the bytes of the one before move, and the engine's process takes the one before that. So
// beside the bytes there is the work for all objects but one: the node's first one comes before
// them, the engine's last one behind.
class Transfer final : public Event {
 public:
  enum class Kind : std::uint8_t { read, fill };
  class Owner {
   public:
    // May start it again, or release it.
    virtual void transferred(Transfer& transfer, bool whole) = 0;

   protected:
    ~Owner() = default;
  };

  Transfer(Kernel& kernel, Fabric& fabric, const PoolConfig& config);
  ~Transfer() override = default;

  // What it brings: set before it is started.
  Owner* owner = nullptr;
  PoolNode* node = nullptr;
  ClientSession* engine = nullptr;
  PartId engine_memory;  // of its host
  Kind kind = Kind::read;
  std::vector<std::uint32_t> objects;  // of the owner's list
  Bytes bytes;

  // Precondition: it is not under way.
  void start();
  // Nothing comes of it any more, and nobody is told.
  void stop();
  // One end has gone: the bytes stop now, and the owner learns it so much later.
  void break_off(Duration notice);
  bool under_way() const { return stage_ != Stage::idle; }

  std::size_t place = 0;  // in its pool's list

 private:
  class Bytewise final : public Move {
   public:
    Bytewise(Fabric& fabric, const Plan& plan, Transfer& transfer)
        : Move(fabric, plan), transfer_(transfer) {}

   private:
    void finish() override { transfer_.bytes_arrived(); }
    Transfer& transfer_;
  };
  enum class Stage : std::uint8_t { idle, asking, moving, answering, stalled };
  class Service final : public Work {
   public:
    Service(Fabric& fabric, ThreadsId threads, Transfer& transfer)
        : Work(fabric, threads), transfer_(transfer) {}

   private:
    void finish() override { transfer_.worked(); }
    Transfer& transfer_;
  };
  void fire() override;
  bool asks_node() const;
  void asked();
  PoolNode::Kind served_as() const;
  Duration for_bytes(Duration each_mib) const;
  // Of all objects but the first one.
  Duration other_node_work() const;
  Duration other_engine_work() const;
  Duration engine_work_each() const;
  void work(std::optional<Service>& service, ThreadsId threads, Duration time);
  void worked();
  void move();
  void bytes_arrived();
  void moved();
  void taken();
  void end_parts();
  void become_idle();

  Kernel& kernel_;
  Fabric& fabric_;
  const PoolConfig& config_;
  Stage stage_ = Stage::idle;
  std::optional<Bytewise> bytewise_;  // until they are there
  std::optional<Service> node_work_;
  std::optional<Service> engine_work_;
};

}  // namespace larder::sim
