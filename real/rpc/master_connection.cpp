#include "real/rpc/master_connection.h"

#include <algorithm>

namespace larder::real {

MasterConnection::MasterConnection(Loop& loop, LinkConfig config, User& user)
    : loop_(loop),
      config_(std::move(config)),
      name_(to_string(config_.master)),
      user_(user),
      retry_(loop, [this] {
        waiting_ = false;
        if (user_.wants_connection()) dial();
      }) {}

MasterConnection::~MasterConnection() {
  if (pipe_) pipe_->close();
}

void MasterConnection::want() {
  if (pipe_ || dial_ || waiting_ || !user_.wants_connection()) return;
  dial();
}

void MasterConnection::dial() {
  dial_ = std::make_unique<Dial>(
      loop_, DialTarget{.endpoint = config_.master, .role = Role::control, .who = config_.who},
      loop_.now() + config_.dial_deadline,
      [this](Result<Socket> socket) { dialled(std::move(socket)); });
}

void MasterConnection::dialled(Result<Socket> socket) {
  const auto ended = std::move(dial_);  // lives until this returns
  if (!socket) {
    last_error_ = socket.error();
    wait_and_dial();
    return user_.down(*last_error_);
  }
  last_error_.reset();
  FramePipe::Events& events = *this;
  pipe_ = std::make_shared<FramePipe>(loop_, std::move(*socket), config_.limits, events);
  pipe_->start();
  user_.up();
}

void MasterConnection::broken(Error error) {
  pipe_.reset();
  last_error_ = std::move(error).with_endpoint(name_);
  wait_and_dial();
  user_.down(*last_error_);
}

// Always through the timer, so that nobody is called from inside a call of theirs.
void MasterConnection::wait_and_dial() {
  waiting_ = true;
  retry_.set(loop_.now() + backoff_);
  backoff_ = std::clamp(2 * backoff_, config_.backoff_first, config_.backoff_last);
}

void MasterConnection::give_up(Error error) {
  if (pipe_) pipe_->refuse(std::move(error));
}

}  // namespace larder::real
