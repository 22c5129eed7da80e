! f08_graphs.f90: captured graphs: messages, collectives and accesses that are recorded, gates and signals, sections as buffers.
module graphs
  use mpi_f08
  use checking
  implicit none
  private
  public :: test_graphs
contains
  subroutine test_graphs
    call runs
    call sections
    call accesses
  end subroutine

  subroutine runs
    type(MPIX_Graph) :: graph
    type(MPI_Request) :: requests(2), run
    integer, asynchronous :: in, out, total, value
    integer :: i, right, left, ierror
    logical :: flag
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    call MPIX_Graph_capturing(flag)
    call check(.not. flag, 'nothing is captured')
    call MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL)
    call MPIX_Graph_capturing(flag)
    call check(flag, 'MPIX_Graph_capturing')
    call MPI_Irecv(in, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, 1, MPI_INTEGER, right, 3, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all([requests(1) == MPI_REQUEST_NULL, requests(2) == MPI_REQUEST_NULL]), 'requests of a capture')
    call MPIX_Graph_signal(4)
    call MPIX_Graph_gate(7)
    call MPI_Iallreduce(value, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(requests(1) == MPI_REQUEST_NULL, 'a request of a capture')
    call MPIX_Graph_end(MPI_COMM_WORLD, graph)
    call check(graph /= MPIX_GRAPH_NULL, 'MPIX_Graph_end')
    do i = 1, 3
       in = -1
       out = 10 * i + rank
       value = 0
       call MPIX_Graph_start(graph, run)
       flag = .false.
       do while (.not. flag)
          call MPIX_Graph_passed(graph, 4, flag)
       end do
       call check(in == 10 * i + left, 'a message of a graph')
       value = i
       call MPIX_Graph_open(graph, 7)
       call MPI_Wait(run, MPI_STATUS_IGNORE)
       call check(total == i * ranks, 'a collective of a graph')
    end do
    call MPIX_Graph_export(graph, '/dev/null', ierror)
    call check(ierror == MPI_SUCCESS, 'MPIX_Graph_export')
    call MPIX_Graph_free(graph)
    call check(graph == MPIX_GRAPH_NULL, 'MPIX_Graph_free')
  end subroutine

  ! A section is recorded where a datatype describes it. A copy, which would be gone when the graph runs, is refused.
  subroutine sections
    type(MPIX_Graph) :: graph
    type(MPI_Request) :: run
    type(MPI_Errhandler) :: before
    integer, asynchronous :: table(4, 3), column(3)
    integer :: ierror
    call MPI_Comm_get_errhandler(MPI_COMM_SELF, before)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPIX_Graph_begin(MPI_COMM_SELF, MPI_INFO_NULL)
    call MPI_Sendrecv(table(2, :), 3, MPI_INTEGER, 0, 1, column, 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_Allreduce(MPI_IN_PLACE, table(3, :), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, ierror)
    call check(ierror == MPI_ERR_BUFFER, 'a section that would be copied')
    call MPIX_Graph_end(MPI_COMM_SELF, graph)
    table = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3])
    column = 0
    call MPIX_Graph_start(graph, run)
    call MPI_Wait(run, MPI_STATUS_IGNORE)
    call check(all(column == [2, 6, 10]), 'a section of a graph')
    call MPIX_Graph_free(graph)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, before)
    call MPI_Errhandler_free(before)
  end subroutine

  subroutine accesses
    type(MPIX_Graph) :: graph
    type(MPI_Request) :: run, request
    type(MPI_Win) :: win
    integer, asynchronous :: room(4), value
    integer :: right
    right = mod(rank + 1, ranks)
    room = 0
    value = 0
    call MPI_Win_create(room, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_lock_all(0, win)
    call MPIX_Graph_begin(MPI_COMM_WORLD, MPI_INFO_NULL)
    call MPI_Rput(value, 1, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Accumulate(value, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_flush_all(win)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPIX_Graph_end(MPI_COMM_WORLD, graph)
    value = 5
    call MPIX_Graph_start(graph, run)
    call MPI_Wait(run, MPI_STATUS_IGNORE)
    call check(room(3) == 5 .and. (rank /= 0 .or. room(1) == 5 * ranks), 'accesses of a graph')
    call MPIX_Graph_free(graph)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine
end module
