#include "tfidf/python_texts.hpp"

namespace labeltrees {

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

std::string type_of(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

}  // namespace

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

HeldTexts::HeldTexts(nb::handle texts, const std::string& encoding, const std::string& errors) {
  if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr()))
    throw BadText("texts must be a sequence of strings, got a single string; pass [text]");
  // A new tuple, because the caller's list may change while the interpreter lock is released.
  held_ = nb::steal(PySequence_Tuple(texts.ptr()));
  if (!held_.is_valid()) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    throw BadText("texts must be a sequence of strings, got " + type_of(texts));
  }
  Py_ssize_t n = PyTuple_GET_SIZE(held_.ptr());
  views_.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    nb::handle text(PyTuple_GET_ITEM(held_.ptr(), i));
    auto name = [&] { return "texts[" + std::to_string(i) + "]"; };
    if (PyBytes_Check(text.ptr())) {
      nb::object decoded = nb::steal(PyUnicode_Decode(PyBytes_AS_STRING(text.ptr()), PyBytes_GET_SIZE(text.ptr()),
                                                      encoding.c_str(), errors.c_str()));
      if (!decoded.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
        PyErr_Clear();
        throw BadText(name() + " cannot be decoded as " + encoding + "; check the parameter encoding");
      }
      decoded_.push_back(decoded);
      text = decoded;
    } else if (!PyUnicode_Check(text.ptr())) {
      throw BadText(name() + " must be a string, got " + type_of(text));
    }
    // name() is only called for errors: this loop takes most of the time of a small call.
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    views_.push_back(bytes ? TextView{reinterpret_cast<const uint8_t*>(bytes), size} : utf8_of(text, name()));
  }
}

NativeAnalyzer::NativeAnalyzer(const std::string& kind, int64_t min_n, int64_t max_n, bool lowercase,
                               const std::string& strip, ConstArray<uint8_t> stop_text_array,
                               ConstArray<int64_t> stop_ends_array, std::string encoding_name, std::string errors_name)
    : stop_text(nb::find(stop_text_array)),
      stop_ends(nb::find(stop_ends_array)),
      encoding(std::move(encoding_name)),
      errors(std::move(errors_name)),
      analyzer(analyzer_options(kind, min_n, max_n, lowercase, strip),
               TermIndex(stop_text_array.data(), static_cast<int64_t>(stop_text_array.size()), stop_ends_array.data(),
                         static_cast<int64_t>(stop_ends_array.size()) - 1)) {}

}  // namespace labeltrees
