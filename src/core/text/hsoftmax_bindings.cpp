// Searching the text model: many texts, or one at a time.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "common/bindings.hpp"
#include "search/arguments.hpp"
#include "search/engine.hpp"
#include "text/hsoftmax_counts.hpp"
#include "text/hsoftmax_search.hpp"
#include "text/objects.hpp"

namespace labeltrees {

namespace {

constexpr int64_t kTextsPerTask = 16;

// The engine, the arrays it looks into, and workspaces to borrow.
class NativeTextEngine {
 public:
  NativeTextEngine(ConstArray<uint8_t> text, ConstArray<int64_t> ends, int64_t n_words, ConstArray<int64_t> slots,
                   ConstArray<uint64_t> buckets, int32_t word_ngrams, int32_t min_n, int32_t max_n, int64_t n_buckets,
                   ConstArray<float> input, ConstArray<float> output, int64_t dim, int64_t stride,
                   ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, int32_t n_labels, int64_t height)
      : engine_(FeatureMap(
                    {text.data(), static_cast<int64_t>(text.size()), ends.data(), static_cast<int64_t>(ends.size()) - 1,
                     n_words, slots.data(), static_cast<int64_t>(slots.size())},
                    {buckets.data()}, {word_ngrams, min_n, max_n, n_buckets}),
                input.data(), output.data(), dim, stride, view_tree(child_ptr, children, n_labels), height) {
    for (nb::object array : {nb::find(text), nb::find(ends), nb::find(slots), nb::find(buckets), nb::find(input),
                             nb::find(output), nb::find(child_ptr), nb::find(children)})
      arrays_.push_back(array);
  }

  HsEngine& engine() { return engine_; }

  std::unique_ptr<HsWorkspace> borrow() {
    std::lock_guard lock(mutex_);
    if (rooms_.empty()) return std::make_unique<HsWorkspace>();
    auto room = std::move(rooms_.back());
    rooms_.pop_back();
    return room;
  }
  void give_back(std::unique_ptr<HsWorkspace> room) {
    std::lock_guard lock(mutex_);
    rooms_.push_back(std::move(room));
  }

