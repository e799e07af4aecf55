/* The live view: what is drawn, and how it shares a terminal with lines that stay. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/screen.h"
#include "trace/live.h"
#include "trace/sinks.h"
#include "vt.h"

/* ---- a state ---- */

static void tell(struct live *l, enum trace_key key, double elapsed_s, struct trace_value value,
                 const struct trace_pair *meta)
{
    live_event(
        l, &(struct trace_event){
               .key = key, .value = value, .meta = meta, .elapsed_ns = (int64_t)(elapsed_s * 1e9)});
}

static void tell_step(struct live *l, double elapsed_s, double rate, double wait)
{
    const struct trace_pair meta[] = {{"epoch_num", trace_int(3)},
                                      {"step_num", trace_int(1180)},
                                      {"steps_total", trace_int(3120)},
                                      {"samples_per_s", trace_real(rate)},
                                      {"samples_per_s_spread_ratio", trace_real(0.024)},
                                      {"loss", trace_real(1.23456)},
                                      {"data_wait_ratio", trace_real(wait)},
                                      {"eta_s", trace_real(1211)},
                                      {0}};

    tell(l, KEY_step, elapsed_s, trace_none(), meta);
}

static size_t column(const char *name)
{
    size_t i = 0;

    while (strcmp(live_column(i), name) != 0)
        i++;
    return i;
}

/* Values that rise to `last` within nine seconds. */
static void rise(struct live *l, const char *name, double last)
{
    for (int s = 1; s <= 10; s++)
        live_sample(l, column(name), 700 + s, last * (s < 9 ? s : 9) / 9);
}

static void start(struct live *l, double wait)
{
    const struct trace_pair epoch[] = {{"epoch_num", trace_int(2)}, {0}};

    live_open(l, &(struct live_about){
                     .name = "resnet50", .unit = "images", .metric = "top-1", .target = 0.864});
    tell(l, KEY_init_start, 0, trace_none(), NULL);
    tell(l, KEY_run_start, 10, trace_none(), NULL);
    tell(l, KEY_eval_accuracy, 400, trace_real(0.8359), epoch);
    for (int s = 1; s <= 10; s++)
        tell_step(l, 700 + s, 19.35 * s, wait);
    l->now_ns = (int64_t)734e9;
}

static void measure(struct live *l)
{
    static const struct {
        const char *name;
        double value;
    } all[] = {{"cpu_process_percent", 192},
               {"cpu_machine_percent", 198},
               {"cpu_throttled_percent", 0},
               {"memory_anon_bytes", 1.25e9},
               {"memory_file_bytes", 3.4e9},
               {"memory_limit_bytes", 16e9},
               {"data_resident_percent", 25},
               {"disk_read_bytes_per_s", 144.04e6},
               {"disk_write_bytes_per_s", 512e3},
               {"disk_busy_percent", 34},
               {"disk_queue", 1.2},
               {"pressure_cpu_percent", 3},
               {"pressure_memory_percent", 0},
               {"pressure_io_percent", 50},
               {"ingest_write_bytes_per_s", 999.96e6},
               {"ingest_latency_mean_ms", 0.4},
               {"ingest_latency_max_ms", 12},
               {"gpu0_sm_percent", 98},
               {"gpu0_memory_used_bytes", 20.1e9},
               {"gpu0_power_w", 310}};

    for (size_t i = 0; i < COUNT_OF(all); i++)
        rise(l, all[i].name, all[i].value);
}

static char *drawn(const struct live *l, struct live_space space)
{
    struct str out = STR_INIT;

    str_add(&out, "");
    live_draw(l, &space, &out);
    return str_detach(&out);
}

static void assert_drawn(const struct live *l, struct live_space space, const char *expected)
{
    char *const text = drawn(l, space);

    assert_string_equal(text, expected);
    free(text);
}

/* ---- what is drawn ---- */

