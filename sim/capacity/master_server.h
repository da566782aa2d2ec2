#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/master/master.h"
#include "sim/capacity/pool_config.h"
#include "sim/kernel/event.h"
#include "sim/kernel/kernel.h"

namespace larder::sim {

class MasterServer;

// One request to the master, on its way there, in its queue, or on its way back. Its owner keeps
// it, and uses it again when it has ended: lists that it sends keep their memory.
class MasterCall : public Event {
 public:
  explicit MasterCall(MasterServer& server);
  ~MasterCall() override;

  // Whose work send_after() means. Precondition: it is not under way.
  void prepare_on(Fabric& fabric, ThreadsId threads);

  Request request;  // the owner's, but while the call is under way
  bool under_way() const { return stage_ != Stage::idle; }
  // All answers are on their way back.
  bool returning() const { return stage_ == Stage::returning; }

 private:
  friend class MasterServer;
  enum class Stage : std::uint8_t { idle, going, queued, answering, returning, parked };
  class Preparation final : public Work {
   public:
    Preparation(Fabric& fabric, ThreadsId threads, MasterCall& call)
        : Work(fabric, threads), call_(call) {}

   private:
    void finish() override { call_.prepared(); }
    MasterCall& call_;
  };

  // At the master's instant, one for each item: to be noted down, since whoever asked does not know
  // yet. Must call nobody.
  virtual void answered(std::uint32_t index, const Answer& answer) = 0;
  // All answers are here. May send the call again.
  virtual void ended() = 0;
  // The master was away for longer than a call may take. Likewise.
  virtual void failed() = 0;
  // The master that gave some answers is gone: what they said does not count, and others will come.
  virtual void asked_again() {}
  void fire() final;
  void prepared();

  MasterServer& server_;
  const std::uint32_t slot_;
  Stage stage_ = Stage::idle;
  Ticket ticket_ = 0;
  std::size_t items_ = 0;
  std::size_t begun_ = 0;
  std::size_t missing_ = 0;
  Instant deadline_{};
  Duration later_{0};  // than its preparation
  std::optional<Preparation> preparation_;
};

// The production master behind one queue: each request takes its time on the one thread, long ones
// in pieces between which others are served, as the daemon does. So does what the master does by
// itself. Confined to its kernel's thread.
class MasterServer final : private AnswerSink {
 public:
  // What else comes out of a master. Called when its step is over.
  class Watcher {
   public:
    virtual void object_left(const ObjectEvent& event) = 0;
    virtual void command(Command& command) = 0;
    // A new master is there, and knows nothing yet.
    virtual void master_back() = 0;

   protected:
    ~Watcher() = default;
  };
  struct Counters {
    std::uint64_t requests = 0;
    std::uint64_t items = 0;
    Duration busy{0};
    std::size_t queue_longest = 0;
  };

  // `fabric` is needed where the master shares the cores of a host.
  MasterServer(Kernel& kernel, const PoolConfig& config, Watcher& watcher,
               Fabric* fabric = nullptr);
  MasterServer(const MasterServer&) = delete;
  MasterServer& operator=(const MasterServer&) = delete;
  ~MasterServer();

  // Sends it, so much later, or so much later than some work of its sender's threads; it ends, or
  // fails if no master is there within its deadline.
  // Precondition: it is not under way.
  void send(MasterCall& call, Duration later = Duration(0));
  void send_after(MasterCall& call, Duration work, Duration later);
  // Its sender is gone: if it has not arrived yet, it never will, and it does not end.
  void recall(MasterCall& call) noexcept;
  // Its answers, which are on their way, do not come, and it does not end. Precondition: returning.
  void lose_answers(MasterCall& call) noexcept;
  // At once and for nothing: for what has happened before the simulation begins.
  void apply_now(MasterCall& call);

  bool alive() const { return machine_ != nullptr; }
  // Null while none is there.
  const Master* machine() const { return machine_.get(); }
  // All that it knew is gone, but for the state directory. What is on its way or waits for it is
  // sent again to the next one.
  void crash();
  void restart();
  void node_disconnected(IncarnationId incarnation, std::uint64_t registration);

  Time now() const;
  const Timing& timing() const { return config_.timing; }
  std::size_t queue_length() const { return queue_.size(); }
  const Counters& counters() const { return counters_; }

 private:
  friend class MasterCall;
  struct Slot {
    MasterCall* call = nullptr;
    Ticket ticket = 0;  // of which answers are awaited; 0: of none
  };
  class Alarm final : public Event {
   public:
    Alarm(MasterServer& server, std::uint32_t label, void (MasterServer::*due)())
        : Event(label), server_(server), due_(due) {}

   private:
    void fire() override { (server_.*due_)(); }
    MasterServer& server_;
    void (MasterServer::*due_)();
  };

  class Service final : public Work {
   public:
    Service(Fabric& fabric, ThreadsId threads, MasterServer& server)
        : Work(fabric, threads), server_(server) {}

   private:
    void finish() override { server_.serve(); }
    MasterServer& server_;
  };

  void answer(Ticket ticket, std::uint32_t index, const Answer& answer) override;
  void make_machine();
  void stop_serving() noexcept;
  std::uint32_t take_slot(MasterCall& call);
  void forget(MasterCall& call) noexcept;
  void arrive(MasterCall& call);
  void park(MasterCall& call);
  void begin_ticket(MasterCall& call);
  void serve_next();
  void serve();
  void tick();
  void carry_out();
  void occupy(Duration time);
  Duration cost_of_items(const RequestBody& body, std::size_t items) const;
  static Piece piece_of(const MasterCall& call);

  Kernel& kernel_;
  const PoolCosts costs_;
  const MasterConfig config_;
  Watcher& watcher_;
  Random random_;  // of when clients try again
  std::unique_ptr<Master> machine_;
  MasterState disk_{.durable = true, .recovered_epoch = {}, .known = {}, .lost = {}};
  std::uint64_t lives_ = 0;
  MasterEffects effects_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  Ticket tickets_ = 0;
  std::deque<MasterCall*> queue_;
  std::vector<MasterCall*> answered_;
  Instant free_at_{};
  Alarm service_;
  std::optional<Service> shared_service_;  // instead, where it shares the cores of a host
  Alarm tick_;
  Counters counters_;
};

}  // namespace larder::sim
