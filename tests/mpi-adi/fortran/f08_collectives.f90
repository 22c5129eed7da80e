! f08_collectives.f90: collectives, user operations, communicators, groups and topologies by mpi_f08.
module collectives
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use checking
  implicit none
  logical, save :: handled = .false.
contains
  subroutine test_collectives
    call plain
    call in_place
    call of_types
    call operations
    call communicators
    call grids
    call graphs
    call errors
  end subroutine

  subroutine plain
    integer :: words(ranks), counts(ranks), places(ranks), i, word
    type(MPI_Request) :: request
    word = merge(42, 0, rank == 0)
    call MPI_Bcast(word, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(word == 42, 'MPI_Bcast')
    counts = 1
    places = [(ranks - i, i = 1, ranks)]
    call MPI_Allgatherv(rank, 1, MPI_INTEGER, words, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(words == places), 'MPI_Allgatherv')
    call MPI_Alltoall(words, 1, MPI_INTEGER, places, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(places == ranks - 1 - rank), 'MPI_Alltoall')
    call MPI_Scan(1, word, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(word == rank + 1, 'MPI_Scan')
    call MPI_Ibarrier(MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Ireduce(rank, word, 1, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(rank /= 0 .or. word == ranks - 1, 'MPI_Ireduce')
    call MPI_Reduce(rank, word, 1_MPI_COUNT_KIND, MPI_INTEGER, MPI_MIN, 0, MPI_COMM_WORLD)
    call check(rank /= 0 .or. word == 0, 'MPI_Reduce with a large count')
  end subroutine

  subroutine in_place
    integer :: words(ranks), i
    logical :: yes
    words = -1
    words(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, words, 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(words == [(i, i = 0, ranks - 1)]), 'MPI_IN_PLACE')
    yes = .true.
    call MPI_Allreduce(MPI_IN_PLACE, yes, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call check(yes, 'logicals')
    yes = rank == 0
    call MPI_Allreduce(MPI_IN_PLACE, yes, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD)
    call check(yes, 'logicals, one of which is true')
  end subroutine

  subroutine of_types
    integer, asynchronous :: out(ranks), in(ranks)
    integer :: ones(ranks), places(ranks), i
    type(MPI_Datatype) :: types(ranks), cell
    type(MPI_Request) :: request
    call MPI_Type_contiguous(1, MPI_INTEGER, cell)
    call MPI_Type_commit(cell)
    out = [(10 * rank + i, i = 0, ranks - 1)]
    ones = 1
    places = [(4 * i, i = 0, ranks - 1)]
    types = cell
    call MPI_Alltoallw(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD)
    call check(all(in == [(10 * i + rank, i = 0, ranks - 1)]), 'MPI_Alltoallw')
    in = -1
    call MPI_Ialltoallw(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(in == [(10 * i + rank, i = 0, ranks - 1)]), 'MPI_Ialltoallw')
    call MPI_Type_free(cell)
  end subroutine

  subroutine sum_of_squares(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) inout = inout + in * in
  end subroutine
  subroutine large_sum(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    if (datatype == MPI_INTEGER) inout = inout + in
  end subroutine

  subroutine operations
    type(MPI_Op) :: op
    integer :: word
    logical :: commutes
    call MPI_Op_create(sum_of_squares, .true., op)
    call MPI_Op_commutative(op, commutes)
    call check(commutes, 'MPI_Op_commutative')
    word = 1
    call MPI_Reduce_local([3], word, 1, MPI_INTEGER, op)
    call check(word == 10, 'MPI_Reduce_local with a user operation')
    call MPI_Op_free(op)
    call check(op == MPI_OP_NULL, 'MPI_Op_free')
    call MPI_Op_create_c(large_sum, .true., op)
    call MPI_Allreduce(rank, word, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(word == ranks * (ranks - 1) / 2, 'MPI_Op_create_c')
    call MPI_Op_free(op)
  end subroutine

  subroutine communicators
    type(MPI_Comm) :: half, copy
    type(MPI_Group) :: all_of_them, some
    type(MPI_Info) :: info
    integer :: n, result, length, ranges(3, 1)
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half)
    call MPI_Comm_size(half, n)
    call check(n == (ranks + 1 - mod(rank, 2)) / 2, 'MPI_Comm_split')
    call MPI_Comm_set_name(half, 'half of it ')
    call MPI_Comm_get_name(half, name, length)
    call check(name == 'half of it' .and. length == 10, 'names of communicators')
    call MPI_Comm_dup(half, copy)
    call MPI_Comm_compare(half, copy, result)
    call check(result == MPI_CONGRUENT .and. half /= copy, 'MPI_Comm_compare')
    call MPI_Comm_free(copy)
    call MPI_Comm_free(half)
    call check(half == MPI_COMM_NULL, 'MPI_Comm_free')
    call MPI_Comm_group(MPI_COMM_WORLD, all_of_them)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(all_of_them, 1, ranges, some)
    call MPI_Group_size(some, n)
    call check(n == (ranks + 1) / 2, 'MPI_Group_range_incl')
    call MPI_Group_free(some)
    call MPI_Group_free(all_of_them)
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, half)
    call MPI_Comm_get_info(half, info)
    call MPI_Info_free(info)
    call MPI_Comm_free(half)
  end subroutine

  subroutine grids
    type(MPI_Comm) :: grid, line
    integer :: dims(2), coords(2), from, to, n, words(4)
    logical :: periods(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims)
    call check(product(dims) == ranks, 'MPI_Dims_create')
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid)
    call MPI_Cart_get(grid, 2, dims, periods, coords)
    call check(periods(1) .and. .not. periods(2), 'MPI_Cart_get')
    call MPI_Cart_rank(grid, coords, n)
    call check(n == rank, 'MPI_Cart_rank')
    call MPI_Cart_shift(grid, 1, 1, from, to)
    call check((coords(2) == 0) .eqv. (from == MPI_PROC_NULL), 'MPI_Cart_shift')
    call MPI_Cart_sub(grid, [.true., .false.], line)
    call MPI_Comm_size(line, n)
    call check(n == dims(1), 'MPI_Cart_sub')
    words = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, words, 1, MPI_INTEGER, grid)
    call check(words(3) == merge(-1, from, from == MPI_PROC_NULL), 'MPI_Neighbor_allgather')
    call MPI_Comm_free(line)
    call MPI_Comm_free(grid)
  end subroutine

  subroutine graphs
    type(MPI_Comm) :: ring
    integer :: from(1), to(1), weights(1), in, out
    logical :: weighted
    from = mod(rank + ranks - 1, ranks)
    to = mod(rank + 1, ranks)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., ring)
    to = -1
    call MPI_Dist_graph_neighbors_count(ring, in, out, weighted)
    call check(in == 1 .and. out == 1 .and. .not. weighted, 'MPI_Dist_graph_neighbors_count')
    call MPI_Dist_graph_neighbors(ring, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED)
    call check(to(1) == mod(rank + 1, ranks), 'MPI_Dist_graph_neighbors')
    call MPI_Comm_free(ring)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [rank], [5], 1, [rank], [5], MPI_INFO_NULL, .false., ring)
    call MPI_Dist_graph_neighbors(ring, 1, from, weights, 1, to, weights)
    call check(weights(1) == 5, 'weights')
    call MPI_Comm_free(ring)
  end subroutine

  subroutine handler(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    integer :: class
    call MPI_Error_class(error_code, class)
    handled = comm == MPI_COMM_SELF .and. class == MPI_ERR_RANK
  end subroutine

  subroutine errors
    type(MPI_Errhandler) :: made
    integer :: ierror, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_create_errhandler(handler, made)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, made)
    call MPI_Send(rank, 1, MPI_INTEGER, 77, 0, MPI_COMM_SELF, ierror)
    call check(handled .and. ierror /= MPI_SUCCESS, 'an error handler')
    call MPI_Error_string(ierror, text, length)
    call check(length > 0 .and. len_trim(text) == length, 'MPI_Error_string')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(made)
    call check(made == MPI_ERRHANDLER_NULL, 'MPI_Errhandler_free')
  end subroutine
end module
