! f08_notify.f90: notified one-sided accesses: counts of both kinds, sections as buffers, looking, setting and waiting.
module notify
  use mpi_f08
  use checking
  implicit none
  private
  public :: test_notify
contains
  subroutine test_notify
    type(MPI_Win) :: win
    integer, asynchronous :: room(8), table(4, 3), got(2)
    integer :: right, left, ierror
    integer(MPI_COUNT_KIND) :: seen
    logical :: flag
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    room = [100 + rank, 200 + rank, 0, 0, 0, 0, 0, 0]
    table = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3]) + 20 * rank
    call MPI_Win_create(room, 32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPIX_Win_create_notify(win, 3)
    call MPI_Win_lock_all(0, win)
    call MPIX_Win_test_notify(win, 0, 1_MPI_COUNT_KIND, flag)
    call check(.not. flag, 'a notification that nobody has sent')
    call MPI_Barrier(MPI_COMM_WORLD)
    ! An array, a row of a table with a large count, and a get.
    call MPIX_Put_notify(table(:, 1), 2, MPI_INTEGER, right, 2_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win, 0)
    call MPIX_Put_notify(table(2, :), 3_MPI_COUNT_KIND, MPI_INTEGER, right, 4_MPI_ADDRESS_KIND, 3_MPI_COUNT_KIND, &
                         MPI_INTEGER, win, 1)
    call MPIX_Get_notify(got, 2_MPI_COUNT_KIND, MPI_INTEGER, right, 0_MPI_ADDRESS_KIND, 2_MPI_COUNT_KIND, MPI_INTEGER, win, 2, &
                         ierror)
    call check(ierror == MPI_SUCCESS, 'MPIX_Get_notify with large counts')
    call MPI_Win_flush_all(win)
    call check(all(got == [100, 200] + right), 'what a notified get brings')
    call MPIX_Win_wait_notify(win, 0, 1_MPI_COUNT_KIND)
    call check(all(room(3:4) == [1, 2] + 20 * left), 'what a notified put brings')
    call MPIX_Win_wait_notify(win, 1, 1_MPI_COUNT_KIND)
    call check(all(room(5:7) == [2, 6, 10] + 20 * left), 'a section that a notified put brings')
    call MPIX_Win_wait_notify(win, 2, 1_MPI_COUNT_KIND)
    call MPIX_Get_notify(got, 1, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, 2)
    call MPI_Win_flush_all(win)
    call check(got(1) == 200 + right, 'MPIX_Get_notify')
    call MPIX_Win_wait_notify(win, 2, 2_MPI_COUNT_KIND)
    call MPIX_Win_set_notify(win, 1, 40_MPI_COUNT_KIND)
    call MPIX_Win_get_notify(win, 1, seen)
    call check(seen == 40, 'MPIX_Win_set_notify')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_unlock_all(win)
    call MPIX_Win_free_notify(win)
    call MPI_Win_free(win)
  end subroutine
end module
