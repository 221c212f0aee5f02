/* BLAS and LAPACK, one call at a time and on one thread.
 *
 * The bits of a factor from a threaded BLAS depend on its number of threads. The build prefers a serial BLAS. A threaded OpenBLAS is set
 * to one thread during a call.
 *
 * A serial BLAS need not be thread-safe: Debian's serial OpenBLAS (0.3.21) is built without locks and gives the same scratch memory to
 * concurrent calls, which silently overwrite each other's numbers. So only one call runs at a time. */
#ifndef PD_SPARSE_SERIAL_BLAS_H
#define PD_SPARSE_SERIAL_BLAS_H

typedef struct pd_blas_call {
    int threads; /* of a threaded BLAS before the call */
    void (*set_threads)(int);
    int suspended;
} pd_blas_call;

/* Between the two calls the caller has exclusive use of BLAS, and our own threads are idle. */
pd_blas_call pd_blas_begin(void);
void pd_blas_end(const pd_blas_call *call);

/* A fork waits for a running call, so that the child finds the lock free. */
void pd_blas_before_fork(void);
void pd_blas_after_fork(void);

#endif
