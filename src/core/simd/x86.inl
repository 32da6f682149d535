// Primitives that AVX2 and AVX-512 share.
namespace labeltrees::simd::LABELTREES_ISA {

static inline float half_of(uint16_t half) { return _cvtsh_ss(half); }

static void add_listed(const uint8_t* entries, const ChunkRowList& rows, float* margins) {
  for (int64_t i = 0; i < rows.n; ++i) {
    int count = static_cast<int>(rows.which[i]);
    const uint8_t *weights = entries + 2 * int64_t{rows.at[i]}, *children = weights + 2 * count;
    // Four at a time, with zeros beyond the row. Most rows take one round, so the loop branch is predicted well.
    const __m128i lanes = _mm_set_epi32(3, 2, 1, 0);
    __m128 value = _mm_set1_ps(rows.value[i]);
    for (; count > 0; count -= 4, weights += 8, children += 4) {
      __m128 products = _mm_mul_ps(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights))), value);
      products = _mm_and_ps(products, _mm_castsi128_ps(_mm_cmpgt_epi32(_mm_set1_epi32(count), lanes)));
      alignas(16) float product[4];
      _mm_store_ps(product, products);
      margins[children[0]] += product[0];
      margins[children[1]] += product[1];
      margins[children[2]] += product[2];
      margins[children[3]] += product[3];
    }
  }
}

}  // namespace labeltrees::simd::LABELTREES_ISA
