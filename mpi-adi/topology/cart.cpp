// cart.cpp: Cartesian topologies: grids and tori, ranks in row-major order.
// Thread: as communicators. Source: MPI-5.0, 8.5.
#include <algorithm>
#include <cstdint>

#include "mpi-adi/core/profiling.hpp"
#include "mpi-adi/topology/topology_create.hpp"

namespace portunus::mpi {
namespace {

int rank_at(const Topology& grid, const std::vector<int>& coords) {
  int rank = 0;
  for (size_t i = 0; i < grid.dims.size(); ++i) rank = rank * grid.dims[i] + coords[i];
  return rank;
}
std::vector<int> coords_of(const std::vector<int>& dims, int rank) {
  std::vector<int> coords(dims.size());
  for (size_t i = dims.size(); i-- > 0; rank /= dims[i]) coords[i] = rank % dims[i];
  return coords;
}

// MPI_PROC_NULL beyond the edge of a dimension that is not periodic.
int neighbour(const Topology& grid, size_t dimension, int64_t step) {
  const int size = grid.dims[dimension];
  int64_t place = grid.coords[dimension] + step;
  if (grid.periods[dimension]) place = (place % size + size) % size;
  else if (place < 0 || place >= size) return MPI_PROC_NULL;
  std::vector<int> coords = grid.coords;
  coords[dimension] = static_cast<int>(place);
  return rank_at(grid, coords);
}

std::shared_ptr<const Topology> make_grid(std::vector<int> dims, std::vector<int> periods, int rank) {
  auto grid = std::make_shared<Topology>();
  grid->kind = MPI_CART;
  grid->coords = coords_of(dims, rank);
  grid->dims = std::move(dims);
  grid->periods = std::move(periods);
  for (size_t i = 0; i < grid->dims.size(); ++i)
    for (int step : {-1, 1}) grid->sources.push_back(neighbour(*grid, i, step));
  grid->destinations = grid->sources;
  return grid;
}

// `size`: how many processes the grid has.
int check_grid(const char* function, const Communicator& comm, int ndims, const int dims[], int64_t& size) {
  size = 1;
  if (ndims < 0) return raise(function, &comm, MPI_ERR_DIMS, "the number of dimensions is negative (%d)", ndims);
  if (ndims > 0)
    if (int error = check_results(function, &comm, {dims})) return error;
  for (int i = 0; i < ndims; ++i) {
    if (dims[i] < 1) return raise(function, &comm, MPI_ERR_DIMS, "dimension %d has %d processes", i, dims[i]);
    size *= dims[i];
    if (size > comm.size) return raise(function, &comm, MPI_ERR_DIMS, "the grid has more processes than the communicator (%d)", comm.size);
  }
  return MPI_SUCCESS;
}

int find_grid(const char* function, MPI_Comm handle, Communicator*& comm) { return find_topology(function, handle, MPI_CART, comm); }

int check_dimension(const char* function, const Communicator& comm, int dimension) {
  const int count = static_cast<int>(comm.topology->dims.size());
  if (dimension >= 0 && dimension < count) return MPI_SUCCESS;
  return raise(function, &comm, MPI_ERR_DIMS, "there is no dimension %d among %d", dimension, count);
}
int check_room(const char* function, const Communicator& comm, int room) {
  const int count = static_cast<int>(comm.topology->dims.size());
  if (room >= count) return MPI_SUCCESS;
  return raise(function, &comm, MPI_ERR_ARG, "there is room for %d of %d dimensions", room, count);
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int, MPI_Comm* comm_cart) try {
  static constexpr char kName[] = "MPI_Cart_create";
  Communicator* old;
  int64_t size;
  if (int error = check_parent(kName, comm_old, old, comm_cart)) return error;
  if (int error = check_grid(kName, *old, ndims, dims, size)) return decline_split(*old, error);
  if (ndims > 0)
    if (int error = check_results(kName, old, {periods})) return decline_split(*old, error);
  const bool member = old->rank < size;
  std::shared_ptr<const Topology> grid;
  if (member) grid = make_grid({dims, dims + ndims}, {periods, periods + ndims}, old->rank);
  return create_with_topology(*old, member ? 0 : MPI_UNDEFINED, old->rank, grid, comm_cart);
}
MPI_WEAK_NAME(Cart_create)

extern "C" int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Cart_sub";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  const Topology& grid = *found->topology;
  if (int error = check_results(kName, found, {newcomm, grid.dims.empty() ? kName : static_cast<const void*>(remain_dims)})) return error;
  std::vector<int> dims, periods;
  int color = 0, key = 0;  // places in the dimensions that go, and in those that stay
  for (size_t i = 0; i < grid.dims.size(); ++i) {
    int& number = remain_dims[i] ? key : color;
    number = number * grid.dims[i] + grid.coords[i];
    if (!remain_dims[i]) continue;
    dims.push_back(grid.dims[i]);
    periods.push_back(grid.periods[i]);
  }
  return create_with_topology(*found, color, key, make_grid(std::move(dims), std::move(periods), key), newcomm);
}
MPI_WEAK_NAME(Cart_sub)

extern "C" int PMPI_Cartdim_get(MPI_Comm comm, int* ndims) try {
  static constexpr char kName[] = "MPI_Cartdim_get";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  if (int error = check_results(kName, found, {ndims})) return error;
  *ndims = static_cast<int>(found->topology->dims.size());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cartdim_get)

extern "C" int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]) try {
  static constexpr char kName[] = "MPI_Cart_get";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  if (int error = check_room(kName, *found, maxdims)) return error;
  const Topology& grid = *found->topology;
  if (!grid.dims.empty())
    if (int error = check_results(kName, found, {dims, periods, coords})) return error;
  std::copy(grid.dims.begin(), grid.dims.end(), dims);
  std::copy(grid.periods.begin(), grid.periods.end(), periods);
  std::copy(grid.coords.begin(), grid.coords.end(), coords);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cart_get)

