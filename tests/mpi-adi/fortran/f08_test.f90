! f08_test.f90: every subject by mpi_f08; the only argument is the name of a file to be made. See README.md.
program f08_test
  use mpi_f08
  use checking
  use messages
  use collectives
  use objects
  use callbacks
  use graphs
  use notify
  implicit none
  integer :: provided
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call test_messages
  call test_collectives
  call test_objects
  call test_callbacks
  call test_graphs
  call test_notify
  call MPI_Finalize()
  if (failures /= 0) stop 1
end program
