// Word counts, tf-idf rows and training of the text model, and parts of fastText's model file.
#include "common/bindings.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "text/fasttext.hpp"
#include "text/features.hpp"
#include "text/hsoftmax_train.hpp"
#include "text/objects.hpp"
#include "text/vocabulary.hpp"

namespace labeltrees::text {

namespace {

template <class T>
using MaybeArray = std::optional<ConstArray<T>>;

HsMatrices matrices_of(Array<float>& input, Array<float>* output, int64_t dim, int64_t stride) {
  return {input.data(),
          output ? output->data() : nullptr,
          static_cast<int64_t>(input.size()) / stride,
          output ? static_cast<int64_t>(output->size()) / stride : 0,
          dim,
          stride};
}

// Texts in memory or in a file, their vocabulary, and the training on them.
class Corpus {
 public:
  Corpus(Object<TextTuple> texts, const std::string& path, int32_t word_ngrams, int32_t min_n, int32_t max_n,
         int64_t n_buckets)
      : settings_{word_ngrams, min_n, max_n, n_buckets} {
    if (texts.is_none()) {
      source_ = std::make_unique<FileTexts>(path);
    } else {
      texts_.emplace(nb::cast<nb::tuple>(texts));
      source_ = std::make_unique<MemoryTexts>(texts_->views);
    }
  }

  void count(int64_t min_count, int64_t max_entries, nb::object progress) {
    Job job;
    run_job(job, progress, [&] { vocabulary = count_words(*source_, settings_, min_count, max_entries, job); });
  }

  // Replaces the counted words and buckets by those of a model whose training continues. IN: words, then label tokens;
  // of buckets only the lower halves. The numbers of tokens and lines do not change.
  void set_vocabulary(ConstArray<uint8_t> text, ConstArray<int64_t> ends, ConstArray<int64_t> counts, int64_t n_words,
                      ConstArray<uint64_t> buckets) {
    vocabulary.text.assign(text.data(), text.data() + text.size());
    vocabulary.ends.assign(ends.data(), ends.data() + ends.size());
    vocabulary.counts.assign(counts.data(), counts.data() + counts.size());
    vocabulary.slots = make_slots(vocabulary.text, vocabulary.ends);
    vocabulary.n_words = n_words;
    vocabulary.n_labels = static_cast<int64_t>(counts.size()) - n_words;
    vocabulary.buckets.assign(buckets.data(), buckets.data() + buckets.size());
    vocabulary.n_bucket_rows = number_buckets(vocabulary.buckets);
  }

  Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>, NumPy<int64_t>, NumPy<int32_t>> bag(int64_t min_texts_of_word,
                                                                                          int64_t min_texts_of_ngram,
                                                                                          nb::object progress) const {
    Job job;
    Bag bag;
    run_job(job, progress, [&] {
      const int64_t n_rows = vocabulary.n_words + vocabulary.n_bucket_rows;
      bag = make_bag(*source_, features(), n_rows, {min_texts_of_word, min_texts_of_ngram}, job);
    });
    return nb::make_tuple(to_numpy(std::move(bag.indptr)), to_numpy(std::move(bag.columns)),
                          to_numpy(std::move(bag.values)), to_numpy(std::move(bag.label_indptr)),
                          to_numpy(std::move(bag.labels)));
  }

  void train(Array<float> input, Array<float> output, int64_t dim, int64_t stride, ConstArray<int64_t> child_ptr,
             ConstArray<int32_t> children, int64_t n_labels, MaybeArray<int64_t> label_indptr,
             MaybeArray<int32_t> labels, MaybeArray<float> weights, int64_t n_tokens, float lr, int64_t epochs,
             uint64_t seed, int n_threads, bool shuffle, nb::object progress) {
    const HsMatrices matrices = matrices_of(input, &output, dim, stride);
    HsLabels given;
    if (label_indptr) given = {label_indptr->data(), labels->data(), weights ? weights->data() : nullptr};
    Job job;
    run_job(job, progress, [&] {
      const UpwardLinks tree(tree::view_tree(child_ptr, children, n_labels));
      train_hsoftmax(matrices, tree, *source_, features(), given, n_tokens, {lr, epochs, seed, n_threads, shuffle}, job,
                     progress_);
    });
  }

  // All texts that training would read, with their line ends, for tests; the threads take turns.
  List<nb::bytes> shuffled_lines(int64_t epochs, uint64_t seed, int n_threads,
                                 std::optional<int64_t> buffer_bytes) const {
    ShuffleSettings settings{epochs, seed, n_threads};
    if (buffer_bytes) settings.buffer_bytes = *buffer_bytes;
    const TextReaders readers = source_->shuffled(settings);
    List<nb::bytes> lines;
    for (bool found = true; found;) {
      found = false;
      for (const auto& reader : readers) {
        TextLine line;
        if (!reader->next(line)) continue;
        found = true;
        const std::string whole = std::string(line.text) + (line.ended ? "\n" : "");
        lines.append(nb::bytes(whole.data(), whole.size()));
      }
    }
    return lines;
  }

  int64_t n_bytes() const { return source_->n_bytes(); }
  double loss() const { return progress_.loss.load(); }

  Vocabulary vocabulary;

 private:
  FeatureMap features() const { return {vocabulary.view(), {vocabulary.buckets.data()}, settings_}; }