 private:
  HsEngine engine_;
  std::vector<nb::object> arrays_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HsWorkspace>> rooms_;
};

struct TextResults {
  int64_t* labels;
  float* scores;
  int64_t* nodes;  // the rest null where not asked for
  int32_t* depth;
  float* microseconds;
  uint8_t* partial;
};

HsOptions make_options(int64_t k, int64_t max_nodes, int64_t max_microseconds,
                       const std::optional<ConstArray<float>>& factors) {
  return {k, max_nodes, max_microseconds, factors ? factors->data() : nullptr};
}

void search_texts(NativeTextEngine& native, const std::vector<std::string_view>& texts, const HsOptions& options,
                  const LabelLists& candidates, const LabelLists& excluded, int n_threads, Job& job,
                  const TextResults& results) {
  HsEngine& engine = native.engine();
  const int64_t k = options.k;
  const auto n = static_cast<int64_t>(texts.size());
  if (candidates.given()) engine.links().require();
  std::vector<std::unique_ptr<HsWorkspace>> rooms(static_cast<size_t>(std::max(n_threads, 1)));
  std::vector<LabelFilter> filters(rooms.size());
  auto mark = [&](MarkSet& set, const LabelLists& lists, int64_t query) {
    set.reserve(engine.n_labels());
    set.clear();
    for (int64_t i = 0; i < lists.size(query); ++i) set.insert(lists.begin(query)[i]);
  };
  parallel_for((n + kTextsPerTask - 1) / kTextsPerTask, n_threads, [&](int64_t task, int thread) {
    auto& room = rooms[thread];
    if (!room) room = native.borrow();
    LabelFilter& filter = filters[thread];  // one list for all texts is marked once a thread
    const int64_t end = std::min(n, (task + 1) * kTextsPerTask);
    for (int64_t query = task * kTextsPerTask; query < end; ++query) {
      job.check();
      const auto start =
          results.microseconds ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
      if (candidates.given() && (candidates.indptr || !filter.labels)) {
        mark(room->allowed, candidates, query);
        room->allowed_nodes.reserve(engine.n_nodes());
        room->allowed_nodes.clear();
        mark_ancestors(engine.links(), candidates.begin(query), candidates.size(query), room->allowed_nodes);
        filter.labels = room->allowed.words();
        filter.nodes = room->allowed_nodes.words();
      }
      if (excluded.given() && (excluded.indptr || !filter.excluded)) {
        mark(room->excluded, excluded, query);
        filter.excluded = room->excluded.words();
      }
      int64_t* labels = results.labels + query * k;
      float* scores = results.scores + query * k;
      const int64_t found = engine.search(texts[query], options, filter, *room, labels, scores);
      std::fill(labels + found, labels + k, -1);
      std::fill(scores + found, scores + k, 0.0f);
      if (results.nodes) results.nodes[query] = room->stats.nodes;
      if (results.depth) results.depth[query] = room->stats.depth;
      if (results.partial) results.partial[query] = room->stats.partial;
      if (results.microseconds)
        results.microseconds[query] =
            std::chrono::duration<float, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    job.done += end - task * kTextsPerTask;
  });
  for (auto& room : rooms)
    if (room) native.give_back(std::move(room));
}

class NativeTextPredictor {
 public:
  // factors: the array of options.factors, to keep it alive. most > 0: always searches for so many labels, returns the
  // first k of them and refuses a larger k.
  NativeTextPredictor(nb::object engine, NativeTextEngine& native, const HsOptions& options, nb::object factors,
                      int64_t most)
      : engine_(std::move(engine)), factors_(std::move(factors)), native_(native), options_(options), most_(most) {
    nb::module_ numpy = nb::module_::import_("numpy");
    empty_ = numpy.attr("empty");
    int64_ = numpy.attr("dtype")("int64");
    float32_ = numpy.attr("dtype")("float32");
  }

  nb::tuple operator()(nb::handle text, nb::handle k_given) const {
    int64_t k = options_.k;
    if (!k_given.is_none()) {
      k = PyLong_Check(k_given.ptr()) ? PyLong_AsLongLong(k_given.ptr()) : -1;
      if (k < 1) {
        PyErr_Clear();
        throw BadQuery("k must be an integer of at least 1");
      }
    }
    k = std::min<int64_t>(k, native_.engine().n_labels());
    if (most_ > 0 && k > most_)
      throw BadQuery("k must be at most " + std::to_string(most_) + ", what this predictor was made for");
    HsOptions options = options_;
    options.k = most_ > 0 ? most_ : k;
    nb::object encoded;
    const std::string_view view = text_of(text, "text", -1, encoded);
    auto room = native_.borrow();
    int64_t found;
    labels_and_scores answer(*room, options.k);
    {
      nb::gil_scoped_release release;
      found = native_.engine().search(view, options, LabelFilter(), *room, answer.labels, answer.scores);
    }
    found = std::min(found, k);
    nb::object labels = filled(int64_, answer.labels, found), scores = filled(float32_, answer.scores, found);
    native_.give_back(std::move(room));
    return nb::make_tuple(labels, scores);
  }

 private:
  struct labels_and_scores {
    labels_and_scores(HsWorkspace& room, int64_t k) {
      if (static_cast<int64_t>(room.labels.size()) < k) room.labels.resize(k), room.scores.resize(k);
      labels = room.labels.data();
      scores = room.scores.data();
    }
    int64_t* labels;
    float* scores;
  };

  template <class T>
  nb::object filled(const nb::object& dtype, const T* values, int64_t n) const {
    nb::object array = empty_(n, dtype);
    Py_buffer view;
    if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE | PyBUF_WRITABLE) != 0) throw nb::python_error();
    std::copy_n(values, n, static_cast<T*>(view.buf));
    PyBuffer_Release(&view);
    return array;
  }

  nb::object engine_, factors_;  // keep `native_` and `options_.factors` alive
  NativeTextEngine& native_;
  HsOptions options_;
  int64_t most_;
  nb::object empty_, int64_, float32_;
};

}  // namespace

