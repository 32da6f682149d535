// The native module labeltrees._core. Python checks the arguments first, except queries, contexts and texts, which are
// checked where they are read.
#include "common/bindings.hpp"

// One function per file of bindings, in the namespace of its folder. That of common/ is in labeltrees itself.
namespace labeltrees {
void bind_common(nb::module_& module);
namespace simd {
void bind_simd(nb::module_& module);
}
namespace xmc {
void bind_xmc(nb::module_& module);
}
namespace tfidf {
void bind_tfidf(nb::module_& module);
}
namespace encode {
void bind_encode(nb::module_& module);
}
namespace labels {
void bind_labels(nb::module_& module);
}
namespace tree {
void bind_tree(nb::module_& module);
void bind_tree_building(nb::module_& module);
}  // namespace tree
namespace linear {
void bind_linear(nb::module_& module);
}
namespace chunk {
void bind_chunks(nb::module_& module);
}
namespace evidence {
void bind_evidence(nb::module_& module);
}
namespace search {
void bind_search_request(nb::module_& module);
void bind_search(nb::module_& module);
}  // namespace search
namespace text {
void bind_text(nb::module_& module);
void bind_hsoftmax(nb::module_& module);
}  // namespace text
}  // namespace labeltrees

NB_MODULE(_core, module) {
  using namespace labeltrees;
  module.doc() = "Hot loops of labeltrees. Not a public interface: arguments are trusted.";
  nb::set_leak_warnings(false);  // a daemon thread that still searches when Python ends keeps what it uses
  bind_common(module);
  simd::bind_simd(module);
  xmc::bind_xmc(module);
  tfidf::bind_tfidf(module);
  encode::bind_encode(module);
  labels::bind_labels(module);
  tree::bind_tree(module);
  tree::bind_tree_building(module);
  linear::bind_linear(module);
  chunk::bind_chunks(module);
  search::bind_search_request(module);
  evidence::bind_evidence(module);
  search::bind_search(module);
  text::bind_text(module);
  text::bind_hsoftmax(module);
}
