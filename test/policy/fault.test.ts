import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { FAULT_TYPES, type FaultPlan } from "../../src/core/answers/fault.ts";
import { drawFault, faultPolicy, type FaultSubject } from "../../src/policy/faults/fault.ts";
import { NO_CALLS, countCall } from "../../src/policy/faults/fault-tally.ts";
import { createEmptyValue, keepFirstHalf, garbleAnswer } from "../../src/policy/faults/fault-output.ts";

const COUNT = 10_000;

function subjectOf(index: number, toolName = "shop::buy"): FaultSubject {
  return { toolName, session: "one", ...countCall(NO_CALLS, { name: toolName, input: { index } }).sample };
}

/** What each of many different calls meets. */
function draws(plan: FaultPlan, others?: FaultPlan): readonly (string | undefined)[] {
  const policies = [faultPolicy(plan), others === undefined ? undefined : faultPolicy(others)];
  return Array.from({ length: COUNT }, (_, index) => drawFault(policies, subjectOf(index))?.rule.type);
}

function share(drawn: readonly (string | undefined)[], type: string | undefined): number {
  return drawn.filter((one) => one === type).length;
}

/** Three standard deviations of the number of hits among so many. */
function near(count: number, probability: number, of = COUNT): boolean {
  return Math.abs(count - of * probability) <= 3 * Math.sqrt(of * probability * (1 - probability));
}

function refusal(plan: unknown, options = {}): ToolError {
  try {
    faultPolicy(plan as FaultPlan, options);
  } catch (error: unknown) {
    if (error instanceof ToolError) return error;
  }
  throw new Error("The plan was taken.");
}

describe("F0.46 which call gets which fault", () => {
  test.each([0, 0.01, 0.05, 0.3, 1])("F0.46 of 10,000 calls a share of %d is hit, within three standard deviations", (probability) => {
    for (const seed of [0, 1, "a seed"])
      expect(near(share(draws({ seed, rules: [{ type: "network_error", probability }] }), "network_error"), probability)).toBe(true);
  });

  test("F0.46 rules are drawn independently, and one of the rules that hit is chosen uniformly", () => {
    const drawn = draws({
      seed: 7,
      rules: [
        { type: "network_error", probability: 0.3 },
        { type: "timeout", probability: 0.2 },
        { type: "latency", probability: 0 },
      ],
    });
    expect(near(share(drawn, "network_error"), 0.3 * 0.8 + (0.3 * 0.2) / 2)).toBe(true);
    expect(near(share(drawn, "timeout"), 0.2 * 0.7 + (0.3 * 0.2) / 2)).toBe(true);
    expect(near(share(drawn, undefined), 0.7 * 0.8)).toBe(true);
    expect(share(drawn, "latency")).toBe(0);
  });

  test("F0.46 of three rules that always hit, each is chosen a third of the time", () => {
    const types = ["network_error", "timeout", "latency"];
    const drawn = draws({ rules: types.map((type) => ({ type, probability: 1 })) });
    for (const type of types) expect(near(share(drawn, type), 1 / 3)).toBe(true);
  });

  test("F0.46 two plans with the same seed are drawn independently", () => {
    const drawn = draws({ rules: [{ type: "network_error", probability: 0.5 }] }, { rules: [{ type: "timeout", probability: 0.5 }] });
    expect(near(share(drawn, undefined), 0.25)).toBe(true);
    expect(near(share(drawn, "timeout"), 0.25 + 0.25 / 2)).toBe(true);
  });

  test("F0.46 the same seed hits the same calls; another seed, or the same digits as a string, hits others", () => {
    const rules = [{ type: "network_error", probability: 0.5 }];
    const first = draws({ seed: 1, rules });
    expect(draws({ seed: 1, rules })).toEqual(first);
    expect(draws({ seed: 2, rules })).not.toEqual(first);
    expect(draws({ seed: "1", rules })).not.toEqual(first);
  });

  test("F0.46 the tools of one rule do not affect the draws of other rules", () => {
    const rule = { type: "network_error", probability: 0.5 };
    const before = (tools: string): FaultPlan => ({ rules: [{ type: "timeout", probability: 1, tools }, rule] });
    expect(draws(before("mail::*"))).toEqual(draws(before("other::send")));
    expect(new Set(draws(before("mail::*")))).toEqual(new Set(["network_error", undefined]));
  });

  test("F0.46 equal calls are distinguished by how many came before, and the order of their keys does not matter", () => {
    const first = countCall(NO_CALLS, { name: "a::b", input: { x: 1, y: 2 } });
    const second = countCall(first.tally, { name: "a::b", input: { y: 2, x: 1 } });
    expect([first.sample.earlier, second.sample.earlier]).toEqual([0, 1]);
    expect(second.sample.digest).toBe(first.sample.digest);
    expect(countCall(second.tally, { name: "a::c", input: { x: 1, y: 2 } }).sample.earlier).toBe(0);
    const policy = faultPolicy({ rules: [{ type: "timeout", probability: 0.5 }] });
    const met = Array.from({ length: COUNT }, (_, earlier) => policy.findFaults({ ...subjectOf(0), earlier }, 0).length);
    expect(near(met.filter((hits) => hits === 1).length, 0.5)).toBe(true);
  });

  test("F0.46 a latency is drawn evenly between its bounds", () => {
    const policy = faultPolicy({ rules: [{ type: "latency", probability: 1, delayMs: [200, 400] }] });
    const waits = Array.from({ length: COUNT }, (_, index) => policy.findFaults(subjectOf(index), 0)[0]?.delayMs ?? 0);
    expect(waits.every((wait) => wait >= 200 && wait < 400)).toBe(true);
    expect(near(waits.filter((wait) => wait < 300).length, 0.5)).toBe(true);
  });
});

