// Training many classifiers at once, one lane per classifier (lanes.hpp), and the scores of each loss.
namespace labeltrees::simd::LABELTREES_ISA {

template <int lanes>
struct LaneOps {
  using F = typename Vec<lanes>::Floats;
  using I = typename Vec<lanes>::Ints;

  // out = sum_i values[i] * weights[columns[i]], in four sums to hide the latency of the addition.
  template <bool dense>
  static inline __attribute__((always_inline)) void dot(const int32_t* columns, const float* values, int32_t n,
                                                        const float* weights, F& out) {
    F a = {}, b = {}, c = {}, d = {};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
      a += values[i] * row<dense>(weights, columns, i);
      b += values[i + 1] * row<dense>(weights, columns, i + 1);
      c += values[i + 2] * row<dense>(weights, columns, i + 2);
      d += values[i + 3] * row<dense>(weights, columns, i + 3);
    }
    for (; i < n; ++i) a += values[i] * row<dense>(weights, columns, i);
    out = (a + b) + (c + d);
  }

  // weights[columns[i]] += values[i] * step
  template <bool dense>
  static inline __attribute__((always_inline)) void add(const int32_t* columns, const float* values, int32_t n,
                                                        const F& step, float* weights) {
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {  // columns of a row are distinct, so loads need not wait for stores
      F &a = row<dense>(weights, columns, i), &b = row<dense>(weights, columns, i + 1);
      F &c = row<dense>(weights, columns, i + 2), &d = row<dense>(weights, columns, i + 3);
      const F new_a = a + values[i] * step, new_b = b + values[i + 1] * step;
      const F new_c = c + values[i + 2] * step, new_d = d + values[i + 3] * step;
      a = new_a;
      b = new_b;
      c = new_c;
      d = new_d;
    }
    for (; i < n; ++i) row<dense>(weights, columns, i) += values[i] * step;
  }

  template <bool dense>
  static inline __attribute__((always_inline)) F& row(float* weights, const int32_t* columns, int32_t i) {
    return *reinterpret_cast<F*>(weights + int64_t{lanes} * (dense ? i : columns[i]));
  }
  template <bool dense>
  static inline __attribute__((always_inline)) const F& row(const float* weights, const int32_t* columns, int32_t i) {
    return *reinterpret_cast<const F*>(weights + int64_t{lanes} * (dense ? i : columns[i]));
  }
};

// Rows come in random order, so prefetch them: the header of a row four visits ahead, its values two visits ahead, and
// its weights one visit ahead if there are too many of them for the cache.
template <int lanes, bool dense>
static inline __attribute__((always_inline)) void prefetch_row(const LanePass& pass, const int32_t* order) {
  __builtin_prefetch(pass.rows + order[4]);
  const LaneRow& next = pass.rows[order[2]];
  __builtin_prefetch(pass.alpha + int64_t{order[2]} * lanes);
  const int32_t n = next.length < 64 ? next.length : 64;  // the hardware prefetcher does the rest
  for (int32_t i = 0; i < n; i += 16) {
    if (!dense) __builtin_prefetch(pass.columns + next.begin + i);
    __builtin_prefetch(pass.values + next.begin + i);
  }
  if (dense || !pass.prefetch_weights) return;
  const LaneRow& soon = pass.rows[order[1]];
  if ((soon.active & pass.live) == 0) return;
  for (int32_t i = 0; i < soon.length; ++i)
    __builtin_prefetch(pass.weights + int64_t{lanes} * pass.columns[soon.begin + i], 1);
}