static void draws_80_columns(void **state)
{
    struct live l;

    (void)state;
    start(&l, 0.021);
    measure(&l);
    assert_drawn(&l, (struct live_space){.columns = 80, .rows = 24},
                 "resnet50: training, epoch 3, step 1180 of 3120, 12 min 04 s\n"
                 "progress    █████████░░░░░░░░░░░░░░░  38 %, ETA 20 min 11 s\n"
                 "rate                       ▂▃▃▄▅▆▆▇█  194 images/s ±2 %, loss 1.2346\n"
                 "top-1       0.8359, target 0.864, after epoch 2\n"
                 "staves      the model is the shortest stave, data waited for 2 % of the time\n"
                 "  loader    ████████████████████████  keeps up\n"
                 "  model     ████████████████████████  198 images/s\n"
                 "processors                 ▂▃▃▄▅▆▆▇█  1.92, machine 1.98\n"
                 "memory                     ▂▃▃▄▅▆▆▇█  anonymous 1.2 GB, limit 16.0 GB\n"
                 "page cache                 ▂▃▃▄▅▆▆▇█  files 3.4 GB, data set in memory 25 %\n"
                 "disk read                  ▂▃▃▄▅▆▆▇█  144.0 MB/s, busy 34 %, queue 1.2\n"
                 "disk write                 ▂▃▃▄▅▆▆▇█  512.0 kB/s\n"
                 "pressure                   ▁▂▂▃▃▃▄▄▅  disk 50 %, processors 3 %, memory 0 %\n"
                 "ingest                     ▂▃▃▄▅▆▆▇█  1.0 GB/s, latency 0.4 ms, at most 12.0 ms\n"
                 "gpu 0                      ▂▃▃▄▅▆▆▇█  98 %, memory 20.1 GB, 310 W\n");
    live_release(&l);
}

static void draws_40_columns_in_ascii(void **state)
{
    struct live l;

    (void)state;
    start(&l, 0.37);
    measure(&l);
    assert_drawn(&l, (struct live_space){.columns = 40, .rows = 24, .is_ascii = 1},
                 "resnet50: training, epoch 3\n"
                 "progress    ##... 38 %, ETA 20 min 11 s\n"
                 "rate        =++*# 194 images/s +-2 %\n"
                 "top-1       0.8359, target 0.864\n"
                 "staves      loader shortest, wait 37 %\n"
                 "  loader    ###.. 194 images/s\n"
                 "  model     ##### 307 images/s\n"
                 "processors  =++*# 1.92, machine 1.98\n"
                 "memory      =++*# anonymous 1.2 GB\n"
                 "page cache  =++*# files 3.4 GB\n"
                 "disk read   =++*# 144.0 MB/s, busy 34 %\n"
                 "disk write  =++*# 512.0 kB/s\n"
                 "pressure    ::--= disk 50 %\n"
                 "ingest      =++*# 1.0 GB/s\n"
                 "gpu 0       =++*# 98 %, memory 20.1 GB\n");
    live_release(&l);
}

/* Without numbers of the machine, and when the loader holds things up. */
static void draws_120_columns_without_probes(void **state)
{
    struct live l;

    (void)state;
    start(&l, 0.37);
    live_sample(&l, column("cpu_machine_percent"), 700, NAN);
    assert_drawn(&l, (struct live_space){.columns = 120, .rows = 24},
                 "resnet50: training, epoch 3, step 1180 of 3120, 12 min 04 s\n"
                 "progress    ███████████████░░░░░░░░░░░░░░░░░░░░░░░░░  38 %, ETA 20 min 11 s\n"
                 "rate                                       ▂▃▃▄▅▆▆▇█  194 images/s ±2 %, loss "
                 "1.2346\n"
                 "top-1       0.8359, target 0.864, after epoch 2\n"
                 "staves      the loader is the shortest stave, data waited for 37 % of the time\n"
                 "  loader    █████████████████████████░░░░░░░░░░░░░░░  194 images/s\n"
                 "  model     ████████████████████████████████████████  307 images/s without "
                 "waiting\n");
    live_release(&l);
}

static void draws_every_phase(void **state)
{
    const struct live_space space = {.columns = 60, .rows = 24, .is_coloured = 1};
    struct live l;

    (void)state;
    live_open(&l, &(struct live_about){.name = "resnet50"});
    assert_drawn(&l, space, "\033[1mresnet50: waiting for a run to start\033[0m\n");
    tell(&l, KEY_init_start, 0, trace_none(), NULL);
    assert_drawn(&l, space, "\033[1mresnet50: preparing the run\033[0m\n");
    tell(&l, KEY_run_start, 1, trace_none(), NULL);
    tell(&l, KEY_eval_start, 62, trace_none(), NULL);
    assert_drawn(&l, space, "\033[1mresnet50: evaluating, 1 min 01 s\033[0m\n");
    tell(&l, KEY_run_stop, 63, trace_none(),
         (const struct trace_pair[]){{"status", trace_string("success")}, {0}});
    assert_drawn(&l, space, "\033[1mresnet50: finished after 1 min 02 s\033[0m\n");
    live_again(&l);
    assert_drawn(&l, space, "\033[1mresnet50: waiting for a run to start\033[0m\n");
    live_release(&l);
}

