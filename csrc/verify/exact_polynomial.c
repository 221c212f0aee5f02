/* Roots and signs of integer polynomials; see exact_polynomial.h. */
#include "verify/exact_polynomial.h"

#include <math.h>

/* Sign of p at x / 2^shift: Horner's rule on 2^(shift degree) p. */
static int sign_at(const pd_polynomial *p, const mpz_t x, unsigned long shift) {
    if (p->degree < 0) return 0;
    mpz_t sum, term;
    mpz_init_set(sum, p->c[p->degree]);
    mpz_init(term);
    for (int i = p->degree - 1; i >= 0; i--) {
        mpz_mul(sum, sum, x);
        mpz_mul_2exp(term, p->c[i], shift * (unsigned long)(p->degree - i));
        mpz_add(sum, sum, term);
    }
    int sign = mpz_sgn(sum);
    mpz_clear(sum);
    mpz_clear(term);
    return sign;
}

/* c[0..degree] = the Bernstein coefficients of p on (low, high) / 2^shift up to positive factors, from high to low; c are initialised.
 * They are the coefficients of (1 + y)^n p(low + (high - low) / (1 + y)). */
static void bernstein(mpz_t *c, const pd_polynomial *p, const mpz_t low, const mpz_t high, unsigned long shift) {
    int n = p->degree;
    mpz_t width, power;
    mpz_init(width);
    mpz_init_set_ui(power, 1);
    mpz_sub(width, high, low);
    for (int i = 0; i <= n; i++) mpz_mul_2exp(c[i], p->c[i], shift * (unsigned long)(n - i));
    for (int i = 0; i < n; i++)
        for (int j = n - 1; j >= i; j--) mpz_addmul(c[j], low, c[j + 1]);
    for (int i = 1; i <= n && mpz_cmp_ui(width, 1) != 0; i++) {
        mpz_mul(power, power, width);
        mpz_mul(c[i], c[i], power);
    }
    for (int i = 0; i < n / 2 + n % 2; i++) mpz_swap(c[i], c[n - i]);
    for (int i = 0; i < n; i++)
        for (int j = n - 1; j >= i; j--) mpz_add(c[j], c[j], c[j + 1]);
    mpz_clear(width);
    mpz_clear(power);
}

/* The sign changes of the Bernstein coefficients of p on (low, high) / 2^shift. The number of roots there, with multiplicity, is this or
 * less by an even number [Basu, Pollack, Roy 2006, Theorem 10.27]. So 0 and 1 are exact. For 0, *sign is the sign of p on the interval. */
static int bernstein_changes(const pd_polynomial *p, const mpz_t low, const mpz_t high, unsigned long shift, int *sign) {
    int changes = 0, last = 0;
    mpz_t c[PD_POLYNOMIAL_TERMS];
    for (int i = 0; i <= p->degree; i++) mpz_init(c[i]);
    bernstein(c, p, low, high, shift);
    for (int i = 0; i <= p->degree; i++) {
        int here = mpz_sgn(c[i]);
        if (here && last && here != last) changes++;
        if (here) last = here;
        mpz_clear(c[i]);
    }
    *sign = last;
    return changes;
}

pd_signs pd_polynomial_signs(const pd_polynomial *p, unsigned long place, unsigned long shift) {
    if (p->degree < 0) return (pd_signs){0, 0, 0};
    mpz_t c[PD_POLYNOMIAL_TERMS], low, high;
    for (int i = 0; i <= p->degree; i++) mpz_init(c[i]);
    mpz_init_set_ui(low, place);
    mpz_init_set_ui(high, place + 1);
    bernstein(c, p, low, high, shift);
    pd_signs signs = {mpz_sgn(c[p->degree]), 1, -1};
    for (int i = 0; i <= p->degree; i++) {
        int here = mpz_sgn(c[i]);
        if (here < signs.lowest) signs.lowest = here;
        if (here > signs.highest) signs.highest = here;
        mpz_clear(c[i]);
    }
    mpz_clear(low);
    mpz_clear(high);
    return signs;
}

