// Many searches of one tree taking turns, so that those that open the same node do it one after the other.
//
// In each round every search chooses its next node, then the nodes are opened in the order of their number. A chunk
// that several searches want is fetched into the cache once. What each search opens, and in which order, stays as it is
// alone, and so does what it returns.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "search_tree.hpp"

namespace labeltrees {

class SearchBlock {
 public:
  // Room for n queries; query(i) is to be filled before run().
  void resize(size_t n) {
    if (places_.size() < n) places_.resize(n);
    n_ = n;
  }
  SearchQuery& query(size_t i) { return places_[i].query; }
  BestLabels& best(size_t i) { return places_[i].best; }
  const SearchStats& stats(size_t i) const { return places_[i].stats; }

  template <class Check>
  void run(const SearchStore& store, const SearchOptions& options, const LabelFilter& filter, SearchRoom& room,
           Check&& check) {
    int64_t longest = 0;
    for (size_t i = 0; i < n_; ++i) longest = std::max(longest, places_[i].query.size());
    ChunkRowList lists[4];
    room.give(longest, lists);  // before any search has its view of it
    turns_.clear();
    for (size_t i = 0; i < n_; ++i) {
      Place& place = places_[i];
      place.best.start(options.k);
      place.stats = {};
      place.search.start(store, place.query, options, filter, place.best, place.stats, room);
      if (place.search.choose()) turns_.push_back({place.search.chosen(), static_cast<int32_t>(i)});
    }
    while (!turns_.empty()) {
      check();
      std::sort(turns_.begin(), turns_.end());
      size_t left = 0;
      for (auto [node, i] : turns_) {
        TreeSearch& search = places_[i].search;
        search.visit();
        if (search.choose()) turns_[left++] = {search.chosen(), i};
      }
      turns_.resize(left);
    }
  }

 private:
  struct Place {
    SearchQuery query;
    TreeSearch search;
    BestLabels best;
    SearchStats stats;
  };
  std::vector<Place> places_;
  std::vector<std::pair<int32_t, int32_t>> turns_;  // node, place
  size_t n_ = 0;
};

}  // namespace labeltrees
