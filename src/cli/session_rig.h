/* A workload's model and data on a rig (train/rig.h): what `stave profile`, `stave tune` and
 * `stave run --only STAGE` measure. */
#ifndef STAVE_CLI_SESSION_RIG_H
#define STAVE_CLI_SESSION_RIG_H

#include "cli/setup.h"
#include "train/rig.h"
#include "train/session.h"

struct session_rig {
    struct rig rig; /* its context is this structure, which must not move */
    struct setup *setup;
    struct engine engine;
    struct task task;
    struct session session;
    struct metric *metric;
    long long n_steps;
    int has_session;
};

/* Opens the workload's data. */
int session_rig_open(struct session_rig *r, struct setup *s);
/* And the device, and the model with random weights on it: before anything but RIG_DROP. */
int session_rig_add_model(struct session_rig *r);
void session_rig_close(struct session_rig *r);
/* The loader as the settings say. */
struct rig_loader session_rig_loader(const struct session_rig *r);

#endif
