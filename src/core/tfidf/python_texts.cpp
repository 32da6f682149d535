#include "tfidf/python_texts.hpp"

#include <algorithm>
#include <cstring>

namespace labeltrees::tfidf {

namespace {

AnalyzerOptions analyzer_options(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase,
                                 const std::string& strip) {
  AnalyzerOptions options;
  options.kind = kind == "word" ? TermKind::word : kind == "char" ? TermKind::character : TermKind::character_in_word;
  options.min_n = min_n;
  options.max_n = max_n;
  options.lowercase = lowercase;
  options.strip = strip == "unicode" ? unicode::Strip::unicode
                  : strip == "ascii" ? unicode::Strip::ascii
                                     : unicode::Strip::none;
  return options;
}

bool is_list(nb::handle object) { return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()); }

// The UTF-8 of a str, which lives as long as the str: CPython caches it.
TextView utf8_of(nb::handle text, const std::string& name) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) {
    PyErr_Clear();
    throw BadText(name +
                  " contains half of a surrogate pair, which is not a valid character; remove it or encode it first");
  }
  return {reinterpret_cast<const uint8_t*>(bytes), static_cast<int64_t>(size)};
}

// Characters below U+0300 never change or combine in NFC. Their first bytes are below 0xCC.
bool is_surely_nfc(const uint8_t* text, int64_t n) {
  uint8_t highest = 0;
  for (int64_t i = 0; i < n; ++i) highest = std::max(highest, text[i]);
  return highest < 0xCC;
}

nb::object to_nfc(nb::handle text) { return nb::module_::import_("unicodedata").attr("normalize")("NFC", text); }

void append(std::vector<uint8_t>& packed, const uint8_t* at, int64_t size) {
  size_t start = packed.size();
  packed.resize(start + sizeof size + static_cast<size_t>(size));
  std::memcpy(packed.data() + start, &size, sizeof size);
  if (size > 0) std::memcpy(packed.data() + start + sizeof size, at, static_cast<size_t>(size));
}

std::vector<uint8_t> pack(nb::handle tokens, const std::string& name) {
  std::vector<uint8_t> packed;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(tokens.ptr());
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::object token = item_of(tokens, i);
    if (!PyUnicode_Check(token.ptr()))
      throw BadText(name + ": token " + std::to_string(i) + " must be a string, got " + name_of_type(token));
    const TextView view = utf8_of(token, name);
    append(packed, view.at, view.size);
  }
  return packed;
}

HeldText hold_tokens(nb::handle tokens, const std::string& name) {
  HeldText held;
  held.packed = pack(tokens, name);
  held.view = {held.packed.data(), static_cast<int64_t>(held.packed.size()), true};
  return held;
}

}  // namespace

const uint8_t* StemTable::find(std::string_view word) const {
  if (slots_.empty()) return nullptr;
  const size_t own = hash(word), mask = slots_.size() - 1;
  for (size_t at = own & mask; slots_[at] != 0; at = (at + 1) & mask) {
    if (slots_[at] >> 32 != own >> 32) continue;
    const uint8_t* entry = bytes_.data() + (slots_[at] & UINT32_MAX) - 1;
    int64_t size;
    std::memcpy(&size, entry, sizeof size);
    if (static_cast<size_t>(size) != word.size()) continue;
    if (std::memcmp(entry + sizeof size, word.data(), word.size()) == 0) return entry + sizeof size + size;
  }
  return nullptr;
}

void StemTable::place(size_t own, size_t entry) {
  const size_t mask = slots_.size() - 1;
  size_t at = own & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = static_cast<uint64_t>(own >> 32) << 32 | (entry + 1);
}

void StemTable::insert(std::string_view word, std::string_view stem) {
  const size_t needed = word.size() + stem.size() + 2 * sizeof(int64_t);
  if (needed > kMostBytes || find(word) != nullptr) return;
  if (bytes_.size() + needed > kMostBytes) *this = StemTable();
  if (2 * (n_ + 1) > slots_.size()) {  // at least half of the slots stay empty
    slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), 0);
    for (size_t at = 0; at < bytes_.size();) {
      int64_t sizes[2];
      std::memcpy(&sizes[0], bytes_.data() + at, sizeof sizes[0]);
      const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + at + sizeof sizes[0];
      std::memcpy(&sizes[1], begin + sizes[0], sizeof sizes[1]);
      place(hash({begin, static_cast<size_t>(sizes[0])}), at);
      at += static_cast<size_t>(sizes[0] + sizes[1]) + sizeof sizes;
    }
  }
  const size_t entry = bytes_.size();
  append(bytes_, reinterpret_cast<const uint8_t*>(word.data()), static_cast<int64_t>(word.size()));
  append(bytes_, reinterpret_cast<const uint8_t*>(stem.data()), static_cast<int64_t>(stem.size()));
  place(hash(word), entry);
  ++n_;
}

