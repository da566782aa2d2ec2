#pragma once

#include <memory>
#include <optional>
#include <string>

#include "real/rpc/dial.h"
#include "real/rpc/frame_pipe.h"

namespace larder::real {

// Keeps one connection to a master while it is wanted: dials, and after a failure or a loss dials
// again, waiting longer each time until something useful has come. Only for sources of this folder.
class MasterConnection final : FramePipe::Events {
 public:
  class User {
   public:
    virtual bool wants_connection() const = 0;
    virtual void up() = 0;
    virtual void frame(const FrameHeader& header, FrameBytes body) = 0;
    // Was up, or could not come up. Called from the loop.
    virtual void down(const Error& error) = 0;

   protected:
    ~User() = default;
  };

  MasterConnection(Loop& loop, LinkConfig config, User& user);
  ~MasterConnection();

  // Connects if the user wants it and nothing stands against it.
  void want();
  bool is_up() const { return pipe_ != nullptr; }
  // A frame, whose body `encode(std::string&)` appends. Precondition: is_up(). Errors:
  // invalid_params if it is too long; nothing is sent then.
  template <class Encode>
  Status send(FrameKind kind, std::uint64_t ticket, Encode encode) {
    LARDER_ASSERT(is_up());
    return pipe_->send(kind, ticket, std::move(encode));
  }
  // The master has answered something that makes sense: the next failure is dialled again at once.
  void useful() { backoff_ = Duration{0}; }
  // Gives the present connection up; down() follows from the loop.
  void give_up(Error error);

  const std::string& name() const { return name_; }
  // Why there is no connection, if an attempt has failed.
  const std::optional<Error>& last_error() const { return last_error_; }

 private:
  void frame(const FrameHeader& header, FrameBytes body) override { user_.frame(header, body); }
  void broken(Error error) override;
  void dialled(Result<Socket> socket);
  void wait_and_dial();
  void dial();

  Loop& loop_;
  LinkConfig config_;
  std::string name_;  // of the endpoint
  User& user_;
  std::shared_ptr<FramePipe> pipe_;
  std::unique_ptr<Dial> dial_;
  Alarm retry_;
  bool waiting_ = false;
  Duration backoff_{0};
  std::optional<Error> last_error_;
};

}  // namespace larder::real