void bind_hsoftmax(nb::module_& module) {
  nb::class_<NativeTextEngine>(module, "TextEngine")
      .def(nb::init<ConstArray<uint8_t>, ConstArray<int64_t>, int64_t, ConstArray<int64_t>, ConstArray<uint64_t>,
                    int32_t, int32_t, int32_t, int64_t, ConstArray<float>, ConstArray<float>, int64_t, int64_t,
                    ConstArray<int64_t>, ConstArray<int32_t>, int32_t, int64_t>(),
           nb::arg("text").noconvert(), nb::arg("ends").noconvert(), nb::arg("n_words"), nb::arg("slots").noconvert(),
           nb::arg("buckets").noconvert(), nb::arg("word_ngrams"), nb::arg("min_n"), nb::arg("max_n"),
           nb::arg("n_buckets"), nb::arg("input").noconvert(), nb::arg("output").noconvert(), nb::arg("dim"),
           nb::arg("stride"), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("n_labels"),
           nb::arg("height"))
      .def(
          "features",
          [](NativeTextEngine& native, nb::handle text) {
            nb::object encoded;
            TextFeatures found;
            native.engine().features().read(text_of(text, "text", -1, encoded), true, found);
            const int64_t n = found.n;
            return nb::make_tuple(to_numpy(std::move(found.rows)), n);
          },
          nb::arg("text"))
      .def(
          "search",
          [](NativeTextEngine& native, nb::tuple texts, int64_t k, int64_t max_nodes, int64_t max_microseconds,
             std::optional<ConstArray<float>> factors, std::optional<ConstArray<int64_t>> candidate_ptr,
             std::optional<ConstArray<int32_t>> candidates, std::optional<ConstArray<int64_t>> exclude_ptr,
             std::optional<ConstArray<int32_t>> exclude, int n_threads, Array<int64_t> labels, Array<float> scores,
             std::optional<Array<int64_t>> nodes, std::optional<Array<int32_t>> depth,
             std::optional<Array<float>> microseconds, std::optional<Array<uint8_t>> partial) {
            PythonTexts given(std::move(texts));
            HsOptions options = make_options(k, max_nodes, max_microseconds, factors);
            TextResults results{labels.data(),
                                scores.data(),
                                nodes ? nodes->data() : nullptr,
                                depth ? depth->data() : nullptr,
                                microseconds ? microseconds->data() : nullptr,
                                partial ? partial->data() : nullptr};
            LabelLists allowed = label_lists(candidate_ptr, candidates), excluded = label_lists(exclude_ptr, exclude);
            Job job;
            auto work = [&] { search_texts(native, given.views, options, allowed, excluded, n_threads, job, results); };
            if (given.views.size() >= 1000) {  // long enough for Ctrl-C to matter, and for the extra thread not to
              run_job(job, nb::none(), work);
            } else {
              nb::gil_scoped_release release;
              work();
            }
          },
          nb::arg("texts"), nb::arg("k"), nb::arg("max_nodes"), nb::arg("max_microseconds"),
          nb::arg("factors").noconvert().none(), nb::arg("candidate_ptr").noconvert().none(),
          nb::arg("candidates").noconvert().none(), nb::arg("exclude_ptr").noconvert().none(),
          nb::arg("exclude").noconvert().none(), nb::arg("n_threads"), nb::arg("labels").noconvert(),
          nb::arg("scores").noconvert(), nb::arg("nodes").noconvert().none(), nb::arg("depth").noconvert().none(),
          nb::arg("microseconds").noconvert().none(), nb::arg("partial").noconvert().none())
      .def(
          "trace",
          [](NativeTextEngine& native, nb::tuple texts, int64_t k, std::optional<ConstArray<float>> factors) {
            PythonTexts given(std::move(texts));
            HsOptions options = make_options(k, 0, 0, factors);
            std::vector<int64_t> ends = {0};
            std::vector<int32_t> nodes;
            std::vector<float> scores;
            Job job;
            run_job(job, nb::none(), [&] {
              HsWorkspace room;
              std::vector<HsWorkspace::Open> opened;
              std::vector<int64_t> labels(static_cast<size_t>(k));
              std::vector<float> found(static_cast<size_t>(k));
              room.trace = &opened;
              for (std::string_view text : given.views) {
                job.check();
                opened.clear();
                native.engine().search(text, options, LabelFilter(), room, labels.data(), found.data());
                for (const HsWorkspace::Open& node : opened) {
                  nodes.push_back(node.node);
                  scores.push_back(static_cast<float>(std::log(node.score)));
                }
                ends.push_back(static_cast<int64_t>(nodes.size()));
              }
            });
            return nb::make_tuple(to_numpy(std::move(ends)), to_numpy(std::move(nodes)), to_numpy(std::move(scores)));
          },
          nb::arg("texts"), nb::arg("k"), nb::arg("factors").noconvert().none())
      .def(
          "count",
          [](NativeTextEngine& native, nb::tuple texts, int64_t k, std::optional<ConstArray<float>> factors) {
            PythonTexts given(std::move(texts));
            HsOptions options = make_options(k, 0, 0, factors);
            std::vector<int64_t> counts(given.views.size() * HsCounts::kFields), ends = {0};
            std::vector<HsWorkspace::Open> visits;
            Job job;
            run_job(job, nb::none(), [&] {
              HsReplay replay(native.engine());
              for (size_t query = 0; query < given.views.size(); ++query) {
                job.check();
                replay.count(given.views[query], options, visits).write(counts.data() + query * HsCounts::kFields);
                ends.push_back(static_cast<int64_t>(visits.size()));
              }
            });
            std::vector<int32_t> nodes, depths;
            std::vector<double> scores;
            for (const HsWorkspace::Open& visit : visits) {
              nodes.push_back(visit.node);
              depths.push_back(visit.depth);
              scores.push_back(visit.score);
            }
            return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ends)), to_numpy(std::move(nodes)),
                                  to_numpy(std::move(depths)), to_numpy(std::move(scores)));
          },
          nb::arg("texts"), nb::arg("k"), nb::arg("factors").noconvert().none())
      .def(
          "time_parts",
          [](NativeTextEngine& native, nb::tuple texts, bool sum, ConstArray<int64_t> ends, ConstArray<int32_t> nodes,
             Array<float> microseconds) {
            PythonTexts given(std::move(texts));
            nb::gil_scoped_release release;
            HsReplay replay(native.engine());
            for (size_t query = 0; query < given.views.size(); ++query) {
              const int64_t first = ends.data()[query], n = ends.data()[query + 1] - first;
              const auto start = std::chrono::steady_clock::now();
              replay.evaluate(given.views[query], sum, nodes.data() + first, n);
              microseconds.data()[query] =
                  std::chrono::duration<float, std::micro>(std::chrono::steady_clock::now() - start).count();
            }
          },
          nb::arg("texts"), nb::arg("sum"), nb::arg("ends").noconvert(), nb::arg("nodes").noconvert(),
          nb::arg("microseconds").noconvert());

  nb::class_<NativeTextPredictor>(module, "TextPredictor")
      .def(
          "__init__",
          [](NativeTextPredictor* self, nb::handle_t<NativeTextEngine> engine, int64_t k, int64_t max_nodes,
             int64_t max_microseconds, std::optional<ConstArray<float>> factors, int64_t most) {
            new (self) NativeTextPredictor(nb::borrow(engine), nb::cast<NativeTextEngine&>(engine),
                                           make_options(k, max_nodes, max_microseconds, factors),
                                           factors ? nb::find(*factors) : nb::none(), most);
          },
          nb::arg("engine"), nb::arg("k"), nb::arg("max_nodes"), nb::arg("max_microseconds"),
          nb::arg("factors").noconvert().none(), nb::arg("most"))
      .def("__call__", &NativeTextPredictor::operator(), nb::arg("text"), nb::arg("k").none() = nb::none());
}

}  // namespace labeltrees
