#include "real/daemon/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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
#include "real/system/thread.h"

namespace larder::real {
namespace fs = std::filesystem;
using journal::FileHeader;
using journal::FileKind;
using journal::RecordKind;

namespace {

constexpr std::size_t wake_bytes = std::size_t{256} << 10;
constexpr auto write_at_least_every = std::chrono::milliseconds(20);
constexpr auto look_every = std::chrono::seconds(1);  // whether the file is still there
constexpr int patience_steps = 100;  // of 20 ms, for the last state when the master ends

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string system_text(std::string_view what, const fs::path& path) {
  return std::string(what) + " " + path.string() + ": " + std::strerror(errno);
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

bool is_removed(int file) {
  struct stat facts{};
  return ::fstat(file, &facts) == 0 && facts.st_nlink == 0;
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

// In the fork. 0: it is whole; or the error.
int write_state_file(int file, const FileHeader& header, const Master& master, Bytes limit) {
  int error = write_all(file, journal::bytes_of(header)) ? 0 : errno;
  journal::StateTrailer trailer{.digest = master.digest(header.begins)};
  ChecksumStream sum;
  Archive archive([&](std::span<const std::byte> piece) {
    sum.update(piece);
    trailer.length += piece.size();
    if (error == 0 && trailer.length > limit.value) error = EFBIG;
    if (error == 0 && !write_all(file, text_of(piece))) error = errno;
  });
  master.save(archive);
  constexpr std::size_t summed = offsetof(journal::StateTrailer, checksum);
  sum.update(std::as_bytes(std::span(&trailer, 1)).first(summed));
  trailer.checksum = sum.value();
  if (error == 0 && !write_all(file, journal::bytes_of(trailer))) error = errno;
  return error;
}

// Outcomes of a fork beside the errors of the system.
constexpr int outcome_killed = -1;
constexpr int outcome_late = -2;

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::make(RecordOptions options) {
  const fs::path path = *options.directory;
  std::error_code error;
  fs::create_directory(path, error);
  if (!fs::is_directory(path, error)) {
    return failed(ErrorCode::file_open_fail,
                  "cannot record into " + path.string() + ": there is no such directory");
  }
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return failed(ErrorCode::file_open_fail, system_text("cannot open", path));
  Descriptor lock(::openat(directory.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock) return failed(ErrorCode::file_open_fail, system_text("cannot open", path / "lock"));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return failed(ErrorCode::file_open_fail, "another master records into " + path.string());
  }
  std::unique_ptr<Recorder> recorder(
      new Recorder(std::move(options), std::move(directory), std::move(lock)));
  LARDER_CHECK(recorder->find_older());
  recorder->thread_ = start_thread("recorder", [raw = recorder.get()] { raw->run(); });
  return recorder;
}

// Eight slots at least where the states are small beside the calls.
Recorder::Recorder(RecordOptions options, Descriptor directory, Descriptor lock)
    : options_(std::move(options)),
      directory_(std::move(directory)),
      lock_(std::move(lock)),
      file_bytes_max_(options_.size / 8) {
  options_.buffer = std::min(options_.buffer, options_.size / 4);
}

Recorder::~Recorder() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  for (int i = 0; child_ > 0 && i < patience_steps; ++i) {
    reap();
    if (child_ > 0) ::usleep(20'000);
  }
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
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
    const auto size = size_of(number, state ? journal::state_suffix : journal::calls_suffix);
    if (!size) continue;  // no file
    SlotFiles& slot = slots_[number];
    slot.begins = Time::max();  // of another master's clock
    (state ? slot.state : slot.calls) = *size;
    slot.replayable |= state;
    newest_ = std::max(newest_, number);
  }
  if (!error) return {};
  return failed(ErrorCode::file_read_fail, options_.directory->string() + ": " + error.message());
}

Bytes Recorder::total() const {
  Bytes total;
  for (const auto& [number, slot] : slots_) total += slot.calls + slot.state;
  return total;
}

// 0: none.
std::uint64_t Recorder::newest_replayable() const {
  for (auto slot = slots_.rbegin(); slot != slots_.rend(); ++slot) {
    if (slot->second.replayable) return slot->first;
  }
  return 0;
}

// None: there is no such file.
std::optional<Bytes> Recorder::size_of(std::uint64_t slot, std::string_view suffix) const {
  struct stat facts{};
  const std::string name = journal::file_name(slot, suffix);
  if (::fstatat(directory_.get(), name.c_str(), &facts, 0) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  return Bytes{static_cast<std::uint64_t>(facts.st_size)};
}

void Recorder::remove(std::uint64_t slot, std::string_view suffix) const {
  (void)::unlinkat(directory_.get(), journal::file_name(slot, suffix).c_str(), 0);
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
    last_recorded_ = header.now;
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
    if (child_ != 0) {
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
    header.slot = ++newest_;
    header.checksum = journal::checksum_of(header);
    new_files_.emplace(filling_.size(), header);
    slots_[header.slot] = {.begins = now, .follows = follows_ && dropped_here_ == 0};
    dropping_ = false;
    dropped_here_ = 0;
    follows_ = true;
    last_recorded_ = now;
    child_ = child_to_come;
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
  const std::string whole = journal::file_name(header.slot, journal::state_suffix);
  const std::string unfinished = journal::file_name(header.slot, journal::unfinished_suffix);
  const Descriptor file(::openat(directory_.get(), unfinished.c_str(),
                                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const pid_t child = file ? ::fork() : -1;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Ports and connections are not ours. The directory comes to lie behind the file, unless it
    // has that number already.
    constexpr int own_file = STDERR_FILENO + 1;
    constexpr int own_directory = own_file + 1;
    const int directory = ::fcntl(directory_.get(), F_DUPFD, own_directory + 1);
    ::dup2(file.get(), own_file);
    ::dup2(directory, own_directory);
    ::close_range(own_directory + 1, ~0u, 0);
    (void)!::nice(5);
    int error = write_state_file(own_file, header, master, options_.size / 3);
    if (error == 0 &&
        ::renameat(own_directory, unfinished.c_str(), own_directory, whole.c_str()) != 0) {
      error = errno;
    }
    ::_exit(error);
  }
  const int error = errno;
  const std::scoped_lock lock(mutex_);
  child_ = child < 0 ? -error : child;
  child_ends_ = Clock::now() + options_.state_time_max;
}

Recorder::View Recorder::view(Time now) const {
  const std::scoped_lock lock(mutex_);
  View view{.bytes = total(), .dropped = dropped_, .trouble = trouble_};
  const Time last = trouble_.empty() ? now : stopped_;
  for (const auto& [number, slot] : slots_) {
    if (!slot.replayable || slot.begins == Time::max()) continue;
    if (last > slot.begins) view.span = last - slot.begins;
    break;
  }
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
    if (!make_room({records.size()})) continue;
    journal::seal(records);
    // What stands before a new file belongs to the old one.
    std::size_t at = 0;
    const std::string_view all = records;
    for (const auto& [begin, header] : new_files) {
      if (!write(all.substr(at, begin - at)) || !begin_file(header)) break;
      at = begin;
    }
    if (!write(all.substr(at))) continue;
    look_for_file();
    reap();
    (void)make_room(0_B);
    if (was_dropping && Clock::now() >= retry_at_) wants_slot_.store(true);
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
  if (records.empty() || !file_) return true;  // what comes before the first slot
  if (!write_all(file_.get(), records)) {
    const int error = errno;
    fail(system_text("cannot write", path(file_slot_, journal::calls_suffix)), error);
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
  const std::string calls = journal::file_name(header.slot, journal::calls_suffix);
  file_ = Descriptor(
      ::openat(directory_.get(), calls.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  file_slot_ = header.slot;
  if (file_ && write_all(file_.get(), journal::bytes_of(header))) {
    const std::scoped_lock lock(mutex_);
    slots_[header.slot].calls += Bytes{sizeof(FileHeader)};
    return true;
  }
  const int error = errno;
  fail(system_text("cannot write", path(header.slot, journal::calls_suffix)), error);
  return false;
}

// A file that was removed takes what is written to it, and nobody will ever read it.
void Recorder::look_for_file() {
  const auto now = Clock::now();
  if (!file_ || now < look_at_) return;
  look_at_ = now + look_every;
  if (is_removed(file_.get())) {
    fail(path(file_slot_, journal::calls_suffix).string() + " was removed");
  }
}

// The error with which it ended, or one of the outcomes above; 0: all is well; none: it works.
std::optional<int> Recorder::outcome_of_child() {
  int child = 0;
  Clock::time_point ends;
  {
    const std::scoped_lock lock(mutex_);
    if (!new_files_.empty()) return std::nullopt;  // its calls first
    child = child_;
    ends = child_ends_;
  }
  if (child == 0 || child == child_to_come) return std::nullopt;
  if (child < 0) return -child;
  int outcome = 0;
  if (::waitpid(child, &outcome, WNOHANG) == 0) {
    if (Clock::now() > ends) ::kill(child, SIGKILL);
    return std::nullopt;
  }
  if (WIFEXITED(outcome)) return WEXITSTATUS(outcome);
  return Clock::now() > ends ? outcome_late : outcome_killed;
}

void Recorder::reap() {
  const std::optional<int> outcome = outcome_of_child();
  if (!outcome) return;
  const auto size = size_of(newest_, journal::state_suffix);
  if (*outcome == 0 && size) {
    state_is_whole(*size);
  } else {
    state_has_failed(*outcome == 0 ? ENOENT : *outcome);
  }
}

void Recorder::state_is_whole(Bytes size) {
  log(LogLevel::debug, "recorder", "the master's state is written",
      {{"file", path(newest_, journal::state_suffix).string()}, {"size", size_text(size)}});
  const std::scoped_lock lock(mutex_);
  child_ = 0;
  const auto slot = slots_.find(newest_);
  if (slot->second.calls == 0_B) {  // recording stopped before its first call
    remove(newest_, journal::state_suffix);
    slots_.erase(slot);
    return;
  }
  slot->second.state = size;
  slot->second.replayable = true;
  if (trouble_.empty() || !file_) return;
  log(LogLevel::info, "recorder", "records again", {{"dropped", std::to_string(dropped_)}});
  trouble_.clear();
}

std::string Recorder::state_trouble(int outcome) const {
  using std::chrono::ceil, std::chrono::seconds;
  const std::string what = "cannot write " + path(newest_, journal::state_suffix).string() + ": ";
  switch (outcome) {
    case EFBIG:
      return what + "the master's state is larger than a third of the " + size_text(options_.size) +
             " that the recording may take";
    case outcome_killed:
      return what + "the process that wrote it was killed";
    case outcome_late:
      return what + "it was not done within " +
             std::to_string(ceil<seconds>(options_.state_time_max).count()) + " s";
    default:
      return what + std::strerror(outcome);
  }
}

// Calls that go on from the slot before can be replayed all the same; others cannot.
void Recorder::state_has_failed(int outcome) {
  std::string why = state_trouble(outcome);
  remove(newest_, journal::unfinished_suffix);
  bool useless = false;
  {
    const std::scoped_lock lock(mutex_);
    child_ = 0;
    useless = !slots_[newest_].follows;
    state_trouble_ = why;
  }
  if (useless) {
    remove(newest_, journal::calls_suffix);
    return fail(std::move(why), outcome);
  }
  log(LogLevel::warn, "recorder", "the master's state could not be written", {{"why", why}});
  if (is_full(outcome)) (void)free_disk();
}

// Call with the mutex held.
void Recorder::remove_oldest() {
  const std::uint64_t oldest = slots_.begin()->first;
  remove(oldest, journal::state_suffix);
  remove(oldest, journal::calls_suffix);
  slots_.erase(oldest);
}

// The oldest go, but never the newest state that is whole, nor what follows it, unless it is of an
// earlier master. If there is no newer state, room for one file stays, so that another can be tried
// later. False if there is no room for so much more, and nothing is recorded now.
bool Recorder::make_room(Bytes more) {
  bool full = false;
  std::string why;
  {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t keep = newest_replayable();
    const bool waits = child_ == 0 && keep != newest_;
    const Bytes limit = waits ? options_.size - file_bytes_max_ : options_.size;
    while (total() + more > limit && !slots_.empty()) {
      const auto& [oldest, slot] = *slots_.begin();
      if (oldest >= keep && slot.begins != Time::max()) break;
      remove_oldest();
    }
    if (!file_ || keep == newest_) return true;
    full = total() + more > limit;
    why = "the files have reached " + size_text(options_.size) + ", and no newer state " +
          (child_ != 0 ? "is written yet" : "could be written: " + state_trouble_);
  }
  if (full) fail(std::move(why));
  return !full;
}

// The older half, as far as it is not needed. True if anything could go.
bool Recorder::free_disk() {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t keep = newest_replayable();
  const Bytes before = total();
  while (total() > before / 2 && slots_.begin()->first < keep) remove_oldest();
  return total() < before;
}

// Until a new slot is begun: at once if there is room on a full disk now.
void Recorder::fail(std::string why, int error) {
  file_.close();
  if (is_removed(directory_.get())) why = options_.directory->string() + " was removed";
  const bool at_once = is_full(error) && free_disk();
  retry_at_ = at_once ? Clock::now() : Clock::now() + options_.retry_after;
  const std::scoped_lock lock(mutex_);
  if (trouble_.empty()) {
    log(LogLevel::error, "recorder", "nothing is recorded until a new state can be written",
        {{"why", why}});
    stopped_ = last_recorded_;
  }
  trouble_ = std::move(why);
  dropping_ = true;
  follows_ = false;
  filling_.clear();
  filling_.shrink_to_fit();
  new_files_.clear();
  // What there is now, which may be less than what was written.
  for (auto& [number, slot] : slots_) {
    slot.calls = size_of(number, journal::calls_suffix).value_or(0_B);
    slot.state = size_of(number, journal::state_suffix).value_or(0_B);
    slot.replayable = slot.state > 0_B;
  }
  std::erase_if(slots_, [&](const auto& each) {
    const bool awaited = each.first == newest_ && child_ != 0;
    return !awaited && each.second.calls + each.second.state == 0_B;
  });
}

}  // namespace larder::real