extern "C" int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int* rank) try {
  static constexpr char kName[] = "MPI_Cart_rank";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  const Topology& grid = *found->topology;
  if (int error = check_results(kName, found, {rank, grid.dims.empty() ? kName : static_cast<const void*>(coords)})) return error;
  std::vector<int> place;
  for (size_t i = 0; i < grid.dims.size(); ++i) {
    const int size = grid.dims[i];
    if (!grid.periods[i] && (coords[i] < 0 || coords[i] >= size))
      return raise(kName, found, MPI_ERR_ARG, "coordinate %d is not between 0 and %d in dimension %zu, which is not periodic", coords[i],
                   size - 1, i);
    place.push_back((coords[i] % size + size) % size);
  }
  *rank = rank_at(grid, place);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cart_rank)

extern "C" int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[]) try {
  static constexpr char kName[] = "MPI_Cart_coords";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  if (int error = check_room(kName, *found, maxdims)) return error;
  if (rank < 0 || rank >= found->size) return raise(kName, found, MPI_ERR_RANK, "there is no rank %d among %d", rank, found->size);
  const std::vector<int> place = coords_of(found->topology->dims, rank);
  if (!place.empty())
    if (int error = check_results(kName, found, {coords})) return error;
  std::copy(place.begin(), place.end(), coords);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cart_coords)

extern "C" int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int* rank_source, int* rank_dest) try {
  static constexpr char kName[] = "MPI_Cart_shift";
  Communicator* found;
  if (int error = find_grid(kName, comm, found)) return error;
  if (int error = check_results(kName, found, {rank_source, rank_dest})) return error;
  if (int error = check_dimension(kName, *found, direction)) return error;
  *rank_source = neighbour(*found->topology, static_cast<size_t>(direction), -static_cast<int64_t>(disp));
  *rank_dest = neighbour(*found->topology, static_cast<size_t>(direction), disp);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cart_shift)

// Ranks stay where they are: the launcher has placed them.
extern "C" int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int[], int* newrank) try {
  static constexpr char kName[] = "MPI_Cart_map";
  Communicator* found;
  int64_t size;
  if (int error = check(kName, comm, found, {newrank})) return error;
  if (int error = check_grid(kName, *found, ndims, dims, size)) return error;
  *newrank = found->rank < size ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Cart_map)
