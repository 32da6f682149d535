// One query made ready for the chunks of a tree: values scaled, features turned into their ranks.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "chunk_format.hpp"
#include "search_room.hpp"
#include "simd/kernels.hpp"

namespace labeltrees {

// What a tree's chunks expect of a query.
struct QueryForm {
  int64_t n_features;
  const int32_t* feature_rank;  // null for matrices
  bool matrices;
  bool normalize;  // divide by the Euclidean norm; a zero row stays
};

class SearchQuery {
 public:
  // Features below n_features; one that stands twice counts with the sum of its values.
  void set(const int32_t* features, const float* values, int64_t n, const QueryForm& form) {
    float scale = form.normalize ? scale_of(values, n) : 1.0f;
    if (form.matrices) {
      clear_dense(form.n_features);
      for (int64_t i = 0; i < n; ++i) dense_[features[i]] += form.normalize ? values[i] * scale : values[i];
      n_ = 0;
      return;
    }
    grow(n);
    for (int64_t i = 0; i < n; ++i) rank_[i] = static_cast<uint32_t>(form.feature_rank[features[i]]);
    for (int64_t i = 0; i < n; ++i) value_[i] = form.normalize ? values[i] * scale : values[i];
    n_ = n;
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
    clear_dense(n);
    for (int64_t i = 0; i < n; ++i) dense_[i] = form.normalize ? row[i] * scale : row[i];
    n_ = 0;
  }

  // Features with a value.
  int64_t size() const { return n_; }
  // As the chunks' kernels see it, with `room` to work in, which must not grow while the view is in use.
  ChunkQuery view(SearchRoom& room) const {
    ChunkQuery query{n_, rank_.data(), value_.data(), dense_.data(), {}};
    room.give(n_, query.lists);
    return query;
  }

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
  }
  void clear_dense(int64_t n_features) { dense_.assign(static_cast<size_t>(round_up(n_features, 16)), 0.0f); }

  int64_t n_ = 0;
  std::vector<uint32_t> rank_;
  std::vector<int32_t> columns_;
  std::vector<float> value_, dense_, nonzeros_;
};

}  // namespace labeltrees
