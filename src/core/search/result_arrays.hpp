// The results of a batch as NumPy arrays.
#pragma once

#include "common/bindings.hpp"
#include "search/results.hpp"

namespace labeltrees {

// A NumPy array of n entries, not initialised.
template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> empty_array(int64_t n) {
  T* data = new T[static_cast<size_t>(n)];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<1>>(data, {static_cast<size_t>(n)}, owner);
}

class ResultArrays {
 public:
  ResultArrays(int64_t n, int64_t k, bool stats)
      : labels_(empty_array<int64_t>(n * k)), scores_(empty_array<float>(n * k)), stats_(stats) {
    results_ = {k, labels_.data(), scores_.data()};
    if (!stats) return;
    chunks_ = empty_array<int64_t>(n);
    classifiers_ = empty_array<int64_t>(n);
    depth_ = empty_array<int32_t>(n);
    microseconds_ = empty_array<float>(n);
    partial_ = empty_array<uint8_t>(n);
    no_features_ = empty_array<uint8_t>(n);
    results_.chunks = chunks_.data();
    results_.classifiers = classifiers_.data();
    results_.depth = depth_.data();
    results_.microseconds = microseconds_.data();
    results_.partial = partial_.data();
    results_.no_features = no_features_.data();
  }

  const SearchResults& results() const { return results_; }

  // (labels, scores, None or the arrays of the statistics)
  nb::tuple to_python() const {
    if (!stats_) return nb::make_tuple(labels_, scores_, nb::none());
    return nb::make_tuple(labels_, scores_,
                          nb::make_tuple(chunks_, classifiers_, depth_, microseconds_, partial_, no_features_));
  }

 private:
  template <class T>
  using Column = nb::ndarray<T, nb::numpy, nb::ndim<1>>;

  Column<int64_t> labels_;
  Column<float> scores_;
  bool stats_;
  Column<int64_t> chunks_, classifiers_;
  Column<int32_t> depth_;
  Column<float> microseconds_;
  Column<uint8_t> partial_, no_features_;
  SearchResults results_{};
};

}  // namespace labeltrees
