#include <algorithm>

#include "core/base/assert.h"
#include "core/master/state.h"

namespace larder {

Session* Master::State::find_session(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

Session* Master::State::find_session(const SessionRef& ref) {
  Session* session = find_session(ref.id);
  return session != nullptr && session->life == ref.life ? session : nullptr;
}

void Master::State::charge(Session& session, Put& put, Bytes bytes) {
  session.held += bytes;
  ease(session, put.charged);
  put.charged = bytes;
}

void Master::State::ease(Session& session, Bytes bytes) {
  LARDER_ASSERT(bytes <= session.held);
  session.held -= bytes;
  if (session.over_share.empty() || session.eased) return;
  session.eased = true;
  eased_.push_back(session.ref());
}

void Master::State::handle(Step& step, Caller caller, const OpenSession& request) {
  const auto open = [&]() -> Result<SessionOpened> {
    if (!caller.header.session) {
      return failed(ErrorCode::invalid_params, "a session id must not be zero");
    }
    if (request.tenant.empty() || request.tenant.size() > tenant_bytes_max) {
      return failed(ErrorCode::invalid_params,
                    "a tenant's name has 1 to " + std::to_string(tenant_bytes_max) +
                        " bytes, this one has " + std::to_string(request.tenant.size()));
    }
    if (request.client.size() > name_bytes_max || request.host.size() > name_bytes_max) {
      return failed(ErrorCode::invalid_params, "a client's or host's name has more than " +
                                                   std::to_string(name_bytes_max) + " bytes");
    }
    LARDER_TRY(const TenantId tenant, catalog_.tenant(request.tenant));
    Session* session = find_session(caller.header.session);
    const bool resumed = session != nullptr;
    if (resumed && session->tenant != tenant) {
      return failed(ErrorCode::illegal_client,
                    "the session belongs to tenant '" +
                        std::string(catalog_.tenant_name(session->tenant)) + "'");
    }
    if (!resumed) {
      if (sessions_.size() >= config_.sessions_max) {
        return failed(ErrorCode::busy,
                      "there are " + std::to_string(sessions_.size()) + " sessions already");
      }
      auto made = std::make_unique<Session>();
      session = made.get();
      session->id = caller.header.session;
      session->tenant = tenant;
      session->life = ++session_lives_;
      sessions_.emplace(session->id, std::move(made));
      session_checks_.arm(step.now + config_.timing.session_lost, session->id);
    }
    session->client = request.client;
    session->host = request.host;
    take_header(step, *session, caller.header);
    return SessionOpened{.epoch = identity_.epoch,
                         .instance = identity_.instance,
                         .resumed = resumed,
                         .lease = config_.timing.lease,
                         .keep_alive = config_.timing.heartbeat,
                         .object_bytes_max = config_.object_bytes_max};
  };
  step.effects.answers.answer(caller.ticket, 0, open());
}

void Master::State::handle(Step& step, Caller caller, const CloseSession&) {
  if (Session* session = find_session(caller.header.session)) {
    take_header(step, *session, caller.header);
    end_session(step, *session);
  }
  step.effects.answers.answer(caller.ticket, 0, Done{});
}

void Master::State::handle(Step& step, Caller caller, const KeepAlive& request) {
  if (session_of(step, caller) != nullptr) {
    client_stages_.merge(request.stages);
    step.effects.answers.answer(caller.ticket, 0, Done{});
  }
}

// The caller's session, with what its header carries done (by the first piece of a call, since a
// lease given back twice would count twice); nullptr, and all answers given, if there is none.
Session* Master::State::session_of(Step& step, const Caller& caller) {
  Session* session = find_session(caller.header.session);
  if (session == nullptr) {
    refuse_all(step, caller, Error(ErrorCode::client_not_found));
    return nullptr;
  }
  if (caller.first == 0) take_header(step, *session, caller.header);
  return session;
}

void Master::State::take_header(Step& step, Session& session, const RequestHeader& header) {
  session.last_heard = step.now;
  if (header.lowest_unanswered > session.lowest_unanswered) {
    session.lowest_unanswered = header.lowest_unanswered;
    std::erase_if(session.calls, [&](const std::unique_ptr<Call>& call) {
      return call->number < session.lowest_unanswered;
    });
  }
  for (const LeaseReturn& lease : header.lease_returns) {
    catalog_.give_back({.slot = lease.slot, .round = lease.round});
  }
  for (const BadBytes& bad : header.bad_bytes) {
    Replica* replica = nullptr;
    if (holder(catalog_.tenant_name(session.tenant), bad.key, bad.extent, &replica) == nullptr) {
      continue;
    }
    NodeRecord& node = *nodes_[segments_[replica->segment]->node];
    if (node.to_verify.size() == items_per_piece) continue;
    tell(node);
    node.to_verify.push_back(bad.extent);
  }
}

// Nothing if there is nothing to be carried out: the session is unknown, these items are repeated
// (their answers so far have been given again), or too many calls are open.
std::optional<Master::State::OpenCall> Master::State::open_call(Step& step, const Caller& caller) {
  Session* session = session_of(step, caller);
  if (session == nullptr) return std::nullopt;
  const auto refuse = [&](ErrorCode code, const char* why) -> std::optional<OpenCall> {
    refuse_all(step, caller, Error(code, why));
    return std::nullopt;
  };
  const std::uint64_t number = caller.header.number;
  if (number < session->lowest_unanswered) {
    return refuse(ErrorCode::cancelled, "the session said that it waits for this call no more");
  }
  auto place = std::ranges::lower_bound(
      session->calls, number, {}, [](const std::unique_ptr<Call>& call) { return call->number; });
  const bool known = place != session->calls.end() && (*place)->number == number;
  // Its first piece was refused, or begun in an earlier life of the session.
  if (caller.first > (known ? (*place)->begun : 0)) {
    return refuse(ErrorCode::busy, "the beginning of this call is not known");
  }
  if (!known) {
    if (session->calls.size() >= config_.calls_per_session_max) {
      return refuse(ErrorCode::busy, "too many calls of this session are not given up yet");
    }
    place = session->calls.insert(place, std::make_unique<Call>());
    (*place)->number = number;
    (*place)->answers.resize(caller.items);
  }
  Call& call = **place;
  if (call.answers.size() != caller.items) {
    return refuse(ErrorCode::invalid_params, "the number of another call of this session");
  }
  call.ticket = caller.ticket;
  const std::uint32_t first = std::clamp(call.begun, caller.first, caller.end);
  for (std::uint32_t i = caller.first; i < first; ++i) {
    if (call.answers[i]) step.effects.answers.answer(caller.ticket, i, *call.answers[i]);
  }
  if (first == caller.end) return std::nullopt;
  call.begun = caller.end;
  return OpenCall{*session, call, first, caller.end};
}

void Master::State::answer(Step& step, const OpenCall& open, std::uint32_t index, Answer answer) {
  std::optional<Answer>& kept = open.call.answers[index];
  LARDER_ASSERT(!kept, "an item is answered once");
  kept = std::move(answer);
  if (!*kept) ++refusals_[kept->error().code()];
  step.effects.answers.answer(open.call.ticket, index, *kept);
}

void Master::State::answer_late(Step& step, const AnswerAddress& address, Answer value) {
  Session* session = find_session(address.session);
  if (session == nullptr) return;
  const auto place =
      std::ranges::lower_bound(session->calls, address.number, {},
                               [](const std::unique_ptr<Call>& call) { return call->number; });
  if (place == session->calls.end() || (*place)->number != address.number) return;
  answer(step, {*session, **place}, address.index, std::move(value));
}

// Its unfinished puts fail; its leases run out by themselves, since its readers may still be alive.
void Master::State::end_session(Step& step, Session& session) {
  while (!session.puts.empty()) fail_put(step, session.puts.front());
  sessions_.erase(session.id);
}

void Master::State::check_session(Step& step, SessionId id) {
  Session* session = find_session(id);
  if (session == nullptr) return;
  const Time lost_at = session->last_heard + config_.timing.session_lost;
  if (lost_at > step.now) {
    session_checks_.arm(lost_at, id);
  } else {
    end_session(step, *session);
  }
}

}  // namespace larder
