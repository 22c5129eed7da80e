! through_mpi.f90: the calls of overhead.f90 by `use mpi`.
double precision function mpi_calls(which, times, comm)
  use mpi
  implicit none
  integer, intent(in) :: which, times, comm
  integer :: i, request, status(MPI_STATUS_SIZE), result, ierror
  logical :: flag
  character :: byte
  double precision :: begin
  call MPI_Recv(byte, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, status, ierror)
  begin = MPI_Wtime()
  do i = 1, times
    select case (which)
    case (1); call MPI_Comm_rank(MPI_COMM_WORLD, result, ierror)
    case (2); call MPI_Comm_rank(comm, result, ierror)
    case (3); call MPI_Get_count(status, MPI_BYTE, result, ierror)
    case (4); call MPI_Send(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, ierror)
    case (5); call MPI_Recv(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, status, ierror)
    case (6)
      call MPI_Isend(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    case default; call MPI_Iprobe(MPI_PROC_NULL, 0, comm, flag, status, ierror)
    end select
  end do
  mpi_calls = MPI_Wtime() - begin
end function
