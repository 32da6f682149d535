// Part of kernels.inl: everything that depends on the loss: training passes, and scores from margins.

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
    const uint32_t shrink_bits = Ops::bits_of(shrink);
    if (shrink_bits != 0) {
      any_shrunk |= shrink_bits;
      row.active &= static_cast<uint16_t>(~shrink_bits);
    }
    const I moves = ((projected > ignore) | (projected < -ignore));
    if (Ops::bits_of(moves) == 0) continue;
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
    if (LaneOps<lanes>::bits_of(rough) == 0) break;  // Newton's next step would be about 1e-8
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
    if (Ops::bits_of(moves) == 0) continue;

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
  n &= ~int64_t{15};  // n is a multiple of 16; this tells the compiler that no loop for a rest is needed
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