/* Divides by the greatest common divisor of the coefficients, which is positive. Signs are unchanged and the numbers stay small. */
static void remove_content(pd_polynomial *p) {
    if (p->degree < 0) return;
    mpz_t divisor;
    mpz_init_set(divisor, p->c[0]);
    for (int i = 1; i <= p->degree; i++) mpz_gcd(divisor, divisor, p->c[i]);
    if (mpz_cmp_ui(divisor, 1) > 0)
        for (int i = 0; i <= p->degree; i++) mpz_divexact(p->c[i], p->c[i], divisor);
    mpz_clear(divisor);
}

/* out = -(a mod b), times some positive integer; b is not zero. */
static void negative_remainder(pd_polynomial *out, const pd_polynomial *a, const pd_polynomial *b) {
    mpz_t leading, factor;
    mpz_init(leading);
    mpz_init(factor);
    mpz_abs(leading, b->c[b->degree]);
    pd_polynomial_copy(out, a);
    while (out->degree >= b->degree) {
        /* out = |lc(b)| out - sign(lc(b)) lc(out) t^k b cancels the leading term */
        int top = out->degree, k = top - b->degree;
        mpz_set(factor, out->c[top]);
        if (mpz_sgn(b->c[b->degree]) < 0) mpz_neg(factor, factor);
        for (int i = 0; i <= top; i++) mpz_mul(out->c[i], out->c[i], leading);
        for (int i = 0; i <= b->degree; i++) mpz_submul(out->c[i + k], factor, b->c[i]);
        pd_polynomial_find_degree(out, top);
    }
    for (int i = 0; i <= out->degree; i++) mpz_neg(out->c[i], out->c[i]);
    remove_content(out);
    mpz_clear(leading);
    mpz_clear(factor);
}

/* The signed remainder sequence of p and p' q. */
typedef struct remainder_sequence {
    pd_polynomial term[PD_POLYNOMIAL_TERMS + 2];
    int n;
} remainder_sequence;

static void sequence_create(remainder_sequence *s, const pd_polynomial *p, const pd_polynomial *q) {
    for (int i = 0; i < PD_POLYNOMIAL_TERMS + 2; i++) pd_polynomial_create(&s->term[i]);
    pd_polynomial_copy(&s->term[0], p);
    pd_polynomial *derivative = &s->term[1];
    for (int i = 1; i <= p->degree; i++) mpz_mul_ui(derivative->c[i - 1], p->c[i], (unsigned long)i);
    pd_polynomial_find_degree(derivative, p->degree - 1);
    if (q) pd_polynomial_multiply(derivative, derivative, q);
    s->n = 1;
    while (s->term[s->n].degree >= 0) {
        negative_remainder(&s->term[s->n + 1], &s->term[s->n - 1], &s->term[s->n]);
        s->n++;
    }
}

static void sequence_destroy(remainder_sequence *s) {
    for (int i = 0; i < PD_POLYNOMIAL_TERMS + 2; i++) pd_polynomial_destroy(&s->term[i]);
}

static int sign_changes(const remainder_sequence *s, const mpz_t x, unsigned long shift) {
    int changes = 0, last = 0;
    for (int i = 0; i < s->n; i++) {
        int sign = sign_at(&s->term[i], x, shift);
        if (sign && last && sign != last) changes++;
        if (sign) last = sign;
    }
    return changes;
}

/* Sum of the signs of q at the roots of p in (low, high) / 2^shift, whose ends are no roots; q NULL: the number of roots. */
static int query(const remainder_sequence *s, const mpz_t low, const mpz_t high, unsigned long shift) {
    return sign_changes(s, low, shift) - sign_changes(s, high, shift);
}

