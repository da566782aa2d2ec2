#include "real/daemon/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/hash.h"
#include "core/base/percent.h"
#include "core/base/size_text.h"

namespace larder::real {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view magic = "larder-master-state";
constexpr int version = 1;
constexpr const char* state_name = "state";
constexpr const char* next_name = "state.new";
// Of some hundred thousand nodes, known or lost; ours are far smaller.
constexpr Bytes state_bytes_max = 64_MiB;

std::unexpected<Error> system_failure(ErrorCode code, std::string_view what, const fs::path& path) {
  return failed(code, fmt::format("cannot {} {}: {}", what, path.string(),
                                  std::generic_category().message(errno)));
}

std::string header_of(std::string_view body) {
  return fmt::format("{} {} {:016x}\n", magic, version, checksum(std::as_bytes(std::span(body))));
}

// ---- the content of the file --------------------------------------------------------------------

ordered_json id_json(IncarnationId id) { return ordered_json::array({id.high, id.low}); }

IncarnationId id_from(const ordered_json& json) {
  return {.high = json.at(0).get<std::uint64_t>(), .low = json.at(1).get<std::uint64_t>()};
}

std::string encode(const MasterState& state, Epoch last_epoch) {
  ordered_json known = ordered_json::array();
  for (const NodeKnown& node : state.known) {
    known.push_back(
        {{"incarnation", id_json(node.incarnation)}, {"name", percent_escaped(node.name)}});
  }
  ordered_json lost = ordered_json::array();
  for (const IncarnationId id : state.lost) lost.push_back(id_json(id));
  const ordered_json body{{"last_epoch", last_epoch.value},
                          {"recovered_epoch", state.recovered_epoch.value},
                          {"known_nodes", std::move(known)},
                          {"lost_incarnations", std::move(lost)}};
  return body.dump(1) + "\n";
}

// Throws what nlohmann/json throws.
void decode(std::string_view body, MasterState& state, Epoch& last_epoch) {
  const ordered_json json = ordered_json::parse(body);
  last_epoch.value = json.at("last_epoch").get<std::uint64_t>();
  state.recovered_epoch.value = json.at("recovered_epoch").get<std::uint64_t>();
  for (const ordered_json& node : json.at("known_nodes")) {
    const auto name = percent_unescaped(node.at("name").get<std::string>());
    state.known.push_back({.incarnation = id_from(node.at("incarnation")), .name = name.value()});
  }
  for (const ordered_json& id : json.at("lost_incarnations")) state.lost.push_back(id_from(id));
}

// ---- files --------------------------------------------------------------------------------------

Status write_durably(const Descriptor& directory, const char* name, const fs::path& path,
                     std::string_view content) {
  const Descriptor file(
      ::openat(directory.get(), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) return system_failure(ErrorCode::file_write_fail, "write", path);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(ErrorCode::file_write_fail, "write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) return system_failure(ErrorCode::file_write_fail, "sync", path);
  return {};
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) {
    return failed(ErrorCode::file_open_fail, fmt::format("cannot make the state directory {}: {}",
                                                         path.string(), error.message()));
  }
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_failure(ErrorCode::file_open_fail, "open", path);
  Descriptor lock(::openat(directory.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return system_failure(ErrorCode::file_open_fail, "open", path / "lock");
  StateDirectory opened(path, std::move(directory), std::move(lock));
  if (::flock(opened.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return system_failure(ErrorCode::file_open_fail, "lock", path / "lock");
    }
    return failed(ErrorCode::file_open_fail,
                  fmt::format("the state directory {} is in use by another master", path.string()));
  }
  LARDER_CHECK(opened.load());
  return opened;
}

StateDirectory::StateDirectory(fs::path path, Descriptor directory, Descriptor lock)
    : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

// The state file, if there is one.
Result<std::optional<std::string>> StateDirectory::read() const {
  const fs::path path = path_ / state_name;
  // Not to wait for the writer of a pipe.
  const Descriptor file(::openat(directory_.get(), state_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::nullopt;
  struct stat facts{};
  if (!file || ::fstat(file.get(), &facts) != 0) {
    return system_failure(ErrorCode::file_read_fail, "open", path);
  }
  const auto bad = [&](std::string_view why) {
    return failed(ErrorCode::bad_file,
                  fmt::format("{} {}, and no state file of a Larder master", path.string(), why));
  };
  if (S_ISDIR(facts.st_mode)) return bad("is a directory");
  if (!S_ISREG(facts.st_mode)) return bad("is not a regular file");
  const Bytes size{static_cast<std::uint64_t>(facts.st_size)};
  if (size > state_bytes_max) {
    return bad(fmt::format("has {}, more than {}", size_text(size), size_text(state_bytes_max)));
  }
  std::string text(size.value, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(ErrorCode::file_read_fail, "read", path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

Status StateDirectory::load() {
  LARDER_TRY(const std::optional<std::string> found, read());
  if (!found) return {};
  const std::string& text = *found;
  const fs::path path = path_ / state_name;
  const auto bad = [&](std::string_view why) {
    return failed(ErrorCode::bad_file,
                  fmt::format("{}: {}. If it cannot be brought back, give this master a new state "
                              "directory; acknowledged removals may then return",
                              path.string(), why));
  };
  const std::string start = fmt::format("{} ", magic);
  if (!text.starts_with(start)) return bad("not a state file of a Larder master");
  if (!text.starts_with(fmt::format("{}{} ", start, version))) {
    return bad(fmt::format("written by another version (this one reads version {})", version));
  }
  const std::size_t end = text.find('\n');
  const std::string_view body =
      end == std::string::npos ? "" : std::string_view(text).substr(end + 1);
  if (end == std::string::npos || text.substr(0, end + 1) != header_of(body)) {
    return bad("damaged (its checksum does not match)");
  }
  try {
    decode(body, state_, last_epoch_);
  } catch (const std::exception& problem) {
    return bad(fmt::format("damaged ({})", problem.what()));
  }
  return {};
}

// That a master which starts at the same path meets this directory and its lock.
Status StateDirectory::check_place() const {
  struct stat own{};
  struct stat own_lock{};
  struct stat there{};
  struct stat lock_there{};
  if (::fstat(directory_.get(), &own) == 0 && ::fstat(lock_.get(), &own_lock) == 0 &&
      ::stat(path_.c_str(), &there) == 0 &&
      ::fstatat(directory_.get(), "lock", &lock_there, 0) == 0 && own.st_dev == there.st_dev &&
      own.st_ino == there.st_ino && own_lock.st_ino == lock_there.st_ino) {
    return {};
  }
  return failed(ErrorCode::file_write_fail,
                fmt::format("the state directory {} was removed or replaced under this master, so "
                            "what it decides could not be found again",
                            path_.string()));
}

Status StateDirectory::save() const {
  LARDER_CHECK(check_place());
  const fs::path path = path_ / state_name;
  const std::string body = encode(state_, last_epoch_);
  LARDER_CHECK(write_durably(directory_, next_name, path_ / next_name, header_of(body) + body));
  if (::renameat(directory_.get(), next_name, directory_.get(), state_name) != 0) {
    return system_failure(ErrorCode::file_write_fail, "replace", path);
  }
  if (::fsync(directory_.get()) != 0) {
    return system_failure(ErrorCode::file_write_fail, "sync", path_);
  }
  // Also what was moved away meanwhile would not be found.
  return check_place();
}

Status StateDirectory::begin_epoch(Epoch epoch) {
  last_epoch_ = std::max(last_epoch_, epoch);
  return save();
}

Status StateDirectory::record(std::span<const StateRecord> records) {
  if (records.empty()) return {};
  for (const StateRecord& record : records) {
    if (const auto* known = std::get_if<NodeKnown>(&record)) {
      state_.known.push_back(*known);
    } else if (const auto* lost = std::get_if<NodeLost>(&record)) {
      std::erase_if(state_.known,
                    [&](const NodeKnown& node) { return node.incarnation == lost->incarnation; });
      state_.lost.push_back(lost->incarnation);
    } else if (const auto* ended = std::get_if<RecoveryEnded>(&record)) {
      state_.recovered_epoch = ended->epoch;
    } else {
      last_epoch_ = std::max(last_epoch_, std::get<NewerEpoch>(record).epoch);
    }
  }
  return save();
}

}  // namespace larder::real
