// The bindings of the linear model's search engine and predictor.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "common/bindings.hpp"
#include "evidence/bindings.hpp"
#include "search/bindings.hpp"
#include "search/counts.hpp"
#include "search/predictor.hpp"

namespace labeltrees::search {

namespace {

Tuple<NumPy<int64_t>, NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<float>, NumPy<int32_t>, NumPy<uint8_t>>
count(NativeEngine& native, const NativeRows& rows, const NativeRequest& request) {
  const int64_t n = rows.rows.n;
  std::vector<int64_t> counts(static_cast<size_t>(n * SearchCounts::kFields)), ends = {0};
  std::vector<Visit> visits;
  Job job;
  run_job(job, nb::none(), [&] {
    SearchCounter counter(native.engine);
    RowCopy copy;
    for (int64_t query = 0; query < n; ++query) {
      job.check();
      const QueryRow row = copy.of(rows.rows, query, native.engine.n_features());
      counter.count(row, request.request, visits).write(counts.data() + query * SearchCounts::kFields);
      ends.push_back(static_cast<int64_t>(visits.size()));
    }
  });
  std::vector<int32_t> nodes, depths, trees;
  std::vector<float> scores;
  std::vector<uint8_t> on_path;
  for (const Visit& visit : visits) {
    nodes.push_back(visit.node.node);
    depths.push_back(visit.node.depth);
    scores.push_back(visit.node.score);
    trees.push_back(visit.tree);
    on_path.push_back(visit.on_path);
  }
  return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ends)), to_numpy(std::move(nodes)),
                        to_numpy(std::move(depths)), to_numpy(std::move(scores)), to_numpy(std::move(trees)),
                        to_numpy(std::move(on_path)));
}

NumPy<float> margins(const NativeEngine& native, int64_t tree, int32_t node, const NativeRows& rows) {
  const SearchEngine& engine = native.engine;
  if (tree < 0 || tree >= static_cast<int64_t>(engine.n_trees()) || node < 0 ||
      node >= engine.tree(static_cast<size_t>(tree)).store.n_nodes())
    throw BadQuery("there is no such node");
  std::vector<float> found;
  {
    ReleaseLock release;
    found = engine.margins(static_cast<size_t>(tree), node, rows.rows);
  }
  return to_numpy(std::move(found));
}

// Raises the exceptions of searches as those of labeltrees.errors.
void translate(const std::exception_ptr& error, void*) {
  auto raise = [](const char* name, const char* message) {
    nb::object type = nb::module_::import_("labeltrees.errors").attr(name);
    PyErr_SetString(type.ptr(), message);
  };
  try {
    std::rethrow_exception(error);
  } catch (const DamagedChunk& fault) {
    raise("FileFormatError", fault.what());
  } catch (const BadQuery& fault) {
    raise("InputError", fault.what());
  }
}

void add_tree(NativeEngine& native, ConstArray<uint8_t> chunks, ConstArray<int64_t> offsets,
              ConstArray<int32_t> feature_rank, ConstArray<int64_t> child_ptr, ConstArray<int32_t> children,
              bool checked, const std::string& source, std::optional<ConstArray<float>> ceilings) {
  SearchEngine& engine = native.engine;
  auto n_nodes = static_cast<int32_t>(offsets.size());
  chunk::ChunkLimits limits{chunks.data(),       static_cast<int64_t>(chunks.size()),
                            engine.n_features(), n_nodes,
                            engine.n_labels(),   engine.matrices()};
  engine.add_tree(limits, offsets.data(), feature_rank.data(), checked, source,
                  tree::view_tree(child_ptr, children, engine.n_labels()), ceilings ? ceilings->data() : nullptr);
  if (ceilings) native.arrays.push_back(nb::find(*ceilings));
  for (nb::object array :
       {nb::find(chunks), nb::find(offsets), nb::find(feature_rank), nb::find(child_ptr), nb::find(children)})
    native.arrays.push_back(array);
}

void set_evidence(NativeEngine& native, Object<evidence::NativeEvidence> evidence) {
  native.engine.set_evidence(&nb::cast<const evidence::NativeEvidence&>(evidence).evidence);
  native.arrays.push_back(std::move(evidence));
}

NativeResults search(NativeEngine& native, const NativeRows& rows, const NativeRequest& request, int n_threads,
                     bool stats) {
  ResultArrays arrays(rows.rows.n, request.request.n_returned(), stats);
  Job job;
  run_search(job, rows.rows.n,
             [&] { native.engine.search(rows.rows, request.request, n_threads, job, arrays.results()); });
  return arrays.to_python();
}