std::vector<std::string> NativeStemmer::look_up(const TextView& text, const Missing& own,
                                                std::vector<uint8_t>& packed) {
  std::vector<std::string> missing;
  std::lock_guard<std::mutex> guard(lock_);
  nb::cast<const NativeAnalyzer&>(words_).analyzer.analyze(text, scratch_, [&](const Term* terms, int n) {
    for (int i = 0; i < n; ++i) {
      const std::string_view word(reinterpret_cast<const char*>(terms[i].at), static_cast<size_t>(terms[i].size));
      if (const uint8_t* stem = table_.find(word)) {
        int64_t size;
        std::memcpy(&size, stem, sizeof size);
        packed.insert(packed.end(), stem, stem + sizeof size + size);
        continue;
      }
      auto found = own.empty() ? own.end() : own.find(std::string(word));
      if (found == own.end()) {
        missing.emplace_back(word);
        continue;
      }
      append(packed, reinterpret_cast<const uint8_t*>(found->second.data()),
             static_cast<int64_t>(found->second.size()));
    }
  });
  return missing;
}

std::vector<uint8_t> NativeStemmer::stems(const TextView& text, const std::string& name) {
  std::vector<uint8_t> packed;
  packed.reserve(static_cast<size_t>(2 * text.size));
  const std::vector<std::string> missing = look_up(text, {}, packed);
  if (missing.empty()) return packed;
  nb::list words;
  for (const std::string& word : missing) words.append(nb::str(word.data(), word.size()));
  nb::object made = nb::steal(PyObject_CallFunctionObjArgs(stem_words_.ptr(), words.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  Missing own;
  for (size_t i = 0; i < missing.size(); ++i) {
    const TextView stem = utf8_of(nb::object(made[i]), name);
    own.emplace(missing[i], std::string(reinterpret_cast<const char*>(stem.at), static_cast<size_t>(stem.size)));
  }
  {
    std::lock_guard<std::mutex> guard(lock_);
    for (const auto& [word, stem] : own) table_.insert(word, stem);
  }
  packed.clear();
  look_up(text, own, packed);
  return packed;
}

HeldText hold_text(nb::handle text, const TextReading& reading, const std::string& name) {
  HeldText held;
  held.object = nb::borrow(text);
  if (PyBytes_Check(text.ptr())) {
    held.object = nb::steal(PyUnicode_Decode(PyBytes_AS_STRING(text.ptr()), PyBytes_GET_SIZE(text.ptr()),
                                             reading.encoding.c_str(), reading.errors.c_str()));
    if (!held.object.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
      PyErr_Clear();
      throw BadText(name + " cannot be decoded as " + reading.encoding + "; check the parameter encoding");
    }
  }
  const bool has_function = !reading.prepare.is_none();
  if (PyUnicode_Check(held.object.ptr())) {
    held.view = utf8_of(held.object, name);
    if (reading.nfc && !is_surely_nfc(held.view.at, held.view.size)) held.object = to_nfc(held.object);
  } else if (!(has_function && reading.prepares_any)) {
    if (is_list(held.object) && reading.takes_tokens) return hold_tokens(held.object, name);
    if (is_list(held.object))
      throw BadText(name + " is a list of tokens, which only analyzer='word' takes; pass a string");
    throw BadText(name + " must be a string, got " + name_of_type(held.object));
  }
  NativeStemmer* stemmer = nullptr;
  if (has_function && nb::try_cast(reading.prepare, stemmer)) {
    held.packed = stemmer->stems(utf8_of(held.object, name), name);
    held.view = {held.packed.data(), static_cast<int64_t>(held.packed.size()), true};
    return held;
  }
  if (has_function) {
    held.object = outlast_interpreter(
        [&] { return nb::steal(PyObject_CallFunctionObjArgs(reading.prepare.ptr(), held.object.ptr(), nullptr)); });
    if (!held.object.is_valid()) throw nb::python_error();
    if (is_list(held.object)) return hold_tokens(held.object, name);
  }
  held.view = utf8_of(held.object, name);
  return held;
}

HeldTexts::HeldTexts(nb::handle texts, const TextReading& reading) {
  if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr()))
    throw BadText("texts must be a sequence of strings, got a single string; pass [text]");
  // A new tuple, because the caller's list may change while the interpreter lock is released.
  held_ = nb::steal(PySequence_Tuple(texts.ptr()));
  if (!held_.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    throw BadText("texts must be a sequence of strings, got " + name_of_type(texts));
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(held_.ptr());
  const bool is_plain = reading.prepare.is_none();
  views_.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::handle text(PyTuple_GET_ITEM(held_.ptr(), i));
    // Fast path for most texts: this loop takes most of the time of a small call.
    if (is_plain && PyUnicode_Check(text.ptr())) {
      Py_ssize_t size = 0;
      const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
      const auto* at = reinterpret_cast<const uint8_t*>(bytes);
      if (bytes != nullptr && (!reading.nfc || PyUnicode_IS_ASCII(text.ptr()) || is_surely_nfc(at, size))) {
        views_.push_back({at, size});
        continue;
      }
      PyErr_Clear();
    }
    made_.push_back(hold_text(text, reading, "texts[" + std::to_string(i) + "]"));
    views_.push_back(made_.back().view);
  }
}

