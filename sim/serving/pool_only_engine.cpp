#include "sim/serving/pool_only_engine.h"

#include <algorithm>
#include <utility>

#include "core/pages/leading_pages.h"
#include "sim/kernel/event.h"

namespace larder::sim {
namespace {

constexpr std::uint32_t tell_label = 0x5e5;

}  // namespace

// A request, until its put has ended too.
class PoolOnlyEngine::Job final : PagePool::Lookup, PagePool::Read, PagePool::Put {
 public:
  enum class Stage : std::uint8_t { free, looking, reading, putting };

  explicit Job(PoolOnlyEngine& owner) : engine(owner) {}
  PagePool::Lookup& lookup() { return *this; }
  PagePool::Read& read() { return *this; }
  PagePool::Put& put() { return *this; }

  PoolOnlyEngine& engine;
  ServedRequest* request = nullptr;
  Stage stage = Stage::free;
  std::size_t leading = 0;
  std::vector<std::uint8_t> has;  // by page
  MissReason late = MissReason::lost;

 private:
  void found(std::size_t count, MissReason reason) override {
    engine.looked_up(*this, count, reason);
  }
  void arrived(std::size_t index) override { has[index] = 1; }
  void ended(MissReason reason) override {
    late = reason;
    engine.finish(*this);
  }
  void ended() override { engine.put_ended(*this); }
};

class PoolOnlyEngine::Tell final : public Event {
 public:
  explicit Tell(PoolOnlyEngine& engine) : Event(tell_label), engine_(engine) {}

 private:
  void fire() override { engine_.tell(); }
  PoolOnlyEngine& engine_;
};

PoolOnlyEngine::PoolOnlyEngine(Kernel& kernel, PagePool& pool, PartId host_memory, Served& served)
    : kernel_(kernel),
      pool_(pool),
      host_memory_(host_memory),
      served_(served),
      tell_(std::make_unique<Tell>(*this)) {}

PoolOnlyEngine::~PoolOnlyEngine() { drop(); }

void PoolOnlyEngine::fill_pages(const ServedRequest& request, std::size_t first) {
  pages_.clear();
  for (std::size_t i = first; i < request.blocks.size(); ++i) {
    pages_.push_back({.id = request.blocks[i],
                      .parent = request.blocks[i == 0 ? 0 : i - 1],
                      .depth = static_cast<std::uint32_t>(i)});
  }
}

void PoolOnlyEngine::submit(ServedRequest& request) {
  if (free_jobs_.empty()) {
    jobs_.push_back(std::make_unique<Job>(*this));
    free_jobs_.push_back(jobs_.back().get());
  }
  Job& job = *free_jobs_.back();
  free_jobs_.pop_back();
  job.request = &request;
  job.leading = 0;
  job.stage = Job::Stage::looking;
  fill_pages(request, 0);
  pool_.look_up(host_memory_, pages_, job.lookup());
}

void PoolOnlyEngine::looked_up(Job& job, std::size_t leading, MissReason reason) {
  ServedRequest& request = *job.request;
  request.missing.resize(request.blocks.size());
  fill_pages(request, leading);
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    request.missing[leading + i] =
        i == 0 ? reason : pool_.why_missing(pages_[i]).value_or(MissReason::behind_a_miss);
  }
  job.leading = leading;
  job.has.assign(leading, 0);
  if (leading == 0) return finish(job);
  job.stage = Job::Stage::reading;
  fill_pages(request, 0);
  pages_.resize(leading);
  pool_.read(host_memory_, pages_, job.read());
}

// Nothing more comes from the pool; the rest is computed, in no time.
void PoolOnlyEngine::finish(Job& job) {
  ServedRequest& request = *job.request;
  RequestRecord& record = request.record;
  const std::size_t whole =
      leading_pages({.count = job.leading}, [&](std::size_t page) { return job.has[page] != 0; });
  for (std::size_t page = whole; page < job.leading; ++page) {
    request.missing[page] = job.has[page] != 0 ? MissReason::behind_a_miss : job.late;
  }
  for (std::size_t page = whole; page < request.missing.size(); ++page) {
    ++record.misses[static_cast<std::size_t>(request.missing[page])];
  }
  record.pool_hits = static_cast<std::uint32_t>(whole);
  record.prefetch_end = record.prefill_begin = record.first_token = record.end = kernel_.now();
  record.outcome = Outcome::completed;
  fill_pages(request, whole);
  job.request = nullptr;
  if (pages_.empty()) {
    put_ended(job);
  } else {
    job.stage = Job::Stage::putting;
    pool_.put(host_memory_, pages_, job.put());
  }
  served_.first_token(request);
  served_.ended(request);
}

void PoolOnlyEngine::put_ended(Job& job) {
  job.stage = Job::Stage::free;
  free_jobs_.push_back(&job);
}

void PoolOnlyEngine::drop() {
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->stage == Job::Stage::looking) pool_.give_up(job->lookup());
    if (job->stage == Job::Stage::reading) pool_.give_up(job->read());
    if (job->stage == Job::Stage::putting) pool_.give_up(job->put());
  }
}

void PoolOnlyEngine::lose() {
  drop();
  const std::size_t before = to_tell_.size();
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job->stage == Job::Stage::free) continue;
    if (job->request != nullptr) {
      to_tell_.push_back(job->request);
      job->request->record.outcome = Outcome::engine_lost;
      job->request->record.end = kernel_.now();
    }
    job->request = nullptr;
    put_ended(*job);
  }
  std::ranges::sort(to_tell_.begin() + static_cast<std::ptrdiff_t>(before), to_tell_.end(), {},
                    [](const ServedRequest* request) { return request->record.number; });
  kernel_.arm(*tell_, kernel_.now());
}

void PoolOnlyEngine::tell() {
  const std::vector<ServedRequest*> ended = std::exchange(to_tell_, {});
  for (ServedRequest* request : ended) served_.ended(*request);
}

}  // namespace larder::sim
