# Stave. `make` builds build/stave; `make help` lists the targets. Sources are found by wildcard:
# adding a file needs no edit here. DNNL=0 leaves the oneDNN backend out; WERROR=0 lets warnings pass.
# Builds that look for mistakes have folders of their own: SAN=1 the address and undefined-behaviour
# sanitizers, TSAN=1 the thread sanitizer (without oneDNN, whose threads it can not follow), HOSTILE=1
# base/hostile.h, FUZZ=1 libFuzzer's targets (clang).
VERSION := 0.1.0
KIND := $(if $(filter 1,$(SAN)),-san)$(if $(filter 1,$(TSAN)),-tsan)$(if $(filter 1,$(HOSTILE)),-hostile)$(if $(filter 1,$(FUZZ)),-fuzz)
ifeq ($(FUZZ),1)
CC := $(or $(shell command -v clang-14),clang)
CFLAGS ?= -O1 -gline-tables-only
endif
ifneq ($(filter 1,$(FUZZ) $(TSAN)),)
DNNL := 0
endif
WERROR ?= $(if $(filter 12 14.%,$(shell $(CC) -dumpversion)),1,0)
PREFIX ?= /usr/local
BUILD ?= build$(KIND)
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))

# What is here. A macro's value or "" when its header is not found.
probe = $(shell printf '\043include <$(1)>\n$(2)\n' | \
	$(CC) $(CPPFLAGS) -E -P -x c - 2>/dev/null | tail -n 1 | tr -d ' "')
