#include "base/student.h"

#include <math.h>

/* Keeps a continued fraction's denominators away from zero. */
static double not_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated
 * by Lentz's method as Thompson and Barnett modified it. It converges fast for x < (a+1)/(a+b+2).
 */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), f = d;

    for (int m = 1; m < 10000; m++) {
        const double k = m, even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)),
                     odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        double step;

        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        f *= c * d;
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        step = c * d;
        f *= step;
        if (fabs(step - 1) < 1e-16)
            break;
    }
    return f;
}

/* x^a y^b / B(a,b), y = 1 - x. */
static double beta_power(double a, double b, double x, double y)
{
    return exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
}

/* I_x(a,b); y is 1 - x, given for itself because it may be tiny. */
static double incomplete_beta(double a, double b, double x, double y)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    if (x < (a + 1) / (a + b + 2))
        return beta_power(a, b, x, y) * beta_fraction(a, b, x) / a;
    return 1 - beta_power(a, b, x, y) * beta_fraction(b, a, y) / b;
}

double student_cdf(double t, double df)
{
    const double sum = df + t * t;
    double tail;

    if (isinf(t))
        return t < 0 ? 0 : 1;
    tail = incomplete_beta(df / 2, 0.5, df / sum, t * t / sum) / 2;
    return t <= 0 ? tail : 1 - tail;
}

double student_quantile(double p, double df)
{
    double low = -1, high = 1;

    while (student_cdf(low, df) > p)
        low *= 2;
    while (student_cdf(high, df) < p)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-14 * (fabs(low) + fabs(high)); i++) {
        const double mid = (low + high) / 2;

        if (student_cdf(mid, df) < p)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}
