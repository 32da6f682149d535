// The kernels of the search: margins of chunks, scores, and the choice among children.
#include <limits>
#include <numeric>
#include <set>

#include "chunk/format.hpp"
#include "chunk/pack.hpp"
#include "compare.hpp"
#include "search/query.hpp"

namespace labeltrees::native_tests {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One node whose children have a weight for a feature with probability `fill`. Weights are exact in half precision.
struct Node {
  int64_t n_children, n_features;
  std::vector<double> weights;  // (n_children, n_features)
  std::vector<float> bias;
  std::vector<int32_t> children;

  Node(Random& random, int64_t n_children, int64_t n_features, int64_t n_used, double fill)
      : n_children(n_children), n_features(n_features), weights(static_cast<size_t>(n_children * n_features)) {
    for (int64_t child = 0; child < n_children; ++child) {
      bias.push_back(random.value());
      children.push_back(static_cast<int32_t>(~child));
      for (int64_t i = 0; i < n_used; ++i)
        if ((random.value() + 1) / 2 < fill)
          weights[static_cast<size_t>(child * n_features + i * (n_features / n_used))] =
              static_cast<double>(random.below(2047) - 1023) / 1024;
    }
  }

  chunk::PackedChunks pack(double dense_fill) const {
    std::vector<int64_t> indptr = {0};
    std::vector<int32_t> features, rank(static_cast<size_t>(n_features));
    std::vector<float> values;
    std::iota(rank.begin(), rank.end(), 0);
    for (int64_t child = 0; child < n_children; ++child) {
      for (int64_t feature = 0; feature < n_features; ++feature) {
        const double weight = weights[static_cast<size_t>(child * n_features + feature)];
        if (weight == 0) continue;
        features.push_back(static_cast<int32_t>(feature));
        values.push_back(static_cast<float>(weight));
      }
      indptr.push_back(static_cast<int64_t>(values.size()));
    }
    const int64_t child_ptr[2] = {0, n_children};
    const double mass = 1;
    chunk::PackOptions options;
    options.dense_fill = dense_fill;
    Job job;
    return chunk::pack_chunks(child_ptr, children.data(), 1,
                              {indptr.data(), features.data(), values.data(), bias.data()}, n_features, rank.data(),
                              &mass, options, 1, job);
  }

  chunk::PackedChunks pack_matrix(bool half) const {
    const std::vector<float> matrix(weights.begin(), weights.end());
    const int64_t child_ptr[2] = {0, n_children};
    const double mass = 1;
    Job job;
    return chunk::pack_matrix_chunks(child_ptr, children.data(), 1, matrix.data(), bias.data(), n_features, &mass, half,
                                     1, job);
  }
};

// Compares the margins of all parts of the node with sums in double precision; returns the first header.
chunk::ChunkHeader compare_margins(const simd::Kernels& table, Report& report, Random& random, const Node& node,
                                   const chunk::PackedChunks& packed, bool matrices) {
  std::vector<int32_t> features, rank(static_cast<size_t>(node.n_features));
  std::iota(rank.begin(), rank.end(), 0);
  std::vector<float> values;
  for (int64_t feature = 0; feature < node.n_features; feature += 1 + random.below(3)) {
    features.push_back(static_cast<int32_t>(feature));
    values.push_back(random.value());
  }
  search::SearchQuery query;
  query.set(features.data(), values.data(), static_cast<int64_t>(values.size()),
            {node.n_features, rank.data(), matrices, false});
  const uint8_t* part = packed.memory.data() + packed.offsets[0];
  const chunk::ChunkHeader first = *reinterpret_cast<const chunk::ChunkHeader*>(part);
  for (bool more = true; more;) {
    const chunk::ChunkHeader& header = *reinterpret_cast<const chunk::ChunkHeader*>(part);
    Aligned<float> margins(chunk::kMostChildren);
    table.chunk_margins(part, query.view(), margins.data());
    for (int64_t child = 0; child < header.n_children; ++child) {
      const int64_t edge = header.first_child + child;
      double expected = node.bias[static_cast<size_t>(edge)];
      for (size_t i = 0; i < values.size(); ++i)
        expected += node.weights[static_cast<size_t>(edge * node.n_features + features[i])] * values[i];
      report.near("chunk_margins, kind " + std::to_string(static_cast<int>(header.kind)), margins[child], expected);
    }
    more = header.more;
    part += chunk::kLine * header.lines;
  }
  return first;
}

}  // namespace

