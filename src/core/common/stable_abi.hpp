// CPython's fast macros, rewritten with functions of the stable ABI, for the wheel that serves Python 3.12 and later
// (docs/decisions/0051-builds-and-wheels.md). They keep CPython's names, so that other files are the same for both
// builds.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace labeltrees {

// The name of an object's type as error messages show it: "int", "numpy.ndarray".
inline std::string name_of_type(nanobind::handle object) {
#if defined(Py_LIMITED_API)
  nanobind::handle type = object.type();
  std::string name = nanobind::str(type.attr("__name__")).c_str();
  if (PyType_GetFlags(reinterpret_cast<PyTypeObject*>(type.ptr())) & Py_TPFLAGS_HEAPTYPE) return name;
  std::string module = nanobind::str(type.attr("__module__")).c_str();
  return module == "builtins" ? name : module + "." + name;
#else
  return Py_TYPE(object.ptr())->tp_name;
#endif
}

}  // namespace labeltrees

#if defined(Py_LIMITED_API)

// These macros use internals that the stable ABI does not have.
#undef PySequence_Fast_GET_SIZE
#undef PySequence_Fast_GET_ITEM

inline Py_ssize_t PyTuple_GET_SIZE(PyObject* tuple) { return PyTuple_Size(tuple); }
inline PyObject* PyTuple_GET_ITEM(PyObject* tuple, Py_ssize_t i) { return PyTuple_GetItem(tuple, i); }
// Of a list or a tuple.
inline Py_ssize_t PySequence_Fast_GET_SIZE(PyObject* sequence) {
  return PyList_Check(sequence) ? PyList_Size(sequence) : PyTuple_Size(sequence);
}
inline PyObject* PySequence_Fast_GET_ITEM(PyObject* sequence, Py_ssize_t i) {  // borrowed
  return PyList_Check(sequence) ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
}

inline char* PyBytes_AS_STRING(PyObject* bytes) { return PyBytes_AsString(bytes); }
inline Py_ssize_t PyBytes_GET_SIZE(PyObject* bytes) { return PyBytes_Size(bytes); }

inline const char* PyUnicode_AsUTF8(PyObject* text) { return PyUnicode_AsUTF8AndSize(text, nullptr); }
inline Py_ssize_t PyUnicode_GET_LENGTH(PyObject* text) { return PyUnicode_GetLength(text); }
// A text is ASCII if its UTF-8 has as many bytes as the text has characters. For ASCII, CPython makes no copy. Half of
// a surrogate pair has no UTF-8.
inline bool PyUnicode_IS_ASCII(PyObject* text) {
  Py_ssize_t size = 0;
  if (PyUnicode_AsUTF8AndSize(text, &size) != nullptr) return size == PyUnicode_GetLength(text);
  PyErr_Clear();
  return false;
}
// Only for ASCII text.
inline const void* PyUnicode_DATA(PyObject* text) { return PyUnicode_AsUTF8(text); }

#endif
