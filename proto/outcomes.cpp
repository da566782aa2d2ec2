#include "proto/outcomes.h"

namespace larder::columns {
namespace {

bool any(const ErrorFacts& facts) {
  return !facts.detail.empty() || !facts.key.empty() || !facts.endpoint.empty() ||
         facts.size.value != 0 || facts.elapsed.count() != 0;
}

void add_text(std::string_view text, std::size_t longest, wire::Texts& column) {
  text = text.substr(0, longest);
  column.mutable_joined()->append(text);
  column.add_lengths(static_cast<std::uint32_t>(text.size()));
}

Error error_of(std::int32_t code) {
  if (is_error_code(code)) return Error(static_cast<ErrorCode>(code));
  return Error(ErrorCode::internal_error,
               "the peer's error number " + std::to_string(code) + " is not known here");
}

}  // namespace

void add_outcome(const Error* error, wire::Outcomes& out) {
  if (error != nullptr && any(error->facts())) {
    const ErrorFacts& facts = error->facts();
    wire::ErrorFacts& columns = *out.mutable_facts();
    columns.add_at(out.count());
    add_text(facts.detail, error_detail_bytes_max, *columns.mutable_details());
    add_text(facts.key, key_bytes_max, *columns.mutable_keys());
    add_text(facts.endpoint, name_bytes_max, *columns.mutable_endpoints());
    columns.add_sizes(facts.size.value);
    columns.add_elapsed(wire_duration(std::clamp(facts.elapsed, Duration{0}, duration_max)));
  }
  out.set_count(out.count() + 1);
  out.add_codes(error == nullptr ? 0 : static_cast<std::int32_t>(error->code()));
}

void close_outcomes(wire::Outcomes& out) {
  if (std::ranges::all_of(out.codes(), [](std::int32_t code) { return code == 0; })) {
    out.clear_codes();
  }
}

Result<std::vector<Status>> take_outcomes(std::string_view message, const wire::Outcomes& in) {
  LARDER_TRY(const Reader read, reader(message, in.count()));
  std::vector<Status> out(read.count());
  LARDER_CHECK(read.numbers("codes", in.codes(), [&](std::size_t i, std::int32_t code) {
    if (code != 0) out[i] = std::unexpected(error_of(code));
  }));
  const wire::ErrorFacts& facts = in.facts();
  std::vector<std::size_t> at;
  LARDER_CHECK(read.flag("at", facts.at(), [&](std::size_t i) { at.push_back(i); }));
  for (const std::size_t i : at) {
    if (out[i]) return read.malformed("facts of an error for a result that is none");
  }
  const Reader columns(message, at.size());
  std::vector<ErrorFacts> taken(at.size());
  LARDER_CHECK(
      columns.texts({"details", error_detail_bytes_max}, facts.details(),
                    [&](std::size_t i, std::string_view text) { taken[i].detail = text; }));
  LARDER_CHECK(columns.texts({"keys", key_bytes_max}, facts.keys(),
                             [&](std::size_t i, std::string_view text) { taken[i].key = text; }));
  LARDER_CHECK(
      columns.texts({"endpoints", name_bytes_max}, facts.endpoints(),
                    [&](std::size_t i, std::string_view text) { taken[i].endpoint = text; }));
  LARDER_CHECK(columns.numbers("sizes", facts.sizes(),
                               [&](std::size_t i, std::uint64_t size) { taken[i].size = {size}; }));
  LARDER_CHECK(columns.durations("elapsed", facts.elapsed(),
                                 [&](std::size_t i, Duration d) { taken[i].elapsed = d; }));
  for (std::size_t i = 0; i < at.size(); ++i) {
    ErrorFacts& fact = taken[i];
    const ErrorCode code = out[at[i]].error().code();
    // An unknown number already has a detail, which says it.
    std::string detail = out[at[i]].error().facts().detail;
    detail += detail.empty() || fact.detail.empty() ? "" : ": ";
    detail += fact.detail;
    Error error(code, std::move(detail));
    if (!fact.key.empty()) error = std::move(error).with_key(fact.key);
    if (!fact.endpoint.empty()) error = std::move(error).with_endpoint(fact.endpoint);
    if (fact.size.value != 0) error = std::move(error).with_size(fact.size);
    if (fact.elapsed.count() != 0) error = std::move(error).with_elapsed(fact.elapsed);
    out[at[i]] = std::unexpected(std::move(error));
  }
  return out;
}

}  // namespace larder::columns
