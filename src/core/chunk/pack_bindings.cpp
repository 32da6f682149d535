// The bindings of packing classifiers into chunks, and of reading them back.
#include "chunk/pack.hpp"
#include "chunk/unpack.hpp"
#include "common/bindings.hpp"
#include "common/half.hpp"

namespace labeltrees::chunk {

namespace {

Tuple<NumPy<uint8_t>, NumPy<int64_t>> to_python(PackedChunks&& packed) {
  return nb::make_tuple(to_numpy<uint8_t>(std::move(packed.memory), packed.size), to_numpy(std::move(packed.offsets)));
}

Tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<float>, NumPy<float>> unpack(ConstArray<uint8_t> chunks,
                                                                         ConstArray<int64_t> offsets,
                                                                         ConstArray<int64_t> child_ptr,
                                                                         ConstArray<int32_t> feature_rank,
                                                                         ConstArray<int32_t> nodes, int n_threads) {
  UnpackedRows rows;
  Job job;
  run_job(job, nb::none(), [&] {
    rows = unpack_chunks(chunks.data(), offsets.data(), child_ptr.data(), feature_rank.data(),
                         static_cast<int64_t>(feature_rank.size()), nodes.data(), static_cast<int64_t>(nodes.size()),
                         n_threads, job);
  });
  return nb::make_tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.features)),
                        to_numpy(std::move(rows.values)), to_numpy(std::move(rows.bias)));
}

}  // namespace

void bind_chunks(nb::module_& module) {
  module.def(
      "half_round_trip",
      [](ConstArray<float> values) {
        std::vector<float> rounded;
        for (size_t i = 0; i < values.size(); ++i) rounded.push_back(from_half(to_half(values.data()[i])));
        return to_numpy(std::move(rounded));
      },
      nb::arg("values").noconvert());

  module.def(
      "pack_chunks",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<int64_t> indptr,
         ConstArray<int32_t> features, ConstArray<float> values, ConstArray<float> bias, int64_t n_features,
         ConstArray<int32_t> feature_rank, ConstArray<double> node_mass, int n_threads, nb::object progress) {
        PackedChunks packed;
        Job job;
        run_job(job, progress, [&] {
          packed = pack_chunks(child_ptr.data(), children.data(), static_cast<int32_t>(child_ptr.size() - 1),
                               {indptr.data(), features.data(), values.data(), bias.data()}, n_features,
                               feature_rank.data(), node_mass.data(), PackOptions(), n_threads, job);
        });
        return to_python(std::move(packed));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("indptr").noconvert(),
      nb::arg("features").noconvert(), nb::arg("values").noconvert(), nb::arg("bias").noconvert(),
      nb::arg("n_features"), nb::arg("feature_rank").noconvert(), nb::arg("node_mass").noconvert(),
      nb::arg("n_threads"), nb::arg("progress").none());

  module.def(
      "pack_matrix_chunks",
      [](ConstArray<int64_t> child_ptr, ConstArray<int32_t> children, ConstArray<float> matrix, ConstArray<float> bias,
         int64_t n_features, ConstArray<double> node_mass, bool half, int n_threads, nb::object progress) {
        PackedChunks packed;
        Job job;
        run_job(job, progress, [&] {
          packed = pack_matrix_chunks(child_ptr.data(), children.data(), static_cast<int32_t>(child_ptr.size() - 1),
                                      matrix.data(), bias.data(), n_features, node_mass.data(), half, n_threads, job);
        });
        return to_python(std::move(packed));
      },
      nb::arg("child_ptr").noconvert(), nb::arg("children").noconvert(), nb::arg("matrix").noconvert(),
      nb::arg("bias").noconvert(), nb::arg("n_features"), nb::arg("node_mass").noconvert(), nb::arg("half"),
      nb::arg("n_threads"), nb::arg("progress").none());

  module.def("unpack_chunks", &unpack, nb::arg("chunks").noconvert(), nb::arg("offsets").noconvert(),
             nb::arg("child_ptr").noconvert(), nb::arg("feature_rank").noconvert(), nb::arg("nodes").noconvert(),
             nb::arg("n_threads"));
}

}  // namespace labeltrees::chunk