void test_chunks(const simd::Kernels& table, Report& report) {
  Random random(3);
  std::set<int> kinds, levels;
  for (int64_t n_children : {1, 2, 5, 8, 9, 15, 16, 17, 31, 64, 65, 100, 128, 255, 256, 300})
    for (double fill : {0.02, 0.2, 0.7, 1.0})
      for (int64_t spread : {1, 20, 400}) {
        const Node node(random, n_children, 90 * spread, 90, fill);
        const auto header = compare_margins(table, report, random, node, node.pack(fill < 0.5 ? 2.0 : 0.5), false);
        kinds.insert(static_cast<int>(header.kind));
        levels.insert(static_cast<int>(header.n_levels));
      }
  const Node wide(random, 16, 8192, 8192, 0.7);  // more weights than 16 bits can count
  kinds.insert(static_cast<int>(compare_margins(table, report, random, wide, wide.pack(0.5), false).kind));
  for (int64_t n_children : {1, 3, 4, 17, 256})
    for (bool half : {false, true}) {
      const Node node(random, n_children, 101, 101, 1.0);
      kinds.insert(static_cast<int>(compare_margins(table, report, random, node, node.pack_matrix(half), true).kind));
    }
  report.near("number of kinds of chunks seen", static_cast<double>(kinds.size()), 5);
  report.near("number of levels of indices seen", static_cast<double>(levels.size()), 3);
}

void test_selection(const simd::Kernels& table, Report& report) {
  Random random(4);
  for (int64_t n : {1, 15, 16, 17, 100, 256}) {
    const int64_t n_padded = chunk::round_up(n, 16);
    Aligned<float> margins(n_padded), scores(n_padded), nodes(n_padded), kept(n_padded), added(n_padded);
    std::vector<int32_t> children(static_cast<size_t>(n_padded), -1);
    std::vector<uint8_t> labels(static_cast<size_t>(n_padded) + 16);
    for (int64_t i = 0; i < n_padded; ++i) margins[i] = 4 * random.value();
    for (int64_t i = 0; i < n; ++i)
      children[static_cast<size_t>(i)] = static_cast<int32_t>(random.below(2) ? 1 + i : ~i);
    for (float power : {2.0f, 3.0f, 1.5f}) {
      table.path_scores.of[simd::kSquaredHinge](margins.data(), n_padded, -0.25f, power, scores.data());
      for (int64_t i = 0; i < n_padded; ++i)
        report.near("score of the hinge", scores[i], -0.25 - std::pow(std::fmax(0.0, 1.0 - margins[i]), power));
    }
    table.path_scores.of[simd::kLogistic](margins.data(), n_padded, -0.25f, 0.0f, scores.data());
    for (int64_t i = 0; i < n_padded; ++i)
      report.near("score of the logistic loss", scores[i], -0.25 - std::log1p(std::exp(-double{margins[i]})));

    const float limit = -2.0f;
    const int64_t n_labels =
        table.select_children(scores.data(), children.data(), n, limit, nodes.data(), labels.data());
    int64_t n_expected = 0, best = 0;
    for (int64_t i = 0; i < n_padded; ++i) {
      const bool is_label = children[static_cast<size_t>(i)] < 0, enough = i < n && scores[i] >= limit;
      report.near("select_children, nodes", nodes[i], enough && !is_label ? scores[i] : -kInfinity, 0);
      if (enough && is_label)
        report.near("select_children, labels", labels[static_cast<size_t>(n_expected++)], static_cast<double>(i), 0);
    }
    report.near("select_children, number of labels", static_cast<double>(n_labels), static_cast<double>(n_expected), 0);
    for (int64_t i = 1; i < n_padded; ++i)
      if (nodes[i] > nodes[best]) best = i;
    if (nodes[best] > -kInfinity)
      report.near("find_best", table.find_best(nodes.data(), children.data(), n_padded), static_cast<double>(best), 0);

    const auto by_child = random.values(2 * n_padded + 2);
    const float* values = by_child.data() + n_padded;  // children from ~n to n
    table.add_child_values(scores.data(), children.data(), n, values, added.data());
    for (int64_t i = 0; i < n; ++i)
      report.near("add_child_values", added[i], double{scores[i]} + values[children[static_cast<size_t>(i)]]);
    Aligned<float> priorities(nodes);
    table.priority_scores(children.data(), n_padded, -1.5f, values, 0.5f, priorities.data(), kept.data());
    for (int64_t i = 0; i < n_padded; ++i) {
      const bool open = nodes[i] >= -1.5f;
      const double discount = open ? values[children[static_cast<size_t>(i)]] : 0;
      report.near("priority_scores, scores", kept[i], nodes[i], 0);
      report.near("priority_scores", priorities[i], open ? nodes[i] - discount * (0.5 - nodes[i]) : -kInfinity);
    }
  }
}

}  // namespace labeltrees::native_tests
