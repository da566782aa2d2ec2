#include "sim/serving/block_tree.h"

#include <ranges>

#include "core/base/assert.h"

namespace larder::sim {
namespace {

constexpr std::uint8_t no_list = 0;
constexpr std::uint8_t gpu_list = 1;
constexpr std::uint8_t host_list = 2;

}  // namespace

BlockTree::Match BlockTree::find(std::span<const std::uint64_t> prompt,
                                 std::vector<Node>& path) const {
  path.clear();
  Match match;
  Node parent = none;
  for (const std::uint64_t id : prompt) {
    const Node node = look_up(parent, id);
    if (node == none) break;
    if (nodes_[node].gpu) ++match.on_gpu;
    path.push_back(node);
    parent = node;
  }
  match.blocks = path.size();
  return match;
}

std::size_t BlockTree::leading(std::span<const std::uint64_t> prompt) const {
  std::size_t count = 0;
  Node parent = none;
  for (const std::uint64_t id : prompt) {
    const Node node = look_up(parent, id);
    if (node == none) break;
    parent = node;
    ++count;
  }
  return count;
}

BlockTree::Node BlockTree::look_up(Node parent, std::uint64_t id) const {
  const auto at = index_.find(id);
  if (at == index_.end()) return none;
  const Block& block = nodes_[at->second];
  return block.parent == parent && (block.gpu || block.host) ? at->second : none;
}

// ---- locks --------------------------------------------------------------------------------------

void BlockTree::lock(std::span<const Node> path) {
  for (const Node node : path) {
    ++nodes_[node].locks;
    unlink(node);
  }
}

// From the end on, so that a block is always less recently used than those before it.
void BlockTree::unlock(std::span<const Node> path) {
  for (const Node node : std::views::reverse(path)) {
    LARDER_ASSERT(nodes_[node].locks > 0);
    --nodes_[node].locks;
    place(node);
  }
}

void BlockTree::lock_host(Node node) {
  ++nodes_[node].host_locks;
  if (nodes_[node].list == host_list) unlink(node);
}

void BlockTree::unlock_host(Node node) {
  LARDER_ASSERT(nodes_[node].host_locks > 0);
  --nodes_[node].host_locks;
  if (nodes_[node].list == no_list) place(node);
  prune(node);
}

void BlockTree::place(Node node) {
  unlink(node);
  Block& block = nodes_[node];
  if (block.locks > 0) return;
  if (block.gpu) {
    block.list = gpu_list;
  } else if (block.host && block.host_locks == 0) {
    block.list = host_list;
  } else {
    return;
  }
  List& list = lists_[block.list];
  block.before = list.last;
  block.behind = none;
  (list.last == none ? list.first : nodes_[list.last].behind) = node;
  list.last = node;
  ++list.blocks;
}

void BlockTree::unlink(Node node) {
  Block& block = nodes_[node];
  if (block.list == no_list) return;
  List& list = lists_[block.list];
  (block.before == none ? list.first : nodes_[block.before].behind) = block.behind;
  (block.behind == none ? list.last : nodes_[block.behind].before) = block.before;
  block.list = no_list;
  --list.blocks;
}

// ---- room ---------------------------------------------------------------------------------------

void BlockTree::take_gpu(std::uint64_t blocks) {
  LARDER_ASSERT(blocks <= free_.gpu);
  free_.gpu -= blocks;
}

void BlockTree::give_gpu(std::uint64_t blocks) {
  free_.gpu += blocks;
  LARDER_ASSERT(free_.gpu <= room_.gpu);
}

void BlockTree::take_host(std::uint64_t blocks) {
  LARDER_ASSERT(blocks <= free_.host);
  free_.host -= blocks;
}

void BlockTree::give_host(std::uint64_t blocks) {
  free_.host += blocks;
  LARDER_ASSERT(free_.host <= room_.host);
}

bool BlockTree::make_host_room(std::uint64_t blocks) {
  if (free_.host + lists_[host_list].blocks < blocks) return false;
  while (free_.host < blocks) {
    const Node node = lists_[host_list].first;
    unlink(node);
    nodes_[node].host = false;
    give_host(1);
    prune(node);
  }
  return true;
}

bool BlockTree::make_gpu_room(std::uint64_t blocks, bool keep, std::vector<Leaving>& leaving) {
  if (free_.gpu + lists_[gpu_list].blocks < blocks) return false;
  std::uint64_t on_the_way = 0;
  while (free_.gpu + on_the_way < blocks) {
    const Node node = lists_[gpu_list].first;
    const bool copy = keep && !nodes_[node].host && make_host_room(1);
    if (!copy && nodes_[node].gpu_children == 0) {
      evict_from_gpu(node);
      continue;
    }
    if (copy) {
      take_host(1);
      nodes_[node].host = true;
    }
    ++nodes_[node].locks;
    unlink(node);
    leaving.push_back({.node = node, .copy = copy});
    ++on_the_way;
  }
  return free_.gpu >= blocks;
}

void BlockTree::left(Node node) {
  LARDER_ASSERT(nodes_[node].locks > 0);
  --nodes_[node].locks;
  if (nodes_[node].locks > 0) return;  // somebody has found it meanwhile
  if (nodes_[node].gpu_children == 0) {
    evict_from_gpu(node);
  } else {
    place(node);
  }
}

void BlockTree::evict_from_gpu(Node node) {
  LARDER_ASSERT(nodes_[node].gpu_children == 0, "a block would stay without those before it");
  unlink(node);
  set_gpu(node, false);
  give_gpu(1);
  place(node);
  prune(node);
}

void BlockTree::prune(Node node) {
  while (node != none) {
    const Block& block = nodes_[node];
    if (block.gpu || block.host || block.children > 0 || block.locks > 0 || block.host_locks > 0) {
      return;
    }
    const Node parent = block.parent;
    index_.erase(block.id);
    unused_.push_back(node);
    if (parent != none) --nodes_[parent].children;
    node = parent;
  }
}

// ---- blocks -------------------------------------------------------------------------------------

void BlockTree::set_gpu(Node node, bool there) {
  Block& block = nodes_[node];
  LARDER_ASSERT(block.gpu != there);
  block.gpu = there;
  if (block.parent == none) return;
  if (there) {
    ++nodes_[block.parent].gpu_children;
  } else {
    --nodes_[block.parent].gpu_children;
  }
}

BlockTree::Node BlockTree::find_or_add(Node parent, std::uint64_t id) {
  const auto [at, fresh] = index_.try_emplace(id, none);
  if (!fresh) {
    return nodes_[at->second].parent == parent ? at->second : none;
  }
  Node node = static_cast<Node>(nodes_.size());
  if (unused_.empty()) {
    nodes_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
    nodes_[node] = Block();
  }
  at->second = node;
  nodes_[node].id = id;
  nodes_[node].parent = parent;
  if (parent != none) {
    nodes_[node].depth = nodes_[parent].depth + 1;
    ++nodes_[parent].children;
  }
  return node;
}

BlockTree::Node BlockTree::add_on_gpu(Node parent, std::uint64_t id) {
  LARDER_ASSERT(parent == none || nodes_[parent].gpu);
  const Node node = find_or_add(parent, id);
  if (node == none) return none;
  if (nodes_[node].gpu) {
    give_gpu(1);
  } else {
    set_gpu(node, true);
  }
  ++nodes_[node].locks;
  unlink(node);
  return node;
}

void BlockTree::load(Node node) {
  LARDER_ASSERT(nodes_[node].host && nodes_[node].locks > 0);
  set_gpu(node, true);
}

void BlockTree::save(Node node) {
  LARDER_ASSERT(nodes_[node].gpu && !nodes_[node].host);
  nodes_[node].host = true;
}

BlockTree::Added BlockTree::add_on_host(Node parent, std::uint64_t id) {
  const Node node = find_or_add(parent, id);
  if (node == none || nodes_[node].gpu || nodes_[node].host) {
    give_host(1);
    return {.node = node};
  }
  nodes_[node].host = true;
  nodes_[node].notes = {};
  place(node);
  return {.node = node, .fresh = true};
}

std::uint64_t BlockTree::parent_id(Node node) const {
  const Node parent = nodes_[node].parent;
  return parent == none ? nodes_[node].id : nodes_[parent].id;
}

void BlockTree::check_invariants() const {
  std::vector<std::uint32_t> children(nodes_.size());
  std::vector<std::uint32_t> gpu_children(nodes_.size());
  std::uint64_t listed = 0;
  for (const auto& [id, node] : index_) {
    const Block& block = nodes_[node];
    LARDER_ASSERT(block.id == id);
    LARDER_ASSERT(block.gpu || block.host || block.children > 0 || block.locks > 0 ||
                  block.host_locks > 0);
    if (block.parent != none) {
      ++children[block.parent];
      if (block.gpu) ++gpu_children[block.parent];
      LARDER_ASSERT(!block.gpu || nodes_[block.parent].gpu);
    }
    std::uint8_t list = no_list;
    if (block.locks == 0 && block.gpu) list = gpu_list;
    if (block.locks == 0 && !block.gpu && block.host && block.host_locks == 0) list = host_list;
    LARDER_ASSERT(block.list == list);
    if (list != no_list) ++listed;
  }
  for (const auto& [id, node] : index_) {
    LARDER_ASSERT(children[node] == nodes_[node].children);
    LARDER_ASSERT(gpu_children[node] == nodes_[node].gpu_children);
  }
  for (const std::uint8_t list : {gpu_list, host_list}) {
    std::uint64_t blocks = 0;
    for (Node node = lists_[list].first; node != none; node = nodes_[node].behind) ++blocks;
    LARDER_ASSERT(blocks == lists_[list].blocks);
    listed -= blocks;
  }
  LARDER_ASSERT(listed == 0);
}

}  // namespace larder::sim
