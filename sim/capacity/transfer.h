#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/capacity/pool_node.h"
#include "sim/fabric/fabric.h"
#include "sim/kernel/event.h"

namespace larder::sim {

// Objects of one operation that go between an engine's host and one node in one piece: the request
// that the node has to serve, the bytes, and the word that they are there.
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
  PartId engine_memory;  // of the engine's host
  std::optional<ThreadsId> engine_threads;
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
    void finish() override { transfer_.arrived(); }
    Transfer& transfer_;
  };
  enum class Stage : std::uint8_t { idle, asking, moving, answering, stalled };
  class Service final : public Work {
   public:
    Service(Fabric& fabric, ThreadsId threads, Transfer& transfer)
        : Work(fabric, threads), transfer_(transfer) {}

   private:
    void finish() override { transfer_.served(); }
    Transfer& transfer_;
  };
  void fire() override;
  void asked();
  PoolNode::Kind served_as() const;
  Duration for_bytes(Duration each_mib) const;
  void work(ThreadsId threads, Duration time);
  void served();
  void move();
  void arrived();

  Kernel& kernel_;
  Fabric& fabric_;
  const PoolConfig& config_;
  Stage stage_ = Stage::idle;
  std::optional<Bytewise> bytewise_;
  std::optional<Service> service_;
};

}  // namespace larder::sim