HAVE_JPEG := $(call probe,jpeglib.h,JPEG_LIB_VERSION)
HAVE_PNG := $(call probe,png.h,PNG_LIBPNG_VER_STRING)
HAVE_CJSON := $(call probe,cjson/cJSON.h,CJSON_VERSION_MAJOR.CJSON_VERSION_MINOR)
HAVE_YAML := $(call probe,yaml.h,yes)
HAVE_ZLIB := $(call probe,zlib.h,ZLIB_VERSION)
DNNL ?= $(call probe,oneapi/dnnl/dnnl_version.h,DNNL_VERSION_MAJOR.DNNL_VERSION_MINOR.DNNL_VERSION_PATCH)
override DNNL := $(filter-out 0,$(DNNL))
CUDA := $(shell PATH="$$PATH:/usr/local/cuda/bin" nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
MPI := $(shell command -v mpicc 2>/dev/null)
# The chart library of reports, as Debian and Ubuntu install it.
CHART_JS ?= $(firstword $(wildcard /usr/share/javascript/chart.js/chart.min.js \
	/usr/share/nodejs/chart.js/dist/chart.min.js))
MISSING := $(strip $(foreach l,JPEG PNG CJSON YAML ZLIB,$(if $(HAVE_$(l)),,$(l))))
NEEDS_LIBS := $(filter-out clean help format format-check check-deps,$(or $(MAKECMDGOALS),all))
ifneq ($(and $(MISSING),$(NEEDS_LIBS)),)
$(error headers not found: $(MISSING); tools/setup installs them)
endif
ifneq ($(and $(NEEDS_LIBS),$(if $(CHART_JS),,1)),)
$(error chart.min.js not found: the chart library of reports; tools/setup installs it (libjs-chart.js), or CHART_JS=FILE names it)
endif

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wconversion -Wpedantic -Wmissing-prototypes -Wstrict-prototypes -Wvla
CPPFLAGS += -Isrc -D_GNU_SOURCE -DSTAVE_VERSION='"$(VERSION)"' \
	-DSTAVE_DNNL='"$(DNNL)"' $(if $(DNNL),-DSTAVE_HAVE_DNNL)
FLAGS := -std=c17 $(CFLAGS) -fno-math-errno -ffp-contract=off $(WARN)
LDLIBS += -ljpeg -lpng -lcjson -lyaml -lz -lm -lpthread $(if $(DNNL),-ldnnl -fopenmp)
ifeq ($(SAN),1)
FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
ifeq ($(TSAN),1)
FLAGS += -fsanitize=thread
LDFLAGS += -fsanitize=thread
endif
ifeq ($(HOSTILE),1)
CPPFLAGS += -DSTAVE_HOSTILE
endif
ifeq ($(FUZZ),1)
FLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
FLAGS += $(CFLAGS_EXTRA)

SRC := $(wildcard src/*/*.c src/backend/*/*.c)
SRC := $(filter-out src/cli/main.c $(if $(DNNL),,src/backend/cpu/%),$(SRC))
OBJ := $(SRC:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o
EMBEDDED := $(sort $(wildcard src/rules/data/*)) $(BUILD)/report.page
PAGE := $(addprefix src/report/page/page.,html css js)
TESTS := $(filter-out $(if $(DNNL),,tests/test_cpu_%.c),$(wildcard tests/test_*.c))
TESTS := $(TESTS:tests/%.c=$(BUILD)/tests/%)
FUZZERS := $(filter-out tests/fuzz/fuzz_image.c,$(wildcard tests/fuzz/fuzz_*.c))
FUZZERS := $(FUZZERS:tests/fuzz/%.c=$(BUILD)/%)
HELPERS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tests/test_%,$(wildcard tests/*.c)))
say = @printf '  %-5s %s\n' $(1) $@

all: $(BUILD)/stave $(BUILD)/stave.1

$(BUILD)/stave: $(BUILD)/src/cli/main.o $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libstave.a: $(OBJ) $(BUILD)/sources
	$(call say,AR)
	@rm -f $@ && $(AR) rcs $@ $(OBJ)

$(BUILD)/src/backend/cpu/%.o: private FLAGS += -O3 -fopenmp
$(BUILD)/tests/%.o: private CPPFLAGS += -Itests -DSTAVE_BUILD='"$(BUILD)"'
$(BUILD)/report.page: $(PAGE) $(CHART_JS) tools/page $(BUILD)/flags
	$(call say,PAGE)
	@tools/page src/report/page $(CHART_JS) >$@.tmp && mv $@.tmp $@
# The text files that the program carries with it, see base/embedded.h.
$(BUILD)/embedded.c: $(EMBEDDED) $(BUILD)/sources tools/embed
	$(call say,EMBED)
	@tools/embed $(EMBEDDED) >$@.tmp && mv $@.tmp $@
$(BUILD)/embedded.o: $(BUILD)/embedded.c $(BUILD)/flags
	@$(CC) $(CPPFLAGS) $(FLAGS) -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC)
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(FLAGS) $(if $(filter 1,$(WERROR)),-Werror) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(HELPERS) $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

# A driver's library that plays what tests/test_probe_gpu.c wants.
$(BUILD)/libnvidia-ml-stub.so: tests/nvml/stub.c tests/nvml/stub.h $(BUILD)/flags
	$(call say,LINK)
	@$(CC) $(CPPFLAGS) $(FLAGS) $(if $(filter 1,$(WERROR)),-Werror) -fPIC -shared $(LDFLAGS) -o $@ $<
$(BUILD)/tests/test_probe_gpu: | $(BUILD)/libnvidia-ml-stub.so

# Clang's runtimes are linked in, so a target runs wherever the program's libraries are.
$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/fuzz.o $(BUILD)/tests/fuzz/fuzz_image.o $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(BUILD)/nomem: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/nomem/*.c)) $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/throttle: $(BUILD)/tests/throttle/throttle.o $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

# Records what tests/test_loader_search.c replays.
$(BUILD)/loader_grid: $(BUILD)/tests/record/loader_grid.o $(BUILD)/libstave.a
	$(call say,LINK)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/stave.1: $(BUILD)/stave
	$(call say,MAN)
	@$< man >$@.tmp && mv $@.tmp $@

# Two stamps that change only when their text does: other flags rebuild all, a file added or removed
# rebuilds the archive.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' '$(subst ','\'',$(CC) $(CPPFLAGS) $(FLAGS) $(LDFLAGS) $(LDLIBS) $(CHART_JS))' >$@.new
	@if cmp -s $@ $@.new; then rm $@.new; else mv $@.new $@; printf '%s\n' $(FOUND); fi
$(BUILD)/sources: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' $(SRC) $(EMBEDDED) >$@.new
	@if cmp -s $@ $@.new; then rm $@.new; else mv $@.new $@; fi

FOUND = 'stave $(VERSION) with $(CC) $(shell $(CC) -dumpfullversion 2>/dev/null || $(CC) -dumpversion), into $(BUILD)/' \
	'  oneDNN  $(or $(DNNL),not found: no cpu backend; tools/setup installs it)' \
	'  CUDA    $(if $(CUDA),$(CUDA) found; this version has no backend for it,not found)' \
	'  MPI     $(if $(MPI),$(MPI) found; this version runs on one machine,not found)' \
	'  libjpeg $(HAVE_JPEG)  libpng $(HAVE_PNG)  cJSON $(HAVE_CJSON)  zlib $(HAVE_ZLIB)'

tests: $(TESTS) all
fuzz: ; @$(MAKE) FUZZ=1 fuzzers
fuzzers: $(FUZZERS)
# A folder that another machine runs without anything installed: bundle/run SECONDS.
fuzz-bundle: ; @$(MAKE) FUZZ=1 bundle
bundle: $(FUZZERS)
	@rm -rf $(BUILD)/bundle && mkdir -p $(BUILD)/bundle/lib && cp $(FUZZERS) $(BUILD)/bundle
	@cp tests/fuzz/run $(BUILD)/bundle
	@ldd $(FUZZERS) | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | grep -E 'lib(jpeg|png|cjson|yaml|z|stdc|gcc)' | sort -u | xargs cp -Lt $(BUILD)/bundle/lib
nomem: $(BUILD)/nomem ; @$< $(STRIDE)
throttle: $(BUILD)/throttle ; @$< $(SEED)
man: $(BUILD)/stave.1
check: ; ./check
check-unit: $(if $(NAMES),all $(NAMES:%=$(BUILD)/tests/test_%),tests) ; @tests/run $(BUILD)/tests $(NAMES)
faults: tests ; @tests/faults/run
check-deps: ; @tools/check-deps
format: ; @tools/format
format-check: ; @tools/format --check
install: all
	install -D -m 755 $(BUILD)/stave $(DESTDIR)$(PREFIX)/bin/stave
	install -D -m 644 $(BUILD)/stave.1 $(DESTDIR)$(PREFIX)/share/man/man1/stave.1
clean: ; rm -rf build build-*
help:
	@echo 'make [SAN=1] [TSAN=1] [HOSTILE=1] [DNNL=0] [CFLAGS=...] [CFLAGS_EXTRA=...] [WERROR=0] TARGET'
	@echo '  all (default)  build/stave and its man page     tests       the test programs'
	@echo '  check-unit     build and run the tests          check       everything; see ./check'
	@echo '                 NAMES="pipeline train": those only'
	@echo '  check-deps     includes and sizes               man         build/stave.1'
	@echo '  faults         break one thing at a time and demand that the named tests fail'
	@echo '  fuzz           the fuzz targets (clang); tests/fuzz/run SECONDS runs them'
	@echo '  fuzz-bundle    the same as a folder for another machine'
	@echo '  nomem          let each allocation fail in turn [STRIDE=N: each N-th]'
	@echo '  throttle       hold one stage of training back and see whether it is named [SEED=N]'
	@echo '  format         rewrite by .clang-format         format-check  only look'
	@echo '  install        to DESTDIR and PREFIX            clean       remove the build folders'

FORCE:
.PHONY: all tests fuzz fuzzers fuzz-bundle bundle nomem throttle man check check-unit faults check-deps format format-check install clean help FORCE
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