int pd_polynomial_stays(const pd_polynomial *p, unsigned long place, unsigned long shift) {
    mpz_t low, high;
    mpz_init_set_ui(low, place);
    mpz_init_set_ui(high, place + 1);
    int stays = sign_at(p, low, shift) > 0 && sign_at(p, high, shift) > 0;
    if (stays && p->degree > 0) {
        remainder_sequence sequence;
        sequence_create(&sequence, p, NULL);
        stays = query(&sequence, low, high, shift) <= 1; /* a single root between positive values changes no sign */
        sequence_destroy(&sequence);
    }
    mpz_clear(low);
    mpz_clear(high);
    return stays;
}

/* Divides p by 2^shift t - x until x / 2^shift is no root. Returns whether it was one. The quotients are integers: x is odd or shift is
 * 0, so the divisor is primitive (Gauss). */
static int divide_out(pd_polynomial *p, const mpz_t x_in, unsigned long shift_in) {
    if (p->degree < 1 || sign_at(p, x_in, shift_in) != 0) return 0;
    mpz_t x, quotient;
    mpz_init_set(x, x_in);
    mpz_init(quotient);
    unsigned long shift = shift_in, zeros = mpz_sgn(x) ? mpz_scan1(x, 0) : shift;
    if (zeros > shift) zeros = shift;
    mpz_tdiv_q_2exp(x, x, zeros);
    shift -= zeros;
    do {
        /* from the top: c[n] = 2^shift d[n-1], c[i] = 2^shift d[i-1] - x d[i] */
        mpz_set_ui(quotient, 0);
        for (int i = p->degree; i >= 1; i--) {
            mpz_addmul(p->c[i], x, quotient);
            mpz_tdiv_q_2exp(quotient, p->c[i], shift);
            mpz_set(p->c[i], quotient);
        }
        for (int i = 0; i < p->degree; i++) mpz_set(p->c[i], p->c[i + 1]);
        mpz_set_ui(p->c[p->degree], 0);
        p->degree--;
    } while (p->degree >= 1 && sign_at(p, x, shift) == 0);
    mpz_clear(x);
    mpz_clear(quotient);
    return 1;
}

/* The number of roots of p in (low, high) / 2^shift, whose ends are no roots: 0, 1, or an upper bound above 1. The remainder sequence is
 * made when Bernstein coefficients leave an interval of 2^-PATIENCE undecided. */
static int roots_between(remainder_sequence *s, int *has_sequence, pd_polynomial *p, const mpz_t low, const mpz_t high,
                         unsigned long shift) {
    enum { PATIENCE = 16 };
    int sign, changes = p->degree < 1 ? 0 : bernstein_changes(p, low, high, shift, &sign);
    if (changes <= 1 || shift < PATIENCE) return changes;
    if (!*has_sequence) {
        remove_content(p);
        sequence_create(s, p, NULL);
        *has_sequence = 1;
    }
    return query(s, low, high, shift);
}

static void add_root(pd_roots *roots, const mpz_t low, const mpz_t high, unsigned long shift, int exact) {
    pd_root *root = &roots->root[roots->n++];
    mpz_init_set(root->low, low);
    mpz_init_set(root->high, high);
    root->shift = shift;
    root->exact = exact;
}

/* Tells whether root a is below root b. Intervals do not overlap and contain no exact root. */
static int lies_below(const pd_root *a, const pd_root *b) {
    mpz_t left, right;
    mpz_init(left);
    mpz_init(right);
    mpz_mul_2exp(left, a->low, b->shift);
    mpz_mul_2exp(right, b->low, a->shift);
    int order = mpz_cmp(left, right);
    mpz_clear(left);
    mpz_clear(right);
    /* the same low end: an exact root and the interval that starts at it */
    return order < 0 || (order == 0 && a->exact);
}

