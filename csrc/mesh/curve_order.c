#include "mesh/curve_order.h"

#include "geometry/box.h"

#include <stdlib.h>

typedef struct place {
    uint64_t code;
    int point;
} place;

static int along_curve(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->code != b->code) return a->code < b->code ? -1 : 1;
    return (a->point > b->point) - (a->point < b->point);
}

pd_status pd_curve_order(int *order, const double *points, int n, pd_error *error) {
    place *places = malloc(((size_t)n + 1) * sizeof *places);
    if (!places) return pd_fail(error, PD_ERROR_MEMORY, "points: no memory to sort %d of them", n);
    pd_box all = pd_box_empty();
    for (int i = 0; i < n; i++) pd_box_add_point(&all, points + 3 * (size_t)i);
    for (int i = 0; i < n; i++) {
        pd_box one = pd_box_of_primitive(points, NULL, &i, 1, 0.0);
        places[i] = (place){pd_morton_code(&one, &all, 21), i};
    }
    qsort(places, (size_t)n, sizeof *places, along_curve);
    for (int i = 0; i < n; i++) order[i] = places[i].point;
    free(places);
    return PD_OK;
}
