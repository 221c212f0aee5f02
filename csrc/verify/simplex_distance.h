/* Distances of two simplices in double, for reported numbers and filters of the verification. No result depends on them alone. They
 * share no code with csrc/geometry, whose distances are verified. */
#ifndef PD_VERIFY_SIMPLEX_DISTANCE_H
#define PD_VERIFY_SIMPLEX_DISTANCE_H

/* The squared distance, m^2, and in gap [3] the vector from the nearest point of the second to that of the first; its own square may
 * differ by rounding. Errors are below 1e-14 of the largest difference of coordinates, except on the far side of a sliver. */
double pd_point_segment_squared(double gap[3], const double p[3], const double a[3], const double b[3]);
double pd_point_triangle_squared(double gap[3], const double p[3], const double a[3], const double b[3], const double c[3]);
double pd_segment_segment_squared(double gap[3], const double p[3], const double q[3], const double a[3], const double b[3]);

#endif