void pd_roots_create(pd_roots *roots, const pd_polynomial *p) {
    pd_polynomial_create(&roots->base);
    pd_polynomial_copy(&roots->base, p);
    roots->n = 0;

    mpz_t low, high, middle;
    mpz_init_set_ui(low, 0);
    mpz_init_set_ui(high, 1);
    mpz_init(middle);
    if (divide_out(&roots->base, low, 0)) add_root(roots, low, low, 0, 1);
    if (divide_out(&roots->base, high, 0)) add_root(roots, high, high, 0, 1);

    /* Bisection. A midpoint that is a root is divided out, and the search restarts without it. Depth by depth: intervals of a depth are
     * numbered, low runs through those with more than one root. */
    int found_exact = 1;
    remainder_sequence sequence;
    while (found_exact && roots->base.degree >= 1) {
        int has_sequence = found_exact = 0;
        pd_root open[PD_POLYNOMIAL_ROOTS];
        int n_open = 0, n_before = roots->n;
        mpz_set_ui(low, 0);
        mpz_set_ui(high, 1);
        int count = roots_between(&sequence, &has_sequence, &roots->base, low, high, 0);
        if (count == 1) add_root(roots, low, high, 0, 0);
        if (count > 1) {
            mpz_init_set(open[0].low, low);
            mpz_init_set(open[0].high, high);
            open[0].shift = 0;
            n_open = 1;
        }
        while (n_open > 0 && !found_exact) {
            pd_root *interval = &open[n_open - 1];
            unsigned long shift = interval->shift + 1;
            mpz_mul_2exp(low, interval->low, 1);
            mpz_mul_2exp(high, interval->high, 1);
            mpz_add_ui(middle, low, 1);
            mpz_clear(interval->low);
            mpz_clear(interval->high);
            n_open--;
            if (divide_out(&roots->base, middle, shift)) {
                for (int i = n_before; i < roots->n; i++) {
                    mpz_clear(roots->root[i].low);
                    mpz_clear(roots->root[i].high);
                }
                roots->n = n_before;
                add_root(roots, middle, middle, shift, 1);
                found_exact = 1;
                break;
            }
            for (int half = 0; half < 2; half++) {
                mpz_srcptr a = half ? middle : low, b = half ? high : middle;
                count = roots_between(&sequence, &has_sequence, &roots->base, a, b, shift);
                if (count == 1) add_root(roots, a, b, shift, 0);
                if (count > 1) {
                    mpz_init_set(open[n_open].low, a);
                    mpz_init_set(open[n_open].high, b);
                    open[n_open++].shift = shift;
                }
            }
        }
        for (int i = 0; i < n_open; i++) {
            mpz_clear(open[i].low);
            mpz_clear(open[i].high);
        }
        if (has_sequence) sequence_destroy(&sequence);
    }
    mpz_clear(low);
    mpz_clear(high);
    mpz_clear(middle);

    /* An interval may contain an exact root that was divided out. Cut it there: the base has no root at that point. */
    for (int i = 0; i < roots->n; i++) {
        pd_root *interval = &roots->root[i];
        if (interval->exact) continue;
        for (int j = 0; j < roots->n; j++) {
            pd_root *point = &roots->root[j];
            if (!point->exact) continue;
            unsigned long shift = interval->shift > point->shift ? interval->shift : point->shift;
            mpz_t x;
            mpz_init(x);
            mpz_mul_2exp(interval->low, interval->low, shift - interval->shift);
            mpz_mul_2exp(interval->high, interval->high, shift - interval->shift);
            mpz_mul_2exp(x, point->low, shift - point->shift);
            interval->shift = shift;
            if (mpz_cmp(interval->low, x) < 0 && mpz_cmp(x, interval->high) < 0) {
                sequence_create(&sequence, &roots->base, NULL);
                mpz_set(query(&sequence, interval->low, x, shift) ? interval->high : interval->low, x);
                sequence_destroy(&sequence);
            }
            mpz_clear(x);
        }
    }
    for (int i = 1; i < roots->n; i++)
        for (int j = i; j > 0 && lies_below(&roots->root[j], &roots->root[j - 1]); j--) {
            pd_root swap = roots->root[j];
            roots->root[j] = roots->root[j - 1];
            roots->root[j - 1] = swap;
        }
}

