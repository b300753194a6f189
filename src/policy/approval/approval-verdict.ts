/** Reads answers to approval questions: the scope of each, and the rule that results from it. */
import type { ApprovalRecord, ApprovalRule, ApprovalScope, NewApproval } from "../../core/store/approval-store.ts";
import type { ApprovalVerdict, NewApprovalRule } from "../../core/approvals/approvals.ts";
import type { ApprovalAnswer } from "../../core/approvals/ask.ts";
import { APPROVAL_SCOPES } from "../../core/store/approval-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { createNameMatcher } from "../permission.ts";

/** An answer, parsed. `scope` is undefined if the answer was no. */
export interface ParsedVerdict {
  readonly scope: ApprovalScope | undefined;
  readonly rule: NewApprovalRule | undefined;
  readonly by: string | undefined;
}

const SCOPES: Readonly<Record<Exclude<ApprovalAnswer, "deny">, ApprovalScope>> = {
  "allow-once": "once",
  "allow-input": "input",
  "allow-always": "tool",
};
const RULE: OptionNames<NewApprovalRule> = { pattern: true, sessionId: true, expiresAt: true, by: true };

/** Whether a value is an answer that an approver may give. */
export function isApprovalAnswer(answer: unknown): answer is ApprovalAnswer {
  return answer === "deny" || (typeof answer === "string" && Object.hasOwn(SCOPES, answer));
}

/** Describes an answer for a message. */
export function describeAnswer(answer: unknown): string {
  return typeof answer === "string" ? JSON.stringify(answer.slice(0, 40)) : `of type ${answer === null ? "null" : typeof answer}`;
}

/** @throws ToolError `invalid_argument` for an invalid answer */
export function parseVerdict({ answer, scope, rule, by }: ApprovalVerdict): ParsedVerdict {
  if (by !== undefined && typeof by !== "string") throw invalidArgumentError(`The "by" of an answer must be a string, not ${typeof by}.`);
  if (scope !== undefined && !APPROVAL_SCOPES.includes(scope))
    throw invalidArgumentError(`The scope of an answer must be one of ${APPROVAL_SCOPES.join(", ")}; this is ${describeAnswer(scope)}.`);
  if (answer !== "allow" && !isApprovalAnswer(answer))
    throw invalidArgumentError(
      `An answer must be "allow-once", "allow-input", "allow-always", "allow" or "deny"; this is ${describeAnswer(answer)}.`,
    );
  const resolvedScope =
    answer === "allow" ? (scope ?? (rule === undefined ? "once" : "rule")) : answer === "deny" ? undefined : SCOPES[answer];
  if (scope !== undefined && scope !== resolvedScope)
    throw invalidArgumentError(`The answer ${describeAnswer(answer)} cannot have the scope "${scope}".`, 'Answer "allow" with a scope.');
  if (rule !== undefined && resolvedScope !== "rule")
    throw invalidArgumentError(`A rule is given with the answer "allow" and the scope "rule", not with ${describeAnswer(answer)}.`);
  return { scope: resolvedScope, rule, by };
}

export interface RuleStamp {
  readonly id: string;
  readonly now: number;
}

/** Returns the rule that results from an answer; undefined if the answer is for one call. @throws ToolError `invalid_argument` */
export function createAnswerRule(question: NewApproval, verdict: ParsedVerdict, stamp: RuleStamp): ApprovalRule | undefined {
  const { scope, by, rule = {} } = verdict;
  const { toolName, sessionId, digest, definition, simulated, warned } = question;
  const shown = warned === true ? { warnedIn: sessionId } : {};
  if (scope === undefined || scope === "once") return undefined;
  if (scope === "rule") {
    if (simulated)
      throw invalidArgumentError(
        `A simulation asks about ${toolName}: its answer cannot be a rule for other sessions.`,
        'Answer with the scope "once", "input" or "tool", which hold until the simulation ends, and add the rule separately.',
      );
    const created = createApprovalRule({ pattern: toolName, ...omitUndefined({ by }), ...rule }, stamp);
    if (patternMatches(created.pattern, toolName)) return { ...created, ...shown };
    throw invalidArgumentError(`The pattern ${JSON.stringify(created.pattern)} does not match ${toolName}, which was asked about.`);
  }
  const ofInput = scope === "input" ? { digest } : {};
  return { id: stamp.id, pattern: toolName, sessionId, definition, ...ofInput, scope, ...shown, createdAt: stamp.now, ...createdBy(by) };
}

/** The last time of a `Date`; stores refuse later ones as damage. */
const MAX_TIME = 8_640_000_000_000_000;

/** @throws ToolError `invalid_argument` for a pattern that cannot be used, or a time that has passed */
export function createApprovalRule(rule: NewApprovalRule & { readonly pattern: string }, { id, now }: RuleStamp): ApprovalRule {
  checkKnownKeys(rule, RULE, "an approval rule");
  const { pattern, sessionId, expiresAt, by } = rule;
  for (const [name, value] of Object.entries({ sessionId, by }))
    if (value !== undefined && typeof value !== "string")
      throw invalidArgumentError(`${name} of an approval rule must be a string, not ${typeof value}.`);
  createNameMatcher([pattern], "pattern", { bareNames: "default" });
  if (expiresAt !== undefined && !(Number.isFinite(expiresAt) && expiresAt > now && expiresAt <= MAX_TIME))
    throw invalidArgumentError(
      `expiresAt of an approval rule is ${String(expiresAt)}; it must be a time in the future, in milliseconds since the epoch, at most ${MAX_TIME}.`,
    );
  return { id, pattern, scope: "rule", createdAt: now, ...createdBy(by), ...omitUndefined({ sessionId, expiresAt }) };
}

function createdBy(by: string | undefined): { readonly createdBy?: string } {
  return by === undefined ? {} : { createdBy: by };
}

/**
 * Whether a rule answers a question. Rules of one input or one tool apply only to the definition that was shown; safety checks of the model's
 * provider are allowed only by a rule for that very input, and a question with a warning only by a rule that answered one in the same session.
 */
function ruleMatches(rule: ApprovalRule, { toolName, sessionId, digest, definition, safetyChecks, warned }: NewApproval): boolean {
  if (warned === true && rule.warnedIn !== sessionId) return false;
  if (rule.digest === undefined && safetyChecks !== undefined) return false;
  if (rule.sessionId !== undefined && rule.sessionId !== sessionId) return false;
  if (rule.digest !== undefined && rule.digest !== digest) return false;
  if (rule.definition !== undefined && rule.definition !== definition) return false;
  return rule.scope === "rule" ? patternMatches(rule.pattern, toolName) : rule.pattern === toolName;
}

function patternMatches(pattern: string, toolName: string): boolean {
  return createNameMatcher([pattern], "pattern", { bareNames: "default" })(toolName) !== undefined;
}

/** Returns the first rule that answers a question. A rule that cannot be read answers none. */
export function findAnsweringRule(rules: readonly ApprovalRule[], question: NewApproval): ApprovalRule | undefined {
  return rules.find((rule) => {
    try {
      return rule.damage === undefined && ruleMatches(rule, question);
    } catch {
      return false; // a pattern of a newer version of Haft
    }
  });
}

/** Whether this rule, made of the answer to another question, answers an open question too. */
export function ruleAlsoAnswers(rule: ApprovalRule, { id, status, ...other }: ApprovalRecord, answered: string): boolean {
  return status === "open" && id !== answered && ruleMatches(rule, { id, ...other });
}

function invalidArgumentError(message: string, hint?: string): ToolError {
  return new ToolError("invalid_argument", message, omitUndefined({ hint }));
}
