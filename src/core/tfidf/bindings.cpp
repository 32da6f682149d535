// The analyzer and the vectorizer of texts.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <numeric>

#include "tfidf/python_texts.hpp"
#include "tfidf/unicode_text.hpp"

namespace labeltrees::tfidf {

namespace {

constexpr int64_t kTextsOfLongJob = 1000;  // from here on Ctrl-C matters, and the cost of one more thread does not

template <class Work>
void run(Job& job, nb::object progress, int64_t n_texts, Work&& work) {
  if (n_texts >= kTextsOfLongJob) {
    run_job(job, progress, work);
  } else {
    ReleaseLock release;
    work();
  }
}

template <class T>
NumPy<T> empty_numpy(int64_t n, T** data) {
  *data = new T[static_cast<size_t>(n)];  // uninitialised: the threads that fill it touch it first
  nb::capsule owner(*data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return NumPy<T>(*data, {static_cast<size_t>(n)}, owner);
}

// indptr of CSR from the lengths of the rows.
template <class Index>
nb::object row_ends(const std::vector<int64_t>& lengths) {
  std::vector<Index> ends(lengths.size() + 1);
  std::inclusive_scan(lengths.begin(), lengths.end(), ends.begin() + 1, std::plus<>(), Index{0});
  return nb::cast(to_numpy(std::move(ends)));
}

template <class T>
nb::tuple transform_as(const NativeUnion& native, nb::handle texts, int n_threads, nb::object progress) {
  std::vector<HeldTexts> held;
  for (const TextReading* reading : native.readings())
    held.emplace_back(held.empty() ? texts : nb::handle(held[0].objects()), *reading);
  if (!native.takes_tokens())
    for (size_t i = 0; i < held.size(); ++i)
      if (native.readings()[i]->prepare.is_none()) held[i].refuse_tokens();
  std::vector<const std::vector<TextView>*> views;
  for (const HeldTexts& way : held) views.push_back(&way.views());
  std::vector<int64_t> lengths(views[0]->size());
  std::vector<TextRows<T>> rows;
  Job job;
  run(job, progress, held[0].size(), [&] { rows = native.parts.rows<T>(views, n_threads, job, lengths.data()); });
  int64_t total = 0;
  std::vector<int64_t> starts;
  for (const TextRows<T>& block : rows) {
    starts.push_back(total);
    total += static_cast<int64_t>(block.features.size());
  }
  nb::object indptr = total <= INT32_MAX ? row_ends<int32_t>(lengths) : row_ends<int64_t>(lengths);
  if (rows.size() == 1)
    return nb::make_tuple(to_numpy(std::move(rows[0].weights)), to_numpy(std::move(rows[0].features)), indptr);
  T* weights = nullptr;
  int32_t* features = nullptr;
  auto weights_array = empty_numpy(total, &weights);
  auto features_array = empty_numpy(total, &features);
  {
    ReleaseLock release;
    parallel_for(static_cast<int64_t>(rows.size()), n_threads, [&](int64_t task, int) {
      TextRows<T> block = std::move(rows[task]);  // freed as soon as it is copied
      std::copy(block.features.begin(), block.features.end(), features + starts[task]);
      std::copy(block.weights.begin(), block.weights.end(), weights + starts[task]);
    });
  }
  return nb::make_tuple(weights_array, features_array, indptr);
}

nb::tuple transform(const NativeUnion& native, nb::handle texts, int n_threads, nb::object progress) {
  return native.parts.single() ? transform_as<float>(native, texts, n_threads, progress)
                               : transform_as<double>(native, texts, n_threads, progress);
}

Tuple<NumPy<int64_t>, int64_t> count_texts(const NativeVectorizer& native, nb::handle texts, int n_threads,
                                           nb::object progress) {
  HeldTexts held(texts, native.analyzer().reading);
  std::vector<int64_t> counts(static_cast<size_t>(native.vectorizer.n_features()));
  Job job;
  run(job, progress, held.size(), [&] { native.vectorizer.count_texts(held.views(), n_threads, job, counts.data()); });
  return nb::make_tuple(to_numpy(std::move(counts)), held.size());
}

// A limit is a number of texts, or a share of all texts.
Tuple<NumPy<uint8_t>, NumPy<int64_t>, NumPy<int64_t>, NumPy<int64_t>, int64_t, int64_t> learn(
    const NativeAnalyzer& native, nb::handle texts, double min_texts, double max_texts, bool min_is_share,
    bool max_is_share, int n_threads, nb::object progress) {
  HeldTexts held(texts, native.reading);
  const auto n = static_cast<double>(held.size());
  if (min_is_share) min_texts *= n;
  if (max_is_share) max_texts *= n;
  LearnedTerms learned;
  Job job;
  run(job, progress, held.size(),
      [&] { learned = learn_terms(native.analyzer, held.views(), min_texts, max_texts, n_threads, job); });
  return nb::make_tuple(to_numpy(std::move(learned.text)), to_numpy(std::move(learned.ends)),
                        to_numpy(std::move(learned.texts)), to_numpy(std::move(learned.occurrences)), learned.n_found,
                        held.size());
}

nb::str to_str(const uint8_t* at, int64_t n) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(at), static_cast<Py_ssize_t>(n), "strict"));
}

