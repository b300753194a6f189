/** Which rules answer a question, and which other questions an answer reaches. */
import { expect, test } from "vitest";
import type { ApprovalRecord, ApprovalRule, NewApproval } from "../../src/core/approval-store.ts";
import { ruleAlsoAnswers, findAnsweringRule } from "../../src/policy/approval/approval-verdict.ts";

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