/* What a file says is no order to the terminal. */
static void texts_are_made_printable(void **state)
{
    struct live l;

    (void)state;
    live_open(&l, &(struct live_about){.name = "a\033[31mb\r\n日本"});
    assert_drawn(&l, (struct live_space){.columns = 30, .rows = 24},
                 "a\\x1b[31mb\\x0d\\x0a日本: waiti\n");
    tell(&l, KEY_run_stop, 1, trace_none(),
         (const struct trace_pair[]){{"status", trace_string("\033[2J\a")}, {0}});
    assert_string_equal(l.status, "\\x1b[2J\\x07");
    live_release(&l);
}

/* Numbers from damaged files. */
static void odd_numbers_are_not_known(void **state)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -1};
    struct live l;

    (void)state;
    start(&l, NAN);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        live_sample(&l, column("disk_queue"), 5, odd[i]);
        live_sample(&l, column("disk_queue"), odd[i], 5);
        assert_true(isnan(l.columns[column("disk_queue")].now));
    }
    live_sample(&l, column("disk_queue"), 1e300, 5);
    assert_int_equal(l.columns[column("disk_queue")].history.n, 0);
    live_release(&l);
}

/* Of the pressures the largest has its history shown. What is measured seldom stays for a while. */
static void the_largest_pressure_and_rare_numbers_are_shown(void **state)
{
    const struct live_space space = {.columns = 40, .rows = 24, .is_ascii = 1};
    struct live l;

    (void)state;
    live_open(&l, &(struct live_about){0});
    rise(&l, "pressure_io_percent", 0);
    rise(&l, "pressure_cpu_percent", 90);
    live_sample(&l, column("data_resident_percent"), 710, 25);
    live_sample(&l, column("data_resident_percent"), 719, NAN);
    assert_drawn(&l, space,
                 "waiting for a run to start\n"
                 "page cache        data set in memory 25\n"
                 "pressure    ==+** disk 0 %\n");
    live_sample(&l, column("data_resident_percent"), 721, NAN);
    assert_true(isnan(l.columns[column("data_resident_percent")].now));
    live_release(&l);
}

/* A mean for each second; a second without a sample is a gap. */
static void history_has_a_mean_for_each_second(void **state)
{
    const struct live_history *h;
    struct live l;

    (void)state;
    start(&l, 0);
    h = &l.columns[column("disk_queue")].history;
    live_sample(&l, column("disk_queue"), 5.1, 2);
    live_sample(&l, column("disk_queue"), 5.9, 4);
    live_sample(&l, column("disk_queue"), 8.0, 1);
    live_sample(&l, column("disk_queue"), 9.0, 7);
    assert_int_equal(h->n, 4);
    assert_true(h->past[0] == 3 && isnan(h->past[1]) && isnan(h->past[2]) && h->past[3] == 1);
    for (int s = 10; s < 200; s++)
        live_sample(&l, column("disk_queue"), s, s);
    assert_int_equal(h->n, LIVE_HISTORY);
    assert_true(h->past[LIVE_HISTORY - 1] == 198 && h->past[0] == 199 - LIVE_HISTORY);
    live_release(&l);
}

/* Whatever the window: nothing wraps, nothing scrolls. */
static void fits_every_window(void **state)
{
    struct live l;

    (void)state;
    start(&l, 0.37);
    measure(&l);
    for (int columns = 2; columns <= 130; columns++)
        for (int rows = 2; rows <= 30; rows += 4) {
            char *const text = drawn(
                &l,
                (struct live_space){.columns = columns, .rows = rows, .is_coloured = columns % 2});
            struct vt v;

            vt_open(&v, columns - 1, rows);
            for (const char *p = text; *p; p++)
                vt_feed(&v, *p == '\n' ? "\r\n" : p, *p == '\n' ? 2 : 1);
            assert_int_equal(v.n_wrapped, 0);
            assert_int_equal(v.n_scrolled, 0);
            assert_true(v.row <= rows - 2);
            vt_close(&v);
            free(text);
        }
    live_release(&l);
}

/* ---- on a terminal ---- */

/* A run that is shown on a terminal in memory. */
struct shown {
    struct pty pty;
    struct vt vt;
    struct trace trace;
};

static double last_of(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "cpu_process_percent") == 0 ? 150 : NAN;
}

static void show(struct shown *s, int columns, int rows)
{
    setenv("TERM", "xterm", 1);
    setenv("LANG", "C.UTF-8", 1);
    setenv("NO_COLOR", "1", 1);
    s->pty = pty_open(columns, rows);
    vt_open(&s->vt, columns, rows);
    vt_feed(&s->vt, "$ stave\r\n", 9);
    trace_open(&s->trace);
    assert_int_equal(trace_add(&s->trace, &terminal_sink,
                               &(struct terminal_options){.fd = s->pty.slave,
                                                          .name = "resnet50",
                                                          .unit = "images",
                                                          .target = 0.5,
                                                          .last = last_of}),
                     0);
}

