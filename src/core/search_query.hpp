// One query made ready for chunks: values scaled, features hashed once for all the chunks it will meet.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "chunk_format.hpp"
#include "simd/kernels.hpp"

namespace labeltrees {

class SearchQuery {
 public:
  // Features below n_features. With `normalize` the values are divided by their Euclidean norm (a zero row stays).
  void set(const int32_t* features, const float* values, int64_t n, bool normalize, const FeatureHash& hash,
           int64_t n_features, bool matrices) {
    grow(n);
    float scale = 1.0f;
    if (normalize) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(values[i]) * values[i];
      if (squares > 0) scale = static_cast<float>(1.0 / std::sqrt(squares));
    }
    for (int64_t i = 0; i < n; ++i) {
      feature_[i] = static_cast<uint32_t>(features[i]);
      spread_[i] = hash.spread(feature_[i]);
      key_[i] = hash.key(spread_[i]) * 0x10001u;
      value_[i] = normalize ? values[i] * scale : values[i];
    }
    if (matrices) {
      clear_dense(n_features);
      for (int64_t i = 0; i < n; ++i) dense_[feature_[i]] += value_[i];
    }
    set_view(n, n_features);
  }

  // A row without zeros, or one to be taken so.
  void set_dense(const float* row, bool normalize, const FeatureHash& hash, int64_t n_features, bool matrices) {
    if (!matrices) {
      columns_.clear();
      nonzeros_.clear();
      for (int64_t feature = 0; feature < n_features; ++feature) {
        if (row[feature] == 0.0f) continue;
        columns_.push_back(static_cast<int32_t>(feature));
        nonzeros_.push_back(row[feature]);
      }
      set(columns_.data(), nonzeros_.data(), static_cast<int64_t>(columns_.size()), normalize, hash, n_features, false);
      return;
    }
    float scale = 1.0f;
    if (normalize) {
      double squares = 0;
      for (int64_t i = 0; i < n_features; ++i) squares += static_cast<double>(row[i]) * row[i];
      if (squares > 0) scale = static_cast<float>(1.0 / std::sqrt(squares));
    }
    clear_dense(n_features);
    for (int64_t i = 0; i < n_features; ++i) dense_[i] = normalize ? row[i] * scale : row[i];
    set_view(0, n_features);
  }

  const ChunkQuery& view() const { return view_; }

 private:
  void grow(int64_t n) {
    if (static_cast<int64_t>(value_.size()) >= n) return;
    feature_.resize(n);
    spread_.resize(n);
    key_.resize(n);
    value_.resize(n);
    rows_.resize(n + 16);
    row_values_.resize(n + 16);
    hits_.resize(2 * n);
  }
  void clear_dense(int64_t n_features) { dense_.assign(static_cast<size_t>(round_up(n_features, 16)), 0.0f); }
  void set_view(int64_t n, int64_t n_features) {
    view_ = {n,          feature_.data(), spread_.data(),     key_.data(),  value_.data(),   dense_.data(),
             n_features, rows_.data(),    row_values_.data(), hits_.data(), hits_.data() + n};
  }

  std::vector<uint32_t> feature_, spread_, key_, rows_;
  std::vector<float> value_, dense_, nonzeros_, row_values_;
  std::vector<int32_t> columns_;
  std::vector<ChunkHit> hits_;
  ChunkQuery view_{};
};

}  // namespace labeltrees
