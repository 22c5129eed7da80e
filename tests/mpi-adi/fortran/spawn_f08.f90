! spawn_f08.f90: processes that start others, and meet them again by a published name. Blanks around commands and arguments are none of
! them (MPI-5.0, 11.8.2).
program spawn
  use mpi_f08
  use checking
  implicit none
  type(MPI_Comm) :: parent, inter, both, port_side
  character(len=MPI_MAX_PORT_NAME) :: port
  character(len=200) :: name, argument
  character(len=20) :: arguments(3), commands(2)*200, table(2, 2)
  integer :: codes(2), several(3), number, total, place, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_get_parent(parent)
  call get_command_argument(0, name)
  if (parent == MPI_COMM_NULL) then
    arguments = [character(len=20) :: '  two words', 'once', '']
    codes = -1
    call MPI_Comm_spawn('  ' // name, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes)
    call check(all(codes == MPI_SUCCESS), 'codes')
    if (rank == 0) then
      call MPI_Open_port(MPI_INFO_NULL, port)
      call MPI_Publish_name('fortran', MPI_INFO_NULL, port)
    end if
    call meet(inter, .false.)
    call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, port_side)
    call meet(port_side, .false.)
    call MPI_Comm_disconnect(port_side)
    call MPI_Comm_disconnect(inter)
    call check(inter == MPI_COMM_NULL, 'disconnected')
    if (rank == 0) then
      call MPI_Unpublish_name('fortran', MPI_INFO_NULL, port)
      call MPI_Close_port(port)
    end if
    commands(1) = name
    commands(2) = ' ' // name(:199)
    table(1, :) = [character(len=20) :: 'two words', '']
    table(2, :) = [character(len=20) :: '   other', '']
    several = -1
    call MPI_Comm_spawn_multiple(2, commands, table, [1, 2], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_WORLD, inter, several)
    call check(all(several == MPI_SUCCESS), 'codes of several')
    call meet(inter, .false.)
    call MPI_Comm_disconnect(inter)
  else
    call get_command_argument(1, argument)
    call check(argument == merge('other    ', 'two words', rank > 0 .and. command_argument_count() == 1), 'an argument')
    call meet(parent, .true.)
    if (command_argument_count() == 2) then
      call MPI_Lookup_name('fortran', MPI_INFO_NULL, port)
      call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, port_side)
      call meet(port_side, .true.)
      call MPI_Comm_disconnect(port_side)
    end if
    call MPI_Comm_disconnect(parent)
  end if
  call MPI_Finalize()
  if (failures > 0) stop 1
contains
  subroutine meet(inter, high)
    type(MPI_Comm), intent(in) :: inter
    logical, intent(in) :: high
    call MPI_Intercomm_merge(inter, high, both)
    call MPI_Comm_rank(both, place)
    call MPI_Comm_size(both, total)
    call MPI_Allreduce(place, number, 1, MPI_INTEGER, MPI_SUM, both)
    call check(number == sum([(i, i = 0, total - 1)]), 'the sum over parents and children')
    call check(high .eqv. place >= total - ranks .and. (high .or. place < ranks), 'the place among all')
    call MPI_Comm_free(both)
  end subroutine
end program
