// The sources of texts: strings in memory, or a file of lines that is read several times and never held in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/platform.hpp"

namespace labeltrees {

struct TextLine {
  std::string_view text;  // valid until the next line is taken
  bool ended;             // whether the line has an end, which counts as a word
  int64_t number;         // of a text in memory; -1 for a line of a file
  size_t size() const { return text.size() + ended; }
};

// Reads the texts in order.
class TextReader {
 public:
  virtual ~TextReader() = default;
  virtual bool next(TextLine& line) = 0;  // false at the end
  virtual void rewind() = 0;              // continues with the first text
  // Only the first n_read bytes of the last line were used (a word </s> ends a line): the rest becomes the next line of
  // a file. Of a text in memory it is ignored, as in prediction.
  virtual void unread(size_t n_read) = 0;
};

class TextSource {
 public:
  virtual ~TextSource() = default;
  // A reader that starts after about part / n_parts of all texts.
  virtual std::unique_ptr<TextReader> reader(int part, int n_parts) const = 0;
  virtual bool has_labels_in_lines() const = 0;
  virtual int64_t n_bytes() const = 0;  // of all texts, approximately
};

class MemoryTexts final : public TextSource {
 public:
  explicit MemoryTexts(std::vector<std::string_view> texts) : texts_(std::move(texts)) {}
  std::unique_ptr<TextReader> reader(int part, int n_parts) const override;
  bool has_labels_in_lines() const override { return false; }
  int64_t n_bytes() const override;
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  std::string_view operator[](int64_t i) const { return texts_[i]; }

 private:
  std::vector<std::string_view> texts_;
};

class FileTexts final : public TextSource {
 public:
  explicit FileTexts(std::string path);
  std::unique_ptr<TextReader> reader(int part, int n_parts) const override;
  bool has_labels_in_lines() const override { return true; }
  int64_t n_bytes() const override { return size_; }

 private:
  std::string path_;
  int64_t size_;
};

}  // namespace labeltrees
