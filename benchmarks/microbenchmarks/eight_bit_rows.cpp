// Adds rows of weights to margins as a search does, stored as half-precision numbers and as whole numbers of 8 bits.
//
// eight_bit_rows FILE ROUNDS. FILE (int32, little-endian): n_rows, n_visits, n_hits; then form, width and count of each
// row; then n_visits + 1 places in hits; then the row of each hit. Forms: 3 pairs, 4 masks, 5 full. Prints, for each of
// the two, bytes of all rows and the best nanoseconds a visit, and the largest difference of their margins.
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <vector>

#if !defined(__AVX512F__)
#error "the comparison is written for AVX-512"
#endif

struct Row {
  int32_t form, width, count;
};

struct Shapes {
  std::vector<Row> rows;
  std::vector<int32_t> ends, hits;
};

static Shapes read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  auto take = [&](size_t n) {
    std::vector<int32_t> numbers(n);
    file.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(4 * n));
    if (!file) std::exit((std::fprintf(stderr, "%s is too short\n", path), 1));
    return numbers;
  };
  auto head = take(3);
  auto rows = take(3 * static_cast<size_t>(head[0]));
  Shapes shapes;
  for (size_t i = 0; i < rows.size(); i += 3) shapes.rows.push_back({rows[i], rows[i + 1], rows[i + 2]});
  shapes.ends = take(static_cast<size_t>(head[1]) + 1);
  shapes.hits = take(static_cast<size_t>(head[2]));
  return shapes;
}

template <bool eight>
constexpr int kWidth = eight ? 1 : 2;

