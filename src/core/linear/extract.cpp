#include "linear/extract.hpp"

#include <algorithm>

namespace labeltrees {

namespace {

void copy_rows(const NodeRows& rows, const Points& points, NodeProblem& problem) {
  problem.n_rows = rows.n_rows;
  problem.n_columns = rows.n_columns;
  if (!points.dense()) problem.x_indptr.push_back(0);
  for (int64_t row = 0; row < rows.n_rows; ++row) {
    const float* values = rows.values + rows.begin[row];
    problem.x_values.insert(problem.x_values.end(), values, values + rows.length[row]);
    if (points.dense()) continue;
    const int32_t* columns = rows.columns + rows.begin[row];
    problem.x_columns.insert(problem.x_columns.end(), columns, columns + rows.length[row]);
    problem.x_indptr.push_back(static_cast<int64_t>(problem.x_columns.size()));
  }
  if (!rows.identity) problem.features.assign(rows.features.data(), rows.features.data() + rows.n_columns);
  problem.row_weight.assign(rows.row_weight.data(), rows.row_weight.data() + rows.row_weight.size());
}

// A row that has several labels below a child is one positive with the largest of their costs, as in the solver.
void copy_positives(const NodeRows& rows, const TrainInput& input, int64_t node, NodeProblem& problem) {
  struct Positive {
    int32_t child;
    float cost;
  };
  const Occurrences& pairs = input.occurrences;
  const int64_t first_edge = input.tree.child_ptr[node], first_pair = pairs.begin(first_edge);
  std::vector<std::vector<Positive>> positives(static_cast<size_t>(rows.n_rows));
  for (int64_t edge = first_edge; edge < input.tree.child_ptr[node + 1]; ++edge) {
    const auto child = static_cast<int32_t>(edge - first_edge);
    for (int64_t pair = pairs.begin(edge); pair < pairs.end(edge); ++pair) {
      const int32_t row = rows.row_of_pair[pair - first_pair];
      if (row < 0) continue;
      const float cost = pairs.costs() ? pairs.costs()[pair] : 1.0f;
      auto& of_row = positives[static_cast<size_t>(row)];
      if (of_row.empty() || of_row.back().child != child) {
        of_row.push_back({child, cost});
      } else {
        of_row.back().cost = std::max(of_row.back().cost, cost);
      }
    }
  }
  problem.y_indptr.push_back(0);
  for (int64_t row = 0; row < rows.n_rows; ++row) {
    for (const Positive& positive : positives[static_cast<size_t>(row)]) {
      problem.y_columns.push_back(positive.child);
      if (pairs.costs()) problem.y_values.push_back(positive.cost);
    }
    problem.y_indptr.push_back(static_cast<int64_t>(problem.y_columns.size()));
    if (positives[static_cast<size_t>(row)].empty()) problem.extra_rows.push_back(static_cast<int32_t>(row));
  }
}

}  // namespace

NodeProblem extract_node(const TrainInput& input, int64_t node, const Job& job) {
  GatherScratch scratch(input.points);
  NodeRows rows;
  gather_node(input, node, 0.0f, rows, scratch, job);
  NodeProblem problem{};
  copy_rows(rows, input.points, problem);
  copy_positives(rows, input, node, problem);
  return problem;
}

}  // namespace labeltrees
