/* Disjoint sets of 0 .. n - 1 as trees [Tarjan 1975]. The root of a set is its smallest member, so no result depends on the order of joins. */
#ifndef PD_BASE_UNION_FIND_H
#define PD_BASE_UNION_FIND_H

/* Each member is a set of its own: parents [n]. */
static inline void pd_sets_begin(int *parents, int n) {
    for (int i = 0; i < n; i++) parents[i] = i;
}

static inline int pd_sets_root(int *parents, int i) {
    while (parents[i] != i) i = parents[i] = parents[parents[i]];
    return i;
}

static inline void pd_sets_join(int *parents, int a, int b) {
    a = pd_sets_root(parents, a), b = pd_sets_root(parents, b);
    if (a < b) parents[b] = a;
    if (b < a) parents[a] = b;
}

/* numbers [n] out: of the set of each member, in the order of their roots. Returns the number of sets. */
static inline int pd_sets_number(int *parents, int n, int *numbers) {
    int n_sets = 0;
    for (int i = 0; i < n; i++) {
        const int root = pd_sets_root(parents, i);
        numbers[i] = root == i ? n_sets++ : numbers[root];
    }
    return n_sets;
}

#endif
