#include "search/single_answer.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace labeltrees {

SingleAnswer::SingleAnswer(nb::object engine, const void* owner, nb::object request, int64_t k, int64_t n_labels,
                           nb::object names, bool with_names)
    : engine_(std::move(engine)),
      request_object_(std::move(request)),
      names_object_(names),
      owner_(owner),
      request_(nb::cast<const NativeRequest&>(request_object_).request),
      k_(k),
      n_labels_(std::max<int64_t>(n_labels, 1)),
      with_names_(with_names) {
  if (!names.is_none()) names_ = &nb::cast<const NativeNames&>(names).table;
  nb::module_ numpy = nb::module_::import_("numpy");
  empty_ = numpy.attr("empty");
  int64_ = numpy.attr("dtype")("int64");
  float32_ = numpy.attr("dtype")("float32");
}

int64_t SingleAnswer::returned(nb::handle k_given) const {
  int64_t k = k_;
  if (!k_given.is_none()) {
    k = PyLong_Check(k_given.ptr()) ? PyLong_AsLongLong(k_given.ptr()) : -1;
    if (k < 1) {
      PyErr_Clear();
      throw BadQuery("k must be an integer of at least 1");
    }
  }
  k = std::min(k, n_labels_);
  if (request_.discounts && k > request_.k)
    throw BadQuery("k must be at most " + std::to_string(request_.k) +
                   ", the number of labels that this predictor searches for");
  return k;
}

namespace {

// The number with six significant digits: its decimal form is short. Powers of ten up to 1e22 are exact, so that the
// division gives the double nearest to that decimal. Printing takes longer.
double six_digits(double value) {
  if (!(value > 1e-16 && value < 1e5)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return std::strtod(text, nullptr);
  }
  double scale = 10;
  while (value * scale < 1e5) scale *= 10;
  return std::round(value * scale) / scale;
}

}  // namespace

nb::list SingleAnswer::label_list(const int64_t* labels, int64_t n) const {
  nb::list found;
  for (int64_t i = 0; i < n; ++i) found.append(with_names_ ? name_object(*names_, labels[i]) : nb::int_(labels[i]));
  return found;
}

nb::list SingleAnswer::score_list(const float* scores, int64_t n) {
  nb::list found;
  for (int64_t i = 0; i < n; ++i) found.append(nb::float_(six_digits(scores[i])));
  return found;
}

SingleAnswer::Call::Call(const SingleAnswer& self, const CallOptions& options, const SeenList* seen)
    : request(self.request_), k(self.returned(options.k)) {
  read_labels(options.exclude, "exclude", self.owner_, self.n_labels_, self.names_, exclude);
  read_labels(options.candidates, "candidates", self.owner_, self.n_labels_, self.names_, candidates);
  request.candidates = candidates.list();
  request.candidate_set = candidates.set;
  request.exclude_set = exclude.set;
  if (exclude.set) exclude.given = false;  // `exclude` is from here on the list beside the set
  exclude.set = nullptr;
  if (seen && !seen->empty()) {
    exclude.given = true;
    exclude.ids.insert(exclude.ids.end(), seen->begin(), seen->end());
  }
  request.exclude = exclude.list();
  if (!request.discounts) {
    request.k = k;
    return;
  }
  // Discounts hold for searches among all labels. A few excluded labels are searched for too and dropped from the list;
  // otherwise the search is exact. So it is with evidence, which needs a full list of labels that are not excluded.
  const auto n_excluded = static_cast<int64_t>(exclude.ids.size());
  const bool fits = n_excluded == 0 || (!request.evidence && k + n_excluded <= request.k);
  if (!candidates.given && !request.exclude_set && fits) {
    drop_later = n_excluded > 0;
    request.exclude = {};
    return;
  }
  if (candidates.given || request.exclude_set || n_excluded > 0) {
    request.discounts = nullptr;
    request.k = k;
  }
}

int64_t SingleAnswer::Call::drop_excluded(int64_t* labels, float* scores, int64_t found) const {
  if (!drop_later) return found;
  int64_t kept = 0;
  for (int64_t i = 0; i < found; ++i) {
    if (std::find(exclude.ids.begin(), exclude.ids.end(), labels[i]) != exclude.ids.end()) continue;
    labels[kept] = labels[i];
    scores[kept++] = scores[i];
  }
  return kept;
}

}  // namespace labeltrees
