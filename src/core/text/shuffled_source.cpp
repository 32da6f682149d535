// Texts in a new random order in every epoch.
#include <algorithm>

#include "text/shuffle.hpp"
#include "text/source.hpp"

namespace labeltrees::text {

namespace {

class ShuffledMemoryReader final : public TextReader {
 public:
  ShuffledMemoryReader(const MemoryTexts& texts, std::shared_ptr<ShuffleGroups> groups)
      : texts_(texts), places_(std::move(groups)) {}

  bool next(TextLine& line) override {
    const int64_t number = places_.next([&](int64_t place) { texts_.prefetch(place); });
    if (number < 0) return false;
    prefetch_text(texts_[places_.ahead()].data());
    line = {texts_[number], true, number};
    return true;
  }
  void unread(size_t) override {}

 private:
  const MemoryTexts& texts_;
  ShuffledPlaces places_;
};

// The readers of a small file share its lines.
class ShuffledLineReader final : public TextReader {
 public:
  ShuffledLineReader(std::shared_ptr<const FileLines> lines, std::shared_ptr<ShuffleGroups> groups)
      : lines_(std::move(lines)), places_(std::move(groups)) {}

  bool next(TextLine& line) override {
    if (rest_ < 0) {
      const int64_t place = places_.next([&](int64_t later) { __builtin_prefetch(&lines_->starts[later]); });
      if (place < 0) return false;
      prefetch_text(lines_->text.data() + lines_->starts[places_.ahead()]);
      rest_ = lines_->starts[place];
    }
    start_ = rest_;
    rest_ = -1;
    line = lines_->line_at(start_);
    return true;
  }
  void unread(size_t n_read) override { rest_ = start_ + static_cast<int64_t>(n_read); }

 private:
  std::shared_ptr<const FileLines> lines_;
  ShuffledPlaces places_;
  int64_t start_ = 0, rest_ = -1;  // of the last line, and of its part that was not read
};

// Holds the lines of one group of blocks of a large file and returns them in random order.
class ShuffledBlockReader final : public TextReader {
 public:
  ShuffledBlockReader(const std::string& path, int64_t file_size, int64_t block_size,
                      std::shared_ptr<ShuffleGroups> groups)
      : blocks_(path, file_size, block_size), groups_(std::move(groups)) {}

  bool next(TextLine& line) override {
    if (rest_ < 0) {
      while (at_ == lines_.starts.size())  // no line starts in a group that is inside a long line
        if (!groups_->take([&](const ShuffleGroups::Group& group) { fill(group); })) return false;
      rest_ = lines_.starts[at_++];
      if (at_ < lines_.starts.size()) prefetch_text(lines_.text.data() + lines_.starts[at_]);
    }
    start_ = rest_;
    rest_ = -1;
    line = lines_.line_at(start_);
    return true;
  }
  void unread(size_t n_read) override { rest_ = start_ + static_cast<int64_t>(n_read); }

 private:
  void fill(const ShuffleGroups::Group& group) {
    lines_.clear();
    at_ = 0;
    for (int64_t place = group.begin; place < group.end; ++place) blocks_.append(group.order(place), lines_);
    groups_->random_of(group).shuffle(lines_.starts.data(), static_cast<int64_t>(lines_.starts.size()));
  }

  LineBlocks blocks_;
  std::shared_ptr<ShuffleGroups> groups_;
  FileLines lines_;
  size_t at_ = 0;
  int64_t start_ = 0, rest_ = -1;  // of the last line, and of its part that was not read
};

template <class Reader, class... Arguments>
TextReaders one_per_thread(int n_threads, Arguments&... arguments) {
  TextReaders readers;
  for (int thread = 0; thread < n_threads; ++thread) readers.push_back(std::make_unique<Reader>(arguments...));
  return readers;
}

}  // namespace

TextReaders MemoryTexts::shuffled(const ShuffleSettings& settings) const {
  auto groups = std::make_shared<ShuffleGroups>(size(), ShuffledPlaces::groups_of(size()), settings);
  return one_per_thread<ShuffledMemoryReader>(settings.n_threads, *this, groups);
}

ShuffleBlocks::ShuffleBlocks(int64_t file_size, const ShuffleSettings& settings) {
  const int64_t wanted = file_size / (kBlocksPerThread * settings.n_threads);
  block_size = std::min(std::clamp(wanted, kSmallestBlock, kLargestBlock), settings.buffer_bytes);
  n_blocks = (file_size + block_size - 1) / block_size;
  // A multiple of the number of threads, so that each gets the same share.
  const int64_t per_round = settings.buffer_bytes / block_size * settings.n_threads;
  n_groups = (n_blocks + per_round - 1) / per_round * settings.n_threads;
}

TextReaders FileTexts::shuffled(const ShuffleSettings& settings) const {
  if (size_ <= settings.buffer_bytes) {
    auto lines = std::make_shared<FileLines>();
    LineBlocks(path_, size_, size_).append(0, *lines);
    const auto n_lines = static_cast<int64_t>(lines->starts.size());
    auto groups = std::make_shared<ShuffleGroups>(n_lines, ShuffledPlaces::groups_of(n_lines), settings);
    return one_per_thread<ShuffledLineReader>(settings.n_threads, lines, groups);
  }
  const ShuffleBlocks blocks(size_, settings);
  auto groups = std::make_shared<ShuffleGroups>(blocks.n_blocks, blocks.n_groups, settings);
  return one_per_thread<ShuffledBlockReader>(settings.n_threads, path_, size_, blocks.block_size, groups);
}

}  // namespace labeltrees::text
