/* After which epochs a run evaluates: first after epoch `offset` (1..every), then every `every`
 * epochs, and always after the last one. Epochs count from 1. */
#ifndef STAVE_EVAL_EVAL_SCHEDULE_H
#define STAVE_EVAL_EVAL_SCHEDULE_H

struct eval_schedule {
    long long every;  /* 0 means 1 */
    long long offset; /* 0 means every */
    long long last;   /* the run's last epoch; 0: not known */
};

/* E_USAGE with a sentence unless 1 <= offset <= every. */
int eval_schedule_check(const struct eval_schedule *s);
int eval_is_due(const struct eval_schedule *s, long long epoch);
/* Epochs from first_epoch (1, or the one after an evaluation) up to and including the next
 * evaluation: the epoch_count of an MLPerf block. */
long long eval_block_epochs(const struct eval_schedule *s, long long first_epoch);

#endif
