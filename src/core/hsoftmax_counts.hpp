// What a search of the text model does, counted as it goes on: a search of its own, apart from those that answer.
#pragma once

#include <cstdint>
#include <vector>

#include "hsoftmax_search.hpp"

namespace labeltrees {

struct HsCounter {
  static constexpr int kFields = 5;

  void opened(const HsWorkspace::Open& node) { visits.push_back(node); }
  void stepped() { ++heap_steps; }

  std::vector<HsWorkspace::Open> visits;  // in order
  int64_t heap_steps = 0;  // nodes entered among the open ones or taken from them, labels offered to the list
};

// out: kFields counts of a text: bytes, features, rows, nodes evaluated, heap steps. The nodes are added to `visits`.
inline void count_search(const HsEngine& engine, std::string_view text, int64_t k, HsWorkspace& room,
                         std::vector<HsWorkspace::Open>& visits, int64_t* counts) {
  HsCounter counter;
  std::vector<int64_t> labels(static_cast<size_t>(k));
  std::vector<float> scores(static_cast<size_t>(k));
  engine.search(text, k, LabelFilter(), room, labels.data(), scores.data(), counter);
  counts[0] = static_cast<int64_t>(text.size());
  counts[1] = room.features.n;  // those without a row are looked up too
  counts[2] = static_cast<int64_t>(room.features.rows.size());
  counts[3] = static_cast<int64_t>(counter.visits.size());
  counts[4] = counter.heap_steps;
  visits.insert(visits.end(), counter.visits.begin(), counter.visits.end());
}

}  // namespace labeltrees