describe("F0.47 an invalid fault plan is rejected at once", () => {
  test.each([
    [undefined, "The faults of a fault plan must be { seed, rules: [{ type, probability }] }."],
    [{ rules: "all" }, "The faults of a fault plan must be { seed, rules: [{ type, probability }] }."],
    [{ seed: Number.NaN, rules: [] }, "The seed of a fault plan is NaN; it takes a number or a string."],
    [{ seed: null, rules: [] }, "The seed of a fault plan is null; it takes a number or a string."],
  ])("F0.47 %j", (plan, message) => {
    expect(refusal(plan)).toMatchObject({ code: "invalid_argument", message });
  });

  test.each([
    [{ probability: 1.5 }, "probability of rules[1] of a fault plan is 1.5; it takes a number from 0 to 1."],
    [{ probability: -0.1 }, "probability of rules[1] of a fault plan is -0.1; it takes a number from 0 to 1."],
    [{ probability: Number.NaN }, "probability of rules[1] of a fault plan is NaN; it takes a number from 0 to 1."],
    [{ probability: "0.5" }, 'probability of rules[1] of a fault plan is "0.5"; it takes a number from 0 to 1.'],
    [{ probability: undefined }, "probability of rules[1] of a fault plan is undefined; it takes a number from 0 to 1."],
    [{ type: "net_error" }, 'type of rules[1] of a fault plan is "net_error", which is not a fault. Did you mean "network_error"?'],
    [{ type: "Time-Out" }, 'type of rules[1] of a fault plan is "Time-Out", which is not a fault. Did you mean "timeout"?'],
    [{ type: "toString" }, 'type of rules[1] of a fault plan is "toString", which is not a fault.'],
    [{ message: 3 }, "message of rules[1] of a fault plan is 3; it takes a string."],
    [{ retryable: "no" }, 'retryable of rules[1] of a fault plan is "no"; it takes a boolean.'],
    [{ attempts: 0 }, "attempts of rules[1] of a fault plan is 0; it takes an integer from 1."],
    [{ attempts: 1.5 }, "attempts of rules[1] of a fault plan is 1.5; it takes an integer from 1."],
    [
      { delayMs: [2, 1] },
      "delayMs of rules[1] of a fault plan is [2,1]; it takes a number of milliseconds, or two of them, the smaller first.",
    ],
    [{ delayMs: [1] }, "delayMs of rules[1] of a fault plan is [1]; it takes a number of milliseconds, or two of them, the smaller first."],
    [{ tools: 1 }, "tools of rules[1] of a fault plan is 1; it takes a pattern over qualified names, or an array of them."],
  ])("F0.47 a rule with %j", (change, message) => {
    const good = { type: "timeout", probability: 0.5 };
    expect(refusal({ rules: [good, { ...good, ...change }] })).toMatchObject({ code: "invalid_argument", message });
  });

  test("F0.47 with invalid times, patterns that cannot match, or rules that are not objects", () => {
    const good = { type: "timeout", probability: 0.5 };
    expect(refusal({ rules: [{ ...good, retryAfterMs: -1 }] }).message).toMatch(
      /^retryAfterMs of rules\[0\] of a fault plan is -1; it takes a number from 0/u,
    );
    expect(refusal({ rules: [{ ...good, delayMs: "1s" }] }).message).toMatch(/^delayMs of rules\[0\] of a fault plan is "1s"/u);
    expect(refusal({ rules: [{ ...good, tools: "send" }] }).message).toMatch(
      /"tools of rules\[0\] of a fault plan" has the pattern "send"/u,
    );
    expect(refusal({ rules: [null] }).message).toMatch(/^rules\[0\] of a fault plan is null/u);
  });

  test("F0.50 with its owner in the message; custom fault types are accepted where otherTypes is set", () => {
    const plan = { rules: [{ type: "index_not_found", probability: 1 }] };
    expect(refusal(plan, { owner: 'toolset "docs"' }).message).toContain('rules[0] of toolset "docs"');
    expect(drawFault([faultPolicy(plan, { otherTypes: true })], subjectOf(1))?.rule.type).toBe("index_not_found");
  });

  test("F0.46 changing a plan afterwards has no effect", () => {
    const rules = [{ type: "timeout", probability: 1 }];
    const policy = faultPolicy({ rules });
    rules.push({ type: "latency", probability: 1 });
    if (rules[0] !== undefined) rules[0].probability = 0;
    expect(policy.findFaults(subjectOf(0), 0).map(({ rule }) => rule.type)).toEqual(["timeout"]);
  });

  test("F0.47 every fault type can be planned", () => {
    expect(() => faultPolicy({ rules: FAULT_TYPES.map((type) => ({ type, probability: 0 })) })).not.toThrow();
  });
});

