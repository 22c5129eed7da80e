// shared_words.cpp: see shared_words.hpp.
#include "mpi-adi/io/shared_words.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace portunus::mpi::io {
namespace {

constexpr size_t kPage = 4096;

struct Name {
  Name(int64_t maker, unsigned number) {
    std::snprintf(text, sizeof text, "/portunus-file-%lld-%u", static_cast<long long>(maker), number);
  }
  char text[64];
};

}  // namespace

SharedWords::~SharedWords() {
  if (words_ != nullptr) munmap(words_, kPage);
}

bool SharedWords::map(int descriptor) {
  void* start = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (start == MAP_FAILED) return false;
  words_ = static_cast<Word*>(start);  // zeroed, as fresh memory is
  return true;
}

bool SharedWords::make(unsigned number) {
  maker_ = getpid();
  const Name name(maker_, number);
  const int descriptor = shm_open(name.text, O_RDWR | O_CREAT | O_EXCL, 0600);
  if (descriptor < 0) return false;
  if (posix_fallocate(descriptor, 0, kPage) == 0) return map(descriptor);
  close(descriptor);
  return false;
}

bool SharedWords::open(int64_t maker, unsigned number) {
  maker_ = maker;
  const int descriptor = shm_open(Name(maker, number).text, O_RDWR, 0);
  return descriptor >= 0 && map(descriptor);
}

void SharedWords::forget_name(unsigned number) { shm_unlink(Name(maker_, number).text); }

}  // namespace portunus::mpi::io
