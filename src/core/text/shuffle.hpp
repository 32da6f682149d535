// A new order of the texts in every epoch.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/platform.hpp"
#include "common/random.hpp"
#include "text/source.hpp"

namespace labeltrees::text {

// A random permutation of [0, n) that is computed entry by entry and needs no memory.
//
// Mixes the numbers below the next power of two with steps that can all be undone (xor with a key, multiplication by an
// odd number, xor with a right shift), and repeats until the result is below n. That takes fewer than two attempts on
// average. Threads that share a seed can each compute their part of the order.
class Permutation {
 public:
  Permutation(int64_t n, uint64_t seed, uint64_t stream) : n_(static_cast<uint64_t>(n)) {
    const int n_bits = n > 1 ? std::bit_width(n_ - 1) : 1;
    mask_ = ~uint64_t{0} >> (64 - n_bits);
    shift_ = (n_bits + 1) / 2;
    Random random(seed, stream);
    for (Round& round : rounds_) round = {random.next() & mask_, random.next() | 1};
  }

  // IN: i in [0, n).
  int64_t operator()(int64_t i) const {
    auto x = static_cast<uint64_t>(i);
    do {
      for (const Round& round : rounds_) {
        x = ((x ^ round.key) * round.factor) & mask_;
        x ^= x >> shift_;
      }
    } while (x >= n_);
    return static_cast<int64_t>(x);
  }

 private:
  struct Round {
    uint64_t key, factor;
  };
  Round rounds_[6];  // with 4, neighbours follow each other 10 % too often
  uint64_t n_, mask_;
  int shift_;
};

// Hands out the texts of a training to its threads, every epoch in another order.
//
// A unit is a text or a block of a file. Every unit is in one group of each epoch. A slow thread takes fewer groups, so
// no text is visited less often because of its thread.
class ShuffleGroups {
 public:
  struct Group {
    int64_t number;      // of all groups of the training
    int64_t begin, end;  // places in the order of the units
    Permutation order;   // of the epoch
  };

  // The sizes of groups differ by at most one unit.
  ShuffleGroups(int64_t n_units, int64_t per_epoch, const ShuffleSettings& settings)
      : seed_(settings.seed), n_units_(n_units), per_epoch_(per_epoch), total_(per_epoch * settings.epochs) {}

  // Calls use(group) with the next group. Returns false after the last epoch. Any thread may call it.
  template <class Use>
  bool take(Use&& use) {
    const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= total_) return false;
    const int64_t place = number % per_epoch_;
    const auto epoch = static_cast<uint64_t>(number / per_epoch_);
    use(Group{number, begin_of(place), begin_of(place + 1), Permutation(n_units_, seed_, epoch)});
    return true;
  }

  // For shuffling inside a group: a different stream from those of the permutations, which use the epoch numbers.
  Random random_of(const Group& group) const { return {seed_, ~static_cast<uint64_t>(group.number)}; }

 private:
  int64_t begin_of(int64_t place) const {
    return n_units_ / per_epoch_ * place + std::min(place, n_units_ % per_epoch_);
  }

  const uint64_t seed_;
  const int64_t n_units_, per_epoch_, total_;
  std::atomic<int64_t> next_{0};
};

// Fetches the beginning of a text that is read soon. Texts in random order are far apart, so that the processor does
// not fetch them by itself.
inline void prefetch_text(const char* text) {
  for (int64_t at = 0; at < 512; at += 64) __builtin_prefetch(text + at);
}

// Computes the places of texts in shuffled order, one group at a time.
class ShuffledPlaces {
 public:
  static constexpr int64_t kTextsPerGroup = 64;
  static int64_t groups_of(int64_t n_texts) { return (n_texts + kTextsPerGroup - 1) / kTextsPerGroup; }

  explicit ShuffledPlaces(std::shared_ptr<ShuffleGroups> groups) : groups_(std::move(groups)) {}

  // Returns the place of the next text, or -1 after the last. Calls prefetch(place) for texts that come later.
  template <class Prefetch>
  int64_t next(Prefetch&& prefetch) {
    if (at_ == size_) {
      auto fill = [&](const ShuffleGroups::Group& group) {
        at_ = 0, size_ = group.end - group.begin;
        for (int64_t i = 0; i < size_; ++i) {
          places_[i] = group.order(group.begin + i);
          prefetch(places_[i]);
        }
      };
      if (!groups_->take(fill)) return -1;
    }
    return places_[at_++];
  }

  // The place of the text after the next, or that of the last text of the group.
  int64_t ahead() const { return places_[std::min(at_ + 1, size_ - 1)]; }

 private:
  std::shared_ptr<ShuffleGroups> groups_;
  int64_t places_[kTextsPerGroup];
  int64_t at_ = 0, size_ = 0;
};

// Lines of a file that are held in memory. LineBlocks reads them block by block, in any order.
struct FileLines {
  std::vector<char> text;  // every line ends with a newline
  std::vector<int64_t> starts;
  int64_t added_newline = -1;  // place of the newline added to a last line without one; -1: none

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

}  // namespace labeltrees::text
