/* Errors are values: the status of a C function that can fail, and its text.
 *
 * The caller passes a pd_error down. The function that finds a fault writes the text, and its callers only pass the status on. Nothing
 * prints, nothing exits. csrc/python/binding/errors.c turns a status into a Python exception. */
#ifndef PD_BASE_STATUS_H
#define PD_BASE_STATUS_H

typedef enum pd_status {
    PD_OK = 0,
    PD_ERROR_VALUE,       /* an argument has a value that cannot be used          -> ValueError   */
    PD_ERROR_TYPE,        /* an argument, or a combination of them, of the wrong kind -> TypeError */
    PD_ERROR_MEMORY,      /* out of memory                                        -> MemoryError  */
    PD_ERROR_NOT_FINITE,  /* NaN or infinity in an input                          -> ValueError   */
    PD_ERROR_SINGULAR,    /* a matrix that must be positive definite is not       -> RuntimeError */
    PD_ERROR_DEVICE,      /* no device, driver too old, launch failed             -> RuntimeError */
    PD_ERROR_UNSUPPORTED, /* this build leaves that part out                      -> RuntimeError */
    PD_DIVERGED,          /* a step diverged; pd_error.iteration and .vertex say where -> DivergenceError */
    PD_INTERRUPTED        /* the caller requested a stop (Ctrl-C); the state is the last good one */
} pd_status;

typedef struct pd_error {
    char text[512];
    int iteration; /* with PD_DIVERGED: the outer iteration, from 1 */
    int vertex;    /* with PD_DIVERGED: the vertex with the largest or first non-finite value */
} pd_error;

/* Runs an expression that returns a status, and leaves through `done:` on failure. */
#define PD_TRY(expression)                      \
    do {                                        \
        if ((status = (expression))) goto done; \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a printf-style text to error (may be NULL) and returns status, for lines such as `return pd_fail(...)`. */
pd_status pd_fail(pd_error *error, pd_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#ifdef __cplusplus
}
#endif

#endif
