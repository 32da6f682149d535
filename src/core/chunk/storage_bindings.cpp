// What saving and loading need from the system.
#include <fcntl.h>
#include <nanobind/stl/string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "chunk/memory.hpp"
#include "common/bindings.hpp"
#include "common/checksum.hpp"

namespace labeltrees {

void bind_storage(nb::module_& module) {
  module.def(
      "xxh64",
      [](ConstArray<uint8_t> bytes) {
        nb::gil_scoped_release release;
        return xxh64(bytes.data(), static_cast<int64_t>(bytes.size()));
      },
      nb::arg("bytes").noconvert());

  module.def(
      "copy_to_huge_pages",
      [](ConstArray<uint8_t> bytes) {
        auto* memory = new ChunkMemory(static_cast<int64_t>(bytes.size()));
        nb::capsule owner(memory, [](void* p) noexcept { delete static_cast<ChunkMemory*>(p); });
        {
          nb::gil_scoped_release release;
          std::copy_n(bytes.data(), bytes.size(), memory->data());
        }
        return nb::ndarray<uint8_t, nb::numpy, nb::ndim<1>>(memory->data(), {bytes.size()}, owner);
      },
      nb::arg("bytes").noconvert());

  // Swaps two paths in one step, so that there is no moment without a folder at either; 0, or the system's errno.
  module.def("exchange_paths", [](const std::string& first, const std::string& second) {
#if defined(__linux__) && defined(SYS_renameat2)
    constexpr unsigned exchange = 2;  // RENAME_EXCHANGE
    return syscall(SYS_renameat2, AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(), exchange) == 0 ? 0 : errno;
#else
    return ENOSYS;
#endif
  });
}

}  // namespace labeltrees
