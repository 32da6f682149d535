#include "linear/train.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "linear/memory.hpp"

namespace labeltrees::linear {

namespace {

// Up to 16 children of one node, trained together.
struct LaneGroup {
  int64_t node;
  int64_t first_edge;  // in the tree
  int64_t first_row;   // in the result
  int32_t n_edges;
  int32_t shared;    // index of the SharedNode, or -1: no other group needs the node's rows
  bool first, last;  // of the groups that share the rows
  float cost;        // C
};

// The rows of a node with several groups: the first group to run gathers them, the last one frees them.
struct SharedNode {
  std::mutex mutex;
  std::unique_ptr<NodeRows> rows;
  int groups_left = 0;
};

struct Worker {
  GatherScratch scratch;
  NodeRows rows;
  LaneSolver solver;
  WeightQueue queue;
  AlignedScratch<uint16_t> kept;

  explicit Worker(const Points& points) : scratch(points) {}
};

LaneTargets lane_targets(const TrainInput& input, int64_t node, int64_t first_edge, int64_t n_edges,
                         int64_t stride = 1) {
  LaneTargets targets{};
  targets.n_lanes = static_cast<int>(n_edges);
  const int64_t first_pair = input.occurrences.begin(input.tree.child_ptr[node]);
  for (int lane = 0; lane < n_edges; ++lane) {
    targets.pair_begin[lane] = input.occurrences.begin(first_edge + lane * stride) - first_pair;
    targets.pair_end[lane] = input.occurrences.end(first_edge + lane * stride) - first_pair;
  }
  if (input.occurrences.costs()) targets.pair_costs = input.occurrences.costs() + first_pair;
  return targets;
}

class Training {
 public:
  Training(const TrainInput& input, const std::vector<NodeTask>& tasks, const LinearOptions& options, int n_threads,
           Job& job)
      : input_(input), options_(options), job_(job), occurrences_(input.occurrences) {
    for (size_t i = 0; i < tasks.size();) {  // consecutive tasks of a node share its rows
      size_t end = i + 1;
      while (end < tasks.size() && tasks[end].node == tasks[i].node) ++end;
      add_groups(&tasks[i], end - i);
      i = end;
    }
    limit_memory(n_threads);
    n_threads_ = static_cast<int>(std::min<int64_t>(n_threads, static_cast<int64_t>(groups_.size())));
    workers_.resize(std::max(n_threads_, 1));
    worker_of_group_.resize(groups_.size());
    if (!input.points.dense()) result_.indptr.resize(n_rows_ + 1);
    result_.bias.resize(n_rows_);
    if (input.points.dense()) result_.values.reset(new float[n_rows_ * input.points.n_features]);
  }

  LinearWeights run() {
    parallel_for(static_cast<int64_t>(groups_.size()), n_threads_, [&](int64_t group, int thread) {
      if (!workers_[thread]) workers_[thread] = std::make_unique<Worker>(input_.points);
      worker_of_group_[group] = static_cast<uint16_t>(thread);
      train_within_limit(groups_[group], *workers_[thread]);
      job_.done += groups_[group].n_edges;
    });
    if (!input_.points.dense()) collect();
    return std::move(result_);
  }

 private:
  const TrainInput& input_;
  const LinearOptions& options_;
  Job& job_;
  const Occurrences& occurrences_;
  int n_threads_;
  int64_t n_rows_ = 0;
  std::vector<LaneGroup> groups_;
  std::vector<std::unique_ptr<SharedNode>> shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<uint16_t> worker_of_group_;
  std::unique_ptr<MemoryPlan> plan_;  // plan and gate: only if memory is limited
  std::unique_ptr<MemoryGate> gate_;
  LinearWeights result_;

  void limit_memory(int n_threads) {
    if (input_.max_memory <= 0) return;
    plan_ = std::make_unique<MemoryPlan>(input_.points, input_.labels, input_.tree, input_.n_labels,
                                         input_.extra_indptr, input_.weighted(options_));
    gate_ = std::make_unique<MemoryGate>(input_.max_memory - plan_->need(n_threads).fixed);
  }

