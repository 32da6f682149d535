#include "tfidf/native.hpp"

namespace labeltrees {

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

NativeUnion::NativeUnion(nb::list vectorizers, nb::list weights)
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

}  // namespace labeltrees
