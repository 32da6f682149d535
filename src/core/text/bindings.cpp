// The first passes over texts and the training of the text model.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "text/bag.hpp"
#include "text/fasttext.hpp"
#include "text/hsoftmax_train.hpp"
#include "text/objects.hpp"
#include "text/vocabulary.hpp"

namespace labeltrees {

namespace {

// Texts, what was counted of them, and a training on them.
struct Corpus {
  Corpus(nb::object texts, const std::string& path, int32_t word_ngrams, int32_t min_n, int32_t max_n,
         int64_t n_buckets)
      : settings{word_ngrams, min_n, max_n, n_buckets} {
    if (texts.is_none()) {
      source = std::make_unique<FileTexts>(path);
    } else {
      given.emplace(nb::cast<nb::tuple>(texts));
      source = std::make_unique<MemoryTexts>(given->views);
    }
  }
  FeatureMap features() const { return {vocabulary.view(), {vocabulary.buckets.data()}, settings}; }

  TextSettings settings;
  std::optional<PythonTexts> given;
  std::unique_ptr<TextSource> source;
  Vocabulary vocabulary;
  HsProgress progress;
};

template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<1>> copy_of(const std::vector<T>& values) {
  return to_numpy(std::vector<T>(values));
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const FileError& fault) {
    nb::object type = nb::module_::import_("labeltrees.errors").attr("FileFormatError");
    PyErr_SetString(type.ptr(), fault.what());
  }
}

}  // namespace

