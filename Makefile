# Stave. `make` builds build/stave; `make help` lists the targets. Sources are found by wildcard: adding a file
# needs no edit here. SAN=1 builds with the address and undefined-behaviour sanitizers into a folder of its own.
SAN ?= 0
VERSION := 0.1.0
BUILD := build$(if $(filter 1,$(SAN)),-san)
CC ?= gcc

WARN := -Wall -Wextra -Wshadow -Wconversion -Wpedantic -Wmissing-prototypes -Wstrict-prototypes -Wvla -Werror
CPPFLAGS += -Isrc -D_GNU_SOURCE -DSTAVE_VERSION='"$(VERSION)"'
CFLAGS += -std=c17 -O2 -g -fno-math-errno -ffp-contract=off $(WARN)
LDLIBS += -lturbojpeg -ljpeg -lpng -lcjson -lyaml -lz -lm -lpthread
ifeq ($(SAN),1)
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif

SRC := $(filter-out src/cli/main.c,$(wildcard src/*/*.c src/backend/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))

$(BUILD)/stave: $(BUILD)/src/cli/main.o $(BUILD)/libstave.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libstave.a: $(OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libstave.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

tests: $(TESTS)

clean:
	rm -rf build build-san

.PHONY: tests clean
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