  TextSettings settings_;
  std::optional<PythonTexts> texts_;
  std::unique_ptr<TextSource> source_;
  HsProgress progress_;
};

// A property that copies an array of the vocabulary.
template <auto member>
auto copy_of(const Corpus& corpus) {
  return to_numpy(std::remove_cvref_t<decltype(corpus.vocabulary.*member)>(corpus.vocabulary.*member));
}

template <auto member>
int64_t number_of(const Corpus& corpus) {
  return corpus.vocabulary.*member;
}

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const FileError& fault) {
    nb::object type = nb::module_::import_("labeltrees.errors").attr("FileFormatError");
    PyErr_SetString(type.ptr(), fault.what());
  }
}

void bind_fasttext(nb::module_& module) {
  module.def(
      "fasttext_entries",
      [](ConstArray<uint8_t> bytes,
         int64_t n) -> Tuple<NumPy<uint8_t>, NumPy<int64_t>, NumPy<int64_t>, NumPy<uint8_t>, int64_t> {
        FastTextEntries entries = read_fasttext_entries(bytes.data(), static_cast<int64_t>(bytes.size()), n);
        return nb::make_tuple(to_numpy(std::move(entries.text)), to_numpy(std::move(entries.ends)),
                              to_numpy(std::move(entries.counts)), to_numpy(std::move(entries.types)), entries.n_read);
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
        decision_places(tree::view_tree(child_ptr, children, static_cast<int64_t>(label_place.size())),
                        label_place.data(), depth.data(), place.data());
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("label_place").noconvert(),
      nb::arg("depth").noconvert(), nb::arg("place").noconvert());
}

void bind_corpus(nb::module_& module) {
  nb::class_<Corpus>(module, "TextCorpus")
      .def(nb::init<Object<TextTuple>, const std::string&, int32_t, int32_t, int32_t, int64_t>(),
           nb::arg("texts").none(), nb::arg("path"), nb::arg("word_ngrams"), nb::arg("min_n"), nb::arg("max_n"),
           nb::arg("n_buckets"))
      .def("count", &Corpus::count, nb::arg("min_count"), nb::arg("max_entries"), nb::arg("progress").none())
      .def("set_vocabulary", &Corpus::set_vocabulary, nb::arg("text").noconvert(), nb::arg("ends").noconvert(),
           nb::arg("counts").noconvert(), nb::arg("n_words"), nb::arg("buckets").noconvert())
      .def_prop_ro("n_bytes", &Corpus::n_bytes)
      .def_prop_ro("n_words", &number_of<&Vocabulary::n_words>)
      .def_prop_ro("n_labels", &number_of<&Vocabulary::n_labels>)
      .def_prop_ro("n_tokens", &number_of<&Vocabulary::n_tokens>)
      .def_prop_ro("n_lines", &number_of<&Vocabulary::n_lines>)
      .def_prop_ro("n_bucket_rows", &number_of<&Vocabulary::n_bucket_rows>)
      .def_prop_ro("text", &copy_of<&Vocabulary::text>, nb::rv_policy::move)
      .def_prop_ro("ends", &copy_of<&Vocabulary::ends>, nb::rv_policy::move)
      .def_prop_ro("counts", &copy_of<&Vocabulary::counts>, nb::rv_policy::move)
      .def_prop_ro("buckets", &copy_of<&Vocabulary::buckets>, nb::rv_policy::move)
      .def_prop_ro("loss", &Corpus::loss)
      .def("bag", &Corpus::bag, nb::arg("min_texts_of_word"), nb::arg("min_texts_of_ngram"), nb::arg("progress").none())
      .def("train", &Corpus::train, nb::kw_only(), nb::arg("input").noconvert(), nb::arg("output").noconvert(),
           nb::arg("dim"), nb::arg("stride"), nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(),
           nb::arg("n_labels"), nb::arg("label_indptr").noconvert().none(), nb::arg("labels").noconvert().none(),
           nb::arg("weights").noconvert().none(), nb::arg("n_tokens"), nb::arg("lr"), nb::arg("epochs"),
           nb::arg("seed"), nb::arg("n_threads"), nb::arg("shuffle"), nb::arg("progress").none())
      .def("shuffled_lines", &Corpus::shuffled_lines, nb::arg("epochs"), nb::arg("seed"), nb::arg("n_threads"),
           nb::arg("buffer_bytes").none() = nb::none());
}

}  // namespace

void bind_text(nb::module_& module) {
  nb::register_exception_translator(translate);
  module.def(
      "start_input",
      [](Array<float> input, int64_t dim, int64_t stride, uint64_t seed, int n_threads) {
        ReleaseLock release;
        start_input(matrices_of(input, nullptr, dim, stride), seed, n_threads);
      },
      nb::arg("input").noconvert(), nb::arg("dim"), nb::arg("stride"), nb::arg("seed"), nb::arg("n_threads"));
  module.def(
      "word_slots",
      [](ConstArray<uint8_t> text, ConstArray<int64_t> ends) {
        return to_numpy(make_slots({text.data(), text.data() + text.size()}, {ends.data(), ends.data() + ends.size()}));
      },
      nb::arg("text").noconvert(), nb::arg("ends").noconvert());
  module.def(
      "shuffle_blocks",
      [](int64_t file_size, int n_threads) -> Tuple<int64_t, int64_t, int64_t> {
        const ShuffleBlocks blocks(file_size, {1, 0, n_threads});
        return nb::make_tuple(blocks.block_size, blocks.n_blocks, blocks.n_groups);
      },
      nb::arg("file_size"), nb::arg("n_threads"));
  bind_fasttext(module);
  bind_corpus(module);
}

}  // namespace labeltrees::text
