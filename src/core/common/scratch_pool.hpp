// Scratch of finished calls, kept for the next ones. No lock: a fork while another thread held it would never end.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace labeltrees {

template <class Scratch>
class ScratchPool {
 public:
  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (auto& place : places_) delete place.load();
  }

  class Borrowed {
   public:
    explicit Borrowed(ScratchPool& pool) : pool_(pool) {
      for (auto& place : pool_.places_)
        if ((scratch_ = std::unique_ptr<Scratch>(place.exchange(nullptr)))) return;
      scratch_ = std::make_unique<Scratch>();
    }
    Borrowed(const Borrowed&) = delete;
    ~Borrowed() {
      for (auto& place : pool_.places_) {
        Scratch* none = nullptr;
        if (place.compare_exchange_strong(none, scratch_.get())) {
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
  std::array<std::atomic<Scratch*>, 16> places_{};
};

}  // namespace labeltrees