template <bool eight>
static __m512 weights16(const uint8_t* at) {
  if constexpr (eight)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
  else
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

template <bool eight>
class Store {
 public:
  explicit Store(const Shapes& shapes) : shapes_(shapes) {
    int64_t at = 0;
    for (const Row& row : shapes.rows) {
      if (row.form == 5) at = (at + 63) / 64 * 64;
      starts_.push_back(at);
      int64_t weights = kWidth<eight> * (row.form == 5 ? row.width : row.count);
      at += weights + (row.form == 4 ? row.width / 8 : row.form == 3 ? row.count : 0);
      at += at % 2;
    }
    bytes_ = at;
    auto size = static_cast<size_t>((at + 64 + (2 << 20) - 1) >> 21 << 21);
    memory_ = static_cast<uint8_t*>(std::aligned_alloc(2 << 20, size));
    madvise(memory_, size, MADV_HUGEPAGE);
    fill();
  }
  ~Store() { std::free(memory_); }

  int64_t bytes() const { return bytes_; }

  float* visit(int64_t number) {
    std::memset(margins_, 0, sizeof margins_);
    full_.clear();
    masked_.clear();
    listed_.clear();
    int width = 0;  // the same for all rows of a visit
    for (int64_t i = shapes_.ends[number]; i < shapes_.ends[number + 1]; ++i) {
      int32_t hit = shapes_.hits[i];
      const Row& row = shapes_.rows[hit];
      width = row.width;
      Hit found{memory_ + starts_[hit], row.count, 0.1f + 0.01f * static_cast<float>(hit % 7)};
      (row.form == 5 ? full_ : row.form == 4 ? masked_ : listed_).push_back(found);
    }
    for (int child = 0; child < width; child += 64) {
      add_full(child, std::min(width - child, 64));
      add_masked(child, width);
    }
    for (const Hit& hit : listed_) add_listed(hit.at, hit.count, hit.value);
    return margins_;
  }

 private:
  // The same numbers in both stores: whole ones, which half precision has too.
  void put(uint8_t* to, int weight) {
    if constexpr (eight) {
      *to = static_cast<uint8_t>(static_cast<int8_t>(weight));
    } else {
      uint16_t half = _cvtss_sh(static_cast<float>(weight), 0);
      std::memcpy(to, &half, 2);
    }
  }
  void fill() {
    std::mt19937 random(1);
    for (size_t i = 0; i < shapes_.rows.size(); ++i) {
      const Row& row = shapes_.rows[i];
      uint8_t* at = memory_ + starts_[i];
      std::vector<int> children(static_cast<size_t>(row.width));
      for (int child = 0; child < row.width; ++child) children[child] = child;
      std::shuffle(children.begin(), children.end(), random);
      if (row.form == 4) {
        std::memset(at, 0, static_cast<size_t>(row.width / 8));
        for (int j = 0; j < row.count; ++j) at[children[j] / 8] |= static_cast<uint8_t>(1 << children[j] % 8);
        at += row.width / 8;
      }
      int n = row.form == 5 ? row.width : row.count;
      for (int j = 0; j < n; ++j) put(at + kWidth<eight> * j, static_cast<int>(random() % 255) - 127);
      if (row.form == 3)
        for (int j = 0; j < n; ++j) at[kWidth<eight> * n + j] = static_cast<uint8_t>(children[j]);
    }
  }

  struct Hit {
    const uint8_t* at;
    int count;
    float value;
  };

  void add_full(int first, int n) {
    __m512 sums[4];
    for (int j = 0; j < 4; ++j) sums[j] = _mm512_load_ps(margins_ + first + 16 * j);
    if (n == 64) {
      for (const Hit& hit : full_) {
        __m512 value = _mm512_set1_ps(hit.value);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j)
          sums[j] = _mm512_fmadd_ps(weights16<eight>(hit.at + kWidth<eight> * (first + 16 * j)), value, sums[j]);
      }
    } else {
      for (int j = 0; 16 * j < n; ++j)
        for (const Hit& hit : full_)
          sums[j] = _mm512_fmadd_ps(weights16<eight>(hit.at + kWidth<eight> * (first + 16 * j)),
                                    _mm512_set1_ps(hit.value), sums[j]);
    }
    for (int j = 0; j < 4; ++j) _mm512_store_ps(margins_ + first + 16 * j, sums[j]);
  }
  void add_masked(int first, int width) {
    __m512 sums[4];
    for (int j = 0; j < 4; ++j) sums[j] = _mm512_load_ps(margins_ + first + 16 * j);
    uint64_t there = width - first >= 64 ? ~uint64_t{0} : (uint64_t{1} << (width - first)) - 1, four;
    for (const Hit& hit : masked_) {
      const uint8_t* weights = hit.at + width / 8;
      for (int before = 0; before < first; before += 64) {
        std::memcpy(&four, hit.at + before / 8, 8);
        weights += kWidth<eight> * __builtin_popcountll(four);
      }
      std::memcpy(&four, hit.at + first / 8, 8);
      four &= there;
      __m512 value = _mm512_set1_ps(hit.value);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const uint8_t* at = weights + kWidth<eight> * __builtin_popcountll(four & ((uint64_t{1} << (16 * j)) - 1));
        __m512 row = _mm512_maskz_expand_ps(static_cast<__mmask16>(four >> (16 * j)), weights16<eight>(at));
        sums[j] = _mm512_fmadd_ps(row, value, sums[j]);
      }
    }
    for (int j = 0; j < 4; ++j) _mm512_store_ps(margins_ + first + 16 * j, sums[j]);
  }
  void add_listed(const uint8_t* at, int count, float value) {
    const uint8_t* children = at + kWidth<eight> * count;
    for (; count > 0; count -= 16, at += 16 * kWidth<eight>, children += 16) {
      alignas(64) float product[16];
      _mm512_store_ps(product, _mm512_mul_ps(weights16<eight>(at), _mm512_set1_ps(value)));
      for (int j = 0; j < std::min(count, 16); ++j) margins_[children[j]] += product[j];
    }
  }

  const Shapes& shapes_;
  std::vector<int64_t> starts_;
  int64_t bytes_ = 0;
  uint8_t* memory_ = nullptr;
  std::vector<Hit> full_, masked_, listed_;
  alignas(64) float margins_[256];
};

// Processor time, so that other work on the machine counts little.
static double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

template <bool eight>
static double run(Store<eight>& store, int64_t n_visits) {
  double start = now();
  float kept = 0;
  for (int64_t visit = 0; visit < n_visits; ++visit) kept += store.visit(visit)[0];
  double took = now() - start;
  volatile float sink = kept;
  (void)sink;
  return took / static_cast<double>(n_visits);
}

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  Shapes shapes = read(argv[1]);
  Store<false> halves(shapes);
  Store<true> bytes(shapes);
  auto n_visits = static_cast<int64_t>(shapes.ends.size()) - 1;
  double difference = 0, best[2] = {1e18, 1e18};
  for (int64_t visit = 0; visit < n_visits; ++visit) {
    const float *a = halves.visit(visit), *b = bytes.visit(visit);
    for (int child = 0; child < 256; ++child) difference = std::max<double>(difference, std::fabs(a[child] - b[child]));
  }
  for (int round = 0; round < std::atoi(argv[2]); ++round) {
    best[0] = std::min(best[0], run(halves, n_visits));
    best[1] = std::min(best[1], run(bytes, n_visits));
  }
  std::printf("%lld %lld %.1f %.1f %g\n", static_cast<long long>(halves.bytes()), static_cast<long long>(bytes.bytes()),
              best[0], best[1], difference);
}
