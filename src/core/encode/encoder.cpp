#include "encode/encoder.hpp"

#include <algorithm>

#include "common/bindings.hpp"
#include "encode/names.hpp"

namespace labeltrees::encode {

std::string context_name(const PartPlace& place, const EncodeScratch& scratch) {
  std::string name = scratch.context < 0 ? "the context" : "contexts[" + std::to_string(scratch.context) + "]";
  return place.key ? name + "['" + place.key + "']" : name;
}

std::string shown(nb::handle object) {
  std::string type = name_of_type(object);
  if (object.is_none()) return type;
  nb::object text = nb::steal(PyObject_Repr(object.ptr()));
  const char* bytes = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (bytes == nullptr) {
    PyErr_Clear();
    return type;
  }
  std::string value = bytes;
  if (value.size() > 60) {
    size_t end = 57;
    while (end > 0 && (static_cast<uint8_t>(value[end]) & 0xC0) == 0x80) --end;  // not inside a character
    value = value.substr(0, end) + "...";
  }
  return type + " " + value;
}

void ContextEncoder::refuse(nb::handle context, const PartPlace& place, const EncodeScratch& scratch) const {
  std::string hint;
  const bool is_text = PyUnicode_Check(context.ptr());
  if (scratch.context < 0 && takes_text() && PyList_Check(context.ptr()))
    hint = "; pass one context per call, or a list of them to predict_topk";
  else if (!place.key && !(takes_text() && scratch.context < 0) && (is_text || PyLong_Check(context.ptr())))
    hint = scratch.context < 0 ? "; for one item, pass a list with it" : "; for one context, pass a list with it";
  throw BadQuery(context_name(place, scratch) + " must be " + takes_ + ", got " + shown(context) + hint);
}

// No lock: if two threads make the index at the same time, one of them discards its own.
const tfidf::TermIndex& NameTable::index() const {
  const tfidf::TermIndex* known = index_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  std::unique_ptr<const tfidf::TermIndex> made;
  try {
    made = std::make_unique<const tfidf::TermIndex>(text_, n_text_, ends_, n_);
  } catch (const tfidf::DamagedTerms& fault) {
    throw tfidf::DamagedTerms(source_ + ": " + fault.what());
  }
  if (index_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *known;
}

int32_t NameTable::find(std::string_view name, std::vector<uint8_t>& padded) const {
  const tfidf::TermIndex& index = this->index();
  if (index.empty()) return -1;
  padded.resize(name.size() + 8);  // hash_term reads 8 bytes past the name
  std::copy(name.begin(), name.end(), padded.begin());
  return index.find(padded.data(), static_cast<int64_t>(name.size()));
}

std::string_view NameTable::name(int64_t number) const {
  const int64_t start = ends_[number], end = ends_[number + 1];
  if (start < 0 || start > end || end > n_text_)
    throw tfidf::DamagedTerms(source_ + ": the bounds of name " + std::to_string(number) + " are damaged");
  return {reinterpret_cast<const char*>(text_) + start, static_cast<size_t>(end - start)};
}

nb::object name_object(const NameTable& table, int64_t number) {
  const std::string_view bytes = table.name(number);
  nb::object name = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "strict"));
  if (!name.is_valid()) {
    PyErr_Clear();
    throw tfidf::DamagedTerms(table.source() + ": name " + std::to_string(number) +
                              " is not UTF-8, so the file is damaged");
  }
  return name;
}

}  // namespace labeltrees::encode
