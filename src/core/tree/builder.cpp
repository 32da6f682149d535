#include "tree/builder.hpp"

#include <algorithm>
#include <cmath>

#include "common/random.hpp"
#include "common/threads.hpp"
#include "tree/partition.hpp"

namespace labeltrees::tree {

namespace {

// A set is split by all threads together if it has more embedding values than kTeamValues, and clearly more than a
// thread's share of all values. Each smaller one is a task for one thread, which is faster where there are enough
// tasks.
constexpr int64_t kTeamValues = 1 << 18;
constexpr double kTeamShare = 1.2;

// With at most this number of columns, and with dense rows, columns keep their numbers. The two sides of a split then
// need no copies: their rows stay where they are.
constexpr int32_t kFewColumns = 8192;

// The nodes built so far: each has two children, or is a leaf with labels.
struct GrowingTree {
  struct Node {
    int32_t children[2];            // of an inner node
    int64_t first_label, n_labels;  // of a leaf: its range of `labels`; n_labels is 0 for an inner node
  };
  std::vector<Node> nodes;
  std::vector<int32_t> labels;
};

struct Pending {
  NodeLabels set;
  uint64_t seed;
  int32_t parent;  // in the growing tree, or -1
  int side;        // which child of its parent: 0 or 1
};

// The seeds of a node's split and of the nodes below, from the node's own seed. They depend on the node's place alone.
struct NodeSeeds {
  uint64_t split, plus, minus;

  explicit NodeSeeds(uint64_t seed) : split(next_random(seed)), plus(next_random(seed)), minus(next_random(seed)) {}
};

// The work of splitting n labels down to leaves, for progress.
double work(double n, double leaf_size) { return n > leaf_size ? n * std::log2(n / leaf_size) : 0; }

class Builder {
 public:
  Builder(labels::RowBuffer root, int32_t n_columns, const BuildSettings& settings, Job& job)
      : settings_(settings), job_(job), leaf_size_(std::max<int64_t>(settings.leaf_size, 1)) {
    const auto n_rows = static_cast<int64_t>(root.rows.size());
    int64_t n_values = 0;
    for (const labels::LabelRow& row : root.rows) n_values += row.length;
    root_set_ = {0, n_rows, 0, n_values, n_columns, 0};
    total_work_ = work(static_cast<double>(n_rows), static_cast<double>(leaf_size_));
    task_values_ =
        std::max(kTeamValues, static_cast<int64_t>(kTeamShare * static_cast<double>(n_values) / settings.n_threads));
    buffers_[0] = std::move(root);
    buffers_[1].rows.resize(n_rows);
    if (buffers_[0].columns && n_columns > kFewColumns && n_rows > leaf_size_) {
      buffers_[1].allocate(n_values);
    } else {
      buffers_[1].columns = buffers_[0].columns;
      buffers_[1].values = buffers_[0].values;
    }
  }

  TreeArrays build() {
    GrowingTree top;
    std::vector<Pending> tasks;
    {
      Team team(settings_.n_threads);
      grow(top, {{root_set_, settings_.seed, -1, 0}}, team, &tasks);
    }
    // Largest first, so that no thread starts a large set at the end.
    std::sort(tasks.begin(), tasks.end(), [](const Pending& a, const Pending& b) {
      return a.set.n_values != b.set.n_values ? a.set.n_values > b.set.n_values : a.set.first_row < b.set.first_row;
    });
    std::vector<GrowingTree> subtrees(tasks.size());
    parallel_for(static_cast<int64_t>(tasks.size()), settings_.n_threads, [&](int64_t task, int) {
      Team alone(1);
      Pending start = tasks[task];
      start.parent = -1;
      grow(subtrees[task], {start}, alone, nullptr);
    });
    for (size_t task = 0; task < tasks.size(); ++task) graft(top, subtrees[task], tasks[task]);
    job_.done = kProgressUnits;
    return freeze(top);
  }

 private:
  labels::LabelRows rows_of(const NodeLabels& set) const {
    const labels::RowBuffer& buffer = buffers_[set.depth % 2];
    return {buffer.rows.data() + set.first_row, set.n_rows, buffer.columns, buffer.values, set.n_columns};
  }

  // Splits the pending sets and the sets that result. If `later` is given, sets of at most kTeamValues go there.
  void grow(GrowingTree& tree, std::vector<Pending> stack, Team& team, std::vector<Pending>* later) {
    Splitter splitter(settings_.split, team, job_);
    Partition partition(team);
    while (!stack.empty()) {
      const Pending pending = stack.back();
      stack.pop_back();
      if (later && pending.set.n_values <= task_values_) {
        later->push_back(pending);
        continue;
      }
      const labels::LabelRows rows = rows_of(pending.set);
      if (pending.set.n_rows <= leaf_size_) {
        attach(tree, pending, add_leaf(tree, rows));
        continue;
      }
      const auto node = static_cast<int32_t>(tree.nodes.size());
      tree.nodes.push_back({{0, 0}, 0, 0});
      attach(tree, pending, node);
      if (settings_.weights.given() && pending.set.depth > 0)
        settings_.weights.set(buffers_[pending.set.depth % 2].rows.data() + pending.set.first_row, rows.n);
      const NodeSeeds seeds(pending.seed);
      splitter.split(rows, seeds.split);
      NodeLabels plus, minus;
      partition.apply(rows, pending.set, splitter.share(), buffers_[(pending.set.depth + 1) % 2], plus, minus);
      stack.push_back({minus, seeds.minus, node, 1});
      stack.push_back({plus, seeds.plus, node, 0});
      advance(pending.set.n_rows, plus.n_rows, minus.n_rows);
    }
  }

