// Working memory of finished calls, kept for the next ones. It has no lock: a child process that is forked while
// another thread holds a lock would wait for that lock forever.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace labeltrees {

// Bytes that vectors hold, whether they are used or not.
template <class T>
size_t held_bytes(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}
template <class T>
size_t held_bytes(const std::vector<std::vector<T>>& vectors) {
  size_t total = vectors.capacity() * sizeof(std::vector<T>);
  for (const std::vector<T>& vector : vectors) total += held_bytes(vector);
  return total;
}

// A Scratch that can grow with the size of a query has a method held_bytes(). If one query has made it large, it is
// freed instead of being kept.
template <class Scratch>
class ScratchPool {
 public:
  static constexpr size_t kMostKept = size_t{4} << 20;

  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (auto& slot : slots_) delete slot.load();
  }

  // Scratch that belongs to the caller while this object lives.
  class Borrowed {
   public:
    explicit Borrowed(ScratchPool& pool) : pool_(pool) {
      for (auto& slot : pool_.slots_)
        if (slot.load(std::memory_order_relaxed) &&
            (scratch_ = std::unique_ptr<Scratch>(slot.exchange(nullptr, std::memory_order_acquire))))
          return;
      scratch_ = std::make_unique<Scratch>();
    }
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() {
      if constexpr (requires { scratch_->held_bytes(); })
        if (scratch_->held_bytes() > kMostKept) return;
      for (auto& slot : pool_.slots_) {
        Scratch* empty = nullptr;
        if (!slot.load(std::memory_order_relaxed) &&
            slot.compare_exchange_strong(empty, scratch_.get(), std::memory_order_release, std::memory_order_relaxed)) {
          scratch_.release();
          return;
        }
      }
    }
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::array<std::atomic<Scratch*>, 16> slots_{};
};

}  // namespace labeltrees