void HeldTexts::refuse_tokens() const {
  for (size_t i = 0; i < views_.size(); ++i)
    if (views_[i].tokens)
      throw BadText("texts[" + std::to_string(i) +
                    "] is a list of tokens, which only analyzer='word' takes; pass a string");
}

NativeAnalyzer::NativeAnalyzer(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase,
                               const std::string& strip, ConstArray<uint8_t> stop_text_array,
                               ConstArray<int64_t> stop_ends_array, std::string encoding, std::string errors, bool nfc,
                               nb::object prepare, bool prepares_any)
    : stop_text(nb::find(stop_text_array)),
      stop_ends(nb::find(stop_ends_array)),
      analyzer(analyzer_options(kind, min_n, max_n, lowercase, strip),
               TermIndex(stop_text_array.data(), static_cast<int64_t>(stop_text_array.size()), stop_ends_array.data(),
                         static_cast<int64_t>(stop_ends_array.size()) - 1)),
      reading{std::move(encoding), std::move(errors), nfc, std::move(prepare), prepares_any, analyzer.takes_tokens()} {}

namespace {

template <class T>
TermWeights<T> term_weights(const nb::object& idf, const nb::object& logs, bool wanted) {
  TermWeights<T> weights;
  if (!wanted) return weights;
  if (!idf.is_none()) weights.idf = nb::cast<ConstArray<T>>(idf, false).data();
  if (!logs.is_none()) {
    auto array = nb::cast<ConstArray<T>>(logs, false);
    weights.logs = array.data();
    weights.n_logs = static_cast<int64_t>(array.size());
  }
  return weights;
}

VectorizerOptions vectorizer_options(int64_t n_features, const std::string& norm, bool binary, bool single) {
  return {n_features, norm == "l2" ? Norm::l2 : norm == "l1" ? Norm::l1 : Norm::none, binary, single};
}

std::vector<nb::object> kept(nb::handle analyzer, const std::optional<ConstArray<uint8_t>>& terms,
                             const std::optional<ConstArray<int64_t>>& ends, nb::object idf, nb::object logs) {
  std::vector<nb::object> objects{nb::borrow(analyzer), idf, logs};
  if (terms) objects.push_back(nb::find(*terms));
  if (ends) objects.push_back(nb::find(*ends));
  return objects;
}

}  // namespace

NativeVectorizer::NativeVectorizer(nb::handle_t<NativeAnalyzer> analyzer_object,
                                   std::optional<ConstArray<uint8_t>> terms, std::optional<ConstArray<int64_t>> ends,
                                   int64_t n_features, nb::object idf, nb::object logs, const std::string& norm,
                                   bool binary, bool single, std::string source)
    : arrays_(kept(analyzer_object, terms, ends, idf, logs)),
      vectorizer(analyzer().analyzer, vectorizer_options(n_features, norm, binary, single),
                 KnownTerms{terms ? terms->data() : nullptr, terms ? static_cast<int64_t>(terms->size()) : 0,
                            ends ? ends->data() : nullptr, std::move(source)},
                 term_weights<float>(idf, logs, single), term_weights<double>(idf, logs, !single)) {}

NativeUnion::NativeUnion(List<NativeVectorizer> vectorizers, List<float> weights)
    : vectorizers_(std::move(vectorizers)), parts(make_parts(std::move(weights))) {}

std::vector<UnionPart> NativeUnion::make_parts(nb::list weights) {
  std::vector<UnionPart> made;
  int64_t plain = -1;  // the reading without functions
  for (size_t i = 0; i < vectorizers_.size(); ++i) {
    const auto& native = nb::cast<const NativeVectorizer&>(vectorizers_[i]);
    const TextReading& reading = native.analyzer().reading;
    takes_tokens_ = takes_tokens_ && reading.takes_tokens;
    auto number = static_cast<int64_t>(readings_.size());
    if (reading.prepare.is_none() && plain >= 0)
      number = plain;
    else
      readings_.push_back(&reading);
    if (reading.prepare.is_none()) plain = number;
    made.push_back({&native.vectorizer, nb::cast<double>(weights[i]), number});
  }
  return made;
}

}  // namespace labeltrees::tfidf