nb::str preprocess(const NativeAnalyzer& native, nb::object text) {
  HeldText held = hold_text(text, native.reading, "the text");
  if (held.view.tokens) throw BadText("the text must be a string, not a list of tokens");
  AnalyzerScratch scratch;
  unicode::TextBuffer& folded = native.analyzer.preprocess(held.view.at, held.view.size, scratch);
  return to_str(folded.data(), folded.size);
}

List<nb::str> terms_of(const NativeAnalyzer& native, nb::object text) {
  HeldText held = hold_text(text, native.reading, "the text");
  AnalyzerScratch scratch;
  List<nb::str> found;
  native.analyzer.analyze(held.view, scratch, [&](const Term* terms, int n) {
    for (int i = 0; i < n; ++i) found.append(to_str(terms[i].at, terms[i].size));
  });
  return found;
}

// Raises errors of this folder as the exceptions of labeltrees.errors.
void translate(const std::exception_ptr& error, void*) {
  const char* name = nullptr;
  std::string message;
  try {
    std::rethrow_exception(error);
  } catch (const DamagedTerms& fault) {
    name = "FileFormatError";
    message = fault.what();
  } catch (const BadText& fault) {
    name = "InputError";
    message = fault.what();
  }
  nb::object type = nb::module_::import_("labeltrees.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
}

}  // namespace

void bind_tfidf(nb::module_& module) {
  nb::register_exception_translator(translate);
  module.attr("UNICODE_VERSION") = unicode::version;
  nb::class_<NativeAnalyzer>(module, "TextAnalyzer")
      .def(nb::init<const std::string&, int64_t, int64_t, bool, const std::string&, ConstArray<uint8_t>,
                    ConstArray<int64_t>, std::string, std::string, bool, nb::object, bool>(),
           nb::arg("kind"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("lowercase"), nb::arg("strip"),
           nb::arg("stop_text").noconvert(), nb::arg("stop_ends").noconvert(), nb::arg("encoding"), nb::arg("errors"),
           nb::arg("nfc"), nb::arg("prepare").none(), nb::arg("prepares_any"))
      .def("preprocess", &preprocess, nb::arg("text"))
      .def("terms", &terms_of, nb::arg("text"));
  nb::class_<NativeStemmer>(module, "TextStemmer")
      .def(nb::init<nb::handle_t<NativeAnalyzer>, nb::object>(), nb::arg("words"), nb::arg("stem_words"));
  module.def("learn_terms", &learn, nb::arg("analyzer"), nb::arg("texts"), nb::arg("min_texts"), nb::arg("max_texts"),
             nb::arg("min_is_share"), nb::arg("max_is_share"), nb::arg("n_threads"), nb::arg("progress").none());
  nb::class_<NativeVectorizer>(module, "TextVectorizer")
      .def(
          nb::init<nb::handle_t<NativeAnalyzer>, std::optional<ConstArray<uint8_t>>, std::optional<ConstArray<int64_t>>,
                   int64_t, nb::object, nb::object, const std::string&, bool, bool, std::string>(),
          nb::arg("analyzer"), nb::arg("terms").noconvert().none(), nb::arg("ends").noconvert().none(),
          nb::arg("n_features"), nb::arg("idf").none(), nb::arg("logs").none(), nb::arg("norm"), nb::arg("binary"),
          nb::arg("single"), nb::arg("source"))
      .def("count_texts", &count_texts, nb::arg("texts"), nb::arg("n_threads"), nb::arg("progress").none());
  nb::class_<NativeUnion>(module, "TextUnion")
      .def(nb::init<List<NativeVectorizer>, List<float>>(), nb::arg("vectorizers"), nb::arg("weights"))
      .def_prop_ro("n_features", [](const NativeUnion& native) { return native.parts.n_features(); })
      .def("check",
           [](const NativeUnion& native) {
             ReleaseLock release;
             native.parts.require();
           })
      .def("transform", &transform, nb::arg("texts"), nb::arg("n_threads"), nb::arg("progress").none(),
           nb::sig("def transform(self, texts: object, n_threads: int, progress: Progress) -> "
                   "tuple[Float32s | Float64s, Int32s, Int32s | Int64s]"));
}

}  // namespace labeltrees::tfidf
