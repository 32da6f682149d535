#include "chunk/unpack.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "chunk/format.hpp"
#include "chunk/part_reader.hpp"

namespace labeltrees::chunk {

namespace {

using Row = std::vector<std::pair<int32_t, float>>;  // feature and weight

}  // namespace

UnpackedRows unpack_chunks(const uint8_t* chunks, const int64_t* offsets, const int64_t* child_ptr,
                           const int32_t* feature_rank, int64_t n_features, const int32_t* nodes, int64_t n_nodes,
                           int n_threads, Job& job) {
  std::vector<int32_t> feature_of_rank(static_cast<size_t>(n_features));
  for (int64_t feature = 0; feature < n_features; ++feature)
    feature_of_rank[feature_rank[feature]] = static_cast<int32_t>(feature);
  std::vector<int64_t> first(static_cast<size_t>(n_nodes) + 1, 0);
  for (int64_t i = 0; i < n_nodes; ++i) first[i + 1] = first[i] + child_ptr[nodes[i] + 1] - child_ptr[nodes[i]];
  std::vector<Row> rows(static_cast<size_t>(first.back()));
  UnpackedRows result;
  result.bias.resize(rows.size());
  parallel_for(n_nodes, n_threads, [&](int64_t i, int) {
    job.check();
    const uint8_t* part = chunks + offsets[nodes[i]];
    int64_t row = first[i];
    for (bool more = true; more;) {
      const auto header = read_at<ChunkHeader>(part);
      Row* own = rows.data() + row;
      PartReader(part, [&](int32_t rank, int64_t child, float weight) {
        own[child].emplace_back(feature_of_rank[rank], weight);
      }).read();
      std::memcpy(result.bias.data() + row, part + kLine + 4 * int64_t{header.n_children}, 4u * header.n_children);
      for (int64_t child = 0; child < header.n_children; ++child)
        std::sort(rows[row + child].begin(), rows[row + child].end());
      row += header.n_children;
      more = header.more;
      part += kLine * int64_t{header.lines};
    }
    job.done += 1;
  });
  result.indptr.reserve(rows.size() + 1);
  result.indptr.push_back(0);
  for (const Row& row : rows) result.indptr.push_back(result.indptr.back() + static_cast<int64_t>(row.size()));
  result.features.reserve(static_cast<size_t>(result.indptr.back()));
  result.values.reserve(static_cast<size_t>(result.indptr.back()));
  for (Row& row : rows) {
    for (const auto& [feature, value] : row) {
      result.features.push_back(feature);
      result.values.push_back(value);
    }
    Row().swap(row);
  }
  return result;
}

}  // namespace labeltrees::chunk
