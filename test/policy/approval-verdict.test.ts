/** Which rules answer a question, and which other questions an answer reaches. */
import { expect, test } from "vitest";
import type { ApprovalRecord, ApprovalRule, NewApproval } from "../../src/core/store/approval-store.ts";
import {
  createAnswerRule,
  createApprovalRule,
  findAnsweringRule,
  parseVerdict,
  ruleAlsoAnswers,
} from "../../src/policy/approval/approval-verdict.ts";

const QUESTION: NewApproval = {
  id: "q1",
  callId: "c1",
  sessionId: "s",
  turnId: "t1",
  toolName: "files::delete",
  description: "Deletes.",
  definition: "d1",
  digest: "x1",
  input: { path: "/a" },
  reason: "It destroys.",
  simulated: false,
  askedAt: 0,
};
const RULE: ApprovalRule = { id: "r1", pattern: "files::delete", scope: "tool", createdAt: 0 };

const RULES: readonly (readonly [string, Partial<ApprovalRule>, boolean])[] = [
  ["its tool", {}, true],
  ["its session", { sessionId: "s" }, true],
  ["another session", { sessionId: "t" }, false],
  ["its input", { scope: "input", digest: "x1" }, true],
  ["another input", { scope: "input", digest: "x2" }, false],
  ["its definition", { definition: "d1" }, true],
  ["another definition", { definition: "d2" }, false],
  ["another tool", { pattern: "files::read" }, false],
  ["a pattern that fits", { scope: "rule", pattern: "files::*" }, true],
  ["a pattern that does not fit", { scope: "rule", pattern: "mail::*" }, false],
  ["a tool whose name is such a pattern", { scope: "tool", pattern: "files::*" }, false],
];

test.each(RULES)("a rule of %s answers a question: %j → %s", (_, parts, answers) => {
  const rule = { ...RULE, ...parts };
  expect(findAnsweringRule([rule], QUESTION)).toEqual(answers ? rule : undefined);
});

test("a rule that is damaged or has an unreadable pattern answers no question, and does not hide other rules", () => {
  const damaged: ApprovalRule = { ...RULE, damage: "The row is not readable." };
  const newer: ApprovalRule = { ...RULE, scope: "rule", pattern: "" };
  expect(findAnsweringRule([damaged, newer], QUESTION)).toBeUndefined();
  expect(findAnsweringRule([damaged, newer, RULE], QUESTION)).toEqual(RULE);
});

test("an answer applies to the other open questions that its rule matches", () => {
  const record = (parts: Partial<ApprovalRecord>): ApprovalRecord => ({ ...QUESTION, id: "q2", position: 2, status: "open", ...parts });
  const rule = { ...RULE, sessionId: "s" };
  const reached = [record({}), record({ id: "q1" }), record({ status: "denied" }), record({ sessionId: "t" })];
  expect(reached.map((one) => ruleAlsoAnswers(rule, one, "q1"))).toEqual([true, false, false, false]);
});

test("H01 a question with a warning is answered only by a rule that answered one in the same session", () => {
  const warned: NewApproval = { ...QUESTION, warned: true };
  const rules: readonly Partial<ApprovalRule>[] = [{}, { sessionId: "s" }, { warnedIn: "t" }, { warnedIn: "s" }];
  const answers = rules.map((parts) => findAnsweringRule([{ ...RULE, ...parts }], warned) !== undefined);
  expect(answers).toEqual([false, false, false, true]);
  expect(findAnsweringRule([{ ...RULE, warnedIn: "s" }], QUESTION)).toEqual({ ...RULE, warnedIn: "s" });
});

test("a question with safety checks is answered only by a rule for that very input", () => {
  const checked: NewApproval = { ...QUESTION, safetyChecks: { code: "malicious" } };
  const rules: readonly Partial<ApprovalRule>[] = [
    {},
    { scope: "rule", pattern: "files::*" },
    { scope: "input", digest: "x2" },
    { scope: "input", digest: "x1" },
  ];
  expect(rules.map((parts) => findAnsweringRule([{ ...RULE, ...parts }], checked) !== undefined)).toEqual([false, false, false, true]);
});

test.each([
  [{ answer: "allow" }, "once"],
  [{ answer: "allow", scope: "input" }, "input"],
  [{ answer: "allow", rule: {} }, "rule"],
  [{ answer: "allow-once" }, "once"],
  [{ answer: "allow-input" }, "input"],
  [{ answer: "allow-always" }, "tool"],
  [{ answer: "allow-always", scope: "tool" }, "tool"],
  [{ answer: "deny" }, undefined],
] as const)("the answer %j has the scope %s", (verdict, scope) => {
  expect(parseVerdict(verdict).scope).toBe(scope);
});

test.each([
  [{ answer: "allow-once", scope: "tool" }, 'The answer "allow-once" cannot have the scope "tool".'],
  [{ answer: "deny", scope: "once" }, 'The answer "deny" cannot have the scope "once".'],
  [{ answer: "allow-always", rule: {} }, 'A rule is given with the answer "allow" and the scope "rule", not with "allow-always".'],
  [{ answer: "deny", rule: {} }, 'A rule is given with the answer "allow" and the scope "rule", not with "deny".'],
] as const)("the answer %j contradicts itself and is rejected", (verdict, message) => {
  expect(() => parseVerdict(verdict)).toThrow(message);
});

test("the answer to a question of a simulation cannot be a rule for other sessions", () => {
  const verdict = parseVerdict({ answer: "allow", rule: { pattern: "files::*" } });
  const stamp = { id: "r", now: 5 };
  expect(createAnswerRule(QUESTION, verdict, stamp)).toEqual({ id: "r", pattern: "files::*", scope: "rule", createdAt: 5 });
  expect(() => createAnswerRule({ ...QUESTION, simulated: true }, verdict, stamp)).toThrow(
    "A simulation asks about files::delete: its answer cannot be a rule for other sessions.",
  );
});

test("a rule that does not match the tool that was asked about is rejected as an answer", () => {
  const verdict = parseVerdict({ answer: "allow", rule: { pattern: "mail::*" } });
  expect(() => createAnswerRule(QUESTION, verdict, { id: "r", now: 5 })).toThrow(
    'The pattern "mail::*" does not match files::delete, which was asked about.',
  );
});

test.each([
  [{ sessionId: 7 }, "sessionId of an approval rule must be a string, not number."],
  [{ by: 7 }, "by of an approval rule must be a string, not number."],
  [{ expires: 7 }, "expires"],
])("the rule %j is rejected: it would apply to more than was meant", (parts, message) => {
  const rule: object = { pattern: "files::*", ...parts };
  expect(() => createApprovalRule(rule as { readonly pattern: string }, { id: "r", now: 5 })).toThrow(message);
});

test("an answer by someone whose name is not a string is rejected", () => {
  const verdict: object = { answer: "allow-once", by: 7 };
  expect(() => parseVerdict(verdict as { readonly answer: "allow-once" })).toThrow('The "by" of an answer must be a string, not number.');
});

test("a rule may expire from the next millisecond until the last time of a date", () => {
  const rule = (expiresAt: number): number | undefined => createApprovalRule({ pattern: "a", expiresAt }, { id: "r", now: 5 }).expiresAt;
  expect([rule(6), rule(8_640_000_000_000_000)]).toEqual([6, 8_640_000_000_000_000]);
  for (const time of [4, 5, 8_640_000_000_000_001, Number.NaN, Infinity]) {
    expect(() => rule(time)).toThrow(`expiresAt of an approval rule is ${time}; it must be a time in the future`);
  }
});
