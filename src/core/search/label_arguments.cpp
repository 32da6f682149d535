#include "search/label_arguments.hpp"

#include <string>

#include "encode/encoder.hpp"
#include "search/bad_query.hpp"
#include "search/single_answer.hpp"

namespace labeltrees {

namespace {

class LabelReader {
 public:
  LabelReader(const char* name, int64_t n_labels, const NameTable* names, LabelArgument& labels)
      : name_(name), n_labels_(n_labels), names_(names), labels_(labels) {}

  void add_id(int64_t id) {
    if (id < 0 || id >= n_labels_)
      throw BadQuery(name_ + " must hold label ids in [0, " + std::to_string(n_labels_) + "), got " +
                     std::to_string(id));
    labels_.ids.push_back(static_cast<int32_t>(id));
  }

  void add(nb::handle label) {
    PyObject* object = label.ptr();
    if (PyUnicode_Check(object)) return add_name(object);
    nb::object index = PyBool_Check(object) ? nb::object() : nb::steal(PyNumber_Index(object));
    int overflow = 0;
    const long long id = index.is_valid() ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
    if (!index.is_valid()) {
      PyErr_Clear();
      throw BadQuery(name_ + " must hold label names or ids, got " + shown(label));
    }
    add_id(overflow ? -1 : id);
  }

  void add_array(const ArrayBuffer& array) {
    for (int64_t i = 0; i < array.size(); ++i)
      add_id(array.item_bytes() == 4 ? array.data<const int32_t>()[i] : array.data<const int64_t>()[i]);
  }

 private:
  void add_name(PyObject* object) {
    if (!names_) throw BadQuery(name_ + " must hold label ids: the labels of this model have no names");
    Py_ssize_t size = 0;
    const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
    if (bytes == nullptr) PyErr_Clear();  // half of a surrogate pair, which no name has
    const int32_t id = bytes ? names_->find({bytes, static_cast<size_t>(size)}, padded_) : -1;
    if (id < 0)
      ++labels_.n_unknown;
    else
      add_id(id);
  }

  std::string name_;
  int64_t n_labels_;
  const NameTable* names_;
  LabelArgument& labels_;
  std::vector<uint8_t> padded_;
};

// Whether an object is an array of signed integers that can be read as it is.
bool is_id_array(nb::handle object) {
  if (!PyObject_CheckBuffer(object.ptr()) || PyBytes_Check(object.ptr())) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  const char* format = view.format ? view.format : "B";
  const bool fits = view.ndim == 1 && (view.itemsize == 4 || view.itemsize == 8) && std::strchr("ilq", *format) &&
                    *format && !format[1];
  PyBuffer_Release(&view);
  return fits;
}

}  // namespace

void read_labels(nb::handle object, const char* name, const void* owner, int64_t n_labels, const NameTable* names,
                 LabelArgument& labels) {
  if (object.is_none()) return;
  labels.given = true;
  NativeLabelSet* prepared;
  if (nb::try_cast(object, prepared, false)) {
    if (prepared->set->owner != owner)
      throw BadQuery(std::string(name) + " is a label set of another model; make it with label_set of this one");
    labels.set = prepared->set.get();
    return;
  }
  LabelReader reader(name, n_labels, names, labels);
  if (is_id_array(object)) return reader.add_array(ArrayBuffer(object, name));
  nb::object list;
  if (PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()))
    list = nb::borrow(object);
  else if (PyAnySet_Check(object.ptr()))
    list = nb::steal(PySequence_List(object.ptr()));
  else if (!PyUnicode_Check(object.ptr()) && nb::hasattr(object, "tolist"))
    list = nb::object(object.attr("tolist"))();
  if (!list.is_valid() || !(PyList_Check(list.ptr()) || PyTuple_Check(list.ptr())))
    throw BadQuery(std::string(name) + " must be a list of labels or a label set, got " + shown(object));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i)
    reader.add(nb::borrow(PySequence_Fast_GET_ITEM(list.ptr(), i)));
}

}  // namespace labeltrees
