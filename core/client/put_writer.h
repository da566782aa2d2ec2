#pragma once

#include <memory>

#include "core/base/bytes.h"
#include "core/client/items.h"

namespace larder {

// A put whose bytes come in parts, in order: from a writer that makes them layer by layer, or from
// a file larger than memory. Client::begin_put makes it, Client::write_parts fills it, and
// Client::end_put publishes it. The first part already goes to where the value will lie; nobody can
// read it before the end.
//
// A put in parts cannot start once more elsewhere, as a whole put does, since the bytes that have
// gone are not here any more: when no node that was given it can take a part, when a new master
// leads, or when a call on it was given up, it is dead, and so is every later call on it
// (invalid_write). It must end within the time that the pool allows from its begin on: 10 s and 1 s
// for each 50 MB.
//
// Destroying one that has not ended gives the put up at once. Must not outlive its client, nor be
// destroyed while a call on it is under way; moving it is harmless then. Confined to the client's
// strand.
class PutWriter {
 public:
  PutWriter(PutWriter&&) noexcept;
  PutWriter& operator=(PutWriter&&) noexcept;
  ~PutWriter();

  Bytes size() const;
  Bytes written() const;
  // The key is there, whole: there is nothing to write, and end_put says the same.
  bool already_stored() const;

  struct State;
  explicit PutWriter(std::unique_ptr<State> state);  // for core/client itself
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// The next bytes of one, up to its size in all.
struct PutPart {
  PutWriter* writer = nullptr;
  std::span<const ConstSlice> bytes;
};

}  // namespace larder
