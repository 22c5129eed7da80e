! f08_callbacks.f90: data representations, error handlers of windows, files and sessions, buffers that are refused, and arrays of
! strings, by mpi_f08.
module callbacks
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use checking
  implicit none
  integer, save :: seen(3) = 0
contains
  subroutine test_callbacks
    call representations
    call handlers
    call refused
    call starts
  end subroutine

  ! In the file numbers are twice what they are in memory.
  subroutine doubled(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    file = user(position + 1:position + count) * int(extra_state)
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine halved(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer :: count, ierror
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = file / int(extra_state)
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine four_bytes(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 4
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER .and. extra_state == 2)
  end subroutine

  subroutine representations
    type(MPI_File) :: file
    integer :: mode, words(3), raw(3)
    character(len=256) :: name
    call get_command_argument(1, name)
    call MPI_Register_datarep('twice', halved, doubled, four_bytes, 2_MPI_ADDRESS_KIND)
    mode = MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE
    call MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 12_MPI_OFFSET_KIND * rank, MPI_INTEGER, MPI_INTEGER, 'twice', MPI_INFO_NULL)
    call MPI_File_write_at(file, 0_MPI_OFFSET_KIND, [1, 2, 3] + rank, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, words, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_set_view(file, 12_MPI_OFFSET_KIND * rank, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, raw, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(words == [1, 2, 3] + rank) .and. all(raw == 2 * words), 'a data representation')
    call MPI_File_close(file)
  end subroutine

  subroutine of_win(win, error_code)
    type(MPI_Win) :: win
    integer :: error_code
    if (win /= MPI_WIN_NULL) seen(1) = error_code
  end subroutine
  subroutine of_file(file, error_code)
    type(MPI_File) :: file
    integer :: error_code
    if (file == MPI_FILE_NULL) seen(2) = error_code
  end subroutine
  subroutine of_session(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (session /= MPI_SESSION_NULL) seen(3) = error_code
  end subroutine

  subroutine handlers
    type(MPI_Errhandler) :: made
    type(MPI_Win) :: win
    type(MPI_File) :: file
    type(MPI_Session) :: session
    integer :: ierror
    call MPI_Win_create_errhandler(of_win, made)
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Win_set_errhandler(win, made)
    call MPI_Errhandler_free(made)
    call MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC, ierror)
    call MPI_Win_free(win)
    call MPI_File_create_errhandler(of_file, made)
    call MPI_File_set_errhandler(MPI_FILE_NULL, made)
    call MPI_Errhandler_free(made)
    call MPI_File_open(MPI_COMM_SELF, '/nowhere/at all', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
    call check(ierror /= MPI_SUCCESS, 'a file that is not there')
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)
    call MPI_Session_create_errhandler(of_session, made)
    call MPI_Session_init(MPI_INFO_NULL, made, session)
    call MPI_Errhandler_free(made)
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierror)
    call MPI_Session_finalize(session)
    call check(seen(1) == MPI_ERR_RMA_SYNC .and. seen(2) /= 0, 'handlers of windows and files')
    call check(seen(3) == MPI_ERR_OTHER, 'a handler of a session')
  end subroutine

  subroutine refused
    type(MPI_Win) :: win
    type(MPI_Datatype) :: pair
    integer, asynchronous :: table(4, 4)
    integer :: ierror
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Win_create(table(1:4:2, :), 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win, ierror)
    call check(ierror == MPI_ERR_BUFFER, 'a window in a section')
    call MPI_Win_create(table, 64_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Win_fence(0, win)
    call MPI_Put(table(1, :), 1, pair, 0, 4_MPI_ADDRESS_KIND, 1, pair, win, ierror)
    call check(ierror == MPI_ERR_BUFFER, 'a section with a derived datatype in MPI_Put')
    table = -1
    table(1, :) = [1, 2, 3, 4]
    call MPI_Put(table(1, 1:3:2), 2, MPI_INTEGER, 0, 14_MPI_ADDRESS_KIND, 2, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call MPI_F_sync_reg(table)
    call check(all(table(3:4, 4) == [1, 3]), 'a section in MPI_Put')
    call MPI_Type_free(pair)
    call MPI_Win_free(win)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  ! What would be started, as the stand-ins of f08_from_c.c are told.
  subroutine starts
    type(MPI_Comm) :: inter
    integer :: codes(2), ierror
    character(len=12) :: arguments(3), table(2, 3)
    character(len=10) :: commands(2)
    arguments = [character(len=12) :: 'hello world', 'two', ' ']
    codes = 0
    call MPI_Comm_spawn('a command ', arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, codes, ierror)
    call check(ierror == MPI_SUCCESS .and. all(codes == 7) .and. inter == MPI_COMM_SELF, 'MPI_Comm_spawn')
    call MPI_Comm_spawn('a command', MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, MPI_ERRCODES_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_ARGV_NULL and MPI_ERRCODES_IGNORE')
    commands = [character(len=10) :: 'one', 'the other']
    table(1, :) = [character(len=12) :: 'a', 'b', ' ']
    table(2, :) = [character(len=12) :: 'c', ' ', ' ']
    call MPI_Comm_spawn_multiple(2, commands, table, [3, 4], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, inter, codes, ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_Comm_spawn_multiple')
    call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [3, 4], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, inter, &
                                 MPI_ERRCODES_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_ARGVS_NULL')
  end subroutine
end module