  // Adds a leaf node and returns its id. A single label below another node needs no leaf: returns ~label.
  int32_t add_leaf(GrowingTree& tree, const labels::LabelRows& rows) const {
    if (rows.n == 1 && root_set_.n_rows > 1) return ~rows.rows[0].label;
    tree.nodes.push_back({{0, 0}, static_cast<int64_t>(tree.labels.size()), rows.n});
    for (int64_t i = 0; i < rows.n; ++i) tree.labels.push_back(rows.rows[i].label);
    return static_cast<int32_t>(tree.nodes.size() - 1);
  }

  // Makes `child` a child of the set's parent.
  static void attach(GrowingTree& tree, const Pending& pending, int32_t child) {
    if (pending.parent >= 0)
      tree.nodes[pending.parent].children[pending.side] = child;
    else if (child < 0)
      tree.nodes.push_back(
          {{child, child}, 0, 0});  // a subtree of one label: graft() recognises it by its equal children
  }

  // Appends a subtree to `top` as the child that `task` describes.
  static void graft(GrowingTree& top, const GrowingTree& subtree, const Pending& task) {
    const GrowingTree::Node& root = subtree.nodes[0];
    if (root.n_labels == 0 && root.children[0] < 0 && root.children[0] == root.children[1]) {
      attach(top, task, root.children[0]);
      return;
    }
    const auto first_node = static_cast<int32_t>(top.nodes.size());
    const auto first_label = static_cast<int64_t>(top.labels.size());
    for (GrowingTree::Node node : subtree.nodes) {
      for (int32_t& child : node.children)
        if (child >= 0) child += first_node;
      node.first_label += first_label;
      top.nodes.push_back(node);
    }
    top.labels.insert(top.labels.end(), subtree.labels.begin(), subtree.labels.end());
    attach(top, task, first_node);
  }

  // Numbers the nodes depth-first, the + side first, so that the numbers do not depend on how the work was divided.
  static TreeArrays freeze(const GrowingTree& tree) {
    TreeArrays arrays;
    arrays.child_ptr.reserve(tree.nodes.size() + 1);
    arrays.child_ptr.push_back(0);
    struct Pending {
      int32_t node;
      int64_t slot;  // of arrays.children, where its parent refers to it
    };
    std::vector<Pending> stack = {{0, -1}};
    while (!stack.empty()) {
      const auto [id, slot] = stack.back();
      stack.pop_back();
      if (slot >= 0) arrays.children[slot] = static_cast<int32_t>(arrays.child_ptr.size() - 1);
      const GrowingTree::Node& node = tree.nodes[id];
      for (int64_t i = 0; i < node.n_labels; ++i) arrays.children.push_back(~tree.labels[node.first_label + i]);
      if (node.n_labels == 0) {
        const auto first = static_cast<int64_t>(arrays.children.size());
        arrays.children.insert(arrays.children.end(), {node.children[0], node.children[1]});
        for (int side : {1, 0})
          if (node.children[side] >= 0) stack.push_back({node.children[side], first + side});
      }
      arrays.child_ptr.push_back(static_cast<int64_t>(arrays.children.size()));
    }
    return arrays;
  }

  // Reports a finished split of n labels.
  void advance(int64_t n, int64_t n_plus, int64_t n_minus) {
    const auto leaf_size = static_cast<double>(leaf_size_);
    const double done = work(static_cast<double>(n), leaf_size) - work(static_cast<double>(n_plus), leaf_size) -
                        work(static_cast<double>(n_minus), leaf_size);
    std::lock_guard lock(progress_mutex_);
    done_work_ += done;
    job_.done = static_cast<int64_t>(kProgressUnits * std::min(1.0, done_work_ / total_work_));
  }

  const BuildSettings& settings_;
  Job& job_;
  const int64_t leaf_size_;
  NodeLabels root_set_;
  int64_t task_values_;           // sets of at most this number of values are tasks
  labels::RowBuffer buffers_[2];  // a set at depth d is in buffers_[d % 2]
  double total_work_ = 0, done_work_ = 0;
  std::mutex progress_mutex_;
};

}  // namespace

TreeArrays build_binary_tree(labels::RowBuffer rows, int32_t n_columns, const BuildSettings& settings, Job& job) {
  return Builder(std::move(rows), n_columns, settings, job).build();
}

SetSplit split_set(const labels::LabelRows& rows, const BuildSettings& settings, const Job& job) {
  const NodeSeeds seeds(settings.seed);
  Team team(settings.n_threads);
  Splitter splitter(settings.split, team, job);
  splitter.split(rows, seeds.split);
  SetSplit result{{}, seeds.plus, seeds.minus};
  result.is_plus.reserve(rows.n);
  for (double share : splitter.share()) result.is_plus.push_back(share > 0.5);
  return result;
}

}  // namespace labeltrees::tree
