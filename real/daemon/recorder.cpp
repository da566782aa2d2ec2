#include "real/daemon/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "core/base/archive.h"
#include "core/base/hash.h"
#include "core/base/size_text.h"
#include "real/rpc/log.h"

namespace larder::real {
namespace fs = std::filesystem;
using journal::FileHeader;
using journal::FileKind;
using journal::RecordKind;

namespace {

constexpr std::size_t wake_bytes = std::size_t{256} << 10;
constexpr auto write_at_least_every = std::chrono::milliseconds(20);
constexpr int patience_steps = 100;  // of 20 ms, for the last state when the master ends

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string system_text(std::string_view what, const fs::path& path) {
  return std::string(what) + " " + path.string() + ": " + std::strerror(errno);
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// In the fork: whole, or it fails.
bool write_state_file(int file, const FileHeader& header, const Master& master) {
  bool good = write_all(file, journal::bytes_of(header));
  journal::StateTrailer trailer{.digest = master.digest(header.begins)};
  ChecksumStream sum;
  Archive archive([&](std::span<const std::byte> piece) {
    sum.update(piece);
    trailer.length += piece.size();
    good = good && write_all(file, text_of(piece));
  });
  master.save(archive);
  constexpr std::size_t summed = offsetof(journal::StateTrailer, checksum);
  sum.update(std::as_bytes(std::span(&trailer, 1)).first(summed));
  trailer.checksum = sum.value();
  return good && write_all(file, journal::bytes_of(trailer));
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::make(RecordOptions options) {
  const fs::path directory = *options.directory;
  std::error_code error;
  fs::create_directory(directory, error);
  if (!fs::is_directory(directory, error)) {
    return failed(ErrorCode::file_open_fail,
                  "cannot record into " + directory.string() + ": there is no such directory");
  }
  const fs::path lock_path = directory / "lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return failed(ErrorCode::file_open_fail, system_text("cannot open", lock_path));
  std::unique_ptr<Recorder> recorder(new Recorder(std::move(options), lock));
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    return failed(ErrorCode::file_open_fail, "another master records into " + directory.string());
  }
  LARDER_CHECK(recorder->find_older());
  recorder->thread_ = std::thread([raw = recorder.get()] { raw->run(); });
  return recorder;
}

// Eight slots at least where the states are small beside the calls.
Recorder::Recorder(RecordOptions options, int lock)
    : options_(std::move(options)), lock_(lock), file_bytes_max_(options_.size / 8) {}

Recorder::~Recorder() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (int i = 0; child_ != 0 && i < patience_steps; ++i) {
    reap();
    if (child_ != 0) ::usleep(20'000);
  }
  if (child_ != 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  if (file_ >= 0) ::close(file_);
  ::close(lock_);
}

// What an earlier master has left; a state that it did not finish goes.
Status Recorder::find_older() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*options_.directory, error)) {
    const fs::path& path = entry.path();
    if (path.extension() == journal::unfinished_suffix) {
      std::error_code ignored;
      fs::remove(path, ignored);
      continue;
    }
    const bool state = path.extension() == journal::state_suffix;
    const std::string stem = path.stem().string();
    if (!state && path.extension() != journal::calls_suffix) continue;
    if (stem.size() < 8 || stem.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::uint64_t number = std::strtoull(stem.c_str(), nullptr, 10);
    SlotFiles& slot = slots_[number];
    slot.begins = Time::max();  // of another master's clock
    (state ? slot.state : slot.calls) = {entry.file_size(error)};
    slot.replayable |= state;
    newest_ = std::max(newest_, number);
  }
  if (!error) return {};
  return failed(ErrorCode::file_read_fail, options_.directory->string() + ": " + error.message());
}

fs::path Recorder::path(std::uint64_t slot, std::string_view suffix) const {
  return *options_.directory / journal::file_name(slot, suffix);
}

// ---- the master's thread ------------------------------------------------------------------------

void Recorder::append(journal::RecordHeader header, std::string_view part, std::string_view frame) {
  header.effects = effects_.value();
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    if (dropping_ || filling_.size() + frame.size() > options_.buffer.value) {
      dropping_ = true;
      ++dropped_;
      ++dropped_here_;
      return;
    }
    const std::size_t before = filling_.size();
    journal::append(header, part, frame, filling_);
    wake = before < wake_bytes && filling_.size() >= wake_bytes;
  }
  if (wake) wake_.notify_one();
}

void Recorder::request(Time now, Ticket ticket, FrameBytes frame) {
  append({.kind = RecordKind::request, .now = now},
         journal::bytes_of(journal::RequestPart{.ticket = ticket}), text_of(frame));
}
void Recorder::open_call(Time now, Ticket ticket, FrameBytes frame) {
  append({.kind = RecordKind::open_call, .now = now},
         journal::bytes_of(journal::RequestPart{.ticket = ticket}), text_of(frame));
}
void Recorder::piece(Time now, Ticket ticket, Piece piece) {
  append({.kind = RecordKind::piece, .now = now},
         journal::bytes_of(
             journal::PiecePart{.ticket = ticket, .first = piece.first, .end = piece.end}),
         {});
}
void Recorder::tick(Time now) { append({.kind = RecordKind::tick, .now = now}, {}, {}); }
void Recorder::node_disconnected(Time now, IncarnationId incarnation, std::uint64_t registration) {
  append({.kind = RecordKind::node_disconnected, .now = now},
         journal::bytes_of(
             journal::NodePart{.incarnation = incarnation, .registration = registration}),
         {});
}

bool Recorder::begin_slot(Time now, const Master& master) {
  FileHeader header{.kind = FileKind::calls,
                    .epoch = master.epoch(),
                    .begins = now,
                    .wall_clock_ns = wall_clock_ns()};
  {
    const std::scoped_lock lock(mutex_);
    if (!trouble_.empty() || child_ != 0) {
      wants_slot_.store(false);
      return false;
    }
    const journal::RecordHeader record{.now = now, .effects = effects_.value()};
    const auto put = [&](RecordKind kind, std::string_view part) {
      journal::RecordHeader own = record;
      own.kind = kind;
      journal::append(own, part, {}, filling_);
    };
    if (dropped_here_ > 0) {
      put(RecordKind::gap, journal::bytes_of(journal::GapPart{.calls = dropped_here_}));
    }
    put(RecordKind::end,
        journal::bytes_of(journal::EndPart{.wall_clock_ns = header.wall_clock_ns}));
    dropping_ = false;
    dropped_here_ = 0;
    header.slot = ++newest_;
    header.checksum = journal::checksum_of(header);
    new_files_.emplace(filling_.size(), header);
    slots_[header.slot].begins = now;
    wants_slot_.store(false);
  }
  wake_.notify_one();
  effects_ = {};
  header.kind = FileKind::state;
  header.checksum = journal::checksum_of(header);
  write_state(master, header);
  return true;
}

// A fork has the state as it is now for as long as it needs. Nothing of the process but this thread
// is in it: it writes one file, and ends.
void Recorder::write_state(const Master& master, const FileHeader& header) {
  const fs::path whole = path(header.slot, journal::state_suffix);
  const fs::path unfinished = path(header.slot, journal::unfinished_suffix);
  const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    log(LogLevel::warn, "recorder", "a state cannot be written",
        {{"why", system_text("cannot open", unfinished)}});
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(file, STDERR_FILENO + 1);
    ::close_range(STDERR_FILENO + 2, ~0u, 0);  // ports and connections are not ours
    (void)!::nice(5);
    const bool good = write_state_file(STDERR_FILENO + 1, header, master) &&
                      ::rename(unfinished.c_str(), whole.c_str()) == 0;
    ::_exit(good ? 0 : 1);
  }
  ::close(file);
  if (child < 0) {
    log(LogLevel::warn, "recorder", "a state cannot be written",
        {{"why", system_text("cannot fork for", whole)}});
    return;
  }
  const std::scoped_lock lock(mutex_);
  child_ = child;
}

