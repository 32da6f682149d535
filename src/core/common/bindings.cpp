// Checksums, huge pages and paths, for saving and loading models.
#include "common/bindings.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>

#include "common/hash.hpp"
#include "common/platform.hpp"

namespace labeltrees {

void bind_common(nb::module_& module) {
  module.def(
      "xxh64",
      [](ConstArray<uint8_t> bytes) {
        ReleaseLock release;
        return xxh64(bytes.data(), static_cast<int64_t>(bytes.size()));
      },
      nb::arg("bytes").noconvert());
  nb::class_<Xxh64>(module, "Xxh64")
      .def(nb::init<>())
      .def(
          "add",
          [](Xxh64& hash, ConstArray<uint8_t> bytes) {
            const auto n = static_cast<int64_t>(bytes.size());
            if (n % Xxh64::kStripe != 0) throw std::invalid_argument("all pieces but the last are of whole stripes");
            ReleaseLock release;
            hash.add(bytes.data(), n);
          },
          nb::arg("bytes").noconvert())
      .def(
          "finish",
          [](Xxh64 hash, ConstArray<uint8_t> bytes) {
            ReleaseLock release;
            return hash.finish(bytes.data(), static_cast<int64_t>(bytes.size()));
          },
          nb::arg("bytes").noconvert());
  module.def(
      "copy_to_huge_pages",
      [](ConstArray<uint8_t> bytes) {
        HugePageMemory memory(static_cast<int64_t>(bytes.size()));
        {
          ReleaseLock release;
          std::copy_n(bytes.data(), bytes.size(), memory.data());
        }
        return to_numpy<uint8_t>(std::move(memory), static_cast<int64_t>(bytes.size()));
      },
      nb::arg("bytes").noconvert());
  module.def(
      "zero_floats",
      [](int64_t n) { return to_numpy<float>(HugePageMemory(n * static_cast<int64_t>(sizeof(float))), n); },
      nb::arg("n"));
  module.def("exchange_paths", &exchange_paths, nb::arg("first"), nb::arg("second"));
}

}  // namespace labeltrees