TraceArrays trace(NativeEngine& native, int64_t tree, const NativeRows& rows, const NativeRequest& request) {
  std::vector<int64_t> ends = {0};
  std::vector<int32_t> nodes;
  std::vector<float> scores;
  Job job;
  run_job(job, nb::none(), [&] {
    std::vector<OpenNode> opened;
    RowCopy copy;
    for (int64_t query = 0; query < rows.rows.n; ++query) {
      job.check();
      opened.clear();
      native.engine.trace(tree, copy.of(rows.rows, query, native.engine.n_features()), request.request, opened);
      for (const OpenNode& node : opened) {
        nodes.push_back(node.node);
        scores.push_back(node.score);
      }
      ends.push_back(static_cast<int64_t>(nodes.size()));
    }
  });
  return nb::make_tuple(to_numpy(std::move(ends)), to_numpy(std::move(nodes)), to_numpy(std::move(scores)));
}

}  // namespace

void bind_search(nb::module_& module) {
  nb::register_exception_translator(translate);
  module.attr("PRIORITY_SCALE") = kPriorityScale;

  nb::class_<NativeEngine>(module, "SearchEngine")
      .def(nb::init<int64_t, int32_t, bool, bool, const std::string&, float>(), nb::arg("n_features"),
           nb::arg("n_labels"), nb::arg("matrices"), nb::arg("normalize"), nb::arg("loss"), nb::arg("score_power"))
      .def("add_tree", &add_tree, nb::arg("chunks").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("feature_rank").noconvert(), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
           nb::arg("checked"), nb::arg("source"), nb::arg("ceilings").noconvert().none() = nb::none())
      .def("set_evidence", &set_evidence, nb::arg("evidence"))
      .def("check_all",
           [](const NativeEngine& native) {
             ReleaseLock release;
             native.engine.check_all();
           })
      .def("search", &search, nb::arg("rows"), nb::arg("request"), nb::arg("n_threads"), nb::arg("stats"))
      .def("label_set", &label_set<NativeEngine>, nb::arg("labels"), nb::arg("names").none())
      .def(
          "pack_set",
          [](const NativeEngine& native, const NativeLabelSet& set) {
            if (set.set->owner != &native.engine) throw std::invalid_argument("the set belongs to another engine");
            ReleaseLock release;
            native.engine.pack(*set.set);
          },
          nb::arg("set"))
      .def("label_weights", &label_weights<NativeEngine>, nb::arg("weights").noconvert())
      .def("set_prior", &set_prior<NativeEngine>, nb::arg("counts").noconvert(), nb::arg("n_points"))
      .def("set_retired", &set_retired<NativeEngine>, nb::arg("labels").noconvert())
      .def("trace", &trace, nb::arg("tree"), nb::arg("rows"), nb::arg("request"))
      .def("margins", &margins, nb::arg("tree"), nb::arg("node"), nb::arg("rows"))
      .def("count", &count, nb::arg("rows"), nb::arg("request"));

  nb::class_<NativePredictor> predictor(module, "Predictor");
  predictor
      .def(nb::init<Object<NativeEngine>, Object<NativeRequest>, int64_t, Object<encode::ContextEncoder>,
                    Object<encode::NativeNames>, bool, Object<ConstArray<int32_t>>>(),
           nb::arg("engine"), nb::arg("request"), nb::arg("k"), nb::arg("encoder").none(), nb::arg("names").none(),
           nb::arg("with_names"), nb::arg("label_of_feature").none())
      .def_prop_ro("n_unknown", &NativePredictor::n_unknown)
      .def_prop_ro("n_no_features", &NativePredictor::n_no_features);
  using Given = nb::handle;
  def_call(
      predictor, "__call__",
      [](const NativePredictor& self, Given first, Given second, Given k, Given exclude, Given candidates,
         Given weights, Given limits, Given threshold, Given diversity) {
        return self(first, second, {k, exclude, candidates, weights, limits, threshold, diversity});
      },
      nb::arg("indices").none(), nb::arg("values").none() = nb::none());
  def_call(
      predictor, "lists",
      [](const NativePredictor& self, Given first, Given second, Given k, Given exclude, Given candidates,
         Given weights, Given limits, Given threshold, Given diversity) {
        return self.lists(first, second, {k, exclude, candidates, weights, limits, threshold, diversity});
      },
      nb::arg("indices").none(), nb::arg("values").none() = nb::none());
}

}  // namespace labeltrees::search
