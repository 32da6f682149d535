// Picks the kernels for the processor this process runs on.
#include <atomic>
#include <cstring>

#include "simd/kernels.hpp"

namespace labeltrees::simd {

namespace baseline {
extern const Kernels kernels;
}
#if defined(LABELTREES_X86)
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#elif defined(LABELTREES_ARM)
namespace neon {
extern const Kernels kernels;
}
#endif

namespace {

struct Available {
  const Kernels* tables[4] = {};
  const char* names[4] = {};
  int n = 0;

  Available() {
    add(&baseline::kernels);
#if defined(LABELTREES_X86)
    __builtin_cpu_init();
#if defined(__clang__)
    const bool has_halves = true;  // clang 14 does not know the name; every processor with AVX2 has F16C
#else
    const bool has_halves = __builtin_cpu_supports("f16c");
#endif
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_halves &&
        __builtin_cpu_supports("bmi2")) {
      add(&avx2::kernels);
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        add(&avx512::kernels);
    }
#elif defined(LABELTREES_ARM)
    add(&neon::kernels);  // every 64-bit ARM processor has it
#endif
  }

  void add(const Kernels* table) {
    tables[n] = table;
    names[n++] = table->name;
  }
};

const Available& available() {
  static const Available instance;
  return instance;
}

std::atomic<const Kernels*> active{nullptr};

}  // namespace

const Kernels& active_kernels() {
  const Kernels* table = active.load(std::memory_order_relaxed);
  return table ? *table : *available().tables[available().n - 1];
}

const char* const* available_kernels() { return available().names; }

bool use_kernels(const char* name) {
  for (int i = 0; i < available().n; ++i) {
    if (std::strcmp(available().names[i], name) == 0) {
      active = available().tables[i];
      return true;
    }
  }
  return false;
}

}  // namespace labeltrees::simd
