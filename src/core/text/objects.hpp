// Reads Python strings as UTF-8, without a copy if they are ASCII or bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/bindings.hpp"

namespace labeltrees::text {

using TextTuple = nb::typed<nb::tuple, nb::object, nb::ellipsis>;

// The bytes of a str (as UTF-8) or bytes object. OUT: encoded, a new object that holds the bytes if they were encoded.
inline std::string_view text_of(nb::handle object, const char* name, int64_t number, nb::object& encoded) {
  auto where = [&] { return number < 0 ? std::string(name) : std::string(name) + "[" + std::to_string(number) + "]"; };
  PyObject* bytes = object.ptr();
  if (PyUnicode_Check(bytes)) {
    if (PyUnicode_IS_ASCII(bytes))
      return {static_cast<const char*>(PyUnicode_DATA(bytes)), static_cast<size_t>(PyUnicode_GET_LENGTH(bytes))};
    encoded = nb::steal(PyUnicode_AsUTF8String(bytes));
    if (!encoded.is_valid()) {
      PyErr_Clear();
      throw BadQuery(where() + " is not valid Unicode");
    }
    bytes = encoded.ptr();
  }
  if (!PyBytes_Check(bytes)) throw BadQuery(where() + " must be a str");
  return {PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

// The texts of a tuple, kept alive as long as this.
struct PythonTexts {
  explicit PythonTexts(nb::tuple given) : tuple(std::move(given)) {
    views.reserve(nb::len(tuple));
    for (nb::handle object : tuple) {
      nb::object bytes;
      views.push_back(text_of(object, "texts", static_cast<int64_t>(views.size()), bytes));
      if (bytes.is_valid()) encoded.push_back(std::move(bytes));
    }
  }
  nb::tuple tuple;
  std::vector<nb::object> encoded;
  std::vector<std::string_view> views;
};

}  // namespace labeltrees::text
