#include "encode/encoder.hpp"

#include "search/bad_query.hpp"

namespace labeltrees {

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

}  // namespace labeltrees