void pd_roots_destroy(pd_roots *roots) {
    for (int i = 0; i < roots->n; i++) {
        mpz_clear(roots->root[i].low);
        mpz_clear(roots->root[i].high);
    }
    pd_polynomial_destroy(&roots->base);
}

/* Halves the interval of a root until it is 2^-shift wide or the root is found, by the signs of the base. Not possible for equal signs
 * at both ends, as around a root of even multiplicity. */
static void refine(pd_roots *roots, int i, unsigned long shift) {
    pd_root *root = &roots->root[i];
    if (root->exact || root->shift >= shift) return;
    int below = sign_at(&roots->base, root->low, root->shift);
    if (below == sign_at(&roots->base, root->high, root->shift)) return;
    mpz_t middle;
    mpz_init(middle);
    while (root->shift < shift && !root->exact) {
        mpz_add(middle, root->low, root->high);
        mpz_mul_2exp(root->low, root->low, 1);
        mpz_mul_2exp(root->high, root->high, 1);
        root->shift++;
        int sign = sign_at(&roots->base, middle, root->shift);
        root->exact = sign == 0;
        mpz_set(sign == 0 || sign == below ? root->low : root->high, middle);
    }
    mpz_clear(middle);
}

int pd_root_sign(pd_roots *roots, int i, const pd_polynomial *q) {
    enum { STEP = 32, ENOUGH = 512 }; /* bits; an undecided sign is then zero as a rule, which the remainder sequence decides */
    pd_root *root = &roots->root[i];
    for (unsigned long shift = root->shift; q->degree > 0 && !root->exact; shift += STEP) {
        int sign;
        refine(roots, i, shift);
        if (!root->exact && bernstein_changes(q, root->low, root->high, root->shift, &sign) == 0) return sign;
        if (root->shift < shift || shift >= ENOUGH) break;
    }
    if (root->exact) return sign_at(q, root->low, root->shift);
    if (q->degree <= 0) return q->degree < 0 ? 0 : mpz_sgn(q->c[0]);
    remainder_sequence sequence;
    sequence_create(&sequence, &roots->base, q);
    int sign = query(&sequence, root->low, root->high, root->shift);
    sequence_destroy(&sequence);
    return sign;
}

double pd_root_below(pd_roots *roots, int i) {
    enum { BITS = 60 };
    const pd_root *root = &roots->root[i];
    refine(roots, i, BITS);
    mpz_t low, high, middle;
    mpz_init_set(low, root->low);
    mpz_init_set(high, root->high);
    mpz_init(middle);
    unsigned long shift = root->shift;
    if (!root->exact && shift < BITS) {
        remainder_sequence sequence;
        sequence_create(&sequence, &roots->base, NULL);
        while (shift < BITS) {
            shift++;
            mpz_mul_2exp(low, low, 1);
            mpz_mul_2exp(high, high, 1);
            mpz_add(middle, low, high);
            mpz_fdiv_q_2exp(middle, middle, 1);
            if (sign_at(&roots->base, middle, shift) == 0) { /* the root itself: the base has no other in the interval */
                mpz_set(low, middle);
                break;
            }
            mpz_set(query(&sequence, low, middle, shift) ? high : low, middle);
        }
        sequence_destroy(&sequence);
    }
    /* at most 53 bits, the others truncated */
    unsigned long bits = mpz_sgn(low) ? mpz_sizeinbase(low, 2) : 0;
    if (bits > 53) {
        mpz_fdiv_q_2exp(low, low, bits - 53);
        shift -= bits - 53;
    }
    double t = mpz_get_d(low);
    mpz_clear(low);
    mpz_clear(high);
    mpz_clear(middle);
    while (shift > 1000) t = ldexp(t, -1000), shift -= 1000;
    return ldexp(t, -(int)shift);
}
