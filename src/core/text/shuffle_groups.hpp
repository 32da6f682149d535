// Hands out the texts of a training to its threads, every epoch in another order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "text/permutation.hpp"
#include "text/source.hpp"

namespace labeltrees {

// A unit is a text or a block of a file. Every unit is in one group of each epoch. A slow thread takes fewer groups, so
// no text is visited less often because of its thread.
class ShuffleGroups {
 public:
  struct Group {
    int64_t number;      // of all groups of the training
    int64_t begin, end;  // places in the order of the units
    Permutation order;   // of the epoch
  };

  // Groups of the same size, or one unit more.
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

  // For shuffling inside a group: another stream than those of the permutations, which have the numbers of the epochs.
  Random random_of(const Group& group) const { return {seed_, ~static_cast<uint64_t>(group.number)}; }

 private:
  int64_t begin_of(int64_t place) const {
    return n_units_ / per_epoch_ * place + std::min(place, n_units_ % per_epoch_);
  }

  const uint64_t seed_;
  const int64_t n_units_, per_epoch_, total_;
  std::atomic<int64_t> next_{0};
};

// The places of texts, a few at a time.
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

}  // namespace labeltrees
