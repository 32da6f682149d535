// Where texts come from: strings in memory, or a file of lines that is read again and again but never held.
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
  bool ended;             // whether the end of the line counts as a word
  int64_t number;         // of the text in memory; -1 in a file
  size_t size() const { return text.size() + ended; }
};

// Goes through the texts in order, and from the last one on to the first again where it is told to rewind.
class TextReader {
 public:
  virtual ~TextReader() = default;
  virtual bool next(TextLine& line) = 0;  // false at the end
  virtual void rewind() = 0;              // to the first text
  // A line was read only in part (a word </s> in its midst): what follows it is the next line. Not in memory.
  virtual void give_back(size_t n_read) = 0;
};

// The texts and, in memory, their labels. A file has its labels in the lines.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // A reader that starts with about the given share of all texts behind it.
  virtual std::unique_ptr<TextReader> reader(int part, int n_parts) const = 0;
  virtual bool in_file() const = 0;
  virtual int64_t n_bytes() const = 0;  // of all texts, about
};

class MemoryTexts final : public TextSource {
 public:
  explicit MemoryTexts(std::vector<std::string_view> texts) : texts_(std::move(texts)) {}
  std::unique_ptr<TextReader> reader(int part, int n_parts) const override;
  bool in_file() const override { return false; }
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
  bool in_file() const override { return true; }
  int64_t n_bytes() const override { return size_; }

 private:
  std::string path_;
  int64_t size_;
};

}  // namespace labeltrees
