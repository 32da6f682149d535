// Part of kernels.inl: margins of chunks that are a full matrix, without an index.

template <class Weight>
static void matrix_margins(const uint8_t* part, const chunk::ChunkHeader& header, const ChunkQuery& query,
                           float* margins) {
  const Weight* matrix = reinterpret_cast<const Weight*>(part + chunk::sections_of(header).dense);
  const float* bias = bias_of(part, header);
  int64_t n = chunk::round_up(header.n_features, 16);
  int child = 0;
  for (; child + 4 <= header.n_children; child += 4) {  // four rows share each load of the query and hide the latency
    const Weight* row = matrix + child * n;
    Lanes a = zero_lanes(), b = a, c = a, d = a;
    for (int64_t i = 0; i < n; i += kLanes) {
      Lanes x = load_lanes(query.dense + i);
      a = fma_lanes(load_lanes(row + i), x, a);
      b = fma_lanes(load_lanes(row + n + i), x, b);
      c = fma_lanes(load_lanes(row + 2 * n + i), x, c);
      d = fma_lanes(load_lanes(row + 3 * n + i), x, d);
    }
    margins[child] = bias[child] + sum_lanes(a);
    margins[child + 1] = bias[child + 1] + sum_lanes(b);
    margins[child + 2] = bias[child + 2] + sum_lanes(c);
    margins[child + 3] = bias[child + 3] + sum_lanes(d);
  }
  for (; child < header.n_children; ++child) {
    Lanes a = zero_lanes();
    for (int64_t i = 0; i < n; i += kLanes)
      a = fma_lanes(load_lanes(matrix + child * n + i), load_lanes(query.dense + i), a);
    margins[child] = bias[child] + sum_lanes(a);
  }
  for (; child < chunk::round_up(header.n_children, 16); ++child) margins[child] = 0.0f;
}
