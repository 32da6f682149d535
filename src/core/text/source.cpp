#include "text/source.hpp"

#include <algorithm>
#include <cstring>

namespace labeltrees::text {

namespace {

class MemoryReader final : public TextReader {
 public:
  MemoryReader(const MemoryTexts& texts, int64_t at, bool circular) : texts_(texts), at_(at), circular_(circular) {}
  bool next(TextLine& line) override {
    if (at_ >= texts_.size()) {
      if (!circular_ || texts_.size() == 0) return false;
      at_ = 0;
    }
    line = {texts_[at_], true, at_};
    ++at_;
    return true;
  }
  void unread(size_t) override {}

 private:
  const MemoryTexts& texts_;
  int64_t at_;
  bool circular_;
};

class FileReader final : public TextReader {
 public:
  FileReader(const std::string& path, int64_t offset, bool circular)
      : file_(path), buffer_(size_t{1} << 18), offset_(offset), circular_(circular) {
    TextLine line;
    if (offset > 0) next_until_end(line);  // the offset is inside a line: skip it
  }

  bool next(TextLine& line) override {
    if (next_until_end(line)) return true;
    if (!circular_) return false;
    begin_ = end_ = 0, offset_ = 0;
    if (next_until_end(line)) return true;
    throw FileError("the file of texts became empty during training");
  }

  void unread(size_t n_read) override { begin_ = line_begin_ + n_read; }

 private:
  bool next_until_end(TextLine& line) {
    size_t searched = 0;
    for (;;) {
      const char* from = buffer_.data() + begin_;
      const void* found = std::memchr(from + searched, '\n', end_ - begin_ - searched);
      if (found) {
        auto length = static_cast<size_t>(static_cast<const char*>(found) - from);
        line = {std::string_view(from, length), true, -1};
        line_begin_ = begin_;
        begin_ += length + 1;
        return true;
      }
      searched = end_ - begin_;
      if (!fill()) break;
    }
    if (begin_ == end_) return false;
    line = {std::string_view(buffer_.data() + begin_, end_ - begin_), false, -1};
    line_begin_ = begin_;
    begin_ = end_;
    return true;
  }

  // Reads more bytes after those not yet used; false at the end of the file.
  bool fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());  // a line longer than the buffer
    int64_t got = file_.read(buffer_.data() + end_, static_cast<int64_t>(buffer_.size() - end_), offset_);
    offset_ += got;
    end_ += static_cast<size_t>(got);
    return got > 0;
  }

  InputFile file_;
  std::vector<char> buffer_;
  int64_t offset_;  // in the file, of the end of the buffer
  bool circular_;
  size_t begin_ = 0, end_ = 0, line_begin_ = 0;
};

}  // namespace

std::unique_ptr<TextReader> MemoryTexts::reader() const { return std::make_unique<MemoryReader>(*this, 0, false); }

TextReaders MemoryTexts::circles(int n_threads) const {
  TextReaders readers;
  for (int thread = 0; thread < n_threads; ++thread)
    readers.push_back(std::make_unique<MemoryReader>(*this, size() * thread / n_threads, true));
  return readers;
}

int64_t MemoryTexts::n_bytes() const {
  int64_t total = 0;
  for (std::string_view text : texts_) total += static_cast<int64_t>(text.size()) + 1;
  return total;
}

FileTexts::FileTexts(std::string path) : path_(std::move(path)) {
  const InputFile file(path_);
  if (!file.is_regular()) throw FileError(path_ + ": not a regular file, but it must be read several times");
  size_ = file.size();
}

std::unique_ptr<TextReader> FileTexts::reader() const { return std::make_unique<FileReader>(path_, 0, false); }

TextReaders FileTexts::circles(int n_threads) const {
  TextReaders readers;
  for (int thread = 0; thread < n_threads; ++thread)
    readers.push_back(std::make_unique<FileReader>(path_, size_ / n_threads * thread, true));
  return readers;
}

}  // namespace labeltrees::text
