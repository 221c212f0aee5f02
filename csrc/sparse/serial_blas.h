/* BLAS and LAPACK, one call at a time and on one thread.
 *
 * A threaded BLAS changes the bits of a factor with its number of threads. The build is to link a serial one; where it got a threaded
 * OpenBLAS all the same, that is set to one thread for the time of a call. A BLAS for one thread need not be safe for several callers:
 * Debian's serial OpenBLAS (0.3.21) is built without locks, hands the same scratch memory to concurrent calls, and they overwrite each
 * other's numbers without a word. So only one call runs at a time. */
#ifndef PD_SPARSE_SERIAL_BLAS_H
#define PD_SPARSE_SERIAL_BLAS_H

typedef struct pd_blas_call {
    int threads; /* of a threaded BLAS before the call */
    void (*set_threads)(int);
    int suspended;
} pd_blas_call;

/* Between the two the caller has BLAS for itself, and our own teams of threads rest. */
pd_blas_call pd_blas_begin(void);
void pd_blas_end(const pd_blas_call *call);

/* A fork waits for a call under way, so that the child finds the lock free. */
void pd_blas_before_fork(void);
void pd_blas_after_fork(void);

#endif