// Dual coordinate descent of min_a 1/2 a'(Q + D)a - sum(a), a >= 0, Q_ij = y_i y_j x_i.x_j, D_ii = 1 / (2 C_i), with
// w = sum a_i y_i x_i kept up to date: per row G = y w.x - 1 + D a, a <- max(0, a - G / (Q_ii + D_ii)).
// long because the loop keeps all its state in vector registers.
template <int lanes, bool dense>
static int64_t hinge_pass(LanePass& pass) {
  using Ops = LaneOps<lanes>;
  using F = typename Ops::F;
  using I = typename Ops::I;
  const I lane_bits = Vec<lanes>::lane_bits;
  const F zero = {};
  const F one = zero + 1.0f;
  F bias = *reinterpret_cast<const F*>(pass.bias);
  F largest = *reinterpret_cast<const F*>(pass.largest);
  F smallest = *reinterpret_cast<const F*>(pass.smallest);
  const F shrink_above = *reinterpret_cast<const F*>(pass.shrink_above);
  const F ignore = zero + pass.ignore_below;
  uint32_t any_shrunk = 0;
  int64_t n_left = 0;
  for (int64_t at = 0; at < pass.n_order; ++at) {
    const int32_t row_id = pass.order[at];
    if (at + 4 < pass.n_order) prefetch_row<lanes, dense>(pass, pass.order + at);
    LaneRow& row = pass.rows[row_id];
    const uint32_t active = row.active & pass.live;
    if (active == 0) continue;
    pass.order[n_left++] = row_id;
    const int32_t* columns = dense ? nullptr : pass.columns + row.begin;
    const float* values = pass.values + row.begin;
    F dot;
    Ops::template dot<dense>(columns, values, row.length, pass.weights, dot);
    dot += pass.bias_value * bias;

    F& alpha = *reinterpret_cast<F*>(pass.alpha + int64_t{row_id} * lanes);
    const F diagonal = pass.inverse_costs ? *reinterpret_cast<const F*>(pass.inverse_costs + int64_t{row_id} * lanes)
                                          : zero + pass.inverse_cost;
    const I is_positive = ((static_cast<int32_t>(row.positive) & lane_bits) != 0);
    const I is_active = ((static_cast<int32_t>(active) & lane_bits) != 0);
    const F sign = is_positive ? one : -one;
    const F gradient = sign * dot - 1.0f + diagonal * alpha;
    const I at_zero = (alpha <= zero);
    const F projected = (is_active & ~(at_zero & (gradient >= zero))) ? gradient : zero;
    largest = projected > largest ? projected : largest;
    smallest = projected < smallest ? projected : smallest;
    const I shrink = (is_active & at_zero & (gradient > shrink_above));
    const uint32_t shrink_bits = bits_of<lanes>(shrink);
    if (shrink_bits != 0) {
      any_shrunk |= shrink_bits;
      row.active &= static_cast<uint16_t>(~shrink_bits);
    }
    const I moves = ((projected > ignore) | (projected < -ignore));
    if (bits_of<lanes>(moves) == 0) continue;
    F moved = alpha - projected / (diagonal + row.squared_norm);
    moved = moved > zero ? moved : zero;
    moved = moves ? moved : alpha;
    const F step = (moved - alpha) * sign;
    alpha = moved;
    bias += step * pass.bias_value;
    Ops::template add<dense>(columns, values, row.length, step, pass.weights);
  }
  *reinterpret_cast<F*>(pass.bias) = bias;
  *reinterpret_cast<F*>(pass.largest) = largest;
  *reinterpret_cast<F*>(pass.smallest) = smallest;
  pass.shrunk |= static_cast<uint16_t>(any_shrunk);
  return n_left;
}

// 1 / (1 + exp(-x)), with a relative error of about 1e-7 for |x| < 87. exp(-|x|) = 2^n exp(r), n an integer, |r| <=
// ln(2) / 2.
template <int lanes>
static inline __attribute__((always_inline)) void sigmoid(const typename Vec<lanes>::Floats& x,
                                                          typename Vec<lanes>::Floats& out) {
  using F = typename Vec<lanes>::Floats;
  using I = typename Vec<lanes>::Ints;
  const F zero = {};
  F negative = x > zero ? -x : x;
  negative = negative < zero - 87.0f ? zero - 87.0f : negative;
  const F magic = zero + 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const F whole = (negative * 1.44269504f + magic) - magic;
  const F r = (negative - whole * 0.693359375f) + whole * 2.12194440e-4f;
  F power = zero + 1.9875691500e-4f;
  power = power * r + 1.3981999507e-3f;
  power = power * r + 8.3334519073e-3f;
  power = power * r + 4.1665795894e-2f;
  power = power * r + 1.6666665459e-1f;
  power = power * r + 5.0000001201e-1f;
  power = power * r * r + r + 1.0f;
  const I exponent = (__builtin_convertvector(whole, I) + 127) << 23;
  const F small = power * reinterpret_cast<const F&>(exponent);
  const F inverse = 1.0f / (1.0f + small);
  out = x > zero ? inverse : small * inverse;
}