Recorder::View Recorder::view(Time now) const {
  const std::scoped_lock lock(mutex_);
  View view{.dropped = dropped_, .trouble = trouble_};
  std::optional<Time> first;
  for (const auto& [number, slot] : slots_) {
    view.bytes += slot.calls + slot.state;
    if (slot.replayable && slot.begins != Time::max() && !first) first = slot.begins;
  }
  if (first && now > *first) view.span = now - *first;
  return view;
}

// ---- the recorder's thread ----------------------------------------------------------------------

void Recorder::run() {
  std::string records;
  std::map<std::size_t, FileHeader> new_files;
  for (bool last = false; !last;) {
    bool was_dropping = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, write_at_least_every,
                     [&] { return stopping_ || filling_.size() >= wake_bytes; });
      last = stopping_;
      records.clear();
      records.swap(filling_);
      new_files = std::exchange(new_files_, {});
      was_dropping = dropping_;
    }
    tell_of_drops(was_dropping);
    journal::seal(records);
    // What stands before a new file belongs to the old one.
    std::size_t at = 0;
    const std::string_view all = records;
    for (const auto& [begin, header] : new_files) {
      if (!write(all.substr(at, begin - at)) || !begin_file(header)) break;
      at = begin;
    }
    if (!write(all.substr(at))) continue;
    reap();
    make_room();
    if (was_dropping) wants_slot_.store(true);
  }
}

