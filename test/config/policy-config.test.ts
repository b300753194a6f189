import { expect, test } from "vitest";
import { load, problemsOf } from "./config-folder.ts";

test.each([
  [
    "a pattern that fits no tool",
    '[permission]\nallow = ["*"]\ndeny = ["a::*",\n  "delete"]',
    '4:3: permission.deny[1]: "deny" has the pattern "delete", which matches no tool: names are toolset::tool. Write "*::delete" for this tool in every toolset, or "delete::*" for the whole toolset.',
  ],
  ["an empty pattern", '[approval]\nalways = [""]', '2:11: approval.always[0]: "always" has an empty pattern.'],
  [
    "a pattern that is too long",
    `[approval]\nnever = ["${"*".repeat(1025)}"]`,
    '2:10: approval.never[0]: "never" has a pattern of 1025 characters; 1024 is the limit.',
  ],
  ["a wait below zero", "[retry]\ndelayMs = -1", "2:1: retry.delayMs: must be a number from 0 to 315576000000, not -1."],
  ["waits that get shorter", "[retry]\nfactor = 0.5", "2:1: retry.factor: must be a number from 1 to 100, not 0.5."],
  ["a wait without end", "[retry]\nmaxDelayMs = inf", "2:1: retry.maxDelayMs: must be a number from 0 to 315576000000, not Infinity."],
  ["a spread in numbers", "[retry]\njitter = 0.25", "2:1: retry.jitter: must be a boolean, not a number."],
  ["attempts beside the waits", "[retry]\nmaxAttempts = 2", "2:1: retry.maxAttempts: belongs in runtime, or in a toolset."],
  ["a switch that is a word", '[circuit]\nenabled = "no"', "2:1: circuit.enabled: must be a boolean, not a string."],
  ["no failures", "[circuit]\nfailures = 0", "2:1: circuit.failures: must be an integer from 1, not 0."],
  ["a window too short", "[circuit]\nwindowMs = 9", "2:1: circuit.windowMs: must be a number from 10 to 315576000000, not 9."],
  ["a circuit open for no time", "[circuit]\nopenMs = 0", "2:1: circuit.openMs: must be a number from 1 to 315576000000, not 0."],
  ["half a probe", "[circuit]\nprobes = 1.5", "2:1: circuit.probes: must be an integer from 1, not 1.5."],
  ["a share above one", "[circuit]\nminimumRate = 50", "2:1: circuit.minimumRate: must be a number from 0 to 1, not 50."],
  [
    "a wrong key of a circuit that is off",
    "[circuit]\nenabled = false\nfailure = 3",
    '3:1: circuit.failure: unknown key. Did you mean "failures"?',
  ],
  ["a circuit that is not a table", "circuit = false", "1:1: circuit: must be an object, not a boolean."],
  [
    "a wait for approval in words",
    '[approval]\ntimeoutMs = "5m"',
    "2:1: approval.timeoutMs: must be a number from 0 to 315576000000, not a string.",
  ],
])("F0.57 %s is reported with its place", async (_what, text, problem) => {
  expect(await problemsOf("haft.toml", text)).toEqual([`haft.toml:${problem}`]);
});

test.each([
  ["a circuit that is switched off is none, whatever else is said of it", "[circuit]\nenabled = false\nfailures = 3", false],
  ["a circuit that is named only has the settings of every circuit", "[circuit]", {}],
])("%s", async (_claim, text, circuit) => {
  expect((await load("haft.toml", text)).config.circuit).toEqual(circuit);
});
