#include "proto/journal/reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <span>

#include "core/base/archive.h"
#include "core/base/hash.h"
#include "core/master/saved_config.h"

namespace larder::journal {
namespace fs = std::filesystem;
namespace {

// Beyond any clock of a master, and far from where sums of times overflow.
constexpr Time latest{std::chrono::years(100)};
constexpr std::int64_t wall_clock_latest_ns = std::int64_t{1} << 62;

std::unexpected<Error> bad(const fs::path& path, std::string what) {
  return failed(ErrorCode::bad_file, path.string() + ": " + std::move(what));
}

template <class T>
T read_as(const char* bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof(T));
  return value;
}

// The number of a file's slot, if its name is one of ours.
std::optional<std::uint64_t> slot_of(const fs::path& path) {
  const std::string stem = path.stem().string();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  if (error != std::errc{} || end != stem.data() + stem.size() || stem.size() < 8) {
    return std::nullopt;
  }
  return number;
}

Status check(const fs::path& path, const FileHeader& header, FileKind kind) {
  if (header.magic != magic) return bad(path, "this is no file of a recording");
  if (header.version != version) {
    return bad(path, "a recording of version " + std::to_string(header.version) +
                         "; this program reads version " + std::to_string(version));
  }
  if (header.checksum != checksum_of(header)) return bad(path, "its header is damaged");
  if (header.kind != kind) return bad(path, "a file of another kind under this name");
  if (header.begins < Time{} || header.begins > latest || header.wall_clock_ns < 0 ||
      header.wall_clock_ns > wall_clock_latest_ns) {
    return bad(path, "it begins at a time that cannot be");
  }
  return {};
}

// What Master::save() wrote.
std::span<const std::byte> saved_master(const std::string& file) {
  return std::as_bytes(std::span(file))
      .subspan(sizeof(FileHeader))
      .first(file.size() - sizeof(FileHeader) - sizeof(StateTrailer));
}

Result<std::ifstream> open_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return bad(path, fs::is_directory(status) ? "it is a directory" : "it is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return failed(ErrorCode::file_open_fail,
                  path.string() + ": " + std::string(std::strerror(errno)));
  }
  return file;
}

}  // namespace

Result<std::vector<Slot>> open_ring(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    return failed(ErrorCode::file_open_fail, directory.string() + ": there is no such directory");
  }
  std::map<std::uint64_t, Slot> slots;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string suffix = entry.path().extension().string();
    const auto number = slot_of(entry.path());
    if (!number || (suffix != state_suffix && suffix != calls_suffix)) continue;
    Slot& slot = slots[*number];
    slot.number = *number;
    (suffix == state_suffix ? slot.state : slot.calls) = entry.path();
    slot.bytes += Bytes{entry.file_size(error)};
  }
  if (error) {
    return failed(ErrorCode::file_read_fail, directory.string() + ": " + error.message());
  }
  if (slots.empty()) {
    return bad(directory,
               "it holds no recording: a master writes one there if it is started with "
               "--record " +
                   directory.string());
  }
  std::vector<Slot> list;
  for (auto& [number, slot] : slots) list.push_back(std::move(slot));
  return list;
}

Result<State> read_state(const fs::path& path) {
  LARDER_TRY(std::ifstream file, open_file(path));
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error) return failed(ErrorCode::file_read_fail, path.string() + ": " + error.message());
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) return failed(ErrorCode::file_read_fail, path.string() + ": it cannot be read");
  if (bytes.size() < sizeof(FileHeader)) return bad(path, "it is shorter than a header");
  State state{.header = read_as<FileHeader>(bytes.data()), .path = path};
  LARDER_CHECK(check(path, state.header, FileKind::state));
  if (bytes.size() < sizeof(FileHeader) + sizeof(StateTrailer)) return bad(path, "it is cut");
  const auto trailer = read_as<StateTrailer>(bytes.data() + bytes.size() - sizeof(StateTrailer));
  const auto content = std::as_bytes(std::span(bytes)).subspan(sizeof(FileHeader));
  const std::size_t length = content.size() - sizeof(StateTrailer);
  const auto summed = content.first(content.size() - sizeof(trailer.checksum));
  if (trailer.length != length || trailer.checksum != checksum(summed)) {
    return bad(path, "it is cut or damaged: its checksum does not fit");
  }
  state.digest = trailer.digest;
  state.bytes = std::move(bytes);
  return state;
}

Result<MasterConfig> State::config() const {
  Archive archive(saved_master(bytes));
  auto config = saved_config(archive);
  if (!config) return bad(path, config.error().facts().detail);
  return config;
}

Result<std::unique_ptr<Master>> State::load() const {
  Archive archive(saved_master(bytes));
  auto master = Master::load(archive);
  if (!master) return bad(path, master.error().facts().detail);
  return master;
}

