#pragma once

#include <rapidcheck.h>

#include <iterator>
#include <map>
#include <set>
#include <string>

#include "core/protocol/answer.h"
#include "core/protocol/extent_shape.h"
#include "core/protocol/object.h"

namespace larder::property {

// What a correct directory may answer, in ordinary maps. It is told what a master was asked, what
// it answered and what the nodes did, across masters and incarnations, and fails the property when
// an answer is none of a correct directory.
class Reference {
 public:
  // A put id and its places, as a master grants them for the first time.
  void granted(const std::string& key, Bytes size, bool upsert, const PutGrant& grant) {
    RC_ASSERT(!grant.replicas.empty());
    const bool is_new = puts_.emplace(grant.put_id, Put{.key = key, .upsert = upsert}).second;
    RC_ASSERT(is_new);  // put ids are never used twice
    const Bytes length = extent_shape(size).length;
    for (const ReplicaLocation& at : grant.replicas) {
      RC_ASSERT(!lost_.contains(at.segment));
      auto& places = occupied_[at.segment];
      for (const auto& [offset, taken] : places) {
        // Neither live objects overlap, nor is quarantined space given out.
        RC_ASSERT(offset + taken.length <= at.offset || at.offset + length <= offset);
      }
      places[at.offset] = {.length = length, .put_id = grant.put_id};
    }
  }
  bool knows(PutId id) const { return puts_.contains(id); }
  const std::string& key_of(PutId id) const { return puts_.at(id).key; }

  void sealed(const ExtentName& extent) { sealed_.insert(extent); }
  // A PutEnd of it has reached a master.
  void end_asked(PutId id) {
    if (const auto put = puts_.find(id); put != puts_.end()) put->second.end_asked = true;
  }
  // ... and was acknowledged: an upsert ends every older version.
  void ended(PutId id) {
    const Put& put = puts_.at(id);
    RC_ASSERT(put.end_asked);
    if (!put.upsert) return;
    for (auto& [other, older] : puts_) {
      if (other < id && older.key == put.key) older.dead = true;
    }
  }
  void revoked(PutId id) {
    if (const auto put = puts_.find(id); put != puts_.end()) put->second.dead = true;
  }
  // What a removal that is carried out now ends, once it is acknowledged.
  std::set<PutId> puts_of(std::string_view key) const {
    std::set<PutId> ids;
    for (const auto& [id, put] : puts_) {
      if (put.key == key) ids.insert(id);
    }
    return ids;
  }
  void removed(const std::set<PutId>& before) {
    for (const PutId id : before) puts_.at(id).dead = true;
  }

  // The node has sent a confirmation of it: its space may be given out again.
  void confirmed(const ExtentName& extent) {
    auto& places = occupied_[extent.location.segment];
    const auto at = places.find(extent.location.offset);
    if (at != places.end() && at->second.put_id == extent.put_id) places.erase(at);
  }
  // The node has sent all that it holds to a master of epoch `to`. What older ones granted there
  // and it does not hold is free.
  void reported(SegmentId segment, const std::set<ExtentName>& held, Epoch to) {
    std::erase_if(occupied_[segment], [&](const auto& place) {
      const ExtentName name{place.second.put_id, {segment, place.first}};
      return name.put_id.epoch < to && !held.contains(name);
    });
  }
  // Recovery: of two versions that a master knows from its nodes the higher put id wins, and the
  // lower one stays away unless the winner goes later, as by eviction.
  void new_master() {
    found_.clear();
    asked_.clear();
    beaten_.clear();
  }
  void next_step() { ++step_; }
  void found(std::string_view key, PutId id) {
    if (asked_.contains(id)) return;
    std::set<PutId>& versions = found_[std::string(key)];
    versions.insert(id);
    for (const PutId lower : versions) {
      if (lower != *versions.rbegin())
        beaten_[lower] = {.winner = *versions.rbegin(), .step = step_};
    }
  }
  // It was asked to be retired, for whatever reason.
  void asked(PutId id) {
    asked_.insert(id);
    for (auto& [key, versions] : found_) versions.erase(id);
    std::erase_if(beaten_, [&](const auto& one) {
      return one.second.winner == id && one.second.step != step_;
    });
  }
  void lost(SegmentId segment) {
    lost_.insert(segment);
    found_.clear();  // what was there may have been the highest
    beaten_.clear();
    occupied_.erase(segment);
  }

  // A master of that epoch answers a reader.
  void listed(std::string_view key, Epoch epoch, const ReplicaList& list) {
    RC_ASSERT(puts_.contains(list.put_id));
    const Put& put = puts_.at(list.put_id);
    RC_ASSERT(put.key == key);
    RC_ASSERT(!put.dead);  // no acknowledged removal, upsert or revocation is undone
    RC_ASSERT(put.end_asked || list.put_id.epoch < epoch);
    RC_ASSERT(!beaten_.contains(list.put_id));
    RC_ASSERT(!list.replicas.empty());
    for (const ReplicaLocation& at : list.replicas) {
      RC_ASSERT(sealed_.contains(ExtentName{list.put_id, at}));
      RC_ASSERT(!lost_.contains(at.segment));
    }
  }

 private:
  struct Put {
    std::string key;
    bool upsert = false;
    bool end_asked = false;
    bool dead = false;
  };
  struct Place {
    Bytes length;
    PutId put_id;
  };
  std::map<PutId, Put> puts_;
  std::set<ExtentName> sealed_;
  std::map<SegmentId, std::map<Bytes, Place>> occupied_;
  std::set<SegmentId> lost_;
  // Of the present master.
  std::map<std::string, std::set<PutId>> found_;
  std::set<PutId> asked_;
  struct Beaten {
    PutId winner;
    std::uint64_t step;
  };
  std::map<PutId, Beaten> beaten_;
  std::uint64_t step_ = 0;
};

}  // namespace larder::property
