! legacy.f: a program as there were many before modules, compiled by mpifort without options: one call with buffers of two types, and a
! generalized request whose functions change the program's own variable.
      program legacy
      implicit none
      include 'mpif.h'
      integer ierror, request, status(MPI_STATUS_SIZE), words(2), bad
      integer(kind=MPI_ADDRESS_KIND) extra
      double precision reals(2)
      logical flag
      external query, release, cancel
! In a common block the compiler takes it for changed by each call.
      common /kept/ extra
      bad = 0
      call MPI_INIT(ierror)
      words(1) = 1
      words(2) = 2
      reals(1) = 3
      reals(2) = 4
      call MPI_BCAST(words, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
      call MPI_BCAST(reals, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD,
     &               ierror)
      if (words(2) .ne. 2 .or. reals(2) .ne. 4) bad = bad + 1
      extra = 5
      call MPI_GREQUEST_START(query, release, cancel, extra, request,
     &                        ierror)
      extra = 7
      call MPI_GREQUEST_COMPLETE(request, ierror)
      call MPI_WAIT(request, status, ierror)
      call MPI_TEST_CANCELLED(status, flag, ierror)
      if (flag .or. status(MPI_TAG) .ne. 7) bad = bad + 1
! The query function has made 8 of 7, the free function 16 of 8.
      if (extra .ne. 16) bad = bad + 1
      call MPI_FINALIZE(ierror)
      if (bad .ne. 0) stop 1
      end

      subroutine query(extra, status, ierror)
      include 'mpif.h'
      integer(kind=MPI_ADDRESS_KIND) extra
      integer status(MPI_STATUS_SIZE), ierror
      status(MPI_SOURCE) = MPI_UNDEFINED
      status(MPI_TAG) = int(extra)
      call MPI_STATUS_SET_CANCELLED(status, .false., ierror)
      call MPI_STATUS_SET_ELEMENTS(status, MPI_BYTE, 0, ierror)
      extra = extra + 1
      ierror = MPI_SUCCESS
      end
      subroutine release(extra, ierror)
      include 'mpif.h'
      integer(kind=MPI_ADDRESS_KIND) extra
      integer ierror
      extra = 2 * extra
      ierror = MPI_SUCCESS
      end
      subroutine cancel(extra, complete, ierror)
      include 'mpif.h'
      integer(kind=MPI_ADDRESS_KIND) extra
      logical complete
      integer ierror
      ierror = MPI_SUCCESS
      end
