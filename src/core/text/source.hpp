// The sources of texts: strings in memory, or a file of lines that is read several times and never held in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/platform.hpp"

namespace labeltrees::text {

struct TextLine {
  std::string_view text;  // valid until the next line is taken
  bool ended;             // whether the line has an end, which counts as a word
  int64_t number;         // of a text in memory; -1 for a line of a file
  size_t size() const { return text.size() + ended; }
};

class TextReader {
 public:
  virtual ~TextReader() = default;
  virtual bool next(TextLine& line) = 0;  // false at the end
  // Only the first n_read bytes of the last line were used (a word </s> ends a line): the rest becomes the next line of
  // a file. Of a text in memory it is ignored, as in prediction.
  virtual void unread(size_t n_read) = 0;
};

using TextReaders = std::vector<std::unique_ptr<TextReader>>;  // one per thread

struct ShuffleSettings {
  int64_t epochs;
  uint64_t seed;
  int n_threads;
  int64_t buffer_bytes = int64_t{1} << 24;  // of a file; bounds the memory of each thread
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  // Reads every text once, in order.
  virtual std::unique_ptr<TextReader> reader() const = 0;
  // fastText's order: each thread starts at a different text and reads the texts in a circle, without end.
  virtual TextReaders circles(int n_threads) const = 0;
  // Together the readers return every text once per epoch, each epoch in another order. The order depends only on the
  // settings.
  virtual TextReaders shuffled(const ShuffleSettings& settings) const = 0;
  virtual bool has_labels_in_lines() const = 0;
  virtual int64_t n_bytes() const = 0;  // of all texts, approximately
};

class MemoryTexts final : public TextSource {
 public:
  explicit MemoryTexts(std::vector<std::string_view> texts) : texts_(std::move(texts)) {}
  std::unique_ptr<TextReader> reader() const override;
  TextReaders circles(int n_threads) const override;
  TextReaders shuffled(const ShuffleSettings& settings) const override;
  bool has_labels_in_lines() const override { return false; }
  int64_t n_bytes() const override;
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  std::string_view operator[](int64_t i) const { return texts_[i]; }
  void prefetch(int64_t i) const { __builtin_prefetch(&texts_[i]); }  // only its address and size

 private:
  std::vector<std::string_view> texts_;
};

// How a file larger than the buffer is cut for shuffling. Each thread holds one group of blocks. The threads share the
// lines of a smaller file.
struct ShuffleBlocks {
  static constexpr int64_t kLargestBlock = int64_t{1} << 16;  // large enough to read from a disk in random order
  static constexpr int64_t kSmallestBlock = int64_t{1} << 12;
  static constexpr int64_t kBlocksPerThread = 256;  // at least, in files above 1 MiB per thread

  ShuffleBlocks(int64_t file_size, const ShuffleSettings& settings);

  int64_t block_size, n_blocks, n_groups;
};

class FileTexts final : public TextSource {
 public:
  explicit FileTexts(std::string path);
  std::unique_ptr<TextReader> reader() const override;
  TextReaders circles(int n_threads) const override;
  TextReaders shuffled(const ShuffleSettings& settings) const override;
  bool has_labels_in_lines() const override { return true; }
  int64_t n_bytes() const override { return size_; }

 private:
  std::string path_;
  int64_t size_;
};

}  // namespace labeltrees::text
