#include "data/open_files.h"

#include <unistd.h>

static struct open_file *taken(struct open_files *v, struct open_file *f)
{
    f->n_users++;
    f->used = ++v->clock;
    return f;
}

struct open_file *open_files_take(struct open_files *v, uint64_t file)
{
    for (int i = 0; i < v->n; i++)
        if (v->all[i].file == file)
            return taken(v, &v->all[i]);
    return NULL;
}

static struct open_file *make_room(struct open_files *v)
{
    struct open_file *oldest = NULL;

    if (v->n < v->max)
        return &v->all[v->n++];
    for (int i = 0; i < v->n; i++)
        if (v->all[i].n_users == 0 && (!oldest || v->all[i].used < oldest->used))
            oldest = &v->all[i];
    if (oldest)
        close(oldest->fd);
    return oldest;
}

struct open_file *open_files_keep(struct open_files *v, uint64_t file, int fd)
{
    struct open_file *const f = make_room(v);

    if (!f)
        return NULL;
    *f = (struct open_file){.file = file, .fd = fd};
    return taken(v, f);
}

void open_files_give(struct open_file *f)
{
    f->n_users--;
}

void open_files_release(struct open_files *v)
{
    for (int i = 0; i < v->n; i++)
        close(v->all[i].fd);
    *v = (struct open_files){0};
}
