#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace larder::sim {

// What one engine has of the KV of its prompts: a radix tree whose nodes are blocks of prompts,
// each on the GPUs, in the memory of the host, or in both, as SGLang's HiCache keeps it
// ("HiRadixTree").
//
// A block's id stands for all before it too, so that a map of ids and the parents make the tree. An
// id that comes behind another block than it is known for breaks that promise of the trace: it is
// not found there and not added, and so are those behind it. On
// the GPUs the tree is closed: a block is there only with all before it. The host may have blocks
// whose parents it has lost; they are of use again once those are back.
//
// Who uses blocks locks them. A use of the GPUs (a request that runs, a copy from there) locks a
// whole path, in both places; a use of the host (a put) its blocks in that place. What nobody has
// locked leaves when room is made, the least recently used block first, and of a path its end: from
// the host only what is not on the GPUs too.
//
// Memory is O(blocks of both places). No call allocates but for growth. Each costs O(1) for each
// block that it names or evicts.
class BlockTree {
 public:
  using Node = std::uint32_t;  // while it is locked, or nothing else happens
  static constexpr Node none = ~Node{0};

  struct Room {
    std::uint64_t gpu = 0;  // in blocks
    std::uint64_t host = 0;
  };
  explicit BlockTree(Room room) : room_(room), free_(room) {}

  // The leading blocks of a prompt that are here, of which `on_gpu` come first. They replace what
  // is in `path`.
  struct Match {
    std::size_t on_gpu = 0;
    std::size_t blocks = 0;
  };
  Match find(std::span<const std::uint64_t> prompt, std::vector<Node>& path) const;
  // Only how many they are.
  std::size_t leading(std::span<const std::uint64_t> prompt) const;

  // A use of the GPUs, of a path from its begin on. Unlocking counts as use of the path.
  void lock(std::span<const Node> path);
  void unlock(std::span<const Node> path);
  // A use of the host.
  void lock_host(Node node);
  void unlock_host(Node node);

  const Room& room() const { return room_; }
  const Room& free() const { return free_; }
  // Blocks that are not in the tree: reserved for computing, for output, for what is on its way.
  // Precondition: they are free, or were taken.
  void take_gpu(std::uint64_t blocks);
  void give_gpu(std::uint64_t blocks);
  void take_host(std::uint64_t blocks);
  void give_host(std::uint64_t blocks);

  // Evicts until so many blocks are free. Whether they are: if too few may leave, none does.
  bool make_host_room(std::uint64_t blocks);
  // With `keep`, what is not on the host gets a place there first, where there is one, and stays on
  // the GPUs, locked: the caller copies it, and then calls left() for all, in their order.
  struct Leaving {
    Node node = none;
    bool copy = false;  // else it only waits for those behind it
  };
  bool make_gpu_room(std::uint64_t blocks, bool keep, std::vector<Leaving>& leaving);
  void left(Node node);

  // A block behind `parent` (none: a first one), locked for the caller as part of a path. It uses
  // a GPU block that was taken; if it is there already, that one becomes free. `none`: not added.
  Node add_on_gpu(Node parent, std::uint64_t id);
  // The block, which is on the host, uses a GPU block that was taken.
  void load(Node node);
  // The block uses a host block that was taken.
  void save(Node node);
  // A block behind `parent`. It uses a host block that was taken; if it is here already, in either
  // place, that one becomes free.
  struct Added {
    Node node = none;    // none: not added
    bool fresh = false;  // it was not here
  };
  Added add_on_host(Node parent, std::uint64_t id);

  bool on_gpu(Node node) const { return nodes_[node].gpu; }
  bool on_host(Node node) const { return nodes_[node].host; }
  std::uint64_t id(Node node) const { return nodes_[node].id; }
  std::uint64_t parent_id(Node node) const;  // its own if it is a first one
  std::uint32_t depth(Node node) const { return nodes_[node].depth; }

  // What engines note at a block; kept while it is here.
  struct Notes {
    std::uint32_t uses = 0;
    std::uint32_t load = 0;  // the number of the copy that brought it to the GPUs last
    bool in_pool = false;    // it came from there, or was put
  };
  Notes& notes(Node node) { return nodes_[node].notes; }

  std::size_t blocks() const { return index_.size(); }
  // Walks all; for tests.
  void check_invariants() const;

 private:
  struct Block {
    std::uint64_t id = 0;
    Node parent = none;
    Node before = none;  // in the list that it is in
    Node behind = none;
    std::uint32_t depth = 0;
    std::uint32_t children = 0;
    std::uint32_t gpu_children = 0;
    std::uint32_t locks = 0;
    std::uint32_t host_locks = 0;
    Notes notes;
    bool gpu = false;
    bool host = false;
    std::uint8_t list = 0;  // 0: none
  };
  // Of what may leave a place, the least recently used first.
  struct List {
    Node first = none;
    Node last = none;
    std::uint64_t blocks = 0;
  };

  // What is here, behind this parent.
  Node look_up(Node parent, std::uint64_t id) const;
  // `none` if the id is known behind another parent.
  Node find_or_add(Node parent, std::uint64_t id);
  // Puts the block where its state says, as the most recently used.
  void place(Node node);
  void unlink(Node node);
  void evict_from_gpu(Node node);
  // Forgets the block if it is nowhere, and so its parents.
  void prune(Node node);
  void set_gpu(Node node, bool there);

  Room room_;
  Room free_;
  std::vector<Block> nodes_;
  std::vector<Node> unused_;
  boost::unordered_flat_map<std::uint64_t, Node> index_;
  List lists_[3];  // by Block::list: on the GPUs, on the host alone
};

}  // namespace larder::sim