static void emit_step(struct shown *s, long long step)
{
    TRACE_STEP(&s->trace, {.epoch = 1,
                           .step = step,
                           .steps_total = 400,
                           .samples_per_s = 1234.4,
                           .spread = 0.02,
                           .loss = 1.5,
                           .learning_rate = 0.1,
                           .data_wait_share = 0.125,
                           .eta_s = 250});
}

static void end_of_run(struct shown *s)
{
    TRACE_END(&s->trace, run_stop, trace_none(), {"status", trace_string("success")});
    assert_int_equal(trace_close(&s->trace), 0);
}

/* What a slow machine makes of "0 s". */
static void forget_seconds(char *text)
{
    for (char *p = text; (p = strstr(p, " s")); p++)
        if (p[-1] >= '0' && p[-1] <= '9' && p[-2] == ' ')
            p[-1] = '0';
}

static void assert_screen(struct shown *s, const char *expected)
{
    char *text;

    pty_drain(&s->pty, &s->vt);
    text = vt_text(&s->vt);
    forget_seconds(text);
    assert_string_equal(text, expected);
    assert_int_equal(s->vt.column, 0);
    free(text);
    vt_close(&s->vt);
}

/* Lines that stay are all that is there in the end, in their order, on a screen that scrolls, too.
 */
static void the_view_leaves_plain_lines(void **state)
{
    struct shown s;

    (void)state;
    show(&s, 80, 12);
    TRACE_START(&s.trace, init_start, trace_none());
    pty_wait(&s.pty, &s.vt, "$ stave\n\nresnet50: preparing the run\n");
    TRACE_START(&s.trace, run_start, trace_none());
    emit_step(&s, 100);
    pty_wait(&s.pty, &s.vt, "progress    ██████░░░░░░░░░░░░░░░░░░  25 %, ETA 4 min 10 s\n");
    pty_wait(&s.pty, &s.vt, "1.50\n"); /* processors, from the meter */
    for (long long e = 1; e <= 12; e++) {
        TRACE_POINT(&s.trace, eval_accuracy, trace_real(0.05 * (double)e),
                    {"epoch_num", trace_int(e)});
        emit_step(&s, 100 + e);
        if (e % 4 == 0)
            pty_wait(&s.pty, &s.vt,
                     e == 4   ? "step 104 of 400"
                     : e == 8 ? "step 108 of 400"
                              : "step 112 of 400");
    }
    end_of_run(&s);
    assert_screen(&s, "$ stave\n"
                      "epoch 1: quality 0.0500 (target 0.5), 0 s\n"
                      "epoch 2: quality 0.1000 (target 0.5), 0 s\n"
                      "epoch 3: quality 0.1500 (target 0.5), 0 s\n"
                      "epoch 4: quality 0.2000 (target 0.5), 0 s\n"
                      "epoch 5: quality 0.2500 (target 0.5), 0 s\n"
                      "epoch 6: quality 0.3000 (target 0.5), 0 s\n"
                      "epoch 7: quality 0.3500 (target 0.5), 0 s\n"
                      "epoch 8: quality 0.4000 (target 0.5), 0 s\n"
                      "epoch 9: quality 0.4500 (target 0.5), 0 s\n"
                      "epoch 10: quality 0.5000 (target 0.5), 0 s\n"
                      "epoch 11: quality 0.5500 (target 0.5), 0 s\n"
                      "epoch 12: quality 0.6000 (target 0.5), 0 s\n"
                      "target reached after 0 s; best so far 0.6000\n");
}

/* stderr is the terminal while warnings come, from this thread and another one. */
static void *warn_often(void *context)
{
    for (int i = 0; i < 10; i++)
        warning("%s %d", (const char *)context, i);
    return NULL;
}

