/* mpi-ext.h: what this library has beside the standard: user-level failure mitigation (ULFM).
 *
 * A rank that dies is an error of those who deal with it, where their error handler returns (MPI_ERRORS_RETURN) and the launcher lets the
 * others go on (ptlrun --keep-going). These calls let the survivors agree on what happened and go on in a communicator of their own:
 *
 *     MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
 *     error = MPI_Allreduce(..., comm);
 *     MPIX_Comm_agree(comm, &well);                 // did it succeed everywhere? The answer is the same on all survivors
 *     if (!well) { MPIX_Comm_revoke(comm); MPIX_Comm_shrink(comm, &smaller); ... }
 *
 * The class of errors that a death raises is the standard's, MPI_ERR_PROC_ABORTED, of which MPIX_ERR_PROC_FAILED is another name.
 * Source: Bland, Bouteiller, Herault, Bosilca, Dongarra, "Post-failure recovery of MPI communication capability", IJHPCA 2013; the
 * MPI Forum's chapter on process fault tolerance.
 */
#ifndef MPI_EXT_H
#define MPI_EXT_H

#include "mpi.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define MPIX_HAVE_ULFM 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1 /* what programs for Open MPI ask: whether the calls below are there */

#define MPIX_ERR_PROC_FAILED MPI_ERR_PROC_ABORTED
/* A request that receives from any source has this error: a rank has died whose message it may be. The request stays as it is (MPI_Test sets
 * no flag): it may be cancelled, or waited for again after MPIX_Comm_failure_ack. Blocking receives from any source end with MPIX_ERR_PROC_FAILED. */
#define MPIX_ERR_PROC_FAILED_PENDING 16001
#define MPIX_ERR_REVOKED 16002

/* Ends all communication in the communicator, on all its ranks: what is under way and what is begun later raises MPIX_ERR_REVOKED,
 * but for the calls below and MPI_Comm_free. Not collective; returns at once. */
int MPIX_Comm_revoke(MPI_Comm comm);
/* *flag: has it been revoked, as far as this rank knows? */
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
/* A new communicator of those ranks of an intracommunicator that are alive, in the same order and the same on all of them. Collective
 * over the living; also of one that is revoked. The second gives it with its request. */
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
/* *flag becomes the bitwise and of those of the living, the same on all of them, whoever dies meanwhile; also in a revoked one.
 * MPIX_ERR_PROC_FAILED, on all or none, and *flag is valid: a rank has died that not all have acknowledged. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
/* Acknowledges the deaths that this rank knows of: receives from any source no longer fail because of them. Local. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
/* A group of the ranks whose deaths are acknowledged. Local. */
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
/* A group of the ranks whose deaths this rank knows of; acknowledging the first `number` of them, *acked are acknowledged then. Local. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int MPIX_Comm_ack_failed(MPI_Comm comm, int number, int *acked);

int PMPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int number, int *acked);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