// The root t of t + curve sigmoid(t) + shift = 0 by Newton's method inside a shrinking bracket, with shift = margin -
// curve `start`. in: `logit` to begin at and `start`, its sigmoid. out: `moved`, the root, and `share`, its sigmoid.
template <int lanes>
static inline __attribute__((always_inline)) void solve_logit(
    const typename Vec<lanes>::Floats& logit, const typename Vec<lanes>::Floats& start,
    const typename Vec<lanes>::Floats& margin, const typename Vec<lanes>::Floats& curve,
    const typename Vec<lanes>::Ints& moves, typename Vec<lanes>::Floats& moved, typename Vec<lanes>::Floats& share) {
  using F = typename Vec<lanes>::Floats;
  using I = typename Vec<lanes>::Ints;
  const F zero = {};
  const F shift = margin - curve * start;
  F low = -shift - curve, high = -shift;
  share = start;
  moved = logit;
  for (int step = 0; step < 40; ++step) {
    const F residual = moved + curve * share + shift;
    low = residual < zero ? moved : low;
    high = residual > zero ? moved : high;
    const F newton = moved - residual / (1.0f + curve * share * (1.0f - share));
    const F next = ((newton > low) & (newton < high)) ? newton : 0.5f * (low + high);
    const F change = next - moved;
    moved = next;
    sigmoid<lanes>(moved, share);
    const I rough = ((change > 1e-4f) | (change < -1e-4f)) & moves;
    if (bits_of<lanes>(rough) == 0) break;  // Newton's next step would be about 1e-8
  }
}

// Dual coordinate descent for the logistic loss: min_a 1/2 a'Qa + sum_i a_i log(a_i) + (C_i - a_i) log(C_i - a_i).
// alpha holds t = log(a / (C - a)), exact at both ends. At the optimum t = -y w.x. For one row, with K = C Q_ii and b =
// y w.x - K sigmoid(t), the new t solves t + K sigmoid(t) + b = 0. No row is ever shrunk.
template <int lanes, bool dense>
static int64_t logistic_pass(LanePass& pass) {
  using Ops = LaneOps<lanes>;
  using F = typename Ops::F;
  using I = typename Ops::I;
  const I lane_bits = Vec<lanes>::lane_bits;
  const F zero = {};
  const F one = zero + 1.0f;
  F bias = *reinterpret_cast<const F*>(pass.bias);
  F largest = *reinterpret_cast<const F*>(pass.largest);
  F smallest = *reinterpret_cast<const F*>(pass.smallest);
  const F ignore = zero + pass.ignore_below;
  const I is_live = ((static_cast<int32_t>(pass.live) & lane_bits) != 0);
  for (int64_t at = 0; at < pass.n_order; ++at) {
    const int32_t row_id = pass.order[at];
    if (at + 4 < pass.n_order) prefetch_row<lanes, dense>(pass, pass.order + at);
    const LaneRow& row = pass.rows[row_id];
    const int32_t* columns = dense ? nullptr : pass.columns + row.begin;
    const float* values = pass.values + row.begin;
    F dot;
    Ops::template dot<dense>(columns, values, row.length, pass.weights, dot);
    dot += pass.bias_value * bias;

    F& logit = *reinterpret_cast<F*>(pass.alpha + int64_t{row_id} * lanes);
    const F cost = pass.inverse_costs ? 0.5f / *reinterpret_cast<const F*>(pass.inverse_costs + int64_t{row_id} * lanes)
                                      : zero + 0.5f / pass.inverse_cost;
    const I is_positive = ((static_cast<int32_t>(row.positive) & lane_bits) != 0);
    const F sign = is_positive ? one : -one;
    const F margin = sign * dot;
    const F gradient = is_live ? logit + margin : zero;
    largest = gradient > largest ? gradient : largest;
    smallest = gradient < smallest ? gradient : smallest;
    const I moves = ((gradient > ignore) | (gradient < -ignore));
    if (bits_of<lanes>(moves) == 0) continue;

    F start, share, moved;
    sigmoid<lanes>(logit, start);
    solve_logit<lanes>(logit, start, margin, cost * row.squared_norm, moves, moved, share);
    moved = moves ? moved : logit;
    const F step = moves ? cost * (share - start) * sign : zero;
    logit = moved;
    bias += step * pass.bias_value;
    Ops::template add<dense>(columns, values, row.length, step, pass.weights);
  }
  *reinterpret_cast<F*>(pass.bias) = bias;
  *reinterpret_cast<F*>(pass.largest) = largest;
  *reinterpret_cast<F*>(pass.smallest) = smallest;
  return pass.n_order;
}

// Recomputes the weights; Dual::get turns the stored alpha of a row into the dual variable.
template <int lanes, bool dense, class Dual>
static void rebuild(const LanePass& pass, int64_t n_rows, int64_t n_columns) {
  using Ops = LaneOps<lanes>;
  using F = typename Ops::F;
  using I = typename Ops::I;
  const I lane_bits = Vec<lanes>::lane_bits;
  const F zero = {};
  F bias = zero;
  for (int64_t column = 0; column < n_columns; ++column) *reinterpret_cast<F*>(pass.weights + column * lanes) = zero;
  for (int64_t row = 0; row < n_rows; ++row) {
    const LaneRow& head = pass.rows[row];
    F step = *reinterpret_cast<const F*>(pass.alpha + row * lanes);
    Dual::template get<lanes>(pass, row, step);
    step = ((static_cast<int32_t>(head.positive) & lane_bits) != 0) ? step : -step;
    bias += step * pass.bias_value;
    Ops::template add<dense>(dense ? nullptr : pass.columns + head.begin, pass.values + head.begin, head.length, step,
                             pass.weights);
  }
  *reinterpret_cast<F*>(pass.bias) = bias;
}

