// The native module labeltrees._core. Python has checked every argument before it gets here.
#include "common/bindings.hpp"

NB_MODULE(_core, module) {
  module.doc() = "Hot loops of labeltrees. Not a public interface: arguments are trusted.";
  labeltrees::bind_build(module);
  labeltrees::bind_simd(module);
  labeltrees::bind_tree(module);
  labeltrees::bind_linear(module);
  labeltrees::bind_labels(module);
  labeltrees::bind_xmc(module);
  labeltrees::bind_chunks(module);
  labeltrees::bind_search_request(module);
  labeltrees::bind_search(module);
  labeltrees::bind_common(module);
  labeltrees::bind_tfidf(module);
  labeltrees::bind_text(module);
  labeltrees::bind_hsoftmax(module);
}
