/* The pairs of each point; see incidence.h. */
#include "contact/detection/incidence.h"

int pd_key_bits(uint64_t n) {
    int bits = 1;
    while (bits < 63 && ((uint64_t)1 << bits) < n) bits++;
    return bits;
}

pd_status pd_incidence_list(pd_context *context, size_t n, const pd_active_pairs *pairs, int n_points, uint64_t *keys, uint64_t *scratch,
                            const pd_work *work, pd_incidence *out) {
    return pd_role_lists(context, n, pairs, n_points, pd_key_bits(4 * n), pd_key_bits((uint64_t)n_points + 1), keys, scratch, work, out);
}
