#include "real/rpc/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "core/base/printable.h"

namespace larder::real {
namespace {

std::unexpected<Error> refused(std::string_view text, std::string_view why) {
  return failed(ErrorCode::invalid_params,
                "'" + printable(text, 300) + "' is no endpoint (host:port): " + std::string(why));
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// An interface of Linux, or its number.
bool is_zone(std::string_view zone) {
  constexpr std::size_t zone_bytes_max = 15;  // IFNAMSIZ, less the zero
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '@';
  };
  return !zone.empty() && zone.size() <= zone_bytes_max && std::ranges::all_of(zone, allowed);
}

bool is_ipv6(std::string_view host) {
  const std::size_t zone = host.find('%');
  if (zone != std::string_view::npos && !is_zone(host.substr(zone + 1))) return false;
  const std::string address(host.substr(0, zone));
  in6_addr parsed{};
  // A zero byte would hide what follows it.
  return !address.contains('\0') && ::inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

// A dotted quad, or a name of letters, digits, '-', '_' and '.'.
bool is_name(std::string_view host) {
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  if (host.starts_with('.') || host.find("..") != std::string_view::npos) return false;
  if (host.empty() || host.size() > 253 || !std::ranges::all_of(host, allowed)) return false;
  const bool numeric = host.find_first_not_of("0123456789.") == std::string_view::npos;
  in_addr address{};
  return !numeric || ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, std::optional<std::uint16_t> default_port) {
  std::string_view host = text;
  std::optional<std::string_view> port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refused(text, "']' is missing");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return refused(text, "':' must follow ']'");
    if (!rest.empty()) port = rest.substr(1);
    if (!is_ipv6(host)) return refused(text, "no IPv6 address between the brackets");
  } else if (std::ranges::count(text, ':') > 1) {
    if (!default_port) return refused(text, "an IPv6 address needs brackets, as in [::1]:7700");
    if (!is_ipv6(text)) return refused(text, "no IPv6 address");
  } else {
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      host = text.substr(0, colon);
      port = text.substr(colon + 1);
    }
    if (!is_name(host)) return refused(text, "no host name or IPv4 address");
  }
  if (!port) {
    if (!default_port) return refused(text, "the port is missing");
    return Endpoint{.host = std::string(host), .port = *default_port};
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port->data(), port->data() + port->size(), number);
  if (error != std::errc() || end != port->data() + port->size()) {
    return refused(text, "the port must be a number from 0 to 65535");
  }
  return Endpoint{.host = std::string(host), .port = number};
}

std::string to_string(const Endpoint& endpoint) {
  const bool brackets = endpoint.host.find(':') != std::string::npos;
  return (brackets ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace larder::real
