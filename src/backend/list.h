/* The backends, one line each: BACKEND(name) promises a descriptor backend_name. STAVE_HAVE_DNNL is
 * set by the Makefile when oneDNN was found; without it backend/cpu is not compiled. */
#ifdef STAVE_HAVE_DNNL
BACKEND(cpu)
#endif
BACKEND(ref)
BACKEND(null)
