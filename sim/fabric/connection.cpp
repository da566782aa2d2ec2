#include "sim/fabric/connection.h"

#include <algorithm>
#include <utility>

namespace larder::sim {

namespace {
constexpr std::uint32_t retry_label = 0xc01;
constexpr std::uint32_t close_label = 0xc02;
constexpr Bytes close_size = 64_B;
}  // namespace

void Connection::send(End from, Bytes size, std::uint32_t label, std::function<void()> deliver) {
  if (!side(from).open) return;
  enqueue(from, {.size = size, .label = label, .deliver = std::move(deliver)});
}

void Connection::close(End by) {
  if (!side(by).open) return;
  side(by).open = false;
  side(by).told = nullptr;
  enqueue(by, {.size = close_size, .label = close_label});
}

std::vector<std::function<void()>> Connection::drop() {
  std::vector<std::function<void()>> dropped;
  for (Side& each : sides_) {
    for (Message& message : each.sent) dropped.push_back(std::move(message.deliver));
    each.sent.clear();
    each.first = ~std::uint64_t{0};
    each.open = false;
  }
  return dropped;
}

void Connection::enqueue(End from, Message message) {
  Side& sender = side(from);
  message.sent = kernel_.now();
  sender.sent.push_back(std::move(message));
  transmit(from, sender.first + sender.sent.size() - 1);
}

void Connection::transmit(End from, std::uint64_t number) {
  const Message& message = side(from).sent[number - side(from).first];
  const Route route = from == End::caller ? route_ : Route{route_.to, route_.from};
  network_.send(
      route, message.size, message.label,
      [self = shared_from_this(), from, number] { self->arrive(from, number); },
      [self = shared_from_this(), from, number] { self->retry(from, number); },
      [self = shared_from_this(), from] { self->arrive_corrupted(from); });
}

void Connection::retry(End from, std::uint64_t number) {
  Side& sender = side(from);
  if (number < sender.first || sender.sent[number - sender.first].arrived) return;
  Message& message = sender.sent[number - sender.first];
  if (kernel_.now() - message.sent > settings_.give_up) {
    sender.sent.clear();
    sender.first = ~std::uint64_t{0};  // no number is to be delivered any more
    return end(from);
  }
  const Duration pause =
      std::min(settings_.retry_max, settings_.retry * (1 << std::min(message.tries++, 16u)));
  kernel_.post(later(kernel_.now(), pause), retry_label, [self = shared_from_this(), from, number] {
    if (number >= self->side(from).first) self->transmit(from, number);
  });
}

void Connection::arrive(End from, std::uint64_t number) {
  Side& sender = side(from);
  if (number < sender.first) return;  // a second copy
  sender.sent[number - sender.first].arrived = true;
  while (!sender.sent.empty() && sender.sent.front().arrived) {
    const Message message = std::move(sender.sent.front());
    sender.sent.pop_front();
    ++sender.first;
    if (!message.deliver) return end(other(from));
    if (side(other(from)).open) message.deliver();
  }
}

void Connection::arrive_corrupted(End from) {
  const End receiver = other(from);
  if (!side(receiver).open) return;
  const auto told = std::exchange(side(receiver).told, nullptr);
  close(receiver);
  if (told) told();
}

void Connection::end(End at) {
  Side& side_told = side(at);
  if (!std::exchange(side_told.open, false)) return;
  if (const auto told = std::exchange(side_told.told, nullptr)) told();
}

}  // namespace larder::sim
