// The last step of a search: chooses the k labels of the list from the labels found, where a request has limits per
// group, a threshold or diversity.
//
// Diversity d is maximal marginal relevance: the first label is the best one, and each next label maximises
// (1 - d) * score / best score - d * similarity, where similarity is the largest to a label chosen before. Labels are
// similar if they are close in the tree, which was built from their embeddings (TreeLinks::similarity), so nothing
// more is stored. With several trees it is the mean. Equal values: the better label first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "search/best.hpp"
#include "search/request.hpp"

namespace labeltrees::search {

class Selection {
 public:
  // found: labels with the scores to return, best first. Leaves the list in `found`. similarity(a, b) is called only
  // with diversity.
  template <class Similarity>
  void choose(const SearchRequest& request, std::vector<ScoredLabel>& found, Similarity&& similarity) {
    while (!found.empty() && found.back().score < request.threshold) found.pop_back();
    counts_.clear();
    if (request.diversity > 0.0f)
      choose_diverse(request, found, similarity);
    else if (request.limits)
      std::erase_if(found, [&](const ScoredLabel& one) { return !take(request, one.label); });
    if (static_cast<int64_t>(found.size()) > request.n_returned()) found.resize(request.n_returned());
  }

 private:
  struct GroupCount {
    int32_t group;
    int64_t n;
  };

  // Whether the label's group has room; counts the label.
  bool take(const SearchRequest& request, int32_t label) {
    const int32_t group = request.limits ? request.limits->group_of[label] : -1;
    if (group < 0) return true;
    auto at = std::find_if(counts_.begin(), counts_.end(), [&](const GroupCount& one) { return one.group == group; });
    if (at == counts_.end()) at = counts_.insert(at, {group, 0});
    return at->n < request.limits->most[group] && ++at->n > 0;
  }

  template <class Similarity>
  void choose_diverse(const SearchRequest& request, std::vector<ScoredLabel>& found, Similarity&& similarity) {
    if (found.empty()) return;
    const float scale = found[0].score > 0.0f ? (1.0f - request.diversity) / found[0].score : 0.0f;
    chosen_.clear();
    nearest_.assign(found.size(), 0.0f);
    open_.assign(found.size(), true);
    while (static_cast<int64_t>(chosen_.size()) < request.k) {
      size_t best = found.size();
      float highest = 0.0f;
      for (size_t i = 0; i < found.size(); ++i) {
        if (!open_[i]) continue;
        const float value = scale * found[i].score - request.diversity * nearest_[i];
        if (best == found.size() || value > highest) {
          best = i;
          highest = value;
        }
      }
      if (best == found.size()) break;
      open_[best] = false;
      if (!take(request, found[best].label)) continue;
      chosen_.push_back(found[best]);
      for (size_t i = 0; i < found.size(); ++i)
        if (open_[i]) nearest_[i] = std::max(nearest_[i], similarity(found[best].label, found[i].label));
    }
    found.swap(chosen_);
  }

  std::vector<GroupCount> counts_;
  std::vector<ScoredLabel> chosen_;
  std::vector<float> nearest_;
  std::vector<uint8_t> open_;
};

}  // namespace labeltrees::search