describe("F0.47 how faults change an answer", () => {
  test("F0.47 a garbled answer is text that is not JSON, under 250 characters long", () => {
    expect(garbleAnswer({ id: 12 })).toBe('<garbled: {"\uFFFDd"\uFFFD12\uFFFD>');
    expect(garbleAnswer("")).toBe("<garbled: >");
    expect(garbleAnswer("x".repeat(1_000_000)).length).toBeLessThan(250);
    expect(garbleAnswer(`${"x".repeat(199)}\u{1F600}`).isWellFormed()).toBe(true);
  });

  test.each([
    [{ type: "array" }, []],
    [{ type: "object" }, {}],
    [{ type: "string" }, ""],
    [{ type: "integer" }, 0],
    [{ type: "boolean" }, false],
    [{ type: ["string", "null"] }, null],
    [{}, []],
    [true, []],
    [undefined, []],
  ])("F0.50 the emptiest value of %j is %j", (schema, value) => {
    expect(createEmptyValue(schema)).toEqual(value);
  });

  test.each([
    [[1, 2, 3], [1]],
    [[1], []],
    [[], null],
    ["abcd", "ab"],
    ["", null],
    [{ a: 1, b: 2, c: 3 }, { a: 1 }],
    [{ a: 1 }, {}],
    [{}, null],
    [5, null],
  ])("H09 the first half of %j is %j", (answer, half) => {
    expect(keepFirstHalf(answer)).toEqual(half);
  });
});
