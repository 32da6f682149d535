#include "search/counts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace labeltrees::search {

namespace {

template <class T>
T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Looks up the rows of one part, one feature at a time: the scalar equivalent of the chunk kernels.
class PartCounter {
 public:
  PartCounter(const uint8_t* part, SearchCounts& counts)
      : part_(part), header_(header_of(part)), at_(chunk::sections_of(header_)), counts_(counts) {}

  void count(const simd::ChunkQuery& query) {
    if (chunk::is_matrix(header_.kind)) {
      counts_.vectors += header_.n_children * (chunk::round_up(header_.n_features, 16) / 16);
      return;
    }
    if (header_.n_rows == 0) return;
    counts_.lookups += query.n * header_.n_levels;
    for (int64_t i = 0; i < query.n; ++i) {
      int64_t row = find(query.rank[i]);
      if (row >= 0) hit(row);
    }
  }

 private:
  // The row of a feature, or -1.
  int64_t find(uint32_t rank) const {
    const uint8_t* words = part_ + at_.index;
    uint64_t place = rank >> (5 * header_.n_levels);
    for (uint32_t level = 0; level < header_.n_levels; ++level) {
      auto word = read<uint64_t>(words + 8 * place);
      uint32_t bit = rank >> (5 * (header_.n_levels - 1 - level)) & 31, bits = static_cast<uint32_t>(word);
      if (!(bits >> bit & 1)) return -1;
      place = (word >> 32) + std::popcount(bits & ((1u << bit) - 1));
      words += 8 * int64_t{header_.n_words[level]};
    }
    return static_cast<int64_t>(place);
  }
  void hit(int64_t row) {
    ++counts_.hits;
    if (header_.kind != chunk::ChunkKind::pairs) {
      ++counts_.vectors;
      return;
    }
    uint32_t count = read<uint32_t>(part_ + at_.slots + 4 * row) & 0xFF;
    if (count == chunk::kFullRow || count == chunk::kMaskRow)
      counts_.vectors += (header_.n_children + 15) / 16;
    else
      counts_.weights += count;
  }

  const uint8_t* part_;
  const chunk::ChunkHeader& header_;
  chunk::ChunkSections at_;
  SearchCounts& counts_;
};

}  // namespace

void SearchCounts::write(int64_t* out) const {
  for (int64_t value : {nonzeros, visits, lookups, hits, weights, vectors, children, heap_steps, path_visits})
    *out++ = value;
}

SearchCounter::SearchCounter(SearchEngine& engine)
    : engine_(engine), queries_(engine.n_trees()), node_scores_(engine.n_trees()), opened_(engine.n_trees()) {}

void SearchCounter::open(size_t tree, const OpenNode& node, BestLabels* best, SearchCounts& counts) {
  alignas(64) float margins[chunk::kMostChildren], scores[chunk::kMostChildren];
  const simd::Kernels& kernels = simd::active_kernels();
  const simd::ChunkQuery& query = queries_[tree].view();
  ++counts.visits;
  opened_[tree][node.node] = true;
  for (const uint8_t* part = engine_.tree(tree).store.open(node.node); part; part = next_part(part)) {
    PartCounter(part, counts).count(query);
    int n = header_of(part).n_children;
    counts.children += n;
    kernels.chunk_margins(part, query, margins);
    const simd::ScoreLink& link = engine_.tree(tree).store.link();
    kernels.path_scores.of[link.loss](margins, chunk::round_up(n, 16), node.score, link.power, scores);
    float best_node = Frontier::kNone;
    for (int i = 0; i < n; ++i) {
      int32_t child = children_of(part)[i];
      if (child >= 0) {
        node_scores_[tree][child] = {scores[i], node.depth + 1, child};
        best_node = std::max(best_node, scores[i]);
      } else if (best && scores[i] >= best->limit()) {
        best->offer(scores[i], ~child);
        ++counts.heap_steps;
      }
    }
    if (best && best_node > Frontier::kNone && best_node >= best->limit()) ++counts.heap_steps;
  }
}

SearchCounts SearchCounter::count(const QueryRow& row, const SearchRequest& request, std::vector<Visit>& visits) {
  SearchCounts counts;
  std::vector<int32_t> pooled;
  std::vector<OpenNode> opened;
  size_t n_trees = engine_.n_trees();
  for (size_t tree = 0; tree < n_trees; ++tree) {
    node_scores_[tree].clear();
    opened_[tree].clear();
    opened.clear();
    engine_.set_query(queries_[tree], tree, row);
    if (engine_.answers_by_prior(queries_[0])) return counts;  // without a search
    engine_.trace(static_cast<int64_t>(tree), row, request, opened, &pooled);
    BestLabels best;
    best.start(request.k);
    for (const OpenNode& node : opened) {
      visits.push_back({node, static_cast<int32_t>(tree), false});
      open(tree, node, &best, counts);
    }
    counts.heap_steps += static_cast<int64_t>(opened.size()) - 1;  // taken; the root was never in the heap
  }
  counts.nonzeros = engine_.matrices() ? engine_.n_features() : queries_[0].view().n;
  if (n_trees > 1) count_paths(pooled, visits, counts);
  return counts;
}

void SearchCounter::count_paths(std::vector<int32_t>& pooled, std::vector<Visit>& visits, SearchCounts& counts) {
  std::sort(pooled.begin(), pooled.end());
  pooled.erase(std::unique(pooled.begin(), pooled.end()), pooled.end());
  std::vector<int32_t> path;
  for (int32_t label : pooled) {
    for (size_t tree = 0; tree < engine_.n_trees(); ++tree) {
      TreeLinks& links = engine_.tree(tree).links;
      links.require();
      path.clear();
      for (int32_t node = links.parent_of_label(label); node >= 0; node = links.parent_of_node(node))
        path.push_back(node);
      for (size_t i = path.size(); i-- > 0;) {
        if (opened_[tree].contains(path[i])) continue;
        auto found = node_scores_[tree].find(path[i]);  // its parent has been opened
        if (found == node_scores_[tree].end())
          throw DamagedChunk(engine_.tree(tree).store.source() + ": a chunk's children are not those of the tree");
        OpenNode node = found->second;
        visits.push_back({node, static_cast<int32_t>(tree), true});
        ++counts.path_visits;
        open(tree, node, nullptr, counts);
      }
    }
  }
}

}  // namespace labeltrees::search
