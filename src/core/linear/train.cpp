#include "linear/train.hpp"

#include <cstring>
#include <mutex>

#include "linear/memory.hpp"
#include "linear/store.hpp"

namespace labeltrees {

namespace {

// Up to 16 children of one node.
struct Task {
  int64_t node;
  int64_t first_edge;
  int32_t n_edges;
  int32_t shared;  // which SharedNode, or -1: the node is this task alone
};

// The rows of a node with more children than one task takes: the first to come gathers, the last to leave frees.
struct SharedNode {
  std::mutex mutex;
  std::unique_ptr<NodeRows> rows;
  int left = 0;
};

struct Worker {
  GatherScratch scratch;
  NodeRows rows;
  LaneSolver solver;
  WeightQueue queue;
  AlignedScratch<uint16_t> kept;

  explicit Worker(const Points& points) : scratch(points) {}
};

class Training {
 public:
  Training(const TrainInput& input, const LinearOptions& options, int n_threads, Job& job)
      : input_(input),
        options_(options),
        job_(job),
        occurrences_(input.tree, input.labels, input.points.n_points, input.n_labels, input.label_cost, job) {
    list_tasks();
    limit_memory(n_threads);
    n_threads_ = static_cast<int>(std::min<int64_t>(n_threads, static_cast<int64_t>(tasks_.size())));
    workers_.resize(std::max(n_threads_, 1));
    worker_of_task_.resize(tasks_.size());
    if (!input.points.dense()) result_.indptr.resize(input.tree.n_edges() + 1);
    result_.bias.resize(input.tree.n_edges());
    if (input.points.dense()) result_.values.reset(new float[input.tree.n_edges() * input.points.n_features]);
  }

  LinearWeights run() {
    parallel_for(static_cast<int64_t>(tasks_.size()), n_threads_, [&](int64_t task, int thread) {
      if (!workers_[thread]) workers_[thread] = std::make_unique<Worker>(input_.points);
      worker_of_task_[task] = static_cast<uint16_t>(thread);
      train_within_limit(tasks_[task], *workers_[thread]);
      job_.done += tasks_[task].n_edges;
    });
    if (!input_.points.dense()) collect();
    return std::move(result_);
  }

 private:
  const TrainInput& input_;
  const LinearOptions& options_;
  Job& job_;
  Occurrences occurrences_;
  int n_threads_;
  std::vector<Task> tasks_;
  std::vector<std::unique_ptr<SharedNode>> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<uint16_t> worker_of_task_;
  std::unique_ptr<MemoryPlan> plan_;  // and the gate, where memory is limited
  std::unique_ptr<MemoryGate> gate_;
  LinearWeights result_;

  void limit_memory(int n_threads) {
    if (input_.max_memory <= 0) return;
    plan_ = std::make_unique<MemoryPlan>(input_.points, input_.labels, input_.tree, input_.n_labels,
                                         input_.extra_indptr, input_.weighted(options_));
    gate_ = std::make_unique<MemoryGate>(input_.max_memory - plan_->need(n_threads).fixed);
  }

  // In the order of the edges: nodes are numbered from the root down, so the largest come first and the last are small,
  // and every thread finishes its classifiers in rising order, which is what collect() needs.
  void list_tasks() {
    const TreeView& tree = input_.tree;
    for (int64_t node = 0; node < tree.n_nodes; ++node) {
      const int64_t n_edges = tree.child_ptr[node + 1] - tree.child_ptr[node];
      const int64_t n_tasks = (n_edges + kMaxLanes - 1) / kMaxLanes;
      int32_t shared = -1;
      if (n_tasks > 1) {
        shared = static_cast<int32_t>(shared_.size());
        shared_.push_back(std::make_unique<SharedNode>());
        shared_.back()->left = static_cast<int>(n_tasks);
      }
      for (int64_t task = 0; task < n_tasks; ++task) {
        const int64_t first = n_edges * task / n_tasks, last = n_edges * (task + 1) / n_tasks;
        tasks_.push_back({node, tree.child_ptr[node] + first, static_cast<int32_t>(last - first), shared});
      }
    }
  }

  void gather(int64_t node, NodeRows& rows, GatherScratch& scratch) {
    const TreeView& tree = input_.tree;
    const int64_t extra = input_.extra_indptr ? input_.extra_indptr[node] : 0;
    rows.gather(input_.points, occurrences_, occurrences_.begin(tree.child_ptr[node]),
                occurrences_.end(tree.child_ptr[node + 1] - 1), input_.extra_points + extra,
                input_.extra_indptr ? input_.extra_indptr[node + 1] - extra : 0, input_.point_weight,
                options_.bias_value, scratch, job_);
  }

  void train_within_limit(const Task& task, Worker& worker) {
    if (!gate_) {
      train(task, worker);
      return;
    }
    // A node's rows are counted from its first task to its last.
    const int64_t own = plan_->task_bytes(task.node), rows = plan_->rows_bytes(task.node);
    const bool first = task.first_edge == input_.tree.child_ptr[task.node];
    const bool last = task.first_edge + task.n_edges == input_.tree.child_ptr[task.node + 1];
    if (!gate_->enter(own + (first ? rows : 0))) return;
    try {
      const int64_t n_weights = train(task, worker);
      gate_->leave(own + (first ? rows : 0), n_weights * 8 + (first ? rows : 0) - (last ? rows : 0));
    } catch (...) {
      gate_->stop();
      throw;
    }
  }

