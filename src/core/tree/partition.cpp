#include "tree/partition.hpp"

#include <algorithm>
#include <atomic>

namespace labeltrees::tree {

namespace {

// Not worth it while the work per column (sums, centres) is small compared with the work per value.
bool worth_renumbering(const NodeLabels& side) { return side.n_values < 4 * static_cast<int64_t>(side.n_columns); }

}  // namespace

void Partition::apply(const labels::LabelRows& rows, const NodeLabels& set, const std::vector<double>& share,
                      labels::RowBuffer& to, NodeLabels& plus, NodeLabels& minus) {
  const int64_t blocks = labels::n_blocks(rows.n, labels::kFewRows);
  before_.assign(blocks + 1, {});
  team_.run(blocks, [&](int64_t block) {
    Counts& counts = before_[block + 1];
    for (int64_t i = block * labels::kFewRows, end = std::min(rows.n, i + labels::kFewRows); i < end; ++i) {
      const int64_t length = rows.rows[i].length;
      counts.values += length;
      if (share[i] > 0.5) {
        ++counts.plus_rows;
        counts.plus_values += length;
      }
    }
  });
  for (int64_t block = 1; block <= blocks; ++block) {
    before_[block].values += before_[block - 1].values;
    before_[block].plus_rows += before_[block - 1].plus_rows;
    before_[block].plus_values += before_[block - 1].plus_values;
  }
  const auto [_, plus_rows, plus_values] = before_[blocks];
  plus = {set.first_row, plus_rows, set.first_value, plus_values, set.n_columns, set.depth + 1};
  minus = {set.first_row + plus_rows,  set.n_rows - plus_rows, set.first_value + plus_values,
           set.n_values - plus_values, set.n_columns,          set.depth + 1};
  const bool in_place = to.values == rows.values;
  if (rows.columns && !in_place) renumber_columns(rows, share, plus, minus);

  team_.run(blocks, [&](int64_t block) {
    const Counts& before = before_[block];
    int64_t row[2] = {plus.first_row + before.plus_rows, minus.first_row + block * labels::kFewRows - before.plus_rows};
    int64_t value[2] = {plus.first_value + before.plus_values, minus.first_value + before.values - before.plus_values};
    for (int64_t i = block * labels::kFewRows, end = std::min(rows.n, i + labels::kFewRows); i < end; ++i) {
      const labels::LabelRow& from = rows.rows[i];
      const int side = share[i] > 0.5 ? 0 : 1;
      labels::LabelRow& written_row = to.rows[row[side]++] = from;
      if (in_place) continue;
      written_row.start = value[side];
      std::copy_n(rows.values + from.start, from.length, to.values + value[side]);
      if (rows.columns) {
        const int32_t* columns = rows.columns + from.start;
        int32_t* written = to.columns + value[side];
        const auto& map = new_column_[side];
        if (map.empty())
          std::copy_n(columns, from.length, written);
        else
          for (int32_t p = 0; p < from.length; ++p) written[p] = map[columns[p]];
      }
      value[side] += from.length;
    }
  });
}

void Partition::renumber_columns(const labels::LabelRows& rows, const std::vector<double>& share, NodeLabels& plus,
                                 NodeLabels& minus) {
  NodeLabels* sets[2] = {&plus, &minus};
  bool wanted[2];
  for (int side : {0, 1}) {
    wanted[side] = worth_renumbering(*sets[side]);
    used_[side].assign(wanted[side] ? rows.n_columns : 0, 0);
    new_column_[side].clear();
  }
  if (!wanted[0] && !wanted[1]) return;
  team_.run(labels::n_blocks(rows.n, labels::kFewRows), [&](int64_t block) {
    for (int64_t i = block * labels::kFewRows, end = std::min(rows.n, i + labels::kFewRows); i < end; ++i) {
      const int side = share[i] > 0.5 ? 0 : 1;
      if (!wanted[side]) continue;
      const labels::LabelRow& row = rows.rows[i];
      uint8_t* used = used_[side].data();
      for (int32_t p = 0; p < row.length; ++p)  // several threads may set the same mark
        std::atomic_ref(used[rows.columns[row.start + p]]).store(1, std::memory_order_relaxed);
    }
  });
  for (int side : {0, 1}) {
    if (!wanted[side]) continue;
    new_column_[side].resize(rows.n_columns);
    int32_t next = 0;
    for (int32_t column = 0; column < rows.n_columns; ++column) {
      new_column_[side][column] = next;
      next += used_[side][column];
    }
    sets[side]->n_columns = next;
  }
}

}  // namespace labeltrees::tree
