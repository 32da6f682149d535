// One split of a node's labels into two sides: the paper's alternating maximisation.
//
// With f the weights normalised over the node, v_l unit embeddings (or zero) and alpha in [-1, 1]^n, alpha.f = 0:
//   maximise  sum_l similarity * f_l [ (1+alpha_l)/2 v_l.m+ + (1-alpha_l)/2 v_l.m- ]  +  frequency * alpha_l f_l^2
// over alpha and unit vectors m+, m-. If `similarity` is 0, the embeddings only break ties between labels of equal
// weight: the split is the limit for similarity going to 0.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/threads.hpp"
#include "labels/label_rows.hpp"
#include "simd/kernels.hpp"
#include "tree/select_half.hpp"

namespace labeltrees::tree {

struct SplitSettings {
  double similarity;  // 2 - t
  double frequency;   // (t-1)+, or t on the direct path
  bool relaxed = false;
  int n_starts = 2;
  int max_iterations = 30;  // of one start
  double tolerance = 1e-4;  // a start ends when the relative rise of the objective is smaller
};

// A record of a split, for tests and for inspection.
struct SplitTrace {
  struct Start {
    int64_t rows[2];              // the rows whose embeddings were the first m+ and m-; -1: sides found with less work
    std::vector<double> history;  // the objective of the first sides, if there were any, and after each iteration
  };
  std::vector<Start> starts;
  size_t best = 0;  // the start that found the assignment
};

// The algorithm and its reusable memory. One splitter serves one team of threads.
//
// Large sets, and rows of which most values are outside their cores (labels/label_rows.hpp), are first split with less
// work: a sample of the labels, and the cores alone. The alternation over all labels and values then starts from these
// sides, and needs fewer iterations.
class Splitter {
 public:
  Splitter(const SplitSettings& settings, Team& team, const Job& job)
      : settings_(settings), kernels_(simd::active_kernels()), team_(team), job_(job), starts_(settings.n_starts) {}

  // Splits rows.n >= 2 rows. Afterwards share()[i] = (1+alpha_i)/2: 1 on the + side, 0 on the - side, and in relaxed
  // mode one row may be in between. Unless relaxed, no side is empty. It is the assignment with the highest objective
  // of all iterations of all starts.
  // OUT: trace; or null.
  void split(const labels::LabelRows& rows, uint64_t seed, SplitTrace* trace = nullptr);

  const std::vector<double>& share() const { return best_share_; }

 private:
  struct Start {
    int64_t rows[2];                            // the rows whose embeddings were the first m+ and m-; -1: other centres
    double objective, before;                   // after the last iteration, and after the one before
    std::vector<double> share, previous_share;  // per row
    std::vector<double> keys;                   // per row: beta_l / f_l
    std::vector<double> plus;                   // per column: sum of weight * share * v
    std::vector<float> difference;              // per column: m+ - m-
  };

  // One addition to sums over rows: factor * v of a row.
  struct Change {
    int64_t row;
    double factor;
  };

  void split_by_weight(const labels::LabelRows& given, uint64_t seed, SplitTrace* trace);
  double similarity() const { return breaks_ties_ ? 1 : settings_.similarity; }
  double by_frequency(const labels::LabelRow& row) const;
  labels::LabelRows prepare(const labels::LabelRows& given);
  labels::LabelRows take_sample(const labels::LabelRows& given, uint64_t& seed);
  labels::LabelRows start_from_sides(const labels::LabelRows& given, bool by_cores, uint64_t seed);
  void climb_from_labels(const labels::LabelRows& rows, uint64_t seed, SplitTrace* trace, double tolerance);
  void climb(const labels::LabelRows& rows, size_t n_starts, SplitTrace* trace, double tolerance);
  void keep_best(size_t n_starts, SplitTrace* trace);
  void iterate(const labels::LabelRows& rows, Start& start);
  void sum_all(const labels::LabelRows& rows);
  void sum_sides(const labels::LabelRows& rows, Start& start);
  void draw_centres(const labels::LabelRows& rows, uint64_t& seed, Start& start);
  void score(const labels::LabelRows& rows);
  void score_row(const labels::LabelRows& rows, int64_t i);
  void assign(const labels::LabelRows& rows, Start& start);
  double round(double alpha, double similarity_part) const;
  void add_changes(const labels::LabelRows& rows, std::vector<double>& sums);
  void update_sums(const labels::LabelRows& rows, Start& start);
  double update_centres(const labels::LabelRows& rows, Start& start);
  int64_t draw(const labels::LabelRows& rows, uint64_t random) const;
  bool equal_embeddings(const labels::LabelRows& rows, int64_t i, int64_t j) const;

  const SplitSettings settings_;
  const simd::Kernels& kernels_;
  Team& team_;
  const Job& job_;
  bool breaks_ties_ = false;  // only similarity counts, between the labels whose weight is tied_weight_
  double tied_weight_ = 0;    // of the label at which half of the weight is reached
  double total_weight_ = 0;
  double best_objective_ = 0;       // of best_share_
  std::vector<double> best_share_;  // per row
  std::vector<double> total_;       // per column: sum of weight * v
  std::vector<Start> starts_;
  std::vector<Start*> running_;            // the starts that have not ended
  std::vector<float> pairs_;               // the differences of two running starts, side by side
  std::vector<labels::LabelRow> uniform_;  // replaces labels that all have weight 0
  std::vector<labels::LabelRow> sample_, cores_;
  std::vector<Change> changes_;
  SelectScratch select_;
};

}  // namespace labeltrees::tree