struct HingeDual {
  template <int lanes>
  static inline __attribute__((always_inline)) void get(const LanePass&, int64_t, typename Vec<lanes>::Floats&) {}
};

struct LogisticDual {  // alpha holds log(a / (C - a))
  template <int lanes>
  static inline __attribute__((always_inline)) void get(const LanePass& pass, int64_t row,
                                                        typename Vec<lanes>::Floats& alpha) {
    sigmoid<lanes>(alpha, alpha);
    if (pass.inverse_costs) {
      alpha *= 0.5f / *reinterpret_cast<const typename Vec<lanes>::Floats*>(pass.inverse_costs + row * lanes);
    } else {
      alpha *= 0.5f / pass.inverse_cost;
    }
  }
};

template <int lanes>
static constexpr LossTable loss_table() {
  return {{{{hinge_pass<lanes, false>, hinge_pass<lanes, true>},
            {rebuild<lanes, false, HingeDual>, rebuild<lanes, true, HingeDual>}},
           {{logistic_pass<lanes, false>, logistic_pass<lanes, true>},
            {rebuild<lanes, false, LogisticDual>, rebuild<lanes, true, LogisticDual>}}}};
}

// The comparison fails for NaN and is true for a score that overflowed.
static inline __attribute__((always_inline)) float at_least_lowest(float score) {
  const float lowest = -3.4028234663852886e38f;
  return score >= lowest ? score : lowest;
}

// Not inlined: with its calls of powf, hinge_scores would save registers and keep `base` on the stack.
static __attribute__((noinline)) void hinge_scores_of_any_power(const float* margins, int64_t n, float base,
                                                                float power, float* scores) {
  for (int64_t i = 0; i < n; ++i) {
    float loss = 1.0f - margins[i];
    scores[i] = at_least_lowest(base - powf(loss < 0.0f ? 0.0f : loss, power));
  }
}

// -max(0, 1 - margin)^power
static void hinge_scores(const float* margins, int64_t n, float base, float power, float* scores) {
  if (power != 3.0f && power != 2.0f) return hinge_scores_of_any_power(margins, n, base, power, scores);
  n &= ~int64_t{15};  // n is a multiple of 16; the compiler then needs no remainder loop
  for (int64_t i = 0; i < n; ++i) {
    float loss = 1.0f - margins[i];
    loss = loss < 0.0f ? 0.0f : loss;
    loss = loss * loss * (power == 3.0f ? loss : 1.0f);
    scores[i] = at_least_lowest(base - loss);
  }
}

// log sigmoid(margin)
static void logistic_scores(const float* margins, int64_t n, float base, float, float* scores) {
  for (int64_t i = 0; i < n; ++i) {
    float score = base + (margins[i] < 0.0f ? margins[i] : 0.0f) - log1pf(expf(-fabsf(margins[i])));
    scores[i] = at_least_lowest(score);
  }
}

static constexpr PathScoresTable path_scores_table = {{hinge_scores, logistic_scores}};

// The training kernels that do not depend on the loss.

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
    kept[column] = static_cast<uint16_t>(bits_of<lanes>(keep));
  }
  for (int lane = 0; lane < lanes; ++lane) counts[lane] = count[lane];
}

// One sum, unlike `dot`: rows are visited in order, so that the next one hides the latency.
template <int lanes, bool dense>
static void add_margins(const int32_t* columns, const float* values, int32_t n, const float* weights, float* margins) {
  using Ops = LaneOps<lanes>;
  typename Ops::F& out = *reinterpret_cast<typename Ops::F*>(margins);
  typename Ops::F sum = out;
  for (int32_t i = 0; i < n; ++i) sum += values[i] * Ops::template row<dense>(weights, columns, i);
  out = sum;
}

template <int lanes>
static constexpr LaneKernels lane_kernels() {
  return {lanes,
          loss_table<lanes>(),
          {add_positive<lanes, false>, add_positive<lanes, true>},
          inner_products<lanes>,
          combine<lanes>,
          start_alpha<lanes>,
          find_kept<lanes>,
          {add_margins<lanes, false>, add_margins<lanes, true>}};
}

}  // namespace labeltrees::simd::LABELTREES_ISA