void bind_text(nb::module_& module) {
  nb::register_exception_translator(translate);

  module.def(
      "start_input",
      [](Array<float> input, int64_t dim, int64_t stride, uint64_t seed, int n_threads) {
        nb::gil_scoped_release release;
        HsMatrices matrices{input.data(), nullptr, static_cast<int64_t>(input.size()) / stride, 0, dim, stride};
        start_input(matrices, seed, n_threads);
      },
      nb::arg("input").noconvert(), nb::arg("dim"), nb::arg("stride"), nb::arg("seed"), nb::arg("n_threads"));
  module.def(
      "word_slots",
      [](ConstArray<uint8_t> text, ConstArray<int64_t> ends) {
        return to_numpy(make_slots({text.data(), text.data() + text.size()}, {ends.data(), ends.data() + ends.size()}));
      },
      nb::arg("text").noconvert(), nb::arg("ends").noconvert());
  module.def("word_hash", [](nb::bytes word) { return fnv1a({word.c_str(), word.size()}); });

  module.def(
      "fasttext_entries",
      [](ConstArray<uint8_t> bytes, int64_t n) {
        FastTextEntries entries = read_fasttext_entries(bytes.data(), static_cast<int64_t>(bytes.size()), n);
        const int64_t n_read = entries.n_read;
        return nb::make_tuple(to_numpy(std::move(entries.text)), to_numpy(std::move(entries.ends)),
                              to_numpy(std::move(entries.counts)), to_numpy(std::move(entries.types)), n_read);
      },
      nb::arg("bytes").noconvert(), nb::arg("n"));
  module.def(
      "fasttext_huffman",
      [](ConstArray<int64_t> counts) {
        return to_numpy(fasttext_huffman(counts.data(), static_cast<int64_t>(counts.size())));
      },
      nb::arg("counts").noconvert());

  module.def(
      "decision_places",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int32_t> label_place,
         Array<int32_t> depth, Array<int32_t> place) {
        decision_places(child_ptr.data(), children.data(), static_cast<int64_t>(child_ptr.size()) - 1,
                        label_place.data(), depth.data(), place.data());
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("label_place").noconvert(),
      nb::arg("depth").noconvert(), nb::arg("place").noconvert());

  nb::class_<Corpus>(module, "TextCorpus")
      .def(nb::init<nb::object, const std::string&, int32_t, int32_t, int32_t, int64_t>(), nb::arg("texts").none(),
           nb::arg("path"), nb::arg("word_ngrams"), nb::arg("min_n"), nb::arg("max_n"), nb::arg("n_buckets"))
      .def(
          "count",
          [](Corpus& corpus, int64_t min_count, int64_t most_entries, nb::object progress) {
            Job job;
            run_job(job, progress, [&] {
              corpus.vocabulary = count_words(*corpus.source, corpus.settings, min_count, most_entries, job);
            });
          },
          nb::arg("min_count"), nb::arg("most_entries"), nb::arg("progress").none())
      .def_prop_ro("n_bytes", [](const Corpus& corpus) { return corpus.source->n_bytes(); })
      .def_prop_ro("n_words", [](const Corpus& corpus) { return corpus.vocabulary.n_words; })
      .def_prop_ro("n_labels", [](const Corpus& corpus) { return corpus.vocabulary.n_labels; })
      .def_prop_ro("n_tokens", [](const Corpus& corpus) { return corpus.vocabulary.n_tokens; })
      .def_prop_ro("n_lines", [](const Corpus& corpus) { return corpus.vocabulary.n_lines; })
      .def_prop_ro("n_bucket_rows", [](const Corpus& corpus) { return corpus.vocabulary.n_bucket_rows; })
      .def_prop_ro(
          "text", [](const Corpus& corpus) { return copy_of(corpus.vocabulary.text); }, nb::rv_policy::move)
      .def_prop_ro(
          "ends", [](const Corpus& corpus) { return copy_of(corpus.vocabulary.ends); }, nb::rv_policy::move)
      .def_prop_ro(
          "counts", [](const Corpus& corpus) { return copy_of(corpus.vocabulary.counts); }, nb::rv_policy::move)
      .def_prop_ro(
          "buckets", [](const Corpus& corpus) { return copy_of(corpus.vocabulary.buckets); }, nb::rv_policy::move)
      .def_prop_ro("loss", [](const Corpus& corpus) { return corpus.progress.loss.load(); })
      .def(
          "bag",
          [](const Corpus& corpus, int64_t least_of_word, int64_t least_of_ngram, nb::object progress) {
            Job job;
            Bag bag;
            run_job(job, progress, [&] {
              const int64_t n_rows = corpus.vocabulary.n_words + corpus.vocabulary.n_bucket_rows;
              bag = make_bag(*corpus.source, corpus.features(), n_rows, {least_of_word, least_of_ngram}, job);
            });
            return nb::make_tuple(to_numpy(std::move(bag.indptr)), to_numpy(std::move(bag.columns)),
                                  to_numpy(std::move(bag.values)), to_numpy(std::move(bag.label_indptr)),
                                  to_numpy(std::move(bag.labels)));
          },
          nb::arg("least_of_word"), nb::arg("least_of_ngram"), nb::arg("progress").none())
      .def(
          "train",
          [](Corpus& corpus, Array<float> input, Array<float> output, int64_t dim, int64_t stride,
             ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, int64_t n_labels,
             std::optional<ConstArray<int64_t>> label_indptr, std::optional<ConstArray<int32_t>> labels,
             std::optional<ConstArray<float>> weights, int64_t n_tokens, float lr, int64_t epochs, uint64_t seed,
             int n_threads, nb::object progress) {
            HsMatrices matrices{input.data(),
                                output.data(),
                                static_cast<int64_t>(input.size()) / stride,
                                static_cast<int64_t>(output.size()) / stride,
                                dim,
                                stride};
            HsLabels given;
            if (label_indptr) given = {label_indptr->data(), labels->data(), weights ? weights->data() : nullptr};
            Job job;
            run_job(job, progress, [&] {
              UpwardLinks tree(view_tree(child_ptr, children, n_labels));
              FeatureMap features = corpus.features();
              train_hsoftmax(matrices, tree, *corpus.source, features, given, n_tokens, {lr, epochs, seed, n_threads},
                             job, corpus.progress);
            });
          },
          nb::arg("input").noconvert(), nb::arg("output").noconvert(), nb::arg("dim"), nb::arg("stride"),
          nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("n_labels"),
          nb::arg("label_indptr").noconvert().none(), nb::arg("labels").noconvert().none(),
          nb::arg("weights").noconvert().none(), nb::arg("n_tokens"), nb::arg("lr"), nb::arg("epochs"), nb::arg("seed"),
          nb::arg("n_threads"), nb::arg("progress").none());
}

}  // namespace labeltrees
