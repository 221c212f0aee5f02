/* Calls the functions of a material of the caller, and checks their results; see material_values.h. */
#include "mesh/material_values.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const NAMES[PD_MATERIAL_QUANTITIES] = {"energy", "stress", "hessian"};

static int triangle(int d) { return 3 * d * (3 * d + 1) / 2; }

int pd_material_width(int d) { return 1 + 3 * d + triangle(d); }

void pd_material_columns(pd_material_quantity quantity, int d, int *first, int *end) {
    const int ends[PD_MATERIAL_QUANTITIES] = {1, 1 + 3 * d, pd_material_width(d)};
    *first = quantity == PD_MATERIAL_ENERGY ? 0 : ends[quantity - 1];
    *end = ends[quantity];
}

/* The size of one element in `out`. */
static int count_of(pd_material_quantity quantity, int d) {
    return quantity == PD_MATERIAL_ENERGY ? 1 : quantity == PD_MATERIAL_STRESS ? 3 * d : 9 * d * d;
}

static pd_status refuse(const pd_material_functions *f, pd_material_quantity quantity, int d, int element, int entry, double value,
                        pd_error *error) {
    const int columns = quantity == PD_MATERIAL_STRESS ? d : 3 * d;
    if (quantity == PD_MATERIAL_ENERGY)
        return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: energy is %g at element %d; it must be a number, or inf where F is not admissible",
                       f->name, value, f->elements[element]);
    return pd_fail(error, PD_ERROR_NOT_FINITE, "%s: %s is %g at element %d, entry (%d, %d); it must be finite", f->name, NAMES[quantity],
                   value, f->elements[element], entry / columns, entry % columns);
}

/* f->out = a quantity at f->F, checked. */
static pd_status call(const pd_material_functions *f, pd_material_quantity quantity, int n, int d, pd_error *error) {
    const int count = count_of(quantity, d);
    if (error) error->text[0] = 0;
    pd_status status = f->evaluate(f->user, quantity, n);
    if (status) {
        if (status != PD_INTERRUPTED && error && !error->text[0]) return pd_fail(error, status, "%s: %s failed", f->name, NAMES[quantity]);
        return status;
    }
    for (int e = 0; e < n; e++)
        for (int i = 0; i < count; i++) {
            const double value = f->out[(size_t)e * (size_t)count + (size_t)i];
            if (fabs(value) < (double)INFINITY || (quantity == PD_MATERIAL_ENERGY && value > 0.0)) continue;
            return refuse(f, quantity, d, e, i, value, error);
        }
    return PD_OK;
}

/* Index of entry (i,j), i <= j, of a matrix of n rows in its upper triangle by rows. */
static int place(int n, int i, int j) { return i * n - i * (i - 1) / 2 + j - i; }

static pd_status add_analytic(const pd_material_functions *f, int n, int d, double *values, pd_error *error) {
    const int rows = 3 * d, width = pd_material_width(d);
    pd_status status = call(f, PD_MATERIAL_HESSIAN, n, d, error);
    if (status) return status;
    for (int e = 0; e < n; e++) {
        const double *H = f->out + (size_t)(rows * rows) * (size_t)e;
        double *packed = values + (size_t)width * (size_t)e + 1 + rows;
        for (int i = 0; i < rows; i++)
            for (int j = i; j < rows; j++) packed[place(rows, i, j)] = 0.5 * (H[rows * i + j] + H[rows * j + i]);
    }
    return PD_OK;
}

static double difference_of(const double *F, int rows) {
    double largest = 1.0;
    for (int i = 0; i < rows; i++) largest = fmax(largest, fabs(F[i]));
    return PD_MATERIAL_STEP * largest;
}

/* f->F = F, with entry j of every element changed by `sign` steps. */
static void shift(const pd_material_functions *f, int n, int rows, const double *F, int j, double sign) {
    memcpy(f->F, F, (size_t)n * (size_t)rows * sizeof *F);
    for (size_t e = 0; e < (size_t)n; e++) f->F[e * (size_t)rows + (size_t)j] += sign * difference_of(F + e * (size_t)rows, rows);
}

static pd_status add_differences(const pd_material_functions *f, int n, int d, double *values, pd_error *error) {
    const int rows = 3 * d, width = pd_material_width(d);
    const size_t count = (size_t)n * (size_t)rows;
    double *F = f->shifted, *above = F + (size_t)f->most * (size_t)rows;
    pd_status status = PD_OK;
    memcpy(F, f->F, count * sizeof *F);
    for (size_t e = 0; e < (size_t)n; e++)
        for (int i = 1 + rows; i < width; i++) values[e * (size_t)width + (size_t)i] = 0.0;
    for (int j = 0; j < rows; j++) {
        shift(f, n, rows, F, j, 1.0);
        PD_TRY(call(f, PD_MATERIAL_STRESS, n, d, error));
        memcpy(above, f->out, count * sizeof *above);
        shift(f, n, rows, F, j, -1.0);
        PD_TRY(call(f, PD_MATERIAL_STRESS, n, d, error));
        for (size_t e = 0; e < (size_t)n; e++) {
            double *packed = values + (size_t)width * e + 1 + rows;
            const double delta = difference_of(F + e * (size_t)rows, rows), here = F[e * (size_t)rows + (size_t)j];
            const double apart = (here + delta) - (here - delta); // as rounded
            for (int i = 0; i < rows; i++) {
                const double slope = (above[e * (size_t)rows + (size_t)i] - f->out[e * (size_t)rows + (size_t)i]) / apart;
                packed[i < j ? place(rows, i, j) : place(rows, j, i)] += i == j ? slope : 0.5 * slope;
            }
        }
    }
done:
    memcpy(f->F, F, count * sizeof *F);
    return status;
}

pd_status pd_material_values(const pd_material_functions *functions, int requested, int n, int d, double *values, pd_error *error) {
    const pd_material_functions *f = functions;
    const size_t width = (size_t)pd_material_width(d), rows = 3 * (size_t)d;
    pd_status status = PD_OK;
    if (n <= 0) return PD_OK;
    if (requested & PD_REQUEST_ENERGY) {
        PD_TRY(call(f, PD_MATERIAL_ENERGY, n, d, error));
        for (size_t e = 0; e < (size_t)n; e++) values[e * width] = f->out[e];
    }
    if (requested & PD_REQUEST_STRESS) {
        PD_TRY(call(f, PD_MATERIAL_STRESS, n, d, error));
        for (size_t e = 0; e < (size_t)n; e++) memcpy(values + e * width + 1, f->out + e * rows, rows * sizeof *values);
    }
    if (requested & PD_REQUEST_HESSIAN)
        status = f->has_hessian ? add_analytic(f, n, d, values, error) : add_differences(f, n, d, values, error);
done:
    return status;
}
