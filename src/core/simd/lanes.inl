// Part of kernels.inl: the training kernels that do not depend on the loss.

template <int lanes, bool dense>
static void add_positive(const LanePass& pass, const float* row_weight, int64_t n_rows) {
  using Ops = LaneOps<lanes>;
  using F = typename Ops::F;
  using I = typename Ops::I;
  const I lane_bits = Vec<lanes>::lane_bits;
  const F zero = {};
  F bias = *reinterpret_cast<const F*>(pass.bias);
  for (int64_t row = 0; row < n_rows; ++row) {
    const LaneRow& head = pass.rows[row];
    if (head.positive == 0) continue;
    const I is_positive = ((static_cast<int32_t>(head.positive) & lane_bits) != 0);
    const F step = is_positive ? zero + (row_weight ? row_weight[row] : 1.0f) : zero;
    bias += step * pass.bias_value;
    Ops::template add<dense>(dense ? nullptr : pass.columns + head.begin, pass.values + head.begin, head.length, step,
                             pass.weights);
  }
  *reinterpret_cast<F*>(pass.bias) = bias;
}

template <int lanes>
static void inner_products(const float* weights, const float* total, int64_t n_columns, double* squares,
                           double* cross) {
  using F = typename Vec<lanes>::Floats;
  for (int lane = 0; lane < lanes; ++lane) squares[lane] = cross[lane] = 0;
  // Short float sums, added in double: as fast, and precise enough for millions of columns.
  for (int64_t begin = 0; begin < n_columns; begin += 1024) {
    const int64_t end = begin + 1024 < n_columns ? begin + 1024 : n_columns;
    F square = {}, product = {};
    for (int64_t column = begin; column < end; ++column) {
      const F& weight = *reinterpret_cast<const F*>(weights + column * lanes);
      square += weight * weight;
      product += weight * total[column];
    }
    for (int lane = 0; lane < lanes; ++lane) {
      squares[lane] += square[lane];
      cross[lane] += product[lane];
    }
  }
}

template <int lanes>
static void combine(float* weights, const float* total, int64_t n_columns, const float* scale, const float* shift) {
  using F = typename Vec<lanes>::Floats;
  const F scales = *reinterpret_cast<const F*>(scale), shifts = *reinterpret_cast<const F*>(shift);
  for (int64_t column = 0; column < n_columns; ++column) {
    F& weight = *reinterpret_cast<F*>(weights + column * lanes);
    weight = scales * weight + shifts * total[column];
  }
}

template <int lanes>
static void start_alpha(float* alpha, const LaneRow* rows, const float* row_weight, int64_t n_rows,
                        const float* if_positive, const float* if_negative) {
  using F = typename Vec<lanes>::Floats;
  using I = typename Vec<lanes>::Ints;
  const I lane_bits = Vec<lanes>::lane_bits;
  const F pos = *reinterpret_cast<const F*>(if_positive), neg = *reinterpret_cast<const F*>(if_negative);
  for (int64_t row = 0; row < n_rows; ++row) {
    const I is_positive = ((static_cast<int32_t>(rows[row].positive) & lane_bits) != 0);
    const F start = is_positive ? pos : neg;
    *reinterpret_cast<F*>(alpha + row * lanes) = row_weight ? start * row_weight[row] : start;
  }
}

template <int lanes>
static void find_kept(const float* weights, int64_t n_columns, float threshold, uint16_t* kept, int32_t* counts) {
  using Ops = LaneOps<lanes>;
  using F = typename Ops::F;
  using I = typename Ops::I;
  const F above = F{} + threshold;
  I count = {};
  for (int64_t column = 0; column < n_columns; ++column) {
    const F& weight = *reinterpret_cast<const F*>(weights + column * lanes);
    const I keep = ((weight >= above) | (weight <= -above)) & (weight != F{});
    count -= keep;
    kept[column] = static_cast<uint16_t>(Ops::bits_of(keep));
  }
  for (int lane = 0; lane < lanes; ++lane) counts[lane] = count[lane];
}

template <int lanes>
static constexpr LaneKernels lane_kernels() {
  return {lanes,
          loss_table<lanes>(),
          {add_positive<lanes, false>, add_positive<lanes, true>},
          inner_products<lanes>,
          combine<lanes>,
          start_alpha<lanes>,
          find_kept<lanes>};
}
