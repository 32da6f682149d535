// The native readers of untrusted bytes under libFuzzer, one program per reader (make fuzz-native). The reader is
// chosen when compiling: -DREADER=xmc. Anything but an error of the reader is a crash.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "chunk/format.hpp"
#include "common/platform.hpp"
#include "search/query.hpp"
#include "simd/kernels.hpp"
#include "text/fasttext.hpp"
#include "tfidf/analyzer.hpp"
#include "tfidf/terms.hpp"
#include "tree/arrays.hpp"
#include "xmc/parser.hpp"

namespace labeltrees {

namespace {

// Takes numbers and arrays from the front of the input.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  uint8_t byte() { return left_ ? (--left_, *at_++) : 0; }
  // The next n elements, fewer at the end; in memory of exactly this size, so that a read beyond it is found.
  template <class T>
  std::vector<T> array(size_t n) {
    std::vector<T> values(std::min(n, left_ / sizeof(T)));
    if (!values.empty()) std::memcpy(values.data(), at_, values.size() * sizeof(T));
    at_ += values.size() * sizeof(T);
    left_ -= values.size() * sizeof(T);
    values.shrink_to_fit();
    return values;
  }
  template <class T>
  std::vector<T> rest() {
    return array<T>(left_);
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

// A text in blocks of a size that the input chooses.
void read_xmc(Input input) {
  xmc::XmcParser parser(static_cast<int>(input.byte() % 3) - 1);
  const size_t size = 1 + input.byte();
  for (std::vector<char> block; !(block = input.array<char>(size)).empty();) parser.feed(block.data(), block.size());
  parser.feed("\n", 1);
  xmc::XmcRows rows = parser.take_rows();
  parser.finish();
  std::string text;
  xmc::write_xmc_lines(0, rows.n_points(), rows.feature_ptr.begin(), rows.features.begin(), rows.values.begin(),
                       rows.label_ptr.begin(), rows.labels.begin(), text);
}

void read_fasttext(Input input) {
  const int64_t n = input.byte();
  const std::vector<uint8_t> bytes = input.rest<uint8_t>();
  const text::FastTextEntries entries =
      text::read_fasttext_entries(bytes.data(), static_cast<int64_t>(bytes.size()), n);
  if (n < 2 || *std::min_element(entries.counts.begin(), entries.counts.end()) < 0) return;
  for (int64_t count : entries.counts)
    if (count >= int64_t{1} << 50) return;  // refused by the caller
  text::fasttext_huffman(entries.counts.data(), n);
}

void read_tree(Input input) {
  const int64_t n_labels = input.byte(), n_nodes = 1 + input.byte() % 16;
  std::vector<int64_t> child_ptr = input.array<int64_t>(static_cast<size_t>(n_nodes + 1));
  const std::vector<int32_t> children = input.rest<int32_t>();
  if (static_cast<int64_t>(child_ptr.size()) != n_nodes + 1) return;
  child_ptr.front() = 0;  // what find_parents needs; its callers check it
  child_ptr.back() = static_cast<int64_t>(children.size());
  const tree::TreeView view = tree::view_tree(child_ptr, children, n_labels);
  std::vector<int32_t> parent(n_nodes), label_parent(n_labels), depth(n_nodes), label_depth(n_labels), order(n_labels);
  if (tree::find_parents(view, parent.data(), label_parent.data()).fault != tree::TreeFault::none) return;
  tree::find_depths(view, parent.data(), label_parent.data(), depth.data(), label_depth.data());
  std::vector<int64_t> ones(n_labels, 0), below(n_nodes, 0), start(n_nodes), new_ptr(n_nodes + 1);
  for (int64_t label = 0; label < n_labels; ++label) ones[label] = label_parent[label] >= 0;
  tree::sum_below(view, parent.data(), ones.data(), below.data());
  tree::find_leaf_order(view, below.data(), start.data(), order.data());
  std::vector<double> mass(n_nodes, 1.0);
  std::vector<int32_t> new_children(children.size()), old(n_nodes);
  if (tree::renumber_nodes(view, mass.data(), new_ptr.data(), new_children.data(), old.data()) != n_nodes) std::abort();
}

// A chunk that passes its check is searched with the kernels of every instruction set.
void read_chunk(Input input) {
  const bool matrices = input.byte() & 1;
  const int64_t n_features = 1 + input.byte();
  std::vector<uint8_t> given = input.rest<uint8_t>();
  // Files are mapped to pages, and whole lines are checked.
  const size_t n_bytes = static_cast<size_t>(chunk::round_up(static_cast<int64_t>(given.size()), chunk::kLine));
  auto* bytes = static_cast<uint8_t*>(std::aligned_alloc(64, n_bytes + chunk::kStoreTail));
  std::memset(bytes, 0, n_bytes + chunk::kStoreTail);
  if (!given.empty()) std::memcpy(bytes, given.data(), given.size());
  const chunk::ChunkLimits limits{bytes,   static_cast<int64_t>(n_bytes) + chunk::kStoreTail, n_features, 8, 300,
                                  matrices};
  if (!chunk::check_chunk(limits, 0, 0)) {
    std::vector<int32_t> rank(static_cast<size_t>(n_features)), features;
    std::vector<float> values;
    for (int64_t i = 0; i < n_features; ++i) rank[i] = static_cast<int32_t>(n_features - 1 - i);
    for (int64_t i = 0; i < n_features; i += 1 + i % 3) {
      features.push_back(static_cast<int32_t>(i));
      values.push_back(1.0f);
    }
    search::SearchQuery query;
    query.set(features.data(), values.data(), static_cast<int64_t>(features.size()),
              {n_features, rank.data(), matrices, true});
    alignas(64) float margins[chunk::kMostChildren];
    for (const char* const* name = simd::available_kernels(); *name; ++name) {
      simd::use_kernels(*name);
      for (const uint8_t* part = bytes;;) {
        chunk::ChunkHeader header;
        std::memcpy(&header, part, sizeof header);
        simd::active_kernels().chunk_margins(part, query.view(), margins);
        if (!header.more) break;
        part += chunk::kLine * int64_t{header.lines};
      }
    }
  }
  std::free(bytes);
}

void read_terms(Input input) {
  const size_t n_terms = input.byte() % 32;
  const std::vector<int64_t> ends = input.array<int64_t>(n_terms + 1);
  const std::vector<uint8_t> text = input.rest<uint8_t>();
  if (ends.size() != n_terms + 1) return;
  tfidf::TermIndex index(text.data(), static_cast<int64_t>(text.size()), ends.data(), static_cast<int64_t>(n_terms));
  if (index.empty()) return;
  const auto n = static_cast<int64_t>(text.size());
  std::vector<uint8_t> probe(text);
  probe.resize(text.size() + 8);  // hash_term reads 8 bytes past the term
  for (int64_t begin = 0; begin < n; ++begin) index.find(probe.data() + begin, std::min<int64_t>(n - begin, 12));
}

// Python hands over valid UTF-8: other bytes become characters of two bytes.
void read_text(Input input) {
  const uint8_t choice = input.byte();
  std::vector<uint8_t> text;
  for (uint8_t byte : input.rest<uint8_t>()) {
    if (byte >= 0x80) text.push_back(static_cast<uint8_t>(0xC2 + (byte & 0x1D)));
    text.push_back(byte >= 0x80 ? static_cast<uint8_t>(0x80 | (byte & 0x3F)) : byte);
  }
  text.shrink_to_fit();
  tfidf::AnalyzerOptions options;
  options.kind = static_cast<tfidf::TermKind>(choice % 3);
  options.min_n = 1 + choice / 3 % 3;
  options.max_n = options.min_n + choice / 9 % 3;
  options.lowercase = choice / 27 % 2;
  options.strip = static_cast<tfidf::unicode::Strip>(choice / 54 % 3);
  static tfidf::AnalyzerScratch scratch;
  uint64_t sum = 0;
  tfidf::TextAnalyzer(options, tfidf::TermIndex())
      .analyze({text.data(), static_cast<int64_t>(text.size())}, scratch, [&](const tfidf::Term* terms, int n) {
        for (int i = 0; i < n; ++i) sum += hash_term(terms[i].at, terms[i].size).hash;
      });
}

}  // namespace

}  // namespace labeltrees

#define CALL(name) labeltrees::read_##name
#define READ(name) CALL(name)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    READ(READER)(labeltrees::Input(data, size));
  } catch (const labeltrees::xmc::XmcError&) {
  } catch (const labeltrees::FileError&) {
  } catch (const labeltrees::tfidf::DamagedTerms&) {
  }
  return 0;
}