  // Groups in the order of the tasks: every thread then finishes its rows of the result in rising order, which
  // collect() needs. Nodes are numbered from the root down, so in that order the largest come first and the last are
  // small.
  void add_groups(const NodeTask* tasks, size_t n_tasks) {
    const int64_t node = tasks[0].node;
    if (node < 0 || node >= input_.tree.n_nodes) throw std::invalid_argument("a task's node is not in the tree");
    const int64_t n_edges = input_.tree.n_children(node), from = input_.tree.child_ptr[node];
    const size_t first_group = groups_.size();
    for (size_t i = 0; i < n_tasks; ++i) {
      const int64_t end = tasks[i].first_edge + tasks[i].n_edges;
      int64_t at = tasks[i].first_edge;
      for (int64_t group = 0; group < n_lane_groups(n_edges); ++group) {
        const int64_t first = from + lane_group(n_edges, group), last = from + lane_group(n_edges, group + 1);
        if (first != at || last > end) continue;
        groups_.push_back({node, first, n_rows_, static_cast<int32_t>(last - first), -1, false, false, tasks[i].cost});
        n_rows_ += last - first;
        at = last;
      }
      if (at != end) throw std::invalid_argument("a task's edges must be whole groups of lanes of its node");
    }
    if (groups_.size() == first_group) return;
    groups_[first_group].first = groups_.back().last = true;
    if (groups_.size() - first_group == 1) return;
    shared_.push_back(std::make_unique<SharedNode>());
    shared_.back()->groups_left = static_cast<int>(groups_.size() - first_group);
    for (size_t i = first_group; i < groups_.size(); ++i) groups_[i].shared = static_cast<int32_t>(shared_.size()) - 1;
  }

  void train_within_limit(const LaneGroup& group, Worker& worker) {
    if (!gate_) {
      train(group, worker);
      return;
    }
    // A node's rows are counted from its first group to its last.
    const int64_t own = plan_->group_bytes(group.node), rows = plan_->rows_bytes(group.node);
    if (!gate_->enter(own + (group.first ? rows : 0))) return;
    try {
      const int64_t n_weights = train(group, worker);
      gate_->leave(own + (group.first ? rows : 0), n_weights * 8 + (group.first ? rows : 0) - (group.last ? rows : 0));
    } catch (...) {
      gate_->stop();
      throw;
    }
  }

  // Returns the number of weights that were kept.
  int64_t train(const LaneGroup& group, Worker& worker) {
    if (group.shared < 0) {
      gather_node(input_, group.node, options_.bias_value, worker.rows, worker.scratch, job_);
      return solve(group, worker.rows, worker);
    }
    SharedNode& shared = *shared_[group.shared];
    {
      std::lock_guard lock(shared.mutex);
      if (!shared.rows) {
        auto rows = std::make_unique<NodeRows>();
        gather_node(input_, group.node, options_.bias_value, *rows, worker.scratch, job_);
        shared.rows = std::move(rows);
      }
    }
    const int64_t n_weights = solve(group, *shared.rows, worker);
    std::lock_guard lock(shared.mutex);
    if (--shared.groups_left == 0) shared.rows.reset();
    return n_weights;
  }

  int64_t solve(const LaneGroup& group, const NodeRows& rows, Worker& worker) {
    const LaneTargets targets = lane_targets(input_, group.node, group.first_edge, group.n_edges);
    LinearOptions options = options_;
    options.cost = group.cost;
    const uint64_t stream = input_.stream(group.first_edge);
    if (input_.start)
      worker.solver.solve_from(*input_.start, group.first_row, rows, targets, options, stream, job_);
    else
      worker.solver.solve(rows, targets, options, stream, job_);
    if (!input_.points.dense())
      return input_.start && !rows.identity ? keep_merged(group, rows, worker) : keep(group, rows, worker);
    keep_dense(group, worker.solver);
    return int64_t{group.n_edges} * input_.points.n_features / 2;
  }

  void keep_dense(const LaneGroup& group, const LaneSolver& solver) {
    const int64_t n_features = input_.points.n_features;
    for (int lane = 0; lane < group.n_edges; ++lane) {
      float* row = result_.values.get() + (group.first_row + lane) * n_features;
      for (int64_t column = 0; column < n_features; ++column)
        row[column] = solver.weights()[column * solver.lanes() + lane];
      result_.bias[group.first_row + lane] = solver.bias()[lane];
    }
  }

