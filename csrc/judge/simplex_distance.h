/* Distances of two simplices in double, for the judge's numbers and filters: no verdict rests on them alone, and they share no code with
 * csrc/geometry, whose distances are judged. */
#ifndef PD_JUDGE_SIMPLEX_DISTANCE_H
#define PD_JUDGE_SIMPLEX_DISTANCE_H

/* The square of the distance, m^2, and in gap [3] the vector from the nearest point of the second to that of the first, whose own square
 * may differ from it by rounding. Off by less than 1e-14 of the largest difference of coordinates, a sliver's far side apart. */
double pd_point_segment_squared(double gap[3], const double p[3], const double a[3], const double b[3]);
double pd_point_triangle_squared(double gap[3], const double p[3], const double a[3], const double b[3], const double c[3]);
double pd_segment_segment_squared(double gap[3], const double p[3], const double q[3], const double a[3], const double b[3]);

#endif
