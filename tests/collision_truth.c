/* The truth about moving pairs, in 113-bit arithmetic (__float128): when do they first touch, and how far apart are they?
 *
 * Deliberately another method than the library's. The corners move along lines, so the first contact is at t = 0, at a root of the cubic
 * det(e1, e2, e3)(t), or, where the four corners stay coplanar, at a root of a component of a cross product (a vertex on an edge's line)
 * or of a coordinate difference (vertex on vertex). At each candidate, in order, the distance is computed; what is below 1e-18 of the pair's size means contact.
 *
 * Reads from stdin: int32 n, m; then for each query int32 edge_edge, double x_t0[12], x_t1[12], t[m], m <= MOST_TIMES. Writes for each query
 * 3 + 2 m doubles: time of contact (nan: none), distance at 0 and at the contact, m; for each t 1 if it is later than the contact; for
 * each t the distance there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef __float128 quad;

enum { MOST_TIMES = 8 };

static quad absolute(quad x) { return x < 0 ? -x : x; }

static quad square_root(quad x) {
    if (!(x > 0)) return 0;
    int exponent = 0;
    quad scale = 1;
    for (; x < 1e-300; exponent++) x *= 0x1p200Q, scale *= 0x1p-100Q; // a double holds the first guess
    quad root = (quad)sqrt((double)x);
    for (int i = 0; i < 3; i++) root = (root + x / root) / 2;
    return root * scale;
}

static quad dot(const quad *a, const quad *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const quad *a, const quad *b, quad *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void subtract(const quad *a, const quad *b, quad *c) {
    for (int i = 0; i < 3; i++) c[i] = a[i] - b[i];
}

static quad determinant(const quad *a, const quad *b, const quad *c) {
    quad n[3];
    cross(b, c, n);
    return dot(a, n);
}

static quad point_segment(const quad *p, const quad *a, const quad *b) {
    quad q[3], e[3];
    subtract(p, a, q);
    subtract(b, a, e);
    quad ee = dot(e, e), t = ee > 0 ? dot(q, e) / ee : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    for (int i = 0; i < 3; i++) q[i] -= t * e[i];
    return dot(q, q);
}

static quad least(quad a, quad b) { return a < b ? a : b; }

static quad distance(int edge_edge, const quad *x) {
    quad e[3], f[3], q[3], n[3], c[3], d;
    if (edge_edge) {
        d = least(least(point_segment(x, x + 6, x + 9), point_segment(x + 3, x + 6, x + 9)),
                  least(point_segment(x + 6, x, x + 3), point_segment(x + 9, x, x + 3)));
        subtract(x + 3, x, e);
        subtract(x + 9, x + 6, f);
        subtract(x + 6, x, q);
    } else {
        d = least(least(point_segment(x, x + 3, x + 6), point_segment(x, x + 6, x + 9)), point_segment(x, x + 9, x + 3));
        subtract(x + 6, x + 3, e);
        subtract(x + 9, x + 3, f);
        subtract(x, x + 3, q);
    }
    cross(e, f, n);
    quad nn = dot(n, n), s, t;
    if (nn <= 1e-50Q * dot(e, e) * dot(f, f)) return square_root(d);
    cross(q, f, c);
    s = dot(c, n);
    if (edge_edge) {
        cross(q, e, c);
        t = dot(c, n);
        if (s < 0 || s > nn || t < 0 || t > nn) return square_root(d);
    } else {
        cross(e, q, c);
        t = dot(c, n);
        if (s < 0 || t < 0 || s + t > nn) return square_root(d);
    }
    return least(square_root(d), absolute(dot(q, n)) / square_root(nn));
}

static void place(const quad *x, const quad *v, quad t, quad *out) {
    for (int i = 0; i < 12; i++) out[i] = x[i] + t * v[i];
}

typedef struct candidates {
    quad t[160];
    int n;
} candidates;

static void add(candidates *list, quad t) {
    if (t >= 0 && t <= 1 && list->n < 160) list->t[list->n++] = t;
}

static quad value(const quad *c, quad t) { return ((c[3] * t + c[2]) * t + c[1]) * t + c[0]; }

/* Roots in [0,1] of c0 + c1 t + c2 t^2 + c3 t^3: between its critical points by bisection, and the critical points that touch zero. */
static void add_roots(candidates *list, const quad *c, quad scale) {
    quad ends[4] = {0, 1, 1, 1};
    int n = 1;
    quad A = c[3], B = c[2], C = c[1], discriminant = B * B - 3 * A * C, critical[2] = {-1, -1};
    if (discriminant >= 0) {
        quad root = square_root(discriminant), q = B < 0 ? root - B : -(B + root);
        if (A != 0) critical[0] = q / (3 * A);
        if (q != 0) critical[1] = C / q;
        if (critical[0] > critical[1]) {
            quad swap = critical[0];
            critical[0] = critical[1], critical[1] = swap;
        }
        for (int i = 0; i < 2; i++)
            if (critical[i] > 0 && critical[i] < 1) {
                ends[n++] = critical[i];
                if (absolute(value(c, critical[i])) <= 1e-30Q * scale) add(list, critical[i]);
            }
    }
    ends[n] = 1;
    for (int i = 0; i < n; i++) {
        quad low = ends[i], high = ends[i + 1], at_low = value(c, low), at_high = value(c, high);
        if (at_low == 0) add(list, low);
        if (at_high == 0) add(list, high);
        if (!((at_low < 0 && at_high > 0) || (at_low > 0 && at_high < 0))) continue;
        for (int k = 0; k < 115; k++) {
            quad middle = (low + high) / 2, at_middle = value(c, middle);
            if ((at_middle < 0) == (at_low < 0))
                low = middle;
            else
                high = middle;
        }
        add(list, (low + high) / 2);
    }
}

