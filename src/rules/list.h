/* Every ruleset, one a line: RULESET(name) is `const struct ruleset ruleset_NAME`. */
RULESET(4_0_0)
