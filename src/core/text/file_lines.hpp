// Lines of a file that are held in memory, and reading them block by block in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/platform.hpp"
#include "text/source.hpp"

namespace labeltrees {

struct FileLines {
  std::vector<char> text;  // every line ends with a newline
  std::vector<int64_t> starts;
  int64_t added_newline = -1;  // the place of the newline that the last line of the file does not have

  void clear() {
    text.clear();
    starts.clear();
    added_newline = -1;
  }

  TextLine line_at(int64_t start) const {
    const int64_t end = after_newline(start) - 1;
    return {std::string_view(text.data() + start, static_cast<size_t>(end - start)), end != added_newline, -1};
  }

  // The place after the first newline from `from` on, or -1.
  int64_t after_newline(int64_t from) const {
    const void* found = std::memchr(text.data() + from, '\n', text.size() - static_cast<size_t>(from));
    return found == nullptr ? -1 : static_cast<const char*>(found) - text.data() + 1;
  }
};

// A block is a range of bytes of a file. It has the lines that start in it.
class LineBlocks {
 public:
  LineBlocks(const std::string& path, int64_t file_size, int64_t block_size)
      : path_(path), file_(path), file_size_(file_size), block_size_(block_size) {}

  // Appends the lines of a block. The last of them may end after the block.
  void append(int64_t block, FileLines& lines) const {
    const int64_t begin = block * block_size_, end = std::min(begin + block_size_, file_size_);
    const auto first = static_cast<int64_t>(lines.text.size());
    const size_t n_before = lines.starts.size();
    const int64_t from = std::max<int64_t>(begin - 1, 0);  // a line starts at `begin` if the byte before ends one
    read(from, end - from, lines.text);
    int64_t start = begin > 0 ? lines.after_newline(first) : first;
    while (start >= 0 && start < static_cast<int64_t>(lines.text.size())) {
      lines.starts.push_back(start);
      start = lines.after_newline(start);
    }
    if (lines.starts.size() == n_before)
      lines.text.resize(static_cast<size_t>(first));
    else if (start < 0)
      finish_line(end, lines);
  }

 private:
  // Reads the rest of the last line, which is at `offset` in the file.
  void finish_line(int64_t offset, FileLines& lines) const {
    while (offset < file_size_) {
      const auto searched = static_cast<int64_t>(lines.text.size());
      const int64_t n = std::min(kTail, file_size_ - offset);
      read(offset, n, lines.text);
      offset += n;
      if (const int64_t after = lines.after_newline(searched); after >= 0)
        return lines.text.resize(static_cast<size_t>(after));
    }
    lines.added_newline = static_cast<int64_t>(lines.text.size());
    lines.text.push_back('\n');
  }

  void read(int64_t offset, int64_t n, std::vector<char>& text) const {
    const size_t size = text.size();
    text.resize(size + static_cast<size_t>(n));
    if (file_.read(text.data() + size, n, offset) < n) throw FileError(path_ + ": became shorter during training");
  }

  static constexpr int64_t kTail = 4096;  // bytes to read at a time after the block

  std::string path_;
  InputFile file_;
  int64_t file_size_, block_size_;
};

}  // namespace labeltrees
