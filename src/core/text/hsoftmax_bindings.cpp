// The bindings of the text model's search engine and predictor.
#include <cmath>
#include <vector>

#include "common/bindings.hpp"
#include "search/bindings.hpp"
#include "search/predictor.hpp"
#include "text/hsoftmax_search.hpp"
#include "text/objects.hpp"

namespace labeltrees::text {

namespace {

// The engine together with the arrays that it points into.
struct NativeTextEngine {
  NativeTextEngine(ConstArray<uint8_t> text, ConstArray<int64_t> ends, int64_t n_words, ConstArray<int64_t> slots,
                   ConstArray<uint64_t> buckets, int32_t word_ngrams, int32_t min_n, int32_t max_n, int64_t n_buckets,
                   ConstArray<float> input, ConstArray<float> output, int64_t dim, int64_t stride,
                   ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, int32_t n_labels, int64_t height)
      : engine(FeatureMap(
                   {text.data(), static_cast<int64_t>(text.size()), ends.data(), static_cast<int64_t>(ends.size()) - 1,
                    n_words, slots.data(), static_cast<int64_t>(slots.size())},
                   {buckets.data()}, {word_ngrams, min_n, max_n, n_buckets}),
               input.data(), output.data(), dim, stride, tree::view_tree(child_ptr, children, n_labels), height) {
    for (nb::object array : {nb::find(text), nb::find(ends), nb::find(slots), nb::find(buckets), nb::find(input),
                             nb::find(output), nb::find(child_ptr), nb::find(children)})
      arrays.push_back(array);
  }

  HsEngine engine;
  std::vector<nb::object> arrays;
};

class NativeTextPredictor {
 public:
  NativeTextPredictor(Object<NativeTextEngine> engine, Object<search::NativeRequest> request, int64_t k,
                      Object<encode::NativeNames> names, bool with_names)
      : engine_(nb::cast<NativeTextEngine&>(engine).engine),
        answer_(engine, &engine_, std::move(request), k, engine_.n_labels(), std::move(names), with_names, false) {}

  search::AnswerArrays operator()(nb::handle text, const search::CallOptions& options) const {
    return answer(text, options);
  }
  // The same as lists of names or ids, and of scores with six digits.
  search::AnswerLists lists(nb::handle text, search::CallOptions options) const {
    options.as_lists = true;
    return answer(text, options);
  }
  int64_t n_no_features() const { return answer_.n_no_features(); }

 private:
  nb::tuple answer(nb::handle text, const search::CallOptions& options) const {
    nb::object encoded;
    const std::string_view view = text_of(text, "text", -1, encoded);
    return answer_(
        options, nullptr,
        [&](const search::SearchRequest& request, int64_t* labels, float* scores, search::SearchStats& stats) {
          ReleaseLock release;
          return engine_.search_one(view, request, labels, scores, stats);
        });
  }

  HsEngine& engine_;
  search::SingleAnswer answer_;
};

Tuple<NumPy<int32_t>, int64_t> features(NativeTextEngine& native, nb::handle text) {
  nb::object encoded;
  TextFeatures found;
  native.engine.features().read(text_of(text, "text", -1, encoded), true, found);
  const int64_t n = found.n;
  return nb::make_tuple(to_numpy(std::move(found.rows)), n);
}

search::NativeResults search(NativeTextEngine& native, TextTuple texts, const search::NativeRequest& request,
                             int n_threads, bool stats) {
  PythonTexts given(std::move(texts));
  const auto n = static_cast<int64_t>(given.views.size());
  search::ResultArrays arrays(n, request.request.k, stats);
  Job job;
  search::run_search(job, n,
                     [&] { native.engine.search(given.views, request.request, n_threads, job, arrays.results()); });
  return arrays.to_python();
}

search::TraceArrays trace(NativeTextEngine& native, TextTuple texts, const search::NativeRequest& request) {
  PythonTexts given(std::move(texts));
  std::vector<int64_t> ends = {0};
  std::vector<int32_t> nodes;
  std::vector<float> scores;
  Job job;
  run_job(job, nb::none(), [&] {
    std::vector<HsScratch::Open> opened;
    for (std::string_view text : given.views) {
      job.check();
      opened.clear();
      native.engine.trace(text, request.request, opened);
      for (const HsScratch::Open& node : opened) {
        nodes.push_back(node.node);
        scores.push_back(static_cast<float>(std::log(node.score)));
      }
      ends.push_back(static_cast<int64_t>(nodes.size()));
    }
  });
  return nb::make_tuple(to_numpy(std::move(ends)), to_numpy(std::move(nodes)), to_numpy(std::move(scores)));
}

Tuple<NumPy<int64_t>, NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<double>> count(
    NativeTextEngine& native, TextTuple texts, const search::NativeRequest& request) {
  PythonTexts given(std::move(texts));
  std::vector<int64_t> counts(given.views.size() * HsCounts::kFields), ends = {0};
  std::vector<HsScratch::Open> visits;
  Job job;
  run_job(job, nb::none(), [&] {
    HsReplay replay(native.engine);
    for (size_t query = 0; query < given.views.size(); ++query) {
      job.check();
      replay.count(given.views[query], request.request, visits).write(counts.data() + query * HsCounts::kFields);
      ends.push_back(static_cast<int64_t>(visits.size()));
    }
  });
  std::vector<int32_t> nodes, depths;
  std::vector<double> scores;
  for (const HsScratch::Open& visit : visits) {
    nodes.push_back(visit.node);
    depths.push_back(visit.depth);
    scores.push_back(visit.score);
  }
  return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ends)), to_numpy(std::move(nodes)),
                        to_numpy(std::move(depths)), to_numpy(std::move(scores)));
}

}  // namespace

