! mpif_test.f: mpif.h in fixed form, with nothing newer than Fortran 77 and the address constants of the common block.
      program mpiftest
      implicit none
      include 'mpif.h'
      integer ierror, rank, size, word, i, type, status(MPI_STATUS_SIZE)
      integer requests(2), words(4), lengths(2), in(4), bad, ranks(4)
      integer one, all
      common /graphs/ one, all
      integer(kind=MPI_ADDRESS_KIND) places(2)
      double precision since
      logical flag
      character*(MPI_MAX_PROCESSOR_NAME) name
      bad = 0
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierror)
      since = MPI_WTIME()
      call MPI_INITIALIZED(flag, ierror)
      if (.not. flag) bad = bad + 1
      call MPI_GET_PROCESSOR_NAME(name, i, ierror)
      if (i .le. 0 .or. name(i+1:) .ne. ' ') bad = bad + 1
      call MPI_IRECV(word, 1, MPI_INTEGER, mod(rank + size - 1, size),
     &               0, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_ISEND(rank, 1, MPI_INTEGER, mod(rank + 1, size), 0,
     &               MPI_COMM_WORLD, requests(2), ierror)
      call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
      if (word .ne. mod(rank + size - 1, size)) bad = bad + 1
      word = 1
      call MPI_ALLREDUCE(MPI_IN_PLACE, word, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierror)
      if (word .ne. size) bad = bad + 1
! A graph, whose handle is an integer.
      call MPIX_GRAPH_BEGIN(MPI_COMM_WORLD, MPI_INFO_NULL, ierror)
      call MPI_IALLREDUCE(one, all, 1, MPI_INTEGER, MPI_SUM,
     &                    MPI_COMM_WORLD, requests(1), ierror)
      call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, ierror)
      call MPIX_GRAPH_END(MPI_COMM_WORLD, type, ierror)
      if (type .eq. MPIX_GRAPH_NULL) bad = bad + 1
      one = 3
      call MPIX_GRAPH_START(type, requests(1), ierror)
      call MPI_WAIT(requests(1), MPI_STATUS_IGNORE, ierror)
      if (all .ne. 3 * size) bad = bad + 1
      call MPIX_GRAPH_FREE(type, ierror)
      if (type .ne. MPIX_GRAPH_NULL) bad = bad + 1
! Two places from the bottom of memory.
      call MPI_GET_ADDRESS(words(1), places(1), ierror)
      call MPI_GET_ADDRESS(words(4), places(2), ierror)
      if (MPI_AINT_DIFF(places(2), places(1)) .ne. 12) bad = bad + 1
      lengths(1) = 1
      lengths(2) = 1
      call MPI_TYPE_CREATE_HINDEXED(2, lengths, places, MPI_INTEGER,
     &                              type, ierror)
      call MPI_TYPE_COMMIT(type, ierror)
      do i = 1, 4
        words(i) = i
        in(i) = 0
      end do
      call MPI_SENDRECV(MPI_BOTTOM, 1, type, rank, 1, in, 4,
     &                  MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status,
     &                  ierror)
      call MPI_GET_COUNT(status, MPI_INTEGER, i, ierror)
      if (i .ne. 2 .or. in(1) .ne. 1 .or. in(2) .ne. 4) bad = bad + 1
      if (status(MPI_SOURCE) .ne. rank) bad = bad + 1
      call MPI_TYPE_FREE(type, ierror)
      if (type .ne. MPI_DATATYPE_NULL) bad = bad + 1
      if (size .le. 4) then
        call MPI_GATHER(rank, 1, MPI_INTEGER, ranks, 1, MPI_INTEGER, 0,
     &                  MPI_COMM_WORLD, ierror)
        do i = 1, size
          if (rank .eq. 0 .and. ranks(i) .ne. i - 1) bad = bad + 1
        end do
      end if
      if (MPI_WTIME() .lt. since) bad = bad + 1
      call MPI_FINALIZE(ierror)
      if (bad .ne. 0) then
        print *, 'rank', rank, ':', bad, 'things were wrong'
        stop 1
      end if
      end
