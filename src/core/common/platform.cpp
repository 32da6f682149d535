#include "common/platform.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

namespace labeltrees {

namespace {

constexpr int64_t kPage = 4096, kHugePage = int64_t{2} << 20;
constexpr int64_t kLargestPage = 1 << 16;  // no system has larger ordinary pages

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void* map_anonymous(int64_t n_bytes, int more_flags) {
  void* memory = mmap(nullptr, static_cast<size_t>(n_bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* map_pages(int64_t n_bytes) { return map_anonymous(n_bytes, 0); }

void unmap_pages(void* memory, int64_t n_bytes) { munmap(memory, static_cast<size_t>(n_bytes)); }

void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] int64_t n_bytes) {
#if defined(MADV_HUGEPAGE)
  // madvise takes whole pages only.
  const int64_t begin = round_up(reinterpret_cast<int64_t>(memory), kLargestPage);
  const int64_t end = (reinterpret_cast<int64_t>(memory) + n_bytes) / kLargestPage * kLargestPage;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), static_cast<size_t>(end - begin), MADV_HUGEPAGE);
#endif
}

HugePageMemory::HugePageMemory(int64_t n_bytes) {
  // One huge page more than needed, so that an aligned start lies inside; the surplus on both sides is returned.
  capacity_ = round_up(n_bytes > 0 ? n_bytes : 1, n_bytes < kHugePage ? kPage : kHugePage);
  const int64_t n_mapped = capacity_ + kHugePage;
  auto start = reinterpret_cast<int64_t>(map_anonymous(n_mapped, MAP_NORESERVE));
  const int64_t aligned = round_up(start, kHugePage);
  if (aligned > start) unmap_pages(reinterpret_cast<void*>(start), aligned - start);
  const int64_t surplus = start + n_mapped - (aligned + capacity_);
  if (surplus > 0) unmap_pages(reinterpret_cast<void*>(aligned + capacity_), surplus);
  data_ = reinterpret_cast<uint8_t*>(aligned);
  advise_huge_pages(data_, capacity_);
}

HugePageMemory::HugePageMemory(HugePageMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

HugePageMemory& HugePageMemory::operator=(HugePageMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

HugePageMemory::~HugePageMemory() {
  if (data_) unmap_pages(data_, capacity_);
}

InputFile::InputFile(const std::string& path) : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail();
}

InputFile::~InputFile() { close(descriptor_); }

bool InputFile::is_regular() const {
  struct stat status;
  if (fstat(descriptor_, &status) != 0) fail();
  return S_ISREG(status.st_mode);
}

int64_t InputFile::size() const {
  struct stat status;
  if (fstat(descriptor_, &status) != 0) fail();
  return status.st_size;
}

int64_t InputFile::read(char* into, int64_t n, int64_t offset) const {
  int64_t n_read = 0;
  while (n_read < n) {
    const ssize_t now = pread(descriptor_, into + n_read, static_cast<size_t>(n - n_read), offset + n_read);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) fail();
    if (now == 0) break;
    n_read += now;
  }
  return n_read;
}

void InputFile::fail() const { throw FileError(path_ + ": " + std::strerror(errno)); }

int exchange_paths([[maybe_unused]] const std::string& first, [[maybe_unused]] const std::string& second) {
#if defined(__linux__) && defined(SYS_renameat2)
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE
  return syscall(SYS_renameat2, AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(), kExchange) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

}  // namespace labeltrees
