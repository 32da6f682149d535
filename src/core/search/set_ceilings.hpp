// Upper bounds of the scores below nodes, for the labels of a prepared set.
//
// An exact search for few labels of a large tree opens most of the wide nodes below the root in vain: they all lead to
// labels of the set, but few of these labels reach the list. So a prepared set has its own copy of the classifiers that
// lead to its labels, packed side by side: a chunk of 256 holds allowed children of many nodes. A set of 1 % of 250,000
// labels has about 20 such chunks, where a search without them opens 250 nodes. Sets with more classifiers keep those
// of the root's wide children only, in groups of neighbouring children with the largest of their weights.
//
// For a query without negative values, the margin of such a chunk is at least the margin of every child of the group.
// So the best score of an allowed label below a node is known before the node is opened. The search opens only the
// nodes that can reach its list, in the ordinary chunks, so that lists and scores stay the same.
#pragma once

#include <cstdint>
#include <vector>

#include "chunk/pack.hpp"
#include "chunk/unpack.hpp"
#include "search/label_rules.hpp"
#include "search/query.hpp"
#include "search/store.hpp"
#include "simd/kernels.hpp"

namespace labeltrees::search {

class SetCeilings {
 public:
  // filter: the labels and nodes of the set. The chunks must be sparse.
  SetCeilings(const SearchStore& store, const LabelFilter& filter);

  // A search evaluates all parts for its query, and puts their margins side by side into an array of n_margins().
  size_t n_parts() const { return parts_.size(); }
  const uint8_t* part(size_t number) const { return parts_[number]; }
  size_t n_margins() const { return below_.size(); }
  int64_t bytes() const { return packed_.size + 4 * static_cast<int64_t>(below_.size() + places_.size()); }

  // in: margins; their memory is reused. out: for each place, the log of the highest score that an allowed label can
  // have relative to the node. The query must have no negative values and no feature twice.
  void find(const simd::Kernels& kernels, const simd::ScoreLink& link, const SearchQuery& query, float* margins,
            std::vector<float>& ceilings) const;
  // The place of a node among those with a ceiling, or -1.
  int32_t place_of(int32_t node) const { return places_[node]; }

 private:
  // All chunks of bounds are evaluated for every query, so there is one for kShare nodes with at least kWide children.
  // Bounds of more than kMostShared children would save no time: on arxiv-authors a set of all labels, with 8 children
  // per bound, halves the nodes opened and takes as long.
  static constexpr int64_t kShare = 8, kWide = 64, kMostShared = 4;

  // Nodes in the order of their ids; group: how many children share a bound; deep: whether a bound of a node adds that
  // node's ceiling.
  void read(const SearchStore& store, const LabelFilter& filter, const std::vector<int32_t>& nodes, int64_t group,
            bool deep);
  // Appends the bounds of one part, with ranks as features.
  void read_part(const uint8_t* part, const LabelFilter& filter, int64_t group, bool deep, chunk::UnpackedRows& bounds);

  chunk::PackedChunks packed_;
  std::vector<const uint8_t*> parts_;
  std::vector<int32_t> places_;  // by node
  std::vector<int64_t> first_;   // bound of each place
  std::vector<int32_t> below_;   // by bound, padded: the place of the child, whose ceiling is added, or -1
  float largest_weight_ = 0.0f, largest_bias_ = 0.0f;  // by size
};

}  // namespace labeltrees::search
