#include "labels/pifa.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

namespace labeltrees::labels {

namespace {

constexpr int64_t kWorkPerBlock = int64_t{1} << 17;  // feature occurrences: about a millisecond
constexpr int64_t kBlocksPerThread = 4;              // computed in parallel, then appended to the result in order
constexpr int64_t kPrefetchAhead = 8;                // points
constexpr int64_t kManyPoints = 64;                  // for fewer points it is not worth counting their features

// A set of columns: one bit per column, and one bit per word of 64 columns, so that visiting it in ascending order
// costs its size, not the number of columns.
class ColumnSet {
 public:
  explicit ColumnSet(int64_t n_columns) : words_((n_columns >> 6) + 1, 0), groups_((n_columns >> 12) + 1, 0) {}

  void insert(int32_t column) {
    words_[column >> 6] |= uint64_t{1} << (column & 63);
    groups_[column >> 12] |= uint64_t{1} << ((column >> 6) & 63);
  }

  // Calls visit(column) for every column in ascending order and empties the set.
  template <class Visit>
  void drain(Visit&& visit) {
    for (size_t group = 0; group < groups_.size(); ++group) {
      for (uint64_t set = groups_[group]; set != 0; set &= set - 1) {
        const int64_t word = static_cast<int64_t>(group) * 64 + std::countr_zero(set);
        for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
          visit(static_cast<int32_t>(word * 64 + std::countr_zero(bits)));
        words_[word] = 0;
      }
      groups_[group] = 0;
    }
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint64_t> groups_;
};

// 1 / length of a row, or 0 for a row of zeros. In double, squares of floats neither overflow nor become 0.
double inverse_length(double squares) { return squares > 0.0 ? 1.0 / std::sqrt(squares) : 0.0; }

// The rows of a block of labels, in arrays that are large enough from the start.
struct Block {
  std::unique_ptr<int32_t[]> indices;
  std::unique_ptr<float[]> values;
  int64_t size = 0;
  int64_t capacity = 0;

  void clear(int64_t needed) {
    size = 0;
    if (needed <= capacity) return;
    indices.reset(new int32_t[needed]);
    values.reset(new float[needed]);
    capacity = needed;
  }
};

// The row that a thread is summing. In double, because a label with millions of points would lose digits in float.
class RowSum {
 public:
  explicit RowSum(int64_t n_columns) : columns_(n_columns), sums_(n_columns, 0.0) {}

  // Adds the rows of labels.points[begin .. end). With track == false drain_dense() must follow, else drain().
  template <bool track>
  void add_points(const LabelPoints& labels, int64_t begin, int64_t end, const SparseRows& x) {
    // The rows are anywhere in X: those of the next points (and of the next labels) are prefetched.
    const int64_t n_occurrences = labels.label_ptr[labels.n_labels];
    for (int64_t i = begin; i < end; ++i) {
      if (i + 2 * kPrefetchAhead < n_occurrences) {
        __builtin_prefetch(x.indptr + labels.points[i + 2 * kPrefetchAhead]);
        const int64_t ahead = x.indptr[labels.points[i + kPrefetchAhead]];
        for (int64_t line = 0; line < 48; line += 16) {
          __builtin_prefetch(x.indices + ahead + line);
          __builtin_prefetch(x.values + ahead + line);
        }
      }
      const int64_t row_end = x.indptr[labels.points[i] + 1];
      for (int64_t entry = x.indptr[labels.points[i]]; entry < row_end; ++entry) {
        const int32_t column = x.indices[entry];
        if constexpr (track) columns_.insert(column);
        sums_[column] += x.values[entry];
      }
    }
  }

  // Appends the row, scaled to unit length, to the block and starts a new one.
  void drain(Block& block) {
    int32_t* indices = block.indices.get() + block.size;
    float* values = block.values.get() + block.size;
    int64_t n = 0;
    double squares = 0.0;
    columns_.drain([&](int32_t column) {
      indices[n++] = column;
      squares += sums_[column] * sums_[column];
    });
    finish(indices, values, n, squares);
    block.size += n;
  }

  // The same by looking at every column and leaving out zeros.
  void drain_dense(Block& block) {
    int32_t* indices = block.indices.get() + block.size;
    int64_t n = 0;
    double squares = 0.0;
    const int64_t n_columns = static_cast<int64_t>(sums_.size());
    for (int64_t column = 0; column < n_columns; ++column) {
      indices[n] = static_cast<int32_t>(column);  // overwritten by the next one if zero: this saves a branch
      n += sums_[column] != 0.0;
      squares += sums_[column] * sums_[column];
    }
    finish(indices, block.values.get() + block.size, n, squares);
    block.size += n;
  }

 private:
  void finish(const int32_t* indices, float* values, int64_t n, double squares) {
    const double scale = inverse_length(squares);
    for (int64_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(sums_[indices[i]] * scale);
      sums_[indices[i]] = 0.0;
    }
  }

