/* bf16 in this backend: whether the processor has it, and which mixtures of types have kernels. */
#include <oneapi/dnnl/dnnl_debug.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/err.h"
#include "base/str.h"

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    static const char prefix[] = "cpu_isa_";
    const char *const name = dnnl_cpu_isa2str(isa);

    return strncmp(name, prefix, strlen(prefix)) == 0 ? name + strlen(prefix) : name;
}

/* Each instruction set is a mask that holds those it includes; without bf16 instructions the
 * library widens to float32, which is slower than float32 from the start. */
int cpu_has_bf16(void)
{
    const unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();
    const unsigned wanted = (unsigned)dnnl_cpu_isa_avx512_core_bf16;

    return (isa & wanted) == wanted
               ? 0
               : err(E_UNSUPPORTED,
                     "this processor has no bfloat16 arithmetic (%s; AVX-512 with BF16 is needed)",
                     isa_name((dnnl_cpu_isa_t)isa));
}

static int agrees(const struct tensor *t, int narrow)
{
    return (t->dtype != DT_F32 && t->dtype != DT_BF16) || (t->dtype == DT_BF16) == narrow;
}

static int fits(const struct node *n, unsigned narrow_in, unsigned narrow_out)
{
    for (int k = 0; k < n->n_in; k++)
        if (!agrees(n->in[k], op_bit(narrow_in, k)))
            return 0;
    for (int k = 0; k < n->op->n_out; k++)
        if (!agrees(n->out[k], op_bit(narrow_out, k)))
            return 0;
    return 1;
}

static int declined(const struct node *n, const char *wanted)
{
    struct str types = STR_INIT;
    int code;

    for (int k = 0; k < n->n_in; k++)
        str_printf(&types, "%s%s", k ? ", " : "", dtype_name(n->in[k]->dtype));
    for (int k = 0; k < n->op->n_out; k++)
        str_printf(&types, "%s%s", k ? ", " : " to ", dtype_name(n->out[k]->dtype));
    code = err(E_UNSUPPORTED, "it has no kernel from %s; wanted %s", types.s, wanted);
    str_release(&types);
    return code;
}

int cpu_wide_only(struct device *d, struct step *s)
{
    (void)d;
    return fits(s->node, 0, 0) ? 0 : declined(s->node, "f32 throughout");
}

int cpu_wide_or_narrow(struct device *d, struct step *s)
{
    const struct op *const op = s->node->op;

    (void)d;
    return fits(s->node, 0, 0) || fits(s->node, op->narrow_in, op->narrow_out)
               ? 0
               : declined(s->node, "f32 throughout, or bf16 wherever this op may have it");
}
