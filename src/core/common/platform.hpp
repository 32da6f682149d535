// Everything that depends on the operating system: pages of memory, huge pages, files, and swapping two paths.
// No other file of src/core includes a system header such as <sys/mman.h>.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace labeltrees {

// Zeroed memory from the system, not from the allocator, so that unmap_pages returns it at once. Pages are
// allocated on first write. Throws std::bad_alloc.
void* map_pages(int64_t n_bytes);
void unmap_pages(void* memory, int64_t n_bytes);

// Asks the system to use huge pages for [memory, memory + n_bytes). It may ignore this.
void advise_huge_pages(void* memory, int64_t n_bytes);

// Zeroed memory that starts on a huge page boundary and uses huge pages if the system has them. For arrays that
// are read at random: with pages of 4 KiB nearly every access also misses the TLB.
class HugePageMemory {
 public:
  HugePageMemory() = default;
  explicit HugePageMemory(int64_t n_bytes);  // pages are allocated on first write; throws std::bad_alloc
  HugePageMemory(HugePageMemory&& other) noexcept;
  HugePageMemory& operator=(HugePageMemory&& other) noexcept;
  ~HugePageMemory();

  uint8_t* data() const { return data_; }

 private:
  uint8_t* data_ = nullptr;
  int64_t capacity_ = 0;
};

// A file cannot be opened or read; the message starts with its path.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file that is open for reading at any offset. Every function may throw FileError.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  bool is_regular() const;  // not a pipe, a device or a folder
  int64_t size() const;
  // Reads n bytes from offset on into `into` (out) and returns how many it read: fewer than n only at the end.
  int64_t read(char* into, int64_t n, int64_t offset) const;

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  int descriptor_;
};

// Swaps two paths in one step, so that both exist at every moment. Returns 0 or the system's errno.
int exchange_paths(const std::string& first, const std::string& second);

}  // namespace labeltrees