Result<CallsReader> CallsReader::open(const fs::path& path) {
  CallsReader reader;
  LARDER_TRY(reader.file_, open_file(path));
  std::error_code error;
  reader.size_ = fs::file_size(path, error);
  if (error) return failed(ErrorCode::file_read_fail, path.string() + ": " + error.message());
  std::array<char, sizeof(FileHeader)> bytes{};
  reader.file_.read(bytes.data(), bytes.size());
  if (reader.file_.gcount() != bytes.size()) return bad(path, "it is shorter than a header");
  reader.header_ = read_as<FileHeader>(bytes.data());
  LARDER_CHECK(check(path, reader.header_, FileKind::calls));
  reader.offset_ = sizeof(FileHeader);
  reader.last_ = reader.header_.begins;
  return reader;
}

const Record* CallsReader::stop(std::string why) {
  cut_ = Cut{.offset = offset_, .bytes = size_ - offset_, .why = std::move(why)};
  return nullptr;
}

// The file ends before this record does: it was never whole, or its length is damaged.
const Record* CallsReader::stop_at_end() {
  const bool torn = !whole_record_follows();
  stop(torn ? "the last record is torn" : "a record is damaged");
  cut_->torn = torn;
  return nullptr;
}

// Anywhere in the rest of the file. A record that was torn off is all that is left.
bool CallsReader::whole_record_follows() {
  const std::uint64_t left = size_ - offset_;
  if (left > record_bytes_max) return true;
  std::string rest(left, '\0');
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(offset_));
  file_.read(rest.data(), static_cast<std::streamsize>(left));
  rest.resize(static_cast<std::size_t>(file_.gcount()));
  for (std::size_t at = 1; at + sizeof(RecordHeader) <= rest.size(); ++at) {
    const auto header = read_as<RecordHeader>(rest.data() + at);
    const bool plausible = header.length >= sizeof(RecordHeader) &&
                           header.length <= rest.size() - at && header.zero[0] == 0 &&
                           header.zero[1] == 0 && header.zero[2] == 0 &&
                           header.kind >= RecordKind::request && header.kind <= RecordKind::end &&
                           header.now >= last_ && header.now <= latest;
    if (!plausible) continue;
    std::string record = rest.substr(at, header.length);
    seal_one(record.data());
    if (read_as<RecordHeader>(record.data()).checksum == header.checksum) return true;
  }
  return false;
}

const Record* CallsReader::next() {
  if (cut_ || offset_ >= size_) return nullptr;
  const std::uint64_t left = size_ - offset_;
  if (left < sizeof(RecordHeader)) return stop_at_end();
  bytes_.resize(sizeof(RecordHeader));
  file_.read(bytes_.data(), sizeof(RecordHeader));
  const std::uint32_t length = length_at(bytes_.data());
  if (length < sizeof(RecordHeader) || length > record_bytes_max) {
    return stop("a record is damaged");
  }
  if (length > left) return stop_at_end();
  bytes_.resize(length);
  file_.read(bytes_.data() + sizeof(RecordHeader),
             static_cast<std::streamsize>(length - sizeof(RecordHeader)));
  if (!file_) return stop("it cannot be read");
  record_.header = read_as<RecordHeader>(bytes_.data());
  seal_one(bytes_.data());
  if (read_as<RecordHeader>(bytes_.data()).checksum != record_.header.checksum) {
    return stop("a record is damaged");
  }
  // A master's clock does not go back.
  if (record_.header.now < last_ || record_.header.now > latest) {
    return stop("a record is of a time that cannot be");
  }
  last_ = record_.header.now;
  const auto take = [&](auto& into) {
    if (bytes_.size() < sizeof(RecordHeader) + sizeof(into)) return false;
    into = read_as<std::decay_t<decltype(into)>>(bytes_.data() + sizeof(RecordHeader));
    return true;
  };
  bool whole = true;
  switch (record_.header.kind) {
    case RecordKind::request:
    case RecordKind::open_call:
      whole = take(record_.request);
      if (whole)
        record_.frame =
            std::as_bytes(std::span(bytes_)).subspan(sizeof(RecordHeader) + sizeof(RequestPart));
      break;
    case RecordKind::piece:
      whole = take(record_.piece);
      break;
    case RecordKind::node_disconnected:
      whole = take(record_.node);
      break;
    case RecordKind::gap:
      whole = take(record_.gap);
      break;
    case RecordKind::end:
      whole = take(record_.end);
      break;
    case RecordKind::tick:
      break;
    default:
      whole = false;
  }
  if (!whole) return stop("a record is of no known kind");
  record_.offset = offset_;
  offset_ += length;
  return &record_;
}

}  // namespace larder::journal