  // Returns the number of weights kept.
  int64_t train(const Task& task, Worker& worker) {
    if (task.shared < 0) {
      gather(task.node, worker.rows, worker.scratch);
      return solve(task, worker.rows, worker);
    }
    SharedNode& shared = *shared_[task.shared];
    {
      std::lock_guard lock(shared.mutex);
      if (!shared.rows) {
        auto rows = std::make_unique<NodeRows>();
        gather(task.node, *rows, worker.scratch);
        shared.rows = std::move(rows);
      }
    }
    const int64_t n_weights = solve(task, *shared.rows, worker);
    std::lock_guard lock(shared.mutex);
    if (--shared.left == 0) shared.rows.reset();
    return n_weights;
  }

  int64_t solve(const Task& task, const NodeRows& rows, Worker& worker) {
    LaneTargets targets{};
    targets.n_lanes = task.n_edges;
    const int64_t first_pair = occurrences_.begin(input_.tree.child_ptr[task.node]);
    for (int lane = 0; lane < task.n_edges; ++lane) {
      targets.pair_begin[lane] = occurrences_.begin(task.first_edge + lane) - first_pair;
      targets.pair_end[lane] = occurrences_.end(task.first_edge + lane) - first_pair;
    }
    if (occurrences_.costs()) targets.pair_costs = occurrences_.costs() + first_pair;
    worker.solver.solve(rows, targets, options_, static_cast<uint64_t>(task.first_edge), job_);
    if (!input_.points.dense()) return keep(task, rows, worker);
    keep_dense(task, worker.solver);
    return int64_t{task.n_edges} * input_.points.n_features / 2;
  }

  void keep_dense(const Task& task, const LaneSolver& solver) {
    const int64_t n_features = input_.points.n_features;
    for (int lane = 0; lane < task.n_edges; ++lane) {
      float* row = result_.values.get() + (task.first_edge + lane) * n_features;
      for (int64_t column = 0; column < n_features; ++column)
        row[column] = solver.weights()[column * solver.lanes() + lane];
      result_.bias[task.first_edge + lane] = solver.bias()[lane];
    }
  }

  // Puts the weights that are large enough aside, one row a lane.
  int64_t keep(const Task& task, const NodeRows& rows, Worker& worker) {
    const LaneSolver& solver = worker.solver;
    const int lanes = solver.lanes();
    int32_t counts[kMaxLanes];
    worker.kept.resize(rows.n_columns);
    solver.kernels().find_kept(solver.weights(), rows.n_columns, options_.prune_below, worker.kept.data(), counts);
    const uint32_t lanes_used = (1u << task.n_edges) - 1;
    int64_t next[kMaxLanes];
    int64_t n = 0;
    for (int lane = 0; lane < task.n_edges; ++lane) {
      next[lane] = n;
      n += counts[lane];
      result_.indptr[task.first_edge + lane + 1] = counts[lane];
      result_.bias[task.first_edge + lane] = solver.bias()[lane];
    }
    int32_t* features;
    float* values;
    worker.queue.push(n, &features, &values);
    for (int64_t column = 0; column < rows.n_columns; ++column) {
      for (uint32_t left = worker.kept[column] & lanes_used; left != 0; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        features[next[lane]] = rows.identity ? static_cast<int32_t>(column) : rows.features[column];
        values[next[lane]++] = solver.weights()[column * lanes + lane];
      }
    }
    return n;
  }

  void collect() {
    for (auto& worker : workers_) {  // all but the weights can go
      if (!worker) continue;
      auto weights_only = std::make_unique<Worker>(Points{0, 0, nullptr, nullptr, nullptr});
      weights_only->queue.swap(worker->queue);
      worker = std::move(weights_only);
    }
    auto& indptr = result_.indptr;
    for (size_t edge = 0; edge + 1 < indptr.size(); ++edge) indptr[edge + 1] += indptr[edge];
    result_.features.reset(new int32_t[indptr.back()]);
    result_.values.reset(new float[indptr.back()]);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      const int64_t from = indptr[tasks_[i].first_edge];
      const int64_t n = indptr[tasks_[i].first_edge + tasks_[i].n_edges] - from;
      const int32_t* features = nullptr;
      const float* values = nullptr;
      workers_[worker_of_task_[i]]->queue.pop(n, &features, &values);
      if (n == 0) continue;
      std::memcpy(result_.features.get() + from, features, static_cast<size_t>(n) * sizeof(int32_t));
      std::memcpy(result_.values.get() + from, values, static_cast<size_t>(n) * sizeof(float));
    }
  }
};

}  // namespace

LinearWeights train_linear(const TrainInput& input, const LinearOptions& options, int n_threads, Job& job) {
  return Training(input, options, n_threads, job).run();
}

}  // namespace labeltrees
