! checking.f90: what the tests share. Every rank runs the same tests in the same order and goes on after a failure.
module checking
  implicit none
  integer, save :: failures = 0, rank = 0, ranks = 1
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (ok) return
    failures = failures + 1
    print '(a,i0,2a)', 'rank ', rank, ': FAILED: ', what
  end subroutine
end module
