// Statuses and requests that a wrapper needs although the program may not want them.
//
// Thread: any; on the stack of a call.
#pragma once

#include <memory>

#include "engine/tools/record/mpi.hpp"

namespace portunus::record::mpi {

// The program's status, or one of our own where it ignores it.
class Seen {
 public:
  explicit Seen(MPI_Status* status) : status_(status == MPI_STATUS_IGNORE ? &own_ : status) {}
  operator MPI_Status*() { return status_; }
  const MPI_Status& operator*() const { return *status_; }

 private:
  MPI_Status own_{};
  MPI_Status* status_;
};

// Up to a few on the stack, more on the heap.
template <class T>
class Several {
 public:
  explicit Several(int count) : many_(count > kFew ? new T[static_cast<size_t>(count)] : nullptr), at_(many_ ? many_.get() : few_) {}
  T* at() { return at_; }
  const T& operator[](int i) const { return at_[i]; }

 private:
  static constexpr int kFew = 16;
  T few_[kFew];
  std::unique_ptr<T[]> many_;
  T* at_;
};

class SeenAll {
 public:
  SeenAll(MPI_Status* statuses, int count) : own_(statuses == MPI_STATUSES_IGNORE ? count : 0), at_(statuses) {
    if (statuses == MPI_STATUSES_IGNORE) at_ = own_.at();
  }
  operator MPI_Status*() { return at_; }
  const MPI_Status& operator[](int i) const { return at_[i]; }

 private:
  Several<MPI_Status> own_;
  MPI_Status* at_;
};

// The requests as they were before the call, which changes them.
class Requests {
 public:
  Requests(const MPI_Request* requests, int count) : count_(requests == nullptr || count < 0 ? 0 : count), all_(count_) {
    for (int i = 0; i < count_; ++i) all_.at()[i] = requests[i];
  }
  MPI_Request operator[](int i) const { return all_[i]; }
  void completed(Call& call, const SeenAll& seen) const {
    for (int i = 0; i < count_; ++i) mpi::completed(call, all_[i], seen[i]);
  }
  void completed(Call& call, const SeenAll& seen, int count, const int* which) const {
    for (int i = 0; i < count; ++i) mpi::completed(call, all_[which[i]], seen[i]);
  }

 private:
  int count_;
  Several<MPI_Request> all_;
};

}  // namespace portunus::record::mpi
