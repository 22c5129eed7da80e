// type_create.hpp: what the constructors of datatypes share.
// Thread: any. Source: MPI-5.0, 5.1.2, 5.1.13 (decoding).
#pragma once

#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/types/datatype.hpp"

namespace portunus::mpi {

// The arguments of the user, for MPI_Type_get_contents.
struct Recipe {
  explicit Recipe(int how, std::vector<int> values = {}, std::vector<Datatype*> parts = {})
      : combiner(how), integers(std::move(values)), types(std::move(parts)) {}

  // A count or an address, as a constructor takes it whose counts are of type Count.
  template <class Count, class T>
  void add(T value) {
    if constexpr (std::is_same_v<Count, MPI_Count>) large_counts.push_back(value);
    else if constexpr (std::is_same_v<T, int>) integers.push_back(value);
    else addresses.push_back(value);
  }

  // Room for so many addresses of type T, and so many counts besides.
  template <class Count, class T>
  void reserve(size_t values, size_t counts) {
    if constexpr (std::is_same_v<Count, MPI_Count>) large_counts.reserve(values + counts);
    else integers.reserve(counts + (std::is_same_v<T, int> ? values : 0));
    if constexpr (!std::is_same_v<Count, MPI_Count> && !std::is_same_v<T, int>) addresses.reserve(values);
  }

  int combiner;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<Datatype*> types;
  std::vector<MPI_Count> large_counts;
};
void keep_recipe(Datatype& type, Recipe recipe);

int check(const char* function, MPI_Datatype handle, Datatype*& found, std::initializer_list<const void*> results,
          const Communicator* comm = nullptr);

// At the end of MPI: those of Fortran's kinds.
void release_kinds();

// A new datatype for the user.
int hand_out(const char* function, std::vector<Piece> pieces, Recipe recipe, MPI_Datatype* result);

}  // namespace portunus::mpi