void bind_hsoftmax(nb::module_& module) {
  nb::class_<NativeTextEngine>(module, "TextEngine")
      .def(nb::init<ConstArray<uint8_t>, ConstArray<int64_t>, int64_t, ConstArray<int64_t>, ConstArray<uint64_t>,
                    int32_t, int32_t, int32_t, int64_t, ConstArray<float>, ConstArray<float>, int64_t, int64_t,
                    ConstArray<int64_t>, ConstArray<int32_t>, int32_t, int64_t>(),
           nb::kw_only(), nb::arg("text").noconvert(), nb::arg("ends").noconvert(), nb::arg("n_words"),
           nb::arg("slots").noconvert(), nb::arg("buckets").noconvert(), nb::arg("word_ngrams"), nb::arg("min_n"),
           nb::arg("max_n"), nb::arg("n_buckets"), nb::arg("input").noconvert(), nb::arg("output").noconvert(),
           nb::arg("dim"), nb::arg("stride"), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
           nb::arg("n_labels"), nb::arg("height"))
      .def("features", &features, nb::arg("text"))
      .def("search", &search, nb::arg("texts"), nb::arg("request"), nb::arg("n_threads"), nb::arg("stats"))
      .def("label_set", &search::label_set<NativeTextEngine>, nb::arg("labels"), nb::arg("names").none())
      .def("label_weights", &search::label_weights<NativeTextEngine>, nb::arg("weights").noconvert())
      .def("set_prior", &search::set_prior<NativeTextEngine>, nb::arg("counts").noconvert(), nb::arg("n_points"))
      .def("set_retired", &search::set_retired<NativeTextEngine>, nb::arg("labels").noconvert())
      .def("trace", &trace, nb::arg("texts"), nb::arg("request"))
      .def("count", &count, nb::arg("texts"), nb::arg("request"));

  nb::class_<NativeTextPredictor> predictor(module, "TextPredictor");
  predictor
      .def(nb::init<Object<NativeTextEngine>, Object<search::NativeRequest>, int64_t, Object<encode::NativeNames>,
                    bool>(),
           nb::arg("engine"), nb::arg("request"), nb::arg("k"), nb::arg("names").none(), nb::arg("with_names"))
      .def_prop_ro("n_no_features", &NativeTextPredictor::n_no_features);
  using Given = nb::handle;
  search::def_call(
      predictor, "__call__",
      [](const NativeTextPredictor& self, Given text, Given k, Given exclude, Given candidates, Given weights,
         Given limits, Given threshold,
         Given diversity) { return self(text, {k, exclude, candidates, weights, limits, threshold, diversity}); },
      nb::arg("text"));
  search::def_call(
      predictor, "lists",
      [](const NativeTextPredictor& self, Given text, Given k, Given exclude, Given candidates, Given weights,
         Given limits, Given threshold,
         Given diversity) { return self.lists(text, {k, exclude, candidates, weights, limits, threshold, diversity}); },
      nb::arg("text"));
}

}  // namespace labeltrees::text