static void warnings_stay_above_the_view(void **state)
{
    const int saved = dup(STDERR_FILENO);
    char other[] = "other";
    pthread_t thread;
    struct shown s;
    char *text, *first, *second;

    (void)state;
    show(&s, 80, 40);
    dup2(s.pty.slave, STDERR_FILENO);
    TRACE_START(&s.trace, run_start, trace_none());
    emit_step(&s, 100);
    pty_wait(&s.pty, &s.vt, "progress");
    pthread_create(&thread, NULL, warn_often, other);
    warn_often((char[]){"mine"});
    pthread_join(thread, NULL);
    emit_step(&s, 200);
    pty_wait(&s.pty, &s.vt, "step 200 of 400");
    text = vt_text(&s.vt);
    assert_non_null(strstr(text, "\n\nresnet50: training, epoch 1, step 200 of 400"));
    free(text);
    end_of_run(&s);
    dup2(saved, STDERR_FILENO);
    close(saved);
    pty_drain(&s.pty, &s.vt);
    text = vt_text(&s.vt);
    for (int i = 0; i < 10; i++) { /* each whole, each thread's in order */
        char *const a = xasprintf("\nstave: warning: mine %d\n", i),
                    *const b = xasprintf("\nstave: warning: other %d\n", i);
        first = strstr(text, a);
        second = strstr(text, b);
        if (!first || !second)
            fail_msg("not \"%s\" and \"%s\" in %s", a, b, text);
        free(a);
        free(b);
    }
    assert_null(strstr(text, "progress"));
    assert_non_null(strstr(text, "\nfinished after 0 s\n"));
    free(text);
    vt_close(&s.vt);
}

/* Each view is drawn for the window that is there now. */
static void the_window_may_change(void **state)
{
    struct shown s;

    (void)state;
    show(&s, 80, 24);
    TRACE_START(&s.trace, run_start, trace_none());
    emit_step(&s, 100);
    pty_wait(&s.pty, &s.vt, "the loader is the shortest stave, data waited for 12 % of the time");
    assert_int_equal(ioctl(s.pty.slave, TIOCSWINSZ, &(struct winsize){.ws_row = 5, .ws_col = 40}),
                     0);
    s.vt.columns = 40;
    s.vt.rows = 5;
    pty_wait(&s.pty, &s.vt, "progress    █░░░░ 25 %");
    end_of_run(&s);
    pty_drain(&s.pty, &s.vt);
    assert_int_equal(s.vt.n_wrapped, 0);
    assert_int_equal(s.vt.n_scrolled, 0);
    vt_close(&s.vt);
}

static void a_terminal_that_can_not_draw_gets_plain_lines(void **state)
{
    static const char *const terms[] = {"dumb", "", NULL};
    struct shown s;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(terms); i++) {
        show(&s, 80, 24);
        trace_close(&s.trace);
        if (terms[i])
            setenv("TERM", terms[i], 1);
        else
            unsetenv("TERM");
        assert_false(screen_can_draw(s.pty.slave));
        pty_drain(&s.pty, &s.vt);
        vt_close(&s.vt);
    }
}

/* A view that stands there is not written again, and each one is one write. */
static void what_stands_there_is_not_written(void **state)
{
    static const char view[] = "\r\033[K\r\none\033[K\r\ntwo\033[K\033[J\033[2A\r";
    const ssize_t n = sizeof(view) - 1;
    struct pty p = pty_open(80, 24);
    char bytes[4096];

    (void)state;
    setenv("TERM", "xterm", 1);
    screen_open(p.slave);
    assert_int_equal(screen_draw("one\ntwo\n"), 0);
    assert_int_equal(read(p.master, bytes, sizeof(bytes)), n);
    assert_memory_equal(bytes, view, (size_t)n);
    assert_int_equal(screen_draw("one\ntwo\n"), 0);
    screen_line_begin();
    screen_line_end();
    assert_int_equal(screen_draw("one\ntwo\n"), 0);
    assert_int_equal(read(p.master, bytes, sizeof(bytes)), 4 + n);
    assert_memory_equal(bytes, "\r\033[J", 4);
    assert_memory_equal(bytes + 4, view, (size_t)n);
    screen_close();
    assert_int_equal(screen_draw("three\n"), 0);
    assert_int_equal(read(p.master, bytes, sizeof(bytes)), 4);
    close(p.slave);
    close(p.master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_80_columns),
        cmocka_unit_test(draws_40_columns_in_ascii),
        cmocka_unit_test(draws_120_columns_without_probes),
        cmocka_unit_test(draws_every_phase),
        cmocka_unit_test(texts_are_made_printable),
        cmocka_unit_test(odd_numbers_are_not_known),
        cmocka_unit_test(the_largest_pressure_and_rare_numbers_are_shown),
        cmocka_unit_test(history_has_a_mean_for_each_second),
        cmocka_unit_test(fits_every_window),
        cmocka_unit_test(the_view_leaves_plain_lines),
        cmocka_unit_test(warnings_stay_above_the_view),
        cmocka_unit_test(the_window_may_change),
        cmocka_unit_test(a_terminal_that_can_not_draw_gets_plain_lines),
        cmocka_unit_test(what_stands_there_is_not_written),
    };

    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
