#include "real/daemon/state_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/hash.h"
#include "core/base/percent.h"

namespace larder::real {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view magic = "larder-master-state";
constexpr int version = 1;

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

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Status write_durably(const fs::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return system_failure(ErrorCode::file_write_fail, "write", path);
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(ErrorCode::file_write_fail, "write", path);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) return system_failure(ErrorCode::file_write_fail, "sync", path);
  return {};
}

Status sync_directory(const fs::path& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return system_failure(ErrorCode::file_write_fail, "sync", path);
  }
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
  const fs::path lock_path = path / "lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return system_failure(ErrorCode::file_open_fail, "open", lock_path);
  StateDirectory directory(path, lock);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_failure(ErrorCode::file_open_fail, "lock", lock_path);
    return failed(ErrorCode::file_open_fail,
                  fmt::format("the state directory {} is in use by another master", path.string()));
  }
  LARDER_CHECK(directory.load());
  return directory;
}

StateDirectory::StateDirectory(fs::path path, int lock) : path_(std::move(path)), lock_(lock) {}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      state_(std::move(other.state_)),
      last_epoch_(other.last_epoch_) {}

StateDirectory::~StateDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

Status StateDirectory::load() {
  const fs::path path = path_ / "state";
  std::error_code error;
  if (!fs::exists(path, error) && !error) return {};
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    return failed(ErrorCode::file_read_fail, "cannot read the state file " + path.string());
  }
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

Status StateDirectory::save() const {
  const fs::path path = path_ / "state";
  const fs::path next = path_ / "state.new";
  const std::string body = encode(state_, last_epoch_);
  LARDER_CHECK(write_durably(next, header_of(body) + body));
  if (::rename(next.c_str(), path.c_str()) != 0) {
    return system_failure(ErrorCode::file_write_fail, "replace", path);
  }
  return sync_directory(path_);
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