  // Stores the weights that are large enough, one row per lane.
  int64_t keep(const LaneGroup& group, const NodeRows& rows, Worker& worker) {
    const LaneSolver& solver = worker.solver;
    const int lanes = solver.lanes();
    int32_t counts[kMaxLanes];
    worker.kept.resize(rows.n_columns);
    solver.kernels().find_kept(solver.weights(), rows.n_columns, options_.prune_below, worker.kept.data(), counts);
    const uint32_t lanes_used = (1u << group.n_edges) - 1;
    int64_t next[kMaxLanes];
    int64_t n = 0;
    for (int lane = 0; lane < group.n_edges; ++lane) {
      next[lane] = n;
      n += counts[lane];
      result_.indptr[group.first_row + lane + 1] = counts[lane];
      result_.bias[group.first_row + lane] = solver.bias()[lane];
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

  // The same for classifiers with a start, which keep their weights of features that no row has.
  int64_t keep_merged(const LaneGroup& group, const NodeRows& rows, Worker& worker) {
    const LaneSolver& solver = worker.solver;
    const StartWeights& start = *input_.start;
    int32_t counts[kMaxLanes];
    worker.kept.resize(rows.n_columns);
    solver.kernels().find_kept(solver.weights(), rows.n_columns, options_.prune_below, worker.kept.data(), counts);
    int64_t n = 0;
    for (int lane = 0; lane < group.n_edges; ++lane) {
      const int64_t own = counts[lane] + static_cast<int64_t>(solver.untouched(lane).size());
      result_.indptr[group.first_row + lane + 1] = own;
      result_.bias[group.first_row + lane] = solver.bias()[lane];
      n += own;
    }
    int32_t* features;
    float* values;
    worker.queue.push(n, &features, &values);
    for (int lane = 0; lane < group.n_edges; ++lane) {
      const std::vector<int64_t>& untouched = solver.untouched(lane);
      size_t next = 0;
      auto add_untouched_below = [&](int32_t feature) {
        for (; next < untouched.size() && start.features[untouched[next]] < feature; ++next) {
          *features++ = start.features[untouched[next]];
          *values++ = start.values[untouched[next]];
        }
      };
      for (int64_t column = 0; column < rows.n_columns; ++column) {
        if ((worker.kept[column] >> lane & 1) == 0) continue;
        add_untouched_below(rows.features[column]);
        *features++ = rows.features[column];
        *values++ = solver.weights()[column * solver.lanes() + lane];
      }
      add_untouched_below(std::numeric_limits<int32_t>::max());
    }
    return n;
  }

  void collect() {
    for (auto& worker : workers_) {  // frees everything but the weights
      if (!worker) continue;
      auto weights_only = std::make_unique<Worker>(Points{0, 0, nullptr, nullptr, nullptr});
      weights_only->queue.swap(worker->queue);
      worker = std::move(weights_only);
    }
    auto& indptr = result_.indptr;
    for (size_t row = 0; row + 1 < indptr.size(); ++row) indptr[row + 1] += indptr[row];
    result_.features.reset(new int32_t[indptr.back()]);
    result_.values.reset(new float[indptr.back()]);
    for (size_t i = 0; i < groups_.size(); ++i) {
      const int64_t from = indptr[groups_[i].first_row];
      const int64_t n = indptr[groups_[i].first_row + groups_[i].n_edges] - from;
      const int32_t* features = nullptr;
      const float* values = nullptr;
      workers_[worker_of_group_[i]]->queue.pop(n, &features, &values);
      if (n == 0) continue;
      std::memcpy(result_.features.get() + from, features, static_cast<size_t>(n) * sizeof(int32_t));
      std::memcpy(result_.values.get() + from, values, static_cast<size_t>(n) * sizeof(float));
    }
  }
};

}  // namespace

void gather_node(const TrainInput& input, int64_t node, float bias_value, NodeRows& rows, GatherScratch& scratch,
                 const Job& job) {
  const int64_t *child_ptr = input.tree.child_ptr, *extra_ptr = input.extra_indptr;
  const int64_t extra = extra_ptr ? extra_ptr[node] : 0;
  rows.gather(input.points, input.occurrences, input.occurrences.begin(child_ptr[node]),
              input.occurrences.end(child_ptr[node + 1] - 1), input.extra_points + extra,
              extra_ptr ? extra_ptr[node + 1] - extra : 0, input.point_weight, bias_value, scratch, job);
  if (input.start) rows.points = scratch.found;
}

std::vector<HeldOutLosses> validate_linear(const TrainInput& input, const std::vector<SampledEdges>& tasks,
                                           const LinearOptions& options, const std::vector<float>& costs,
                                           const uint8_t* held_out, int n_threads, Job& job) {
  std::vector<HeldOutLosses> found(tasks.size());
  std::vector<std::unique_ptr<Worker>> workers(static_cast<size_t>(std::max(n_threads, 1)));
  std::vector<int64_t> gathered(workers.size(), -1);  // the node whose rows a worker has: often that of the next task
  parallel_for(static_cast<int64_t>(tasks.size()), n_threads, [&](int64_t i, int thread) {
    if (!workers[thread]) workers[thread] = std::make_unique<Worker>(input.points);
    Worker& worker = *workers[thread];
    const SampledEdges& task = tasks[i];
    if (task.n_edges > kMaxLanes) throw std::invalid_argument("a task must be one group of lanes");
    if (gathered[thread] != task.node)
      gather_node(input, task.node, options.bias_value, worker.rows, worker.scratch, job);
    gathered[thread] = task.node;
    std::vector<uint8_t> rows_held_out;
    for (const int32_t point : worker.scratch.found) rows_held_out.push_back(held_out[point]);
    const LaneTargets targets = lane_targets(input, task.node, task.first_edge, task.n_edges, task.stride);
    found[i] = worker.solver.validate(worker.rows, targets, options, costs, rows_held_out.data(),
                                      input.stream(task.first_edge), job);
    job.done += task.n_edges;
  });
  return found;
}

LinearWeights train_linear(const TrainInput& input, const std::vector<NodeTask>& tasks, const LinearOptions& options,
                           int n_threads, Job& job) {
  return Training(input, tasks, options, n_threads, job).run();
}

}  // namespace labeltrees::linear