void Recorder::tell_of_drops(bool dropping) {
  if (std::exchange(told_of_drops_, dropping) == dropping) return;
  const std::scoped_lock lock(mutex_);
  if (!trouble_.empty()) return;
  log(LogLevel::warn, "recorder",
      dropping ? "cannot keep up, calls are not recorded" : "records again",
      {{"dropped", std::to_string(dropped_)}});
}

bool Recorder::write(std::string_view records) {
  if (records.empty() || file_ < 0) return true;  // what comes before the first slot
  if (!write_all(file_, records)) {
    fail(system_text("cannot write", path(file_slot_, journal::calls_suffix)));
    return false;
  }
  const std::scoped_lock lock(mutex_);
  SlotFiles& slot = slots_[file_slot_];
  slot.calls += Bytes{records.size()};
  // Beside a large state a file is larger too, so that the states do not take the whole ring.
  const Bytes full = std::min(std::max(file_bytes_max_, slot.state), options_.size / 3);
  if (slot.calls >= full && newest_ == file_slot_ && child_ == 0) wants_slot_.store(true);
  return true;
}

bool Recorder::begin_file(const FileHeader& header) {
  if (file_ >= 0) ::close(file_);
  const fs::path calls = path(header.slot, journal::calls_suffix);
  file_ = ::open(calls.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  file_slot_ = header.slot;
  if (file_ >= 0 && write_all(file_, journal::bytes_of(header))) {
    const std::scoped_lock lock(mutex_);
    slots_[header.slot].calls += Bytes{sizeof(FileHeader)};
    return true;
  }
  fail(system_text("cannot write", calls));
  return false;
}

void Recorder::reap() {
  int outcome = 0;
  int child = 0;
  {
    const std::scoped_lock lock(mutex_);
    child = child_;
  }
  if (child == 0 || ::waitpid(child, &outcome, WNOHANG) == 0) return;
  const bool good = WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0;
  std::error_code error;
  const fs::path whole = path(newest_, journal::state_suffix);
  const std::uint64_t bytes = good ? fs::file_size(whole, error) : 0;
  if (good && !error) {
    log(LogLevel::debug, "recorder", "the master's state is written",
        {{"file", whole.string()}, {"size", size_text(Bytes{bytes})}});
  } else {
    fs::remove(path(newest_, journal::unfinished_suffix), error);
    log(LogLevel::warn, "recorder", "the master's state could not be written",
        {{"file", whole.string()}, {"outcome", std::to_string(outcome)}});
  }
  const std::scoped_lock lock(mutex_);
  child_ = 0;
  slots_[newest_].state = {bytes};
  slots_[newest_].replayable = bytes > 0;
}

// The oldest go, but never the newest state that is whole, nor what follows it.
void Recorder::make_room() {
  for (;;) {
    std::uint64_t oldest = 0;
    {
      const std::scoped_lock lock(mutex_);
      Bytes total;
      std::uint64_t keep = 0;
      for (const auto& [number, slot] : slots_) {
        total += slot.calls + slot.state;
        if (slot.replayable) keep = number;
      }
      if (total <= options_.size || slots_.begin()->first >= keep) return;
      oldest = slots_.begin()->first;
      slots_.erase(oldest);
    }
    std::error_code ignored;
    fs::remove(path(oldest, journal::state_suffix), ignored);
    fs::remove(path(oldest, journal::calls_suffix), ignored);
  }
}

void Recorder::fail(std::string why) {
  log(LogLevel::error, "recorder", "nothing is recorded any more", {{"why", why}});
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  const std::scoped_lock lock(mutex_);
  trouble_ = std::move(why);
  dropping_ = true;
  filling_.clear();
  filling_.shrink_to_fit();
  new_files_.clear();
}

}  // namespace larder::real
