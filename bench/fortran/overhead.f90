! overhead.f90: what a call costs more by `use mpi` and by mpi_f08 than in C, on one rank: batches that take turns.
! `comm` is not predefined, so that its handle is looked up. Case 6 is two calls.
program overhead
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  interface
    real(c_double) function c_calls(which, times, comm) bind(C)
      import
      integer(c_int), value :: which, times, comm
    end function
    double precision function mpi_calls(which, times, comm)
      integer, intent(in) :: which, times, comm
    end function
  end interface
  integer, parameter :: batches = 101, times = 10000, cases = 7
  character(len=30), parameter :: names(cases) = [character(len=30) :: &
    'Comm_rank of MPI_COMM_WORLD', 'Comm_rank', 'Get_count', 'Send to no process', 'Recv from no process', &
    'Isend to no process, Wait', 'Iprobe of no process']
  integer, parameter :: calls(cases) = [1, 1, 1, 1, 1, 2, 1]
  integer :: which, batch
  double precision :: seconds(batches, 3), c, old, new
  type(MPI_Comm) :: comm
  call MPI_Init()
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  print '(a30,3a9,2a22)', 'call, in nanoseconds', 'C', 'mpi', 'mpi_f08', 'mpi above C, each', 'mpi_f08 above C, each'
  do which = 1, cases
    do batch = 1, batches
      seconds(batch, 1) = c_calls(which, times, comm%MPI_VAL)
      seconds(batch, 2) = mpi_calls(which, times, comm%MPI_VAL)
      seconds(batch, 3) = f08_calls(which)
    end do
    c = best(seconds(:, 1))
    old = best(seconds(:, 2))
    new = best(seconds(:, 3))
    print '(a30,3f9.1,2f22.1)', names(which), c, old, new, (old - c) / calls(which), (new - c) / calls(which)
  end do
  call MPI_Comm_free(comm)
  call MPI_Finalize()
contains
  double precision function f08_calls(which)
    integer, intent(in) :: which
    integer :: i, result
    logical :: flag
    character, asynchronous :: byte
    double precision :: begin
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    call MPI_Recv(byte, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, status)
    begin = MPI_Wtime()
    do i = 1, times
      select case (which)
      case (1); call MPI_Comm_rank(MPI_COMM_WORLD, result)
      case (2); call MPI_Comm_rank(comm, result)
      case (3); call MPI_Get_count(status, MPI_BYTE, result)
      case (4); call MPI_Send(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm)
      case (5); call MPI_Recv(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, status)
      case (6)
        call MPI_Isend(byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm, request)
        call MPI_Wait(request, MPI_STATUS_IGNORE)
      case default; call MPI_Iprobe(MPI_PROC_NULL, 0, comm, flag, status)
      end select
    end do
    f08_calls = MPI_Wtime() - begin
  end function
  ! Nanoseconds of one round in the quickest batch: all else is what the machine did meanwhile.
  double precision function best(values)
    double precision, intent(in) :: values(:)
    best = minval(values) / times * 1d9
  end function
end program
