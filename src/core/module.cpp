// The native module labeltrees._core. Python has checked every argument before it gets here.
#include "common/bindings.hpp"

namespace labeltrees {
void bind_evidence(nb::module_& module);
}

NB_MODULE(_core, module) {
  using namespace labeltrees;
  module.doc() = "Hot loops of labeltrees. Not a public interface: arguments are trusted.";
  bind_common(module);
  bind_simd(module);
  bind_xmc(module);
  bind_tfidf(module);
  bind_encode(module);
  bind_labels(module);
  bind_tree(module);
  bind_tree_building(module);
  bind_linear(module);
  bind_chunks(module);
  bind_search_request(module);
  bind_evidence(module);
  bind_search(module);
  bind_text(module);
  bind_hsoftmax(module);
}
