#include "tfidf/terms.hpp"

namespace labeltrees::tfidf {

TermIndex::TermIndex(const uint8_t* text, int64_t n_text, const int64_t* ends, int64_t n_terms)
    : text_(text), ends_(ends) {
  if (n_terms == 0) return;
  if (n_terms > INT32_MAX) throw DamagedTerms("too many terms");
  for (int64_t id = 0; id < n_terms; ++id)
    if (ends[id] < 0 || ends[id + 1] < ends[id] || ends[id + 1] > n_text)
      throw DamagedTerms("the ends of the terms are not ascending, so the file is damaged");
  auto size = std::bit_ceil(static_cast<uint64_t>(2 * n_terms));
  mask_ = size - 1;
  shift_ = 64 - std::countr_zero(size);
  slots_.resize(size);
  std::vector<uint8_t> padded;
  for (int64_t id = 0; id < n_terms; ++id) {
    const uint8_t* at = text + ends[id];
    int64_t n = ends[id + 1] - ends[id];
    if (ends[id + 1] + 8 > n_text) {  // hash_term reads 8 bytes past the term, which may not be readable here
      padded.assign(static_cast<size_t>(n) + 8, 0);
      std::copy(at, at + n, padded.begin());
      at = padded.data();
    }
    TermHash hash = hash_term(at, n);
    uint64_t place = hash.hash >> shift_;
    while (slots_[place].id >= 0) place = (place + 1) & mask_;
    slots_[place] = {hash.key, narrow(n), static_cast<int32_t>(id)};
  }
}

TermTable::Entry& TermTable::find_or_add(const Term& term, const TermHash& hash) {
  if (2 * entries_.size() >= slots_.size()) grow();
  auto tag = static_cast<uint32_t>(hash.hash);
  uint64_t place = place_of(hash);
  for (; slots_[place].id >= 0; place = (place + 1) & (slots_.size() - 1)) {
    if (slots_[place].tag != tag) continue;
    Entry& entry = entries_[slots_[place].id];
    if (entry.hash.key != hash.key || entry.size != term.size) continue;
    if (term.size <= TermHash::kShort ||
        std::memcmp(text_.data() + entry.begin, term.at, static_cast<size_t>(term.size)) == 0)
      return entry;
  }
  if (entries_.size() >= INT32_MAX)
    throw std::length_error("the texts have more than 2^31 - 1 different terms; raise min_df");
  slots_[place] = {tag, static_cast<int32_t>(entries_.size())};
  entries_.push_back({hash, static_cast<int64_t>(text_.size()), term.size, 0, 0, -1});
  text_.insert(text_.end(), term.at, term.at + term.size);
  return entries_.back();
}

void TermTable::merge(const TermTable& other) {
  for (const Entry& entry : other.entries_) {
    Entry& mine = find_or_add({other.text_.data() + entry.begin, entry.size}, entry.hash);
    mine.texts += entry.texts;
    mine.occurrences += entry.occurrences;
  }
}

void TermTable::grow() {
  std::vector<Slot> old(std::max<size_t>(slots_.size() * 2, 64));
  slots_.swap(old);
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    uint64_t place = place_of(entries_[slot.id].hash);
    while (slots_[place].id >= 0) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

}  // namespace labeltrees::tfidf
