/* Greedy and balanced vertex colouring; see colouring.h. */
#include "mesh/colouring.h"

#include "mesh/validation.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A graph colouring balances in two or three sweeps. The cap keeps the time linear for any mesh. */
enum { BALANCING_SWEEPS = 8 };

/* The elements and, for each vertex, its rows. */
typedef struct incidence {
    const int *elements;
    int k;
    size_t *start; /* [n_points+2]; rows of vertex v are rows[start[v] .. start[v+1]) */
    int *rows;
} incidence;

/* Counts two places to the right, so that the scatter leaves start[v] at the first row of v. */
static void fill_incidence(incidence *graph, int n_elements, int n_points) {
    size_t n_corners = (size_t)n_elements * (size_t)graph->k;
    for (size_t c = 0; c < n_corners; c++) graph->start[graph->elements[c] + 2]++;
    for (size_t v = 0; v <= (size_t)n_points; v++) graph->start[v + 1] += graph->start[v];
    for (size_t c = 0; c < n_corners; c++) graph->rows[graph->start[graph->elements[c] + 1]++] = (int)(c / (size_t)graph->k);
}

/* Stamps the colours of v's neighbours: taken[colour] = v. Uncoloured vertices (-1) do not count. */
static void stamp_neighbours(int *taken, const int *colours, const incidence *graph, int v) {
    for (size_t r = graph->start[v]; r < graph->start[v + 1]; r++) {
        const int *element = graph->elements + (size_t)graph->rows[r] * (size_t)graph->k;
        for (int a = 0; a < graph->k; a++)
            if (element[a] != v && colours[element[a]] >= 0) taken[colours[element[a]]] = v;
    }
}

static int colour_greedily(int *colours, int *taken, const incidence *graph, int n_points) {
    int n_colours = 0;
    memset(colours, 0xff, (size_t)n_points * sizeof *colours);
    for (int v = 0; v < n_points; v++) {
        stamp_neighbours(taken, colours, graph, v);
        int colour = 0;
        while (taken[colour] == v) colour++;
        colours[v] = colour;
        if (colour >= n_colours) n_colours = colour + 1;
    }
    return n_colours;
}

/* Every move lowers the sum of the squared sizes. So the sweeps cannot cycle, and no colour becomes empty. */
static void balance(int *colours, int *taken, int *sizes, const incidence *graph, int n_points, int n_colours) {
    for (int v = 0; v < n_points; v++) sizes[colours[v]]++;

    for (int sweep = 0, moved = 1; moved && sweep < BALANCING_SWEEPS; sweep++) {
        moved = 0;
        memset(taken, 0xff, (size_t)n_colours * sizeof *taken); /* stamps of the last sweep would equal those of this one */
        for (int v = 0; v < n_points; v++) {
            int from = colours[v], to = from;
            if ((long long)sizes[from] * n_colours <= n_points) continue; /* not above the mean */
            stamp_neighbours(taken, colours, graph, v);
            for (int colour = 0; colour < n_colours; colour++)
                if (taken[colour] != v && sizes[colour] < sizes[to]) to = colour;
            if (sizes[to] + 1 >= sizes[from]) continue;
            sizes[from]--;
            sizes[to]++;
            colours[v] = to;
            moved = 1;
        }
    }
}

pd_status pd_colouring_create(int *colours, int *n_colours, const int *elements, int n_elements, int k, int n_points, pd_colouring method,
                              pd_error *error) {
    *n_colours = 0;
    pd_status status = pd_elements_check(elements, n_elements, k, n_points, "elements", error);
    if (status) return status;

    incidence graph = {elements, k, NULL, NULL};
    int *taken = malloc(((size_t)n_points + 1) * sizeof *taken); /* a vertex has fewer neighbours than there are points */
    int *sizes = calloc((size_t)n_points + 1, sizeof *sizes);
    graph.start = calloc((size_t)n_points + 2, sizeof *graph.start);
    graph.rows = malloc(((size_t)n_elements * (size_t)k + 1) * sizeof *graph.rows);
    if (!taken || !sizes || !graph.start || !graph.rows) {
        status = pd_fail(error, PD_ERROR_MEMORY, "colouring: out of memory for %d points and %d elements", n_points, n_elements);
        goto done;
    }

    fill_incidence(&graph, n_elements, n_points);
    memset(taken, 0xff, ((size_t)n_points + 1) * sizeof *taken);
    *n_colours = colour_greedily(colours, taken, &graph, n_points);
    if (method == PD_COLOURING_BALANCED) balance(colours, taken, sizes, &graph, n_points, *n_colours);

done:
    free(taken);
    free(sizes);
    free(graph.start);
    free(graph.rows);
    return status;
}
