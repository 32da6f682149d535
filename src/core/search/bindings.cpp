// Packing chunks, searching them, and the checks a file of chunks needs.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "chunk/pack.hpp"
#include "common/half.hpp"
#include "search/arguments.hpp"
#include "search/counts.hpp"
#include "search/engine.hpp"
#include "search/predictor.hpp"
#include "search/query_check.hpp"

namespace labeltrees {

namespace {

using Bytes = ConstArray<uint8_t>;

nb::tuple packed_arrays(PackedChunks&& packed) {
  return nb::make_tuple(to_numpy<uint8_t>(std::move(packed.memory), packed.size), to_numpy(std::move(packed.offsets)));
}

// The engine and the arrays it looks into.
struct NativeEngine {
  NativeEngine(int64_t n_features, int32_t n_labels, bool matrices, bool normalize, float power)
      : engine(n_features, n_labels, matrices, normalize, power) {}
  SearchEngine engine;
  std::vector<nb::object> arrays;
};

SearchOptions make_options(const NativeEngine& native, int64_t k, const std::string& mode, int64_t beam, bool prune,
                           int64_t max_chunks, int64_t max_microseconds,
                           const std::optional<ConstArray<float>>& losses) {
  SearchOptions options;
  options.k = k;
  options.mode = mode == "beam" ? SearchMode::beam : SearchMode::best_first;
  options.beam = beam;
  options.prune = prune;
  options.max_chunks = max_chunks;
  options.max_microseconds = max_microseconds;
  options.power = native.engine.power();
  options.losses = losses ? losses->data() : nullptr;
  return options;
}

QueryRows query_rows(const std::optional<ConstArray<int64_t>>& indptr,
                     const std::optional<ConstArray<int32_t>>& features, const ConstArray<float>& values, int64_t n) {
  return {n, indptr ? indptr->data() : nullptr, features ? features->data() : nullptr, values.data()};
}

template <class Scalar>
Scalar* data_or_null(std::optional<Array<Scalar>>& array) {
  return array ? array->data() : nullptr;
}

// Errors of the labeltrees family, by their place in Python.
void translate(const std::exception_ptr& error, void*) {
  const char *name = nullptr, *what = nullptr;
  std::string message;
  try {
    std::rethrow_exception(error);
  } catch (const DamagedChunk& fault) {
    name = "FileFormatError";
    message = fault.what();
  } catch (const BadQuery& fault) {
    name = "InputError";
    message = fault.what();
  }
  what = message.c_str();
  nb::object type = nb::module_::import_("labeltrees.errors").attr(name);
  PyErr_SetString(type.ptr(), what);
}

}  // namespace

void bind_search(nb::module_& module) {
  nb::register_exception_translator(translate);

  module.attr("HOPE_SCALE") = kHopeScale;
  module.def("half_round_trip", [](ConstArray<float> values) {
    std::vector<float> rounded;
    for (size_t i = 0; i < values.size(); ++i) rounded.push_back(from_half(to_half(values.data()[i])));
    return to_numpy(std::move(rounded));
  });

  module.def(
      "check_rows",
      [](ConstArray<int64_t> indptr, ConstArray<int32_t> features, ConstArray<float> values, int64_t n_features,
         int n_threads) {
        nb::gil_scoped_release release;
        RowsCheck found = check_rows(indptr.data(), features.data(), values.data(),
                                     static_cast<int64_t>(indptr.size()) - 1, n_features, n_threads);
        return std::make_pair(found.sound, found.rising);
      },
      nb::arg("indptr").noconvert(), nb::arg("features").noconvert(), nb::arg("values").noconvert(),
      nb::arg("n_features"), nb::arg("n_threads"));

  module.def(
      "pack_chunks",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int64_t> indptr,
         ConstArray<int32_t> features, ConstArray<float> values, ConstArray<float> bias, int64_t n_features,
         ConstArray<int32_t> feature_rank, ConstArray<double> node_mass, int n_threads, nb::object progress) {
        PackedChunks packed;
        Job job;
        run_job(job, progress, [&] {
          packed = pack_chunks(child_ptr.data(), children.data(), static_cast<int32_t>(child_ptr.size() - 1),
                               {indptr.data(), features.data(), values.data(), bias.data()}, n_features,
                               feature_rank.data(), node_mass.data(), PackOptions(), n_threads, job);
        });
        return packed_arrays(std::move(packed));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("bias").noconvert(),
      nb::arg("n_features"), nb::arg("feature_rank").noconvert(), nb::arg("node_mass").noconvert(),
      nb::arg("n_threads"), nb::arg("progress").none());

  module.def(
      "pack_matrix_chunks",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<float> matrix, ConstArray<float> bias,
         int64_t n_features, ConstArray<double> node_mass, bool half, int n_threads, nb::object progress) {
        PackedChunks packed;
        Job job;
        run_job(job, progress, [&] {
          packed = pack_matrix_chunks(child_ptr.data(), children.data(), static_cast<int32_t>(child_ptr.size() - 1),
                                      matrix.data(), bias.data(), n_features, node_mass.data(), half, n_threads, job);
        });
        return packed_arrays(std::move(packed));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("matrix").noconvert(),
      nb::arg("bias").noconvert(), nb::arg("n_features"), nb::arg("node_mass").noconvert(), nb::arg("half"),
      nb::arg("n_threads"), nb::arg("progress").none());

  nb::class_<NativeEngine> native_engine(module, "SearchEngine");
  native_engine
      .def(nb::init<int64_t, int32_t, bool, bool, float>(), nb::arg("n_features"), nb::arg("n_labels"),
           nb::arg("matrices"), nb::arg("normalize"), nb::arg("power"))
      .def(
          "add_tree",
          [](NativeEngine& native, Bytes chunks, ConstArray<int64_t> offsets, ConstArray<int32_t> feature_rank,
             ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, bool checked, const std::string& source,
             std::optional<ConstArray<float>> ceilings) {
            auto n_nodes = static_cast<int32_t>(offsets.size());
            ChunkLimits limits{chunks.data(),
                               static_cast<int64_t>(chunks.size()),
                               native.engine.n_features(),
                               n_nodes,
                               native.engine.n_labels(),
                               native.engine.matrices()};
            native.engine.add_tree(limits, offsets.data(), feature_rank.data(), checked, source,
                                   view_tree(child_ptr, children, native.engine.n_labels()),
                                   ceilings ? ceilings->data() : nullptr);
            if (ceilings) native.arrays.push_back(nb::find(*ceilings));
            for (nb::object array :
                 {nb::find(chunks), nb::find(offsets), nb::find(feature_rank), nb::find(child_ptr), nb::find(children)})
              native.arrays.push_back(array);
          },
          nb::arg("chunks").noconvert(), nb::arg("offsets").noconvert(), nb::arg("feature_rank").noconvert(),
          nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("checked"), nb::arg("source"),
          nb::arg("ceilings").noconvert().none() = nb::none())
      .def("check_all",
           [](const NativeEngine& native) {
             nb::gil_scoped_release release;
             native.engine.check_all();
           })
      .def(
          "search",
          [](NativeEngine& native, std::optional<ConstArray<int64_t>> indptr,
             std::optional<ConstArray<int32_t>> features, ConstArray<float> values, int64_t n_queries, int64_t k,
             const std::string& mode, int64_t beam, bool prune, int64_t max_chunks, int64_t max_microseconds,
             std::optional<ConstArray<float>> losses, std::optional<ConstArray<int64_t>> candidate_ptr,
             std::optional<ConstArray<int32_t>> candidates, std::optional<ConstArray<int64_t>> exclude_ptr,
             std::optional<ConstArray<int32_t>> exclude, int n_threads, Array<int64_t> labels, Array<float> scores,
             std::optional<Array<int64_t>> chunks, std::optional<Array<int64_t>> classifiers,
             std::optional<Array<int32_t>> depth, std::optional<Array<float>> microseconds,
             std::optional<Array<uint8_t>> partial) {
            SearchOptions options = make_options(native, k, mode, beam, prune, max_chunks, max_microseconds, losses);
            QueryRows rows = query_rows(indptr, features, values, n_queries);
            SearchResults results{labels.data(),        scores.data(),
                                  data_or_null(chunks), data_or_null(classifiers),
                                  data_or_null(depth),  data_or_null(microseconds),
                                  data_or_null(partial)};
            LabelLists allowed = label_lists(candidate_ptr, candidates), excluded = label_lists(exclude_ptr, exclude);
            Job job;
            auto work = [&] { native.engine.search(rows, options, allowed, excluded, n_threads, job, results); };
            if (n_queries >= 1000) {  // long enough for Ctrl-C to matter, and for the extra thread not to
              run_job(job, nb::none(), work);
            } else {
              nb::gil_scoped_release release;
              work();
            }
          },
          nb::arg("indptr").noconvert().none(), nb::arg("features").noconvert().none(), nb::arg("values").noconvert(),
          nb::arg("n_queries"), nb::arg("k"), nb::arg("mode"), nb::arg("beam"), nb::arg("prune"), nb::arg("max_chunks"),
          nb::arg("max_microseconds"), nb::arg("losses").noconvert().none(),
          nb::arg("candidate_ptr").noconvert().none(), nb::arg("candidates").noconvert().none(),
          nb::arg("exclude_ptr").noconvert().none(), nb::arg("exclude").noconvert().none(), nb::arg("n_threads"),
          nb::arg("labels").noconvert(), nb::arg("scores").noconvert(), nb::arg("chunks").noconvert().none(),
          nb::arg("classifiers").noconvert().none(), nb::arg("depth").noconvert().none(),
          nb::arg("microseconds").noconvert().none(), nb::arg("partial").noconvert().none());

  native_engine
      .def(
          "trace",
          [](NativeEngine& native, int64_t tree, std::optional<ConstArray<int64_t>> indptr,
             std::optional<ConstArray<int32_t>> features, ConstArray<float> values, int64_t n_queries, int64_t k,
             const std::string& mode, int64_t beam, bool prune, int64_t max_chunks, int64_t max_microseconds,
             std::optional<ConstArray<float>> losses) {
            SearchOptions options = make_options(native, k, mode, beam, prune, max_chunks, max_microseconds, losses);
            QueryRows rows = query_rows(indptr, features, values, n_queries);
            std::vector<int64_t> ends = {0};
            std::vector<int32_t> nodes;
            std::vector<float> scores;
            Job job;
            run_job(job, nb::none(), [&] {
              std::vector<OpenNode> opened;
              for (int64_t query = 0; query < n_queries; ++query) {
                job.check();
                opened.clear();
                native.engine.trace(tree, rows, query, options, opened);
                for (const OpenNode& node : opened) {
                  nodes.push_back(node.node);
                  scores.push_back(node.score);
                }
                ends.push_back(static_cast<int64_t>(nodes.size()));
              }
            });
            return nb::make_tuple(to_numpy(std::move(ends)), to_numpy(std::move(nodes)), to_numpy(std::move(scores)));
          },
          nb::arg("tree"), nb::arg("indptr").noconvert().none(), nb::arg("features").noconvert().none(),
          nb::arg("values").noconvert(), nb::arg("n_queries"), nb::arg("k"), nb::arg("mode"), nb::arg("beam"),
          nb::arg("prune"), nb::arg("max_chunks"), nb::arg("max_microseconds"), nb::arg("losses").noconvert().none())
      .def(
          "count",
          [](NativeEngine& native, std::optional<ConstArray<int64_t>> indptr,
             std::optional<ConstArray<int32_t>> features, ConstArray<float> values, int64_t n_queries, int64_t k,
             const std::string& mode, int64_t beam, bool prune, int64_t max_chunks, int64_t max_microseconds,
             std::optional<ConstArray<float>> losses) {
            SearchOptions options = make_options(native, k, mode, beam, prune, max_chunks, max_microseconds, losses);
            QueryRows rows = query_rows(indptr, features, values, n_queries);
            std::vector<int64_t> counts(static_cast<size_t>(n_queries * SearchCounts::kFields)), ends = {0};
            std::vector<Visit> visits;
            Job job;
            run_job(job, nb::none(), [&] {
              SearchCounter counter(native.engine);
              for (int64_t query = 0; query < n_queries; ++query) {
                job.check();
                counter.count(rows, query, options, visits).write(counts.data() + query * SearchCounts::kFields);
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
          },
          nb::arg("indptr").noconvert().none(), nb::arg("features").noconvert().none(), nb::arg("values").noconvert(),
          nb::arg("n_queries"), nb::arg("k"), nb::arg("mode"), nb::arg("beam"), nb::arg("prune"), nb::arg("max_chunks"),
          nb::arg("max_microseconds"), nb::arg("losses").noconvert().none())
      .def(
          "time_each",
          [](NativeEngine& native, std::optional<ConstArray<int64_t>> indptr,
             std::optional<ConstArray<int32_t>> features, ConstArray<float> values, int64_t n_queries, int64_t k,
             const std::string& mode, int64_t beam, bool prune, int64_t max_chunks, int64_t max_microseconds,
             std::optional<ConstArray<float>> losses, Array<float> microseconds) {
            SearchOptions options = make_options(native, k, mode, beam, prune, max_chunks, max_microseconds, losses);
            QueryRows rows = query_rows(indptr, features, values, n_queries);
            nb::gil_scoped_release release;  // on this thread, so that its counters count it
            time_queries(native.engine, rows, options, microseconds.data());
          },
          nb::arg("indptr").noconvert().none(), nb::arg("features").noconvert().none(), nb::arg("values").noconvert(),
          nb::arg("n_queries"), nb::arg("k"), nb::arg("mode"), nb::arg("beam"), nb::arg("prune"), nb::arg("max_chunks"),
          nb::arg("max_microseconds"), nb::arg("losses").noconvert().none(), nb::arg("microseconds").noconvert())
      .def(
          "time_scoring",
          [](NativeEngine& native, std::optional<ConstArray<int64_t>> indptr,
             std::optional<ConstArray<int32_t>> features, ConstArray<float> values, int64_t n_queries,
             ConstArray<int64_t> ends, ConstArray<int32_t> nodes, ConstArray<int32_t> trees,
             Array<float> microseconds) {
            QueryRows rows = query_rows(indptr, features, values, n_queries);
            nb::gil_scoped_release release;
            time_scoring(native.engine, rows, ends.data(), nodes.data(), trees.data(), microseconds.data());
          },
          nb::arg("indptr").noconvert().none(), nb::arg("features").noconvert().none(), nb::arg("values").noconvert(),
          nb::arg("n_queries"), nb::arg("ends").noconvert(), nb::arg("nodes").noconvert(), nb::arg("trees").noconvert(),
          nb::arg("microseconds").noconvert());

  nb::class_<NativePredictor>(module, "Predictor")
      .def(
          "__init__",
          [](NativePredictor* self, nb::handle_t<NativeEngine> engine, int64_t k, const std::string& mode, int64_t beam,
             bool prune, int64_t max_chunks, int64_t max_microseconds, std::optional<ConstArray<float>> losses,
             int64_t most, nb::object vectorizer) {
            auto& native = nb::cast<NativeEngine&>(engine);
            new (self) NativePredictor(nb::borrow(engine), native.engine,
                                       make_options(native, k, mode, beam, prune, max_chunks, max_microseconds, losses),
                                       losses ? nb::find(*losses) : nb::none(), most, std::move(vectorizer));
          },
          nb::arg("engine"), nb::arg("k"), nb::arg("mode"), nb::arg("beam"), nb::arg("prune"), nb::arg("max_chunks"),
          nb::arg("max_microseconds"), nb::arg("losses").noconvert().none(), nb::arg("most"),
          nb::arg("vectorizer").none())
      .def("__call__", &NativePredictor::operator(), nb::arg("indices"), nb::arg("values").none() = nb::none(),
           nb::arg("k").none() = nb::none());
}

}  // namespace labeltrees
