// Tables of terms: one that grows while a vocabulary is learned, and an index of a known vocabulary.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/hash.hpp"

namespace labeltrees::tfidf {

struct Term {
  const uint8_t* at;
  int64_t size;
};

// Terms that are passed on together, so that the slots of later ones are prefetched while the first are looked up.
struct TermBlock {
  static constexpr int kCapacity = 64;
  Term terms[kCapacity];
  int size = 0;
};

// A vocabulary from a file is damaged; raised as FileFormatError.
struct DamagedTerms : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Finds the number of a term. Term i is text[ends[i] .. ends[i + 1]); both arrays must outlive the index. Two terms
// with the same key and the same size of at most 8 bytes are equal, so most terms are compared without reading the
// text.
class TermIndex {
 public:
  TermIndex() = default;
  TermIndex(const uint8_t* text, int64_t n_text, const int64_t* ends, int64_t n_terms);

  bool empty() const { return slots_.empty(); }
  void prefetch(const TermHash& hash) const { __builtin_prefetch(&slots_[hash.hash >> shift_]); }

  int32_t find(const uint8_t* at, int64_t n, const TermHash& hash) const {
    for (uint64_t place = hash.hash >> shift_;; place = (place + 1) & mask_) {
      const Slot& slot = slots_[place];
      if (slot.id < 0) return -1;
      if (slot.key != hash.key || slot.size != narrow(n)) continue;
      if (n <= TermHash::kShort || is_term(slot.id, at, n)) return slot.id;
    }
  }
  int32_t find(const uint8_t* at, int64_t n) const { return find(at, n, hash_term(at, n)); }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t size = 0;
    int32_t id = -1;
  };
  static uint32_t narrow(int64_t size) { return static_cast<uint32_t>(std::min<int64_t>(size, UINT32_MAX)); }
  bool is_term(int32_t id, const uint8_t* at, int64_t n) const {
    return ends_[id + 1] - ends_[id] == n && std::memcmp(text_ + ends_[id], at, static_cast<size_t>(n)) == 0;
  }

  const uint8_t* text_ = nullptr;
  const int64_t* ends_ = nullptr;
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  int shift_ = 63;
};

// The terms seen so far, with the number of texts that have them and the number of occurrences.
class TermTable {
 public:
  struct Entry {
    TermHash hash;
    int64_t begin, size;
    int64_t texts, occurrences;
    int64_t last_text;
  };

  void count(const Term& term, const TermHash& hash, int64_t text) {
    Entry& entry = find_or_add(term, hash);
    ++entry.occurrences;
    if (entry.last_text == text) return;
    entry.last_text = text;
    ++entry.texts;
  }
  void merge(const TermTable& other);
  void prefetch(const TermHash& hash) const {
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
  // The highest bits of the hash choose the table and the lowest are the tag, so the slot uses those in between.
  uint64_t place_of(const TermHash& hash) const { return (hash.hash >> 20) & (slots_.size() - 1); }
  Entry& find_or_add(const Term& term, const TermHash& hash);
  void grow();

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::vector<uint8_t> text_;
};

}  // namespace labeltrees::tfidf
