/* A smooth surface through noisy measurements, and how sure it is of itself at places that nobody
 * measured: Gaussian process regression (Rasmussen, Williams 2006, algorithm 2.1), with a constant
 * mean and the covariance of Matern 5/2 with a length of its own in each dimension. It lets few
 * measurements serve many settings: neighbours vouch for each other, and noise averages out over
 * all of them rather than at each point alone. Besides, each point may be off the surface by an
 * amount of its own (a cliff is not smooth; what was measured there is still believed). Lengths
 * and height are those of a fixed list under which the measurements are likeliest; so the
 * result is a pure function of what was added. No memory of its own; a few hundred kilobytes, so
 * keep it off the stack. */
#ifndef STAVE_VERDICT_SURFACE_H
#define STAVE_VERDICT_SURFACE_H

enum { SURFACE_DIMS = 4, SURFACE_POINTS = 128 };

struct surface {
    int n_dims, n;
    double at[SURFACE_POINTS][SURFACE_DIMS]; /* unit: what the shortest length is given in */
    double value[SURFACE_POINTS], variance[SURFACE_POINTS]; /* of the mean of a point's repeats */
    /* set by surface_learn and surface_fit: */
    double length[SURFACE_DIMS], mean;
    double height; /* standard deviation of the surface */
    double factor[SURFACE_POINTS][SURFACE_POINTS], weight[SURFACE_POINTS];
};

struct estimate {
    double mean, sd; /* of the surface, without the noise of a measurement */
};

void surface_init(struct surface *s, int n_dims);
/* Up to SURFACE_POINTS points; variance > 0, all finite. */
void surface_add(struct surface *s, const double *at, double value, double variance);
/* After the last point; at least one. Chooses lengths and height, and fits. */
void surface_learn(struct surface *s);
/* The same with what was chosen last, from other points perhaps: a hundredth of the work. */
void surface_fit(struct surface *s);
struct estimate surface_at(const struct surface *s, const double *at);

#endif
