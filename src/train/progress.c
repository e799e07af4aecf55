#include "train/progress.h"

#include <math.h>

#include "base/clock.h"

static const int64_t event_every_ns = 500000000;

void progress_init(struct progress *p, long long total_steps)
{
    *p = (struct progress){.total_steps = total_steps, .last_ns = clock_ns()};
}

void progress_step(struct progress *p, struct trace *t, struct progress_sample s)
{
    const int64_t now = clock_ns();
    double mean, deviation;

    p->n++;
    p->samples += s.samples;
    p->sum_ns += s.step_ns;
    p->wait_ns += s.wait_ns;
    p->sum_squares += (double)s.step_ns * (double)s.step_ns;
    if (now - p->last_ns < event_every_ns && s.step != p->total_steps)
        return;
    mean = (double)p->sum_ns / (double)p->n;
    deviation = sqrt(fmax(0, p->sum_squares / (double)p->n - mean * mean));
    p->mean_step_ns = p->mean_step_ns > 0 ? 0.8 * p->mean_step_ns + 0.2 * mean : mean;
    TRACE_STEP(t, {.epoch = s.epoch,
                   .step = s.step,
                   .steps_total = p->total_steps,
                   .samples_per_s = (double)p->samples / (double)p->sum_ns * 1e9,
                   .spread = p->n > 1 ? deviation / mean : NAN,
                   .loss = s.loss,
                   .learning_rate = s.lr,
                   .data_wait_share = (double)p->wait_ns / (double)p->sum_ns,
                   .eta_s = (double)(p->total_steps - s.step) * p->mean_step_ns / 1e9});
    p->last_ns = now;
    p->n = p->sum_ns = p->wait_ns = 0;
    p->samples = 0;
    p->sum_squares = 0;
}
