// Building trees: the split, the recursion, contraction and the codes.
#include <nanobind/stl/pair.h>

#include "common/bindings.hpp"
#include "tree/builder.hpp"
#include "tree/codes.hpp"
#include "tree/contract.hpp"
#include "tree/contract_cost.hpp"
#include "tree/split.hpp"

namespace labeltrees {

namespace {

nb::tuple to_python(TreeArrays&& tree) {
  return nb::make_tuple(to_numpy(std::move(tree.child_ptr)), to_numpy(std::move(tree.children)));
}

// The labels' embeddings as Python hands them over. indptr: where each label's row starts; columns of size 0: dense
// rows.
struct Embeddings {
  std::vector<LabelRow> owned;
  LabelRows rows;

  Embeddings(ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
             ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns) {
    owned.reserve(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
      const int64_t start = indptr.data()[labels.data()[i]];
      const int64_t end = indptr.data()[labels.data()[i] + 1];
      owned.push_back({start, static_cast<int32_t>(end - start), labels.data()[i], weights.data()[i]});
    }
    rows = {owned.data(), static_cast<int64_t>(owned.size()), columns.size() ? columns.data() : nullptr, values.data(),
            n_columns};
  }
};

}  // namespace

void bind_build(nb::module_& module) {
  module.attr("PROGRESS_UNITS") = kProgressUnits;
  module.def(
      "select_half",
      [](ConstArray<double> keys, ConstArray<double> weights) {
        std::vector<LabelRow> rows(keys.size());
        double total = 0;
        for (size_t i = 0; i < rows.size(); ++i) total += rows[i].weight = weights.data()[i];
        Team team(1);
        SelectScratch scratch;
        const Half half =
            select_half(keys.data(), rows.data(), static_cast<int64_t>(rows.size()), total, team, scratch);
        return std::pair(half.crossing, half.alpha);
      },
      nb::arg("keys").noconvert(), nb::arg("weights").noconvert());
  module.def(
      "split_labels",
      [](ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
         ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, double similarity, double frequency,
         bool relaxed, int max_iterations, double tolerance, uint64_t seed) {
        Embeddings embeddings(labels, weights, indptr, columns, values, n_columns);
        SplitSettings settings{similarity, frequency, relaxed};
        settings.max_iterations = max_iterations;
        settings.tolerance = tolerance;
        std::vector<double> history, share;
        Job job;
        run_job(job, nb::none(), [&] {
          Team team(1);
          Splitter splitter(settings, team, job);
          splitter.split(embeddings.rows, seed, &history);
          share = splitter.share();
        });
        return nb::make_tuple(to_numpy(std::move(share)), to_numpy(std::move(history)));
      },
      nb::arg("labels").noconvert(), nb::arg("weights").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("similarity"),
      nb::arg("frequency"), nb::arg("relaxed"), nb::arg("max_iterations"), nb::arg("tolerance"), nb::arg("seed"));
  module.def(
      "build_binary_tree",
      [](ConstArray<int32_t> labels, ConstArray<double> weights, ConstArray<int64_t> indptr,
         ConstArray<int32_t> columns, ConstArray<float> values, int32_t n_columns, double similarity, double frequency,
         int64_t leaf_size, uint64_t seed, int n_threads, bool spend, nb::object progress) {
        Embeddings embeddings(labels, weights, indptr, columns, values, n_columns);
        SpentRows spent;
        if (spend) {  // the caller has made them for this call
          spent.columns = columns.size() ? const_cast<int32_t*>(columns.data()) : nullptr;
          spent.values = const_cast<float*>(values.data());
        }
        const BuildSettings settings{{similarity, frequency}, leaf_size, seed, n_threads};
        TreeArrays tree;
        Job job;
        run_job(job, progress, [&] { tree = build_binary_tree(embeddings.rows, spent, settings, job); });
        return to_python(std::move(tree));
      },
      nb::arg("labels").noconvert(), nb::arg("weights").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("columns").noconvert(), nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("similarity"),
      nb::arg("frequency"), nb::arg("leaf_size"), nb::arg("seed"), nb::arg("n_threads"), nb::arg("spend"),
      nb::arg("progress").none());
  module.def(
      "contract_tree",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> mass, int64_t fanout,
         bool keep_leaves) {
        return to_python(contract_tree(child_ptr.data(), children.data(), mass.data(), fanout, keep_leaves));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("mass").noconvert(), nb::arg("fanout"),
      nb::arg("keep_leaves"));
  module.def(
      "contract_for_cost",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<double> visits,
         ConstArray<double> cost_of, int64_t most, bool keep_leaves) {
        TreeArrays tree;
        Job job;
        run_job(job, nb::none(), [&] {
          tree = contract_for_cost(child_ptr.data(), children.data(), static_cast<int64_t>(child_ptr.size()) - 1,
                                   visits.data(), cost_of.data(), most, keep_leaves, job);
        });
        return to_python(std::move(tree));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("visits").noconvert(),
      nb::arg("cost_of").noconvert(), nb::arg("most"), nb::arg("keep_leaves"));
  module.def(
      "huffman_tree",
      [](ConstArray<int32_t> labels, ConstArray<double> weights) {
        return to_python(huffman_tree(labels.data(), weights.data(), static_cast<int64_t>(labels.size())));
      },
      nb::arg("labels").noconvert(), nb::arg("weights").noconvert());
  module.def(
      "fano_tree",
      [](ConstArray<int32_t> labels, ConstArray<double> weights) {
        return to_python(fano_tree(labels.data(), weights.data(), static_cast<int64_t>(labels.size())));
      },
      nb::arg("labels").noconvert(), nb::arg("weights").noconvert());
}

}  // namespace labeltrees
