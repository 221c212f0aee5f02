/* The sides of all triangles, sorted by edge; see closed_surface.h. */
#include "mesh/closed_surface.h"

#include <stdlib.h>

typedef struct side {
    int low, high, triangle, forwards;
} side;

static int compare_sides(const void *left, const void *right) {
    const side *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return (a->triangle > b->triangle) - (a->triangle < b->triangle);
}

pd_status pd_closed_surface_check(const int *triangles, int n, pd_error *error) {
    if (n == 0) return pd_fail(error, PD_ERROR_VALUE, "triangles: expected one or more, got none");
    size_t n_sides = 3 * (size_t)n;
    side *sides = malloc(n_sides * sizeof *sides);
    if (!sides) return pd_fail(error, PD_ERROR_MEMORY, "out of memory for the sides of %d triangles", n);
    for (size_t i = 0; i < n_sides; i++) {
        int a = triangles[i], b = triangles[i - i % 3 + (i + 1) % 3];
        sides[i] = (side){a < b ? a : b, a < b ? b : a, (int)(i / 3), a < b};
    }
    qsort(sides, n_sides, sizeof *sides, compare_sides);

    pd_status status = PD_OK;
    for (size_t i = 0; i < n_sides && !status;) {
        const side *s = sides + i;
        size_t end = i + 1;
        while (end < n_sides && sides[end].low == s->low && sides[end].high == s->high) end++;
        if (end - i == 1)
            status = pd_fail(error, PD_ERROR_VALUE,
                             "triangles: the surface is open: edge (%d, %d) of triangle %d belongs to no other one; mesh.welded() joins "
                             "coincident points",
                             s->low, s->high, s->triangle);
        else if (end - i > 2)
            status = pd_fail(error, PD_ERROR_VALUE, "triangles: edge (%d, %d) belongs to %zu triangles, %d, %d and %d among them", s->low,
                             s->high, end - i, s->triangle, s[1].triangle, s[2].triangle);
        else if (s->forwards == s[1].forwards)
            status = pd_fail(error, PD_ERROR_VALUE,
                             "triangles: %d and %d run the same way along their edge (%d, %d): their orientation is inconsistent",
                             s->triangle, s[1].triangle, s->low, s->high);
        i = end;
    }
    free(sides);
    return status;
}
