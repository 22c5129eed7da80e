// counts.hpp: an array of counts or displacements as the user gave it: of int, or of MPI_Count (MPI_Aint).
//
// Thread: any; a view, which lives no longer than the array.
// Source: MPI-5.0, 2.5.8 (large counts) and 6.1.
#pragma once

#include <cstddef>
#include <type_traits>

#include "mpi-adi/mpi.h"

namespace portunus::mpi::collectives {

class Counts {
 public:
  static_assert(std::is_same_v<MPI_Count, MPI_Aint>, "large displacements are addresses");

  Counts(std::nullptr_t = nullptr) {}
  Counts(const int* narrow) : narrow_(narrow) {}
  Counts(const MPI_Count* wide) : wide_(wide) {}

  bool null() const { return narrow_ == nullptr && wide_ == nullptr; }
  MPI_Count operator[](size_t i) const { return wide_ ? wide_[i] : narrow_[i]; }
  MPI_Count operator[](int i) const { return (*this)[static_cast<size_t>(i)]; }

 private:
  const int* narrow_ = nullptr;
  const MPI_Count* wide_ = nullptr;
};

}  // namespace portunus::mpi::collectives
