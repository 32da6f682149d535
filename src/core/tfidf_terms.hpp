// Terms and where to find them: a table that grows while a vocabulary is learnt, and an index of one that is known.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace labeltrees {

struct Term {
  const uint8_t* at;
  int64_t size;
};

// Terms handed on together, so that their places in a table can be fetched while the first are looked up.
struct TermBlock {
  static constexpr int capacity = 64;
  Term terms[capacity];
  int size = 0;
};

// Not part of any file: vocabularies are saved without their tables. 8 bytes behind the term must be readable.
inline uint64_t hash_term(const uint8_t* at, int64_t n) {
  auto read8 = [](const uint8_t* from) {
    uint64_t value;
    std::memcpy(&value, from, 8);
    return value;
  };
  auto mix = [](uint64_t a, uint64_t b) {
    auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = static_cast<uint64_t>(n) * 0x9E3779B97F4A7C15u;
  for (; n > 8; n -= 8, at += 8) hash = mix(hash ^ read8(at), 0xA0761D6478BD642Fu);
  uint64_t last = n == 0 ? 0 : read8(at) << (64 - 8 * n);
  return mix(hash ^ last ^ 0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u);
}

// A vocabulary that is damaged; becomes FileFormatError.
struct DamagedTerms : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// From a term to its number. Terms stand end to end in `text`, term i from ends[i] to ends[i + 1]; both must outlive
// this.
class TermIndex {
 public:
  TermIndex() = default;
  TermIndex(const uint8_t* text, int64_t n_text, const int64_t* ends, int64_t n_terms);

  bool empty() const { return slots_.empty(); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash >> shift_]); }
  // The text the term is compared with first, so that it can be fetched early.
  void prefetch_text(uint64_t hash) const { __builtin_prefetch(text_ + slots_[hash >> shift_].begin()); }

  int32_t find(const uint8_t* at, int64_t n, uint64_t hash) const {
    auto tag = static_cast<uint32_t>(hash);
    int64_t size = std::min(n, Slot::longest);
    for (uint64_t place = hash >> shift_;; place = (place + 1) & mask_) {
      const Slot& slot = slots_[place];
      if (slot.id < 0) return -1;
      if (slot.tag != tag || slot.size() != size) continue;
      if (size == Slot::longest && ends_[slot.id + 1] - ends_[slot.id] != n) continue;
      if (std::memcmp(text_ + slot.begin(), at, static_cast<size_t>(n)) == 0) return slot.id;
    }
  }
  int32_t find(const uint8_t* at, int64_t n) const { return find(at, n, hash_term(at, n)); }

 private:
  struct Slot {
    static constexpr int64_t longest = (1 << 24) - 1;
    uint32_t tag = 0;
    int32_t id = -1;
    uint64_t place = 0;  // begin << 24 | size: one miss of the cache less than by way of `ends`
    int64_t begin() const { return static_cast<int64_t>(place >> 24); }
    int64_t size() const { return static_cast<int64_t>(place & longest); }
  };

  const uint8_t* text_ = nullptr;
  const int64_t* ends_ = nullptr;
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  int shift_ = 63;
};

// Terms met so far, with the number of texts that have them and how often they occur in all.
class TermTable {
 public:
  struct Entry {
    uint64_t hash;
    int64_t begin, size;
    int64_t texts, occurrences;
    int64_t last_text;
  };

  void count(const Term& term, uint64_t hash, int64_t text) {
    Entry& entry = find_or_add(term, hash);
    ++entry.occurrences;
    if (entry.last_text == text) return;
    entry.last_text = text;
    ++entry.texts;
  }
  void merge(const TermTable& other);
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place_of(hash)]);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const uint8_t* text() const { return text_.data(); }
  void release() { *this = TermTable(); }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t id = -1;
  };
  // The upper bits of the hash have chosen the table.
  uint64_t place_of(uint64_t hash) const { return (hash >> 20) & (slots_.size() - 1); }
  Entry& find_or_add(const Term& term, uint64_t hash);
  void grow();

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<uint8_t> text_;
};

}  // namespace labeltrees
