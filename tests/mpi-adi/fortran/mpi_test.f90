! mpi_test.f90: the module mpi: integer handles, statuses that are arrays, external functions; and tools that stand between.
subroutine sum_up(invec, inoutvec, len, datatype)
  use mpi
  implicit none
  integer :: len, datatype, invec(len), inoutvec(len)
  if (datatype == MPI_INTEGER) inoutvec = inoutvec + invec
end subroutine

! A tool of the profiling interface: it counts calls of MPI_Barrier.
subroutine MPI_Barrier(comm, ierror)
  use mpi, only : PMPI_Barrier
  implicit none
  integer, intent(in) :: comm
  integer, intent(out) :: ierror
  integer :: counted
  common /tool/ counted
  counted = counted + 1
  call PMPI_Barrier(comm, ierror)
end subroutine

program module_mpi_test
  use, intrinsic :: iso_c_binding, only : c_ptr, c_f_pointer
  use mpi, without => MPI_Barrier
  use checking
  implicit none
  integer :: ierror, counted
  external :: sum_up, MPI_Barrier
  common /tool/ counted
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call check(.not. MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')
  call messages
  call objects
  call memory
  call graphs
  call notified
  counted = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call check(counted == 1 .and. ierror == MPI_SUCCESS, 'a profiling tool')
  call MPI_Finalize(ierror)
  if (failures /= 0) stop 1
contains
  subroutine graphs
    integer :: graph, run
    integer, asynchronous :: word, out
    logical :: flag
    call MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL, ierror)
    call MPI_Sendrecv(out, 1, MPI_INTEGER, mod(rank + 1, ranks), 2, word, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPIX_Graph_signal(0, ierror)
    call MPIX_Graph_end(MPI_COMM_WORLD, graph, ierror)
    call check(ierror == MPI_SUCCESS .and. graph /= MPIX_GRAPH_NULL, 'MPIX_Graph_end')
    out = rank
    call MPIX_Graph_start(graph, run, ierror)
    call MPI_Wait(run, MPI_STATUS_IGNORE, ierror)
    call MPIX_Graph_passed(graph, 0, flag, ierror)
    call check(flag .and. word == mod(rank + ranks - 1, ranks), 'a run of a graph')
    call MPIX_Graph_free(graph, ierror)
    call check(graph == MPIX_GRAPH_NULL, 'MPIX_Graph_free')
  end subroutine

  subroutine notified
    integer :: win
    integer, asynchronous :: room(2), value
    integer(MPI_COUNT_KIND) :: seen
    integer(MPI_ADDRESS_KIND) :: place = 1
    room = 0
    value = rank + 7
    call MPI_Win_create(room, 8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPIX_Win_create_notify(win, 1, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPIX_Put_notify(value, 1, MPI_INTEGER, mod(rank + 1, ranks), place, 1, MPI_INTEGER, win, 0, ierror)
    call check(ierror == MPI_SUCCESS, 'MPIX_Put_notify')
    call MPIX_Win_wait_notify(win, 0, 1_MPI_COUNT_KIND, ierror)
    call MPIX_Win_get_notify(win, 0, seen, ierror)
    call check(seen == 1 .and. room(2) == mod(rank + ranks - 1, ranks) + 7, 'a notified put')
    call MPI_Win_unlock_all(win, ierror)
    call MPIX_Win_free_notify(win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine messages
    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), word, n, right, left
    real :: table(4, 3), room(2, 3)
    type(MPI_Status) :: new
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    call MPI_Irecv(word, 1, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, statuses, ierror)
    call check(word == left .and. statuses(MPI_SOURCE, 1) == left .and. statuses(MPI_TAG, 1) == 4, 'messages')
    call check(all(requests == MPI_REQUEST_NULL), 'requests that are complete')
    ! The compiler hands over a copy of a section here, which is enough for blocking calls.
    table = rank
    call MPI_Sendrecv(table(1:3:2, :), 6, MPI_REAL, right, 1, room, 6, MPI_REAL, left, 1, MPI_COMM_WORLD, status, ierror)
    call check(all(room == left), 'a section')
    call MPI_Get_count(status, MPI_REAL, n, ierror)
    call check(n == 6 .and. MPI_ERROR == 3, 'MPI_Get_count')
    call MPI_Status_f2f08(status, new, ierror)
    call check(new%MPI_SOURCE == left .and. new%MPI_TAG == 1, 'MPI_Status_f2f08')
    call MPI_Sizeof(table, n, ierror)
    call check(n == 4, 'MPI_Sizeof')
  end subroutine

  subroutine objects
    integer :: op, word, keyval, comm, old_key, value, handler, n
    integer(MPI_ADDRESS_KIND) :: attribute
    logical :: flag, yes, no
    character(len=8) :: name
    call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag, ierror)
    call check(flag .and. yes .and. .not. no, 'MPI_Abi_get_fortran_booleans')
    call MPI_Op_create(sum_up, .true., op, ierror)
    call MPI_Allreduce(rank, word, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call check(word == ranks * (ranks - 1) / 2, 'a user operation')
    call MPI_Op_free(op, ierror)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, old_key, 0, ierror)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 99_MPI_ADDRESS_KIND, ierror)
    call MPI_Attr_put(MPI_COMM_SELF, old_key, -3, ierror)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
    call MPI_Comm_get_attr(comm, keyval, attribute, flag, ierror)
    call check(flag .and. attribute == 99, 'MPI_COMM_DUP_FN')
    call MPI_Attr_get(comm, old_key, value, flag, ierror)
    call check(.not. flag, 'MPI_NULL_COPY_FN')
    call MPI_Attr_get(MPI_COMM_SELF, old_key, value, flag, ierror)
    call check(flag .and. value == -3, 'MPI_Attr_get')
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_set_name(comm, 'too long for it', ierror)
    call MPI_Comm_get_name(comm, name, n, ierror)
    call check(name == 'too long' .and. n == 15, 'a name that is cut off')
    call MPI_Comm_free(comm, ierror)
    call MPI_Attr_delete(MPI_COMM_SELF, old_key, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierror)
    call MPI_Keyval_free(old_key, ierror)
    call MPI_Comm_free_keyval(keyval, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
    call MPI_Comm_get_errhandler(MPI_COMM_SELF, handler, ierror)
    call check(handler == MPI_ERRORS_RETURN, 'MPI_Comm_get_errhandler')
    call MPI_Comm_rank(MPI_COMM_NULL, n, ierror)
    call check(ierror /= MPI_SUCCESS, 'an error that is returned')
  end subroutine

  subroutine memory
    integer :: win
    type(c_ptr) :: base
    integer(MPI_ADDRESS_KIND) :: address, there
    integer, pointer :: words(:)
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call c_f_pointer(base, words, [2])
    words = 0
    call MPI_Win_fence(0, win, ierror)
    call MPI_Fetch_and_op(1, words(2), MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, MPI_SUM, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call check(words(1) == 1 .and. words(2) == 0, 'MPI_Fetch_and_op')
    call MPI_Get_address(words, there, ierror)
    call MPI_Win_free(win, ierror)
    call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, address, win, ierror)
    call check(address /= 0 .and. there /= 0, 'an address as an integer')
    call MPI_Win_free(win, ierror)
  end subroutine
end program