  ColumnSet columns_;
  std::vector<double> sums_;
};

// A label with one point (half of the labels of a long tail): the point's row, scaled to unit length.
void append_row(const SparseRows& x, int64_t point, Block& block) {
  const int64_t begin = x.indptr[point], end = x.indptr[point + 1];
  double squares = 0.0;
  for (int64_t i = begin; i < end; ++i) squares += static_cast<double>(x.values[i]) * x.values[i];
  const double scale = inverse_length(squares);
  std::copy(x.indices + begin, x.indices + end, block.indices.get() + block.size);
  for (int64_t i = begin; i < end; ++i) block.values[block.size++] = static_cast<float>(x.values[i] * scale);
}

// The number of values in a label's points: at least the size of the label's row.
int64_t work_of(const LabelPoints& labels, const SparseRows& x, int64_t label) {
  int64_t work = 0;
  for (int64_t i = labels.label_ptr[label]; i < labels.label_ptr[label + 1]; ++i)
    work += x.indptr[labels.points[i] + 1] - x.indptr[labels.points[i]];
  return work;
}

// A block of labels. Blocks have about equal work and depend only on the data.
struct LabelBlock {
  int64_t first, last;  // labels [first, last)
  int64_t largest_size;
};

std::vector<LabelBlock> blocks_of_equal_work(const LabelPoints& labels, const SparseRows& x) {
  std::vector<LabelBlock> blocks;
  LabelBlock block{0, 0, 0};
  int64_t block_work = 0;
  while (block.last < labels.n_labels) {
    const int64_t work = work_of(labels, x, block.last++);
    block.largest_size += std::min(work, x.n_columns) + 1;  // drain_dense() writes one more
    block_work += work + 1;
    if (block_work >= kWorkPerBlock || block.last == labels.n_labels) {
      blocks.push_back(block);
      block = {block.last, block.last, 0};
      block_work = 0;
    }
  }
  return blocks;
}

}  // namespace

void pifa_sparse(const LabelPoints& labels, const SparseRows& x, int n_threads, SparseResult& out, Job& job) {
  const std::vector<LabelBlock> label_blocks = blocks_of_equal_work(labels, x);
  const int64_t n_blocks = static_cast<int64_t>(label_blocks.size());
  const int64_t n_per_round = std::min(n_blocks, kBlocksPerThread * n_threads);
  std::vector<Block> blocks(n_per_round);
  std::vector<std::unique_ptr<RowSum>> row_sums(n_threads);
  out.indptr.assign(labels.n_labels + 1, 0);
  for (int64_t first = 0; first < n_blocks; first += n_per_round) {
    const int64_t n_now = std::min(n_per_round, n_blocks - first);
    parallel_for(n_now, n_threads, [&](int64_t task, int thread) {
      job.check();
      if (!row_sums[thread]) row_sums[thread] = std::make_unique<RowSum>(x.n_columns);
      const LabelBlock& label_block = label_blocks[first + task];
      Block& block = blocks[task];
      block.clear(label_block.largest_size);
      for (int64_t label = label_block.first; label < label_block.last; ++label) {
        const int64_t begin = labels.label_ptr[label], end = labels.label_ptr[label + 1];
        const int64_t size_before = block.size;
        if (end - begin == 1) {
          append_row(x, labels.points[begin], block);
        } else if (end - begin >= kManyPoints && work_of(labels, x, label) >= x.n_columns / 2) {
          // Most columns occur, and most of them many times: looking at all columns is faster than tracking them.
          row_sums[thread]->add_points<false>(labels, begin, end, x);
          row_sums[thread]->drain_dense(block);
        } else if (end > begin) {
          row_sums[thread]->add_points<true>(labels, begin, end, x);
          row_sums[thread]->drain(block);
        }
        out.indptr[label + 1] = block.size - size_before;
      }
    });
    for (int64_t task = 0; task < n_now; ++task) {
      out.indices.append(blocks[task].indices.get(), blocks[task].size);
      out.values.append(blocks[task].values.get(), blocks[task].size);
    }
    job.done = label_blocks[first + n_now - 1].last;
  }
  for (int64_t label = 0; label < labels.n_labels; ++label) out.indptr[label + 1] += out.indptr[label];
}

void pifa_dense(const LabelPoints& labels, const float* x, int64_t n_columns, int n_threads, float* out, Job& job) {
  constexpr int64_t kLabelsPerBlock = 256;
  std::vector<std::vector<double>> sums(n_threads);
  parallel_for((labels.n_labels + kLabelsPerBlock - 1) / kLabelsPerBlock, n_threads, [&](int64_t block, int thread) {
    job.check();
    const int64_t first = block * kLabelsPerBlock, last = std::min(first + kLabelsPerBlock, labels.n_labels);
    for (int64_t label = first; label < last; ++label) {
      std::vector<double>& sum = sums[thread];
      sum.assign(n_columns, 0.0);
      for (int64_t i = labels.label_ptr[label]; i < labels.label_ptr[label + 1]; ++i) {
        const float* row = x + labels.points[i] * n_columns;
        for (int64_t column = 0; column < n_columns; ++column) sum[column] += row[column];
      }
      double squares = 0.0;
      for (double value : sum) squares += value * value;
      const double scale = inverse_length(squares);
      for (int64_t column = 0; column < n_columns; ++column)
        out[label * n_columns + column] = static_cast<float>(sum[column] * scale);
    }
    job.done += last - first;
  });
}

SparseResult largest_values(const SparseRows& rows, int64_t n_rows, int64_t most) {
  SparseResult out;
  out.indptr.assign(1, 0);
  std::vector<int64_t> places;
  for (int64_t row = 0; row < n_rows; ++row) {
    const int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
    if (end - begin <= most) {
      out.indices.append(rows.indices + begin, end - begin);
      out.values.append(rows.values + begin, end - begin);
    } else {
      places.resize(end - begin);
      std::iota(places.begin(), places.end(), begin);
      std::nth_element(places.begin(), places.begin() + most, places.end(), [&](int64_t a, int64_t b) {
        const float value_a = std::abs(rows.values[a]), value_b = std::abs(rows.values[b]);
        return value_a != value_b ? value_a > value_b : a < b;
      });
      std::sort(places.begin(), places.begin() + most);
      for (int64_t i = 0; i < most; ++i) {
        out.indices.push_back(rows.indices[places[i]]);
        out.values.push_back(rows.values[places[i]]);
      }
    }
    out.indptr.push_back(out.indices.size());
  }
  return out;
}

}  // namespace labeltrees::labels
