/* The walks of an aggregated operator, and for degree 2 the A-products B_is B_sj along them [Lan et al. 2022, Eq. 14].
 * pd_aggregation_create calls these after blocks and pattern. */
#ifndef PD_SPARSE_AGGREGATION_PRODUCTS_H
#define PD_SPARSE_AGGREGATION_PRODUCTS_H

#include "sparse/aggregation.h"

/* n_paths: the number of walks of `degree` hops. */
pd_status pd_count_walks(pd_aggregation *self, pd_error *error);

/* path_start, via, products, hops, own and n_paths of degree 2; `bending` and `threshold` leave products out. */
pd_status pd_store_products(pd_aggregation *self, const pd_csr *bending, double threshold, pd_error *error);

/* Drops entries without a path, a hop or a diagonal, which suppression leaves. */
void pd_drop_empty_entries(pd_aggregation *self, int segment);

#endif
