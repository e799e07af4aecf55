/* Student's t distribution, through the regularised incomplete beta function:
 * P(T <= t) = I_x(df/2, 1/2) / 2 for t <= 0, x = df / (df + t^2); Abramowitz and Stegun 26.5.27.
 * Pure functions, any thread. */
#ifndef STAVE_BASE_STUDENT_H
#define STAVE_BASE_STUDENT_H

/* P(T <= t) with df > 0 degrees of freedom, to 1e-12 or so. */
double student_cdf(double t, double df);
/* Its inverse, 0 < p < 1. */
double student_quantile(double p, double df);

#endif
