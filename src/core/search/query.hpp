// One query prepared for the chunks of a tree: values scaled, features replaced by their ranks.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "chunk/format.hpp"
#include "common/bad_query.hpp"
#include "common/threads.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::search {

// Whether no value is infinite or NaN: their exponent has all bits set. Works on integers, so that it is vectorized.
inline bool all_finite(const float* values, int64_t n) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < n; ++i) bad |= (std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFF) >= 0x7F800000;
  return !bad;
}

// How a query must be prepared for a tree's chunks.
struct QueryForm {
  int64_t n_features;
  const int32_t* feature_rank;  // null for matrices
  bool matrices;
  bool normalize;  // divide by the Euclidean norm; a zero row stays
};

class SearchQuery {
 public:
  // Features are below n_features; if one appears twice, its values are added, but only after the norm is computed.
  void set(const int32_t* features, const float* values, int64_t n, const QueryForm& form) {
    float scale = form.normalize ? scale_of(values, n) : 1.0f;
    ceilings_hold_ = true;
    empty_ = true;
    for (int64_t i = 0; i < n; ++i) ceilings_hold_ &= values[i] >= 0.0f;
    for (int64_t i = 0; i < n && empty_; ++i) empty_ = values[i] == 0.0f;
    for (int64_t i = 1; i < n; ++i) ceilings_hold_ &= features[i - 1] < features[i];
    if (form.matrices) {
      clear_dense(form.n_features);
      for (int64_t i = 0; i < n; ++i) dense_[features[i]] += form.normalize ? values[i] * scale : values[i];
      return set_view(0);
    }
    grow(n);
    for (int64_t i = 0; i < n; ++i) rank_[i] = static_cast<uint32_t>(form.feature_rank[features[i]]);
    for (int64_t i = 0; i < n; ++i) value_[i] = form.normalize ? values[i] * scale : values[i];
    set_view(n);
  }

  // A row of all features.
  void set_dense(const float* row, const QueryForm& form) {
    int64_t n = form.n_features;
    if (!form.matrices) {
      nonzeros_.clear();
      columns_.clear();
      for (int64_t feature = 0; feature < n; ++feature) {
        if (row[feature] == 0.0f) continue;
        columns_.push_back(static_cast<int32_t>(feature));
        nonzeros_.push_back(row[feature]);
      }
      return set(columns_.data(), nonzeros_.data(), static_cast<int64_t>(columns_.size()), form);
    }
    float scale = form.normalize ? scale_of(row, n) : 1.0f;
    empty_ = std::all_of(row, row + n, [](float value) { return value == 0.0f; });
    clear_dense(n);
    for (int64_t i = 0; i < n; ++i) dense_[i] = form.normalize ? row[i] * scale : row[i];
    set_view(0);
  }

  const simd::ChunkQuery& view() const { return view_; }

  // Whether all features are zero.
  bool empty() const { return empty_; }

  // Whether SearchStore::ceilings hold: no value is negative, and the features rise, so that none appears twice.
  bool ceilings_hold() const { return ceilings_hold_; }

 private:
  static float scale_of(const float* values, int64_t n) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(values[i]) * values[i];
    return squares > 0 ? static_cast<float>(1.0 / std::sqrt(squares)) : 1.0f;
  }
  void grow(int64_t n) {
    if (static_cast<int64_t>(value_.size()) >= n) return;
    rank_.resize(n);
    value_.resize(n);
    for (int list = 0; list < 4; ++list) {
      at_[list].resize(n + 16);
      which_[list].resize(n + 16);
      row_value_[list].resize(n + 16);
      view_.lists[list] = {0, at_[list].data(), which_[list].data(), row_value_[list].data()};
    }
  }
  void clear_dense(int64_t n_features) { dense_.assign(static_cast<size_t>(chunk::round_up(n_features, 16)), 0.0f); }
  void set_view(int64_t n) {
    view_.n = n;
    view_.rank = rank_.data();
    view_.value = value_.data();
    view_.dense = dense_.data();
  }

  std::vector<uint32_t> rank_, which_[4];
  std::vector<int32_t> columns_, at_[4];
  std::vector<float> value_, dense_, nonzeros_, row_value_[4];
  simd::ChunkQuery view_{};
  bool ceilings_hold_ = true, empty_ = true;
};

// The queries of a batch: CSR rows, or, with indptr null, dense rows of n_features values.
struct QueryRows {
  int64_t n;
  const int64_t* indptr;
  const int32_t* features;
  const float* values;
};

// One row of a batch, with features null for a dense one.
struct QueryRow {
  const int32_t* features;
  const float* values;
  int64_t n;
};

// Copies rows of a batch one after another, and checks each copy: another thread may write to the caller's arrays after
// they were checked. The bounds of the rows (indptr) are not the caller's. Costs 1 % of the time of a search.
class RowCopy {
 public:
  QueryRow of(const QueryRows& rows, int64_t query, int64_t n_features) {
    const int64_t begin = rows.indptr ? rows.indptr[query] : query * n_features;
    const int64_t n = rows.indptr ? rows.indptr[query + 1] - begin : n_features;
    values_.assign(rows.values + begin, rows.values + begin + n);
    uint32_t highest = 0;
    if (rows.indptr) {
      features_.assign(rows.features + begin, rows.features + begin + n);
      for (int32_t feature : features_) highest = std::max(highest, static_cast<uint32_t>(feature));
    }
    if (!all_finite(values_.data(), n) || (n > 0 && highest >= n_features))
      throw BadQuery("X was changed by another thread meanwhile");
    static const int32_t none = 0;  // a row without features is not dense
    return {!rows.indptr ? nullptr : n ? features_.data() : &none, values_.data(), n};
  }

 private:
  std::vector<int32_t> features_;
  std::vector<float> values_;
};

struct RowsCheck {
  bool sound;   // all features are in [0, n_features) and all values finite
  bool rising;  // the features of each row rise, so that none appears twice
};

// Checks CSR rows whose indptr is known to be sound.
inline RowsCheck check_rows(const QueryRows& rows, int64_t n_features, int n_threads) {
  constexpr int64_t kBlock = 256;
  std::atomic<bool> sound{true}, rising{true};
  parallel_for((rows.n + kBlock - 1) / kBlock, n_threads, [&](int64_t block, int) {
    uint32_t highest = 0, falls = 0;
    float sum = 0.0f;  // of zero times each value: NaN if a value is not finite
    for (int64_t row = block * kBlock; row < std::min(rows.n, (block + 1) * kBlock); ++row) {
      int64_t begin = rows.indptr[row], end = rows.indptr[row + 1];
      for (int64_t i = begin; i < end; ++i) {
        highest = std::max(highest, static_cast<uint32_t>(rows.features[i]));
        sum += rows.values[i] * 0.0f;
      }
      for (int64_t i = begin + 1; i < end; ++i) falls |= rows.features[i] <= rows.features[i - 1];
    }
    if (highest >= n_features || !(sum == 0.0f)) sound.store(false, std::memory_order_relaxed);
    if (falls) rising.store(false, std::memory_order_relaxed);
  });
  return {sound, rising};
}

}  // namespace labeltrees::search
