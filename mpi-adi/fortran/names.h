/* names.h: the two families of names. Sources that define what Fortran programs call are compiled twice: mpi_send_ calls MPI_Send,
 * so that a profiling tool written for C sees what Fortran programs do, and pmpi_send_, with MPI_FORTRAN_PROFILING, calls PMPI_Send,
 * so that a tool that stands in for mpi_send_ can get past itself. With an X: those of mpi-ext.h. Source: MPI-5.0, 15.2. */
#ifndef MPI_ADI_FORTRAN_NAMES_H
#define MPI_ADI_FORTRAN_NAMES_H

#ifdef MPI_FORTRAN_PROFILING
#define F(name) pmpi_##name
#define C(name) PMPI_##name
#define FX(name) pmpix_##name
#define CX(name) PMPIX_##name
#else
#define F(name) mpi_##name
#define C(name) MPI_##name
#define FX(name) mpix_##name
#define CX(name) MPIX_##name
#endif

/* One more name of the function `known`: mpi_send__ as compilers with -fsecond-underscore want it, or that of mpi_f08. */
#define MPI_FORTRAN_TEXT_OF(name) #name
#define MPI_FORTRAN_TEXT(name) MPI_FORTRAN_TEXT_OF(name)
#define SAME(name, known) extern __typeof__(F(known)) F(name) __attribute__((alias(MPI_FORTRAN_TEXT(F(known)))));

#define SAMEX(name, known) extern __typeof__(FX(known)) FX(name) __attribute__((alias(MPI_FORTRAN_TEXT(FX(known)))));

/* All names of a function without choice buffers. */
#define ALL_NAMES(name) SAME(name##__, name##_) SAME(name##_f08_, name##_)

#endif