/* Where the components of (p - a) x (b - a) vanish, and those of p - a and p - b. */
static void add_vertex_edge(candidates *list, const quad *x, const quad *v, int p, int a, int b, quad size) {
    quad q[3], e[3], dq[3], de[3];
    subtract(x + 3 * p, x + 3 * a, q), subtract(v + 3 * p, v + 3 * a, dq);
    subtract(x + 3 * b, x + 3 * a, e), subtract(v + 3 * b, v + 3 * a, de);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        quad c[4] = {q[j] * e[k] - q[k] * e[j], dq[j] * e[k] + q[j] * de[k] - dq[k] * e[j] - q[k] * de[j], dq[j] * de[k] - dq[k] * de[j],
                     0};
        add_roots(list, c, size * size);
        quad on_a[4] = {q[i], dq[i], 0, 0}, on_b[4] = {q[i] - e[i], dq[i] - de[i], 0, 0};
        add_roots(list, on_a, size);
        add_roots(list, on_b, size);
    }
}

static int ascending(const void *a, const void *b) {
    quad x = *(const quad *)a, y = *(const quad *)b;
    return x < y ? -1 : x > y;
}

static void verify(int edge_edge, const double *x_t0, const double *x_t1, int m, const double *t, double *out) {
    quad x[12], v[12], at[12], e[3][3], d[3][3], size = 0;
    for (int i = 0; i < 12; i++) {
        x[i] = (quad)x_t0[i] - (quad)x_t0[i % 3];
        v[i] = ((quad)x_t1[i] - (quad)x_t0[i]) - ((quad)x_t1[i % 3] - (quad)x_t0[i % 3]);
        size = absolute(x[i]) > size ? absolute(x[i]) : size;
        size = absolute(x[i] + v[i]) > size ? absolute(x[i] + v[i]) : size;
    }
    const int plus[2][3] = {{0, 2, 3}, {2, 1, 3}}, minus[2][3] = {{1, 1, 1}, {0, 0, 2}};
    for (int k = 0; k < 3; k++) {
        subtract(x + 3 * plus[edge_edge][k], x + 3 * minus[edge_edge][k], e[k]);
        subtract(v + 3 * plus[edge_edge][k], v + 3 * minus[edge_edge][k], d[k]);
    }
    quad c[4];
    c[0] = determinant(e[0], e[1], e[2]);
    c[1] = determinant(d[0], e[1], e[2]) + determinant(e[0], d[1], e[2]) + determinant(e[0], e[1], d[2]);
    c[2] = determinant(d[0], d[1], e[2]) + determinant(d[0], e[1], d[2]) + determinant(e[0], d[1], d[2]);
    c[3] = determinant(d[0], d[1], d[2]);
    quad scale = size * size * size;
    candidates list = {.n = 0};
    add(&list, 0);
    add(&list, 1);
    add_roots(&list, c, scale);
    if (absolute(c[0]) + absolute(c[1]) + absolute(c[2]) + absolute(c[3]) <= 1e-28Q * scale) {
        static const int of_triangle[3][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}};
        static const int of_edges[4][3] = {{0, 2, 3}, {1, 2, 3}, {2, 0, 1}, {3, 0, 1}};
        for (int k = 0; k < 3 + edge_edge; k++) {
            const int *r = edge_edge ? of_edges[k] : of_triangle[k];
            add_vertex_edge(&list, x, v, r[0], r[1], r[2], size);
        }
    }
    qsort(list.t, (size_t)list.n, sizeof list.t[0], ascending);
    out[0] = out[2] = NAN;
    for (int j = 0; j < m; j++) out[3 + j] = 0;
    for (int k = 0; k < list.n; k++) {
        place(x, v, list.t[k], at);
        quad gap = distance(edge_edge, at);
        if (!(gap <= 1e-18Q * size)) continue;
        out[0] = (double)list.t[k], out[2] = (double)gap;
        for (int j = 0; j < m; j++) out[3 + j] = (quad)t[j] > list.t[k];
        break;
    }
    out[1] = (double)distance(edge_edge, x);
    for (int j = 0; j < m; j++) {
        place(x, v, t[j] < 1 ? (quad)t[j] : 1, at);
        out[3 + m + j] = (double)distance(edge_edge, at);
    }
}

int main(void) {
    int n, m, edge_edge;
    double numbers[24 + MOST_TIMES], out[3 + 2 * MOST_TIMES];
    if (fread(&n, sizeof n, 1, stdin) != 1 || fread(&m, sizeof m, 1, stdin) != 1 || m < 0 || m > MOST_TIMES) return 1;
    size_t n_in = 24 + (size_t)m, n_out = 3 + 2 * (size_t)m;
    for (int i = 0; i < n; i++) {
        if (fread(&edge_edge, sizeof edge_edge, 1, stdin) != 1 || fread(numbers, sizeof(double), n_in, stdin) != n_in) return 1;
        verify(edge_edge, numbers, numbers + 12, m, numbers + 24, out);
        if (fwrite(out, sizeof(double), n_out, stdout) != n_out) return 1;
    }
    return 0;
}
