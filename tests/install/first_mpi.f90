! Every rank sends its number to the next one.
program ring
  use mpi_f08
  implicit none
  integer :: me, n, from
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Isend(me, 1, MPI_INTEGER, mod(me + 1, n), 7, MPI_COMM_WORLD, request)
  call MPI_Recv(from, 1, MPI_INTEGER, mod(me + n - 1, n), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  print '(a,i0,a,i0)', 'rank ', me, ' heard from rank ', from
  call MPI_Finalize()
  if (from /= mod(me + n - 1, n)) stop 1
end program
