// A C++ program whose ranks have variables, objects that begin and end, streams and exceptions of their own under ptlsim.
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "mpi-adi/mpi.h"

inline int counter = 0;

struct Witness {
  Witness() { std::cout << "begins\n"; }
  ~Witness() { std::cout << "ends with " << counter << std::endl; }
} witness;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  counter += me;
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::hours(1));
  MPI_Barrier(MPI_COMM_WORLD);
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception& error) {
    std::cout << "caught what was " << error.what() << '\n';
  }
  const bool waited = std::chrono::steady_clock::now() - begin >= std::chrono::hours(1);
  MPI_Finalize();
  return !waited;
}
