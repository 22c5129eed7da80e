! f08_messages.f90: messages by mpi_f08: modes, wildcards, probes, persistent and partitioned ones, array sections, large counts.
module messages
  use mpi_f08
  use checking
  implicit none
contains
  subroutine test_messages
    call plain
    call wildcards
    call completion
    call persistent
    call sections
    call late_sections
    call generalized
  end subroutine

  integer function right()
    right = mod(rank + 1, ranks)
  end function
  integer function left()
    left = mod(rank + ranks - 1, ranks)
  end function

  subroutine plain
    integer :: word, i
    integer(MPI_COUNT_KIND) :: large
    real :: many(100)
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    integer :: old(MPI_STATUS_SIZE)
    call MPI_Isend(rank, 1, MPI_INTEGER, right(), 3, MPI_COMM_WORLD, request)
    call MPI_Recv(word, 1, MPI_INTEGER, left(), 3, MPI_COMM_WORLD, status)
    call check(word == left() .and. status%MPI_SOURCE == left() .and. status%MPI_TAG == 3, 'a word from the left')
    call MPI_Status_f082f(status, old)
    call check(old(MPI_SOURCE) == left() .and. old(MPI_TAG) == 3 .and. MPI_ERROR <= MPI_STATUS_SIZE, 'a status as an array')
    call MPI_Get_count(status, MPI_INTEGER, i)
    call MPI_Get_count(status, MPI_INTEGER, large)
    call check(i == 1 .and. large == 1, 'MPI_Get_count with both kinds of counts')
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(request == MPI_REQUEST_NULL, 'a request that is complete is null')
    many = rank
    call MPI_Sendrecv_replace(many, 100_MPI_COUNT_KIND, MPI_REAL, right(), 1, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(many == left()), 'MPI_Sendrecv_replace with a large count')
    call MPI_Recv(word, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status)
    call check(status%MPI_SOURCE == MPI_PROC_NULL .and. status%MPI_TAG == MPI_ANY_TAG, 'a message from no process')
  end subroutine

  subroutine wildcards
    integer :: word, ierror
    logical :: flag
    type(MPI_Status) :: status
    type(MPI_Message) :: message
    type(MPI_Request) :: request
    call MPI_Isend(rank, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, request, ierror)
    call check(ierror == MPI_SUCCESS, 'MPI_Isend')
    call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, status)
    call check(status%MPI_TAG == 5, 'MPI_Probe')
    call MPI_Iprobe(0, 5, MPI_COMM_SELF, flag, MPI_STATUS_IGNORE)
    call check(flag, 'MPI_Iprobe')
    call MPI_Mprobe(0, 5, MPI_COMM_SELF, message, status)
    call check(message /= MPI_MESSAGE_NULL, 'MPI_Mprobe')
    call MPI_Mrecv(word, 1, MPI_INTEGER, message, status)
    call check(word == rank .and. message == MPI_MESSAGE_NULL, 'MPI_Mrecv')
    call MPI_Wait(request, status)
  end subroutine

  subroutine completion
    integer, asynchronous :: in(4), out(4)
    integer :: i, indx, n, indices(4)
    logical :: flag
    type(MPI_Request) :: requests(8)
    type(MPI_Status) :: statuses(8)
    out = [(10 * rank + i, i = 1, 4)]
    do i = 1, 4
      call MPI_Irecv(in(i), 1, MPI_INTEGER, left(), i, MPI_COMM_WORLD, requests(i))
      call MPI_Isend(out(i), 1, MPI_INTEGER, right(), i, MPI_COMM_WORLD, requests(4 + i))
    end do
    call MPI_Waitall(8, requests, statuses)
    call check(all(in == [(10 * left() + i, i = 1, 4)]), 'MPI_Waitall')
    call check(all(statuses(:4)%MPI_TAG == [1, 2, 3, 4]), 'statuses of MPI_Waitall')
    call check(all(requests == MPI_REQUEST_NULL), 'MPI_Waitall leaves null requests')
    call MPI_Waitany(8, requests, indx, MPI_STATUS_IGNORE)
    call check(indx == MPI_UNDEFINED, 'MPI_Waitany without requests')
    call MPI_Irecv(in(3), 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, requests(3))
    call MPI_Testany(8, requests, indx, flag, statuses(1))
    call check(.not. flag .and. indx == MPI_UNDEFINED, 'MPI_Testany before the message')
    call MPI_Request_get_status(requests(3), flag, MPI_STATUS_IGNORE)
    call check(.not. flag, 'MPI_Request_get_status')
    call MPI_Send(7, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD)
    call MPI_Waitany(8, requests, indx, statuses(1))
    call check(indx == 3 .and. in(3) == 7, 'MPI_Waitany counts from one')
    call MPI_Irecv(in(2), 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, requests(2))
    call MPI_Send(8, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD)
    call MPI_Waitsome(4, requests, n, indices, MPI_STATUSES_IGNORE)
    call check(n == 1 .and. indices(1) == 2 .and. in(2) == 8, 'MPI_Waitsome counts from one')
    call MPI_Irecv(in(1), 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, requests(1))
    call MPI_Cancel(requests(1))
    call MPI_Wait(requests(1), statuses(1))
    call MPI_Test_cancelled(statuses(1), flag)
    call check(flag, 'MPI_Cancel')
  end subroutine

  subroutine persistent
    integer, asynchronous :: in, out
    integer :: i
    type(MPI_Request) :: requests(2)
    call MPI_Send_init(out, 1, MPI_INTEGER, right(), 2, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(in, 1, MPI_INTEGER, left(), 2, MPI_COMM_WORLD, requests(2))
    do i = 1, 3
      out = 100 * i + rank
      call MPI_Startall(2, requests)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call check(in == 100 * i + left(), 'persistent messages')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call check(all(requests == MPI_REQUEST_NULL), 'MPI_Request_free')
    call MPI_Psend_init(out, 1, 1_MPI_COUNT_KIND, MPI_INTEGER, right(), 2, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(in, 1, 1_MPI_COUNT_KIND, MPI_INTEGER, left(), 2, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    call MPI_Startall(2, requests)
    call MPI_Pready(0, requests(1))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(in == 300 + left(), 'partitioned messages')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  ! Sections with strides, in blocking calls.
  subroutine sections
    integer :: table(4, 5), room(6, 5), i, total
    double precision :: numbers(3, 4)
    complex :: pairs(4)
    real :: parts(4)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: two
    call check(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'MPI_SUBARRAYS_SUPPORTED')
    table = reshape([(1000 * rank + i, i = 1, 20)], [4, 5])
    room = -1
    call MPI_Isend(table(2:4:2, 1:5:2), 6, MPI_INTEGER, right(), 1, MPI_COMM_WORLD, request)
    call MPI_Recv(room(6:1:-2, 2:3), 6, MPI_INTEGER, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all([room(6, 2), room(4, 2), room(2, 2), room(6, 3), room(4, 3), room(2, 3)] == &
                   1000 * left() + [2, 4, 10, 12, 18, 20]), 'sections, one of them backwards')
    call check(count(room /= -1) == 6, 'nothing else was written')
    ! A part of a section, with more than one number in an element.
    pairs = cmplx(rank, -rank)
    call MPI_Isend(pairs(1:4:3), 4, MPI_REAL, right(), 1, MPI_COMM_WORLD, request)
    call MPI_Recv(parts, 4, MPI_REAL, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(parts == real(left()) * [1, -1, 1, -1]), 'elements that hold two numbers')
    room = -1
    call MPI_Isend(table(1:3:2, :), 3, MPI_INTEGER, right(), 1, MPI_COMM_WORLD, request)
    call MPI_Recv(room(1, :), 3, MPI_INTEGER, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(room(1, :) == [1000 * left() + [1, 3, 5], -1, -1]), 'fewer elements than the section has')
    ! A derived datatype over a section.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, two)
    call MPI_Type_commit(two)
    call MPI_Isend(table(1, :), 1, two, right(), 1, MPI_COMM_WORLD, request)
    call MPI_Recv(room(2, 1:5:2), 2, MPI_INTEGER, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(room(2, 1:3:2) == 1000 * left() + [1, 9]), 'a derived datatype over a section')
    call MPI_Type_free(two)
    numbers = 1
    call MPI_Allreduce(MPI_IN_PLACE, numbers(2, :), 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    call check(all(numbers(2, :) == ranks) .and. all(numbers(1, :) == 1) .and. all(numbers(3, :) == 1), 'a reduction of sections')
    total = 0
    call by_shape(numbers(1:3:2, :))
  end subroutine

  ! Of assumed shape, not known to lie in one piece.
  subroutine by_shape(part)
    double precision, intent(inout) :: part(:, :)
    call MPI_Bcast(part, size(part), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    call check(all(part == 1), 'an array of assumed shape')
  end subroutine

  ! Sections in nonblocking and persistent collective calls, which are copied back when the request is complete.
  subroutine late_sections
    integer, asynchronous :: table(3, ranks), sums(2, 4)
    integer :: i
    type(MPI_Request) :: request
    table = -1
    call MPI_Iallgather(10 * rank, 1, MPI_INTEGER, table(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(table(2, :) == [(10 * i, i = 0, ranks - 1)]) .and. all(table(1, :) == -1), 'MPI_Iallgather into a section')
    sums = -1
    call MPI_Allreduce_init(sums(1, :), sums(2, :), 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do i = 1, 2
      sums(1, :) = i * (rank + 1)
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call check(all(sums(2, :) == i * ranks), 'a persistent reduction of sections')
    end do
    call MPI_Request_free(request)
  end subroutine

  subroutine generalized
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: n
    call MPI_Grequest_start(query, release, cancel, 17_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call check(n == 17 .and. status%MPI_TAG == 4, 'a generalized request')
  end subroutine
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 0
    status%MPI_TAG = 4
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 17)
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, complete .or. extra_state == 17)
  end subroutine
end module
