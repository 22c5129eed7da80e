! f08_objects.f90: datatypes, attributes, infos, windows, files and what C code shares with Fortran, by mpi_f08.
module objects
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use checking
  implicit none
  integer, save :: copied = 0, deleted = 0
  interface
    ! 0, or the number of what C found wrong; see f08_from_c.c.
    integer(c_int) function c_looks_at(comm, datatype, keyval, status) bind(C)
      import
      integer(c_int), value :: comm, datatype, keyval
      type(MPI_Status) :: status
    end function
  end interface
contains
  subroutine test_objects
    call datatypes
    call attributes
    call infos
    call windows
    call files
    call environment
  end subroutine

  subroutine datatypes
    type(MPI_Datatype) :: made, parts(2), inner(2)
    integer :: n, m, l, combiner, integers(8), words(4), position
    integer(MPI_ADDRESS_KIND) :: lower, extent, places(2), addresses(8)
    integer(MPI_COUNT_KIND) :: size
    character(len=32) :: packed
    places = [0, 8]
    parts = [MPI_INTEGER, MPI_DOUBLE_PRECISION]
    call MPI_Type_create_struct(2, [1, 2], places, parts, made)
    call MPI_Type_commit(made)
    call MPI_Type_size(made, n)
    call MPI_Type_size(made, size)
    call check(n == 20 .and. size == 20, 'MPI_Type_size')
    call MPI_Type_get_extent(made, lower, extent)
    call check(lower == 0 .and. extent == 24, 'MPI_Type_get_extent')
    call MPI_Type_get_envelope(made, n, m, l, combiner)
    call check(n == 3 .and. m == 2 .and. l == 2 .and. combiner == MPI_COMBINER_STRUCT, 'MPI_Type_get_envelope')
    call MPI_Type_get_contents(made, n, m, l, integers, addresses, inner)
    call check(all(inner == parts) .and. all(addresses(:2) == places) .and. all(integers(:3) == [2, 1, 2]), 'MPI_Type_get_contents')
    call MPI_Type_free(made)
    call MPI_Type_create_f90_real(15, MPI_UNDEFINED, made)
    call MPI_Type_size(made, n)
    call check(n == 8, 'MPI_Type_create_f90_real')
    call MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, made)
    call MPI_Type_size(made, n)
    call check(n == 4, 'MPI_Type_match_size')
    position = 0
    call MPI_Pack([1, 2, 3, 4], 4, MPI_INTEGER, packed, 32, position, MPI_COMM_WORLD)
    position = 0
    call MPI_Unpack(packed, 32, position, words, 4, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(words == [1, 2, 3, 4]) .and. position == 16, 'MPI_Pack')
    lower = 0
    call MPI_Pack_external('external32', [1, 2], 2, MPI_INTEGER, packed, 32_MPI_ADDRESS_KIND, lower)
    call check(lower == 8 .and. packed(4:4) == char(1) .and. packed(8:8) == char(2), 'MPI_Pack_external')
    call MPI_Sizeof(words, n)
    call check(n == 4, 'MPI_Sizeof')
    call MPI_Get_address(words(1), lower)
    call MPI_Get_address(words(3), extent)
    call check(MPI_Aint_diff(extent, lower) == 8 .and. MPI_Aint_add(lower, 8_MPI_ADDRESS_KIND) == extent, 'addresses')
    call MPI_Type_create_hindexed_block(1, 4, [lower], MPI_INTEGER, made)
    call MPI_Type_commit(made)
    call MPI_Sendrecv([5, 6, 7, 8], 4, MPI_INTEGER, 0, 0, MPI_BOTTOM, 1, made, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(words)
    call check(all(words == [5, 6, 7, 8]), 'MPI_BOTTOM')
    call MPI_Type_free(made)
  end subroutine

  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    copied = copied + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = oldcomm == MPI_COMM_SELF .and. comm_keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine
  subroutine remove(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm /= MPI_COMM_NULL .and. comm_keyval > 0 .and. attribute_val >= 2_MPI_ADDRESS_KIND**40 .and. extra_state == 5) &
      deleted = deleted + 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine attributes
    integer :: keyval, type_key
    integer(MPI_ADDRESS_KIND) :: value, big
    logical :: flag
    type(MPI_Comm) :: twin
    type(MPI_Datatype) :: made
    type(MPI_Status) :: status
    big = 2_MPI_ADDRESS_KIND**40 + 3
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB')
    call MPI_Comm_create_keyval(copy, remove, keyval, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag)
    call check(.not. flag, 'an attribute that is not there')
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, big)
    call MPI_Comm_dup(MPI_COMM_SELF, twin)
    call MPI_Comm_get_attr(twin, keyval, value, flag)
    call check(flag .and. value == big + 5 .and. copied == 1, 'an attribute that was copied')
    status%MPI_SOURCE = 11
    status%MPI_TAG = 12
    call check(c_looks_at(twin%MPI_VAL, MPI_DOUBLE_PRECISION%MPI_VAL, keyval, status) == 0, 'what C sees')
    call check(status%MPI_ERROR == 13, 'a status that C changed')
    call MPI_Comm_free(twin)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
    call check(deleted == 2, 'attributes that were deleted')
    call MPI_Comm_free_keyval(keyval)
    call check(keyval == MPI_KEYVAL_INVALID, 'MPI_Comm_free_keyval')
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, type_key, 0_MPI_ADDRESS_KIND)
    call MPI_Type_dup(MPI_REAL, made)
    call MPI_Type_set_attr(made, type_key, -7_MPI_ADDRESS_KIND)
    block
      type(MPI_Datatype) :: again
      call MPI_Type_dup(made, again)
      call MPI_Type_get_attr(again, type_key, value, flag)
      call check(flag .and. value == -7, 'MPI_TYPE_DUP_FN')
      call MPI_Type_free(again)
    end block
    call MPI_Type_free(made)
    call MPI_Type_free_keyval(type_key)
  end subroutine

  subroutine infos
    type(MPI_Info) :: info
    character(len=20) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    integer :: n
    logical :: flag
    call MPI_Info_create(info)
    call MPI_Info_set(info, ' a key ', '  and a value  ')
    call MPI_Info_get(info, 'a key', 5, value, flag)
    call check(flag .and. value == 'and a', 'MPI_Info_get')
    n = 0
    call MPI_Info_get_string(info, 'a key', n, value, flag)
    call check(flag .and. n == 11, 'the length of a value')
    n = 20
    call MPI_Info_get_string(info, 'a key', n, value, flag)
    call check(value == 'and a value', 'MPI_Info_get_string')
    call MPI_Info_get_nthkey(info, 0, key)
    call check(key == 'a key', 'MPI_Info_get_nthkey')
    call MPI_Info_get_valuelen(info, 'none', n, flag)
    call check(.not. flag, 'a key that is not there')
    call MPI_Info_free(info)
  end subroutine

  subroutine windows
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer :: room(:)
    integer :: word, unit, other
    integer(MPI_ADDRESS_KIND) :: size, value
    logical :: flag
    call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, room, [4])
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
    call check(flag .and. transfer(base, value) == value, 'MPI_WIN_BASE')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
    call check(flag .and. value == 16, 'MPI_WIN_SIZE')
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
    call check(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
    room = 0
    other = mod(rank + 1, ranks)
    call MPI_Win_fence(0, win)
    call MPI_Put([rank, 0, 70 + rank, 0], 1, MPI_INTEGER, other, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Accumulate([1], 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call check(room(2) == mod(rank + ranks - 1, ranks) .and. (rank /= 0 .or. room(1) == ranks), 'MPI_Put and MPI_Accumulate')
    call MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win)
    call MPI_Get(word, 1, MPI_INTEGER, other, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_unlock(other, win)
    call check(word == rank, 'MPI_Get')
    call MPI_Win_free(win)
    call check(win == MPI_WIN_NULL, 'MPI_Win_free')
    call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_SELF, base, win)
    call MPI_Win_shared_query(win, 0, size, unit, base)
    call check(size == 8 .and. unit == 1, 'MPI_Win_shared_query')
    call MPI_Win_free(win)
    call MPI_Alloc_mem(8_MPI_ADDRESS_KIND, MPI_INFO_NULL, base)
    call c_f_pointer(base, room, [2])
    room = 1
    call MPI_Free_mem(room)
  end subroutine

  subroutine files
    type(MPI_File) :: file
    type(MPI_Status) :: status
    integer :: table(2, 3), read(3), n
    integer(MPI_OFFSET_KIND) :: where
    character(len=256) :: name
    character(len=MPI_MAX_DATAREP_STRING) :: representation
    type(MPI_Datatype) :: etype, filetype
    call get_command_argument(1, name)
    n = MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE
    call MPI_File_open(MPI_COMM_WORLD, name, n, MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 12_MPI_OFFSET_KIND * rank, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    table = reshape([1, -1, 2, -1, 3, -1], [2, 3]) * (rank + 1)
    call MPI_File_write_all(file, table(1, :), 3, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, read, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(read == [1, 2, 3] * (rank + 1)), 'a section in a file')
    call MPI_File_get_view(file, where, etype, filetype, representation)
    call check(where == 12 * rank .and. etype == MPI_INTEGER .and. representation == 'native', 'MPI_File_get_view')
    call MPI_File_close(file)
    call check(file == MPI_FILE_NULL, 'MPI_File_close')
  end subroutine

  subroutine environment
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: n, major, minor
    logical :: flag, yes, no
    type(MPI_Info) :: sizes
    type(MPI_Session) :: session
    character(len=30) :: set
    call MPI_Get_processor_name(name, n)
    call check(n > 0 .and. len_trim(name) == n, 'MPI_Get_processor_name')
    call MPI_Get_library_version(version, n)
    call MPI_Get_version(major, minor)
    call check(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'MPI_Get_version')
    call MPI_Initialized(flag)
    call check(flag .and. MPI_Wtime() > 0 .and. PMPI_Wtick() > 0, 'MPI_Wtime')
    call PMPI_Barrier(MPI_COMM_WORLD)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    n = len(set)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, n, set)
    call check(n == len_trim(set) .and. set(:6) == 'mpi://', 'MPI_Session_get_nth_pset')
    call MPI_Session_finalize(session)
    yes = .false.
    no = .true.
    call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag)
    call check(flag .and. yes .and. .not. no, 'MPI_Abi_get_fortran_booleans')
    call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, yes, no)
    call MPI_Abi_get_fortran_info(sizes)
    call check(sizes /= MPI_INFO_NULL, 'MPI_Abi_get_fortran_info')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Abi_set_fortran_info(sizes, n)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call check(n == MPI_ERR_ABI, 'MPI_Abi_set_fortran_info, which the bindings have called')
    call MPI_Info_free(sizes)
  end subroutine
end module
