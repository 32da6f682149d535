// The kernels of the text model.
//
// A row is processed in pieces of up to 8 vectors of 16 floats (a whole row of dim 128), so that the sums stay in
// registers.
namespace labeltrees::simd::LABELTREES_ISA {

struct TextRows {
  using F = Vec<16>::Floats;

  static const F* at(const float* rows, int64_t stride, int32_t id) {
    return reinterpret_cast<const F*>(rows + id * stride);
  }
  static F* at(float* rows, int64_t stride, int32_t id) { return reinterpret_cast<F*>(rows + id * stride); }

  template <int n_vectors>
  struct Sum {
    static inline void run(const float* rows, int64_t stride, const int32_t* ids, int64_t n, float* out) {
      F sums[n_vectors] = {};
      for (int64_t i = 0; i < n; ++i) {
        const F* row = at(rows, stride, ids[i]);
        for (int v = 0; v < n_vectors; ++v) sums[v] += row[v];
      }
      for (int v = 0; v < n_vectors; ++v) reinterpret_cast<F*>(out)[v] = sums[v];
    }
  };

  template <int n_vectors>
  struct Add {
    static inline void run(float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* addend) {
      F add[n_vectors];
      for (int v = 0; v < n_vectors; ++v) add[v] = reinterpret_cast<const F*>(addend)[v];
      for (int64_t i = 0; i < n; ++i) {
        F* row = at(rows, stride, ids[i]);
        for (int v = 0; v < n_vectors; ++v) row[v] += add[v];
      }
    }
  };

  template <int n_vectors>
  struct Dot {  // adds to out
    static inline void run(const float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* x,
                           float* out) {
      F given[n_vectors];
      for (int v = 0; v < n_vectors; ++v) given[v] = reinterpret_cast<const F*>(x)[v];
      for (int64_t i = 0; i < n; ++i) {
        const F* row = at(rows, stride, ids[i]);
        F even = {}, odd = {};
        for (int v = 0; v < n_vectors; ++v) (v % 2 == 0 ? even : odd) += row[v] * given[v];
        even += odd;
        float total = 0;
        for (int lane = 0; lane < 8; ++lane) total += even[lane] + even[lane + 8];
        out[i] += total;
      }
    }
  };

  template <int n_vectors>
  struct Step {
    static inline void run(float* rows, int64_t stride, const int32_t* ids, const float* step, int64_t n,
                           const float* x, float* gradient) {
      F given[n_vectors], sums[n_vectors];
      for (int v = 0; v < n_vectors; ++v) given[v] = reinterpret_cast<const F*>(x)[v];
      for (int v = 0; v < n_vectors; ++v) sums[v] = reinterpret_cast<const F*>(gradient)[v];
      for (int64_t i = 0; i < n; ++i) {
        F* row = at(rows, stride, ids[i]);
        for (int v = 0; v < n_vectors; ++v) {
          const F before = row[v];
          sums[v] += step[i] * before;
          row[v] = before + step[i] * given[v];
        }
      }
      for (int v = 0; v < n_vectors; ++v) reinterpret_cast<F*>(gradient)[v] = sums[v];
    }
  };

  // Calls Piece<8, 4, 2 or 1>::run for the pieces of a row.
  template <template <int> class Piece, class Call>
  static inline void pieces(int64_t stride, Call call) {
    int64_t from = 0;
    for (; from + 128 <= stride; from += 128) call(Piece<8>(), from);
    if (from + 64 <= stride) call(Piece<4>(), from), from += 64;
    if (from + 32 <= stride) call(Piece<2>(), from), from += 32;
    if (from < stride) call(Piece<1>(), from);
  }
};

static void sum_rows(const float* rows, int64_t stride, const int32_t* ids, int64_t n, float* out) {
  TextRows::pieces<TextRows::Sum>(
      stride, [&](auto piece, int64_t from) { piece.run(rows + from, stride, ids, n, out + from); });
}

static void add_to_rows(float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* addend) {
  TextRows::pieces<TextRows::Add>(
      stride, [&](auto piece, int64_t from) { piece.run(rows + from, stride, ids, n, addend + from); });
}

static void dot_rows(const float* rows, int64_t stride, const int32_t* ids, int64_t n, const float* x, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = 0;
  TextRows::pieces<TextRows::Dot>(
      stride, [&](auto piece, int64_t from) { piece.run(rows + from, stride, ids, n, x + from, out); });
}

static void sigmoids(const float* values, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += 16) {
    typename Vec<16>::Floats x, y;
    __builtin_memcpy(&x, values + i, sizeof x);
    sigmoid<16>(x, y);
    __builtin_memcpy(out + i, &y, sizeof y);
  }
}

static void step_rows(float* rows, int64_t stride, const int32_t* ids, const float* step, int64_t n, const float* x,
                      float* gradient) {
  TextRows::pieces<TextRows::Step>(stride, [&](auto piece, int64_t from) {
    piece.run(rows + from, stride, ids, step, n, x + from, gradient + from);
  });
}

static constexpr TextKernels text_kernels = {sum_rows, add_to_rows, dot_rows, sigmoids, step_rows};

}  // namespace labeltrees::simd::LABELTREES_ISA
