/** Selects the candidate of a model's reply that becomes the tool's result. */
import { pushAll } from "../../core/collections/push-all.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { valueText } from "../../core/content.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ReplyCandidate } from "../../core/model.ts";
import { withoutEmpty, type OutputContract } from "./output-contract.ts";
import { findReplyProblem, readReply } from "./read-reply.ts";

/** A result, the error that the simulated tool reports, or the problems of an invalid reply. */
export type Verdict = { readonly output: JsonValue } | { readonly error: string } | { readonly problems: readonly string[] };

export interface ReplyRules {
  readonly contract: OutputContract;
  readonly facts: JsonValue | undefined;
  /** Maximum number of characters of a candidate; a longer one is invalid. */
  readonly maxChars: number;
}

const MAX_CANDIDATES = 128;

/** The valid result of the most likely candidate that has one, else the most likely reported error, else the problems of all candidates. */
export function chooseCandidate(candidates: readonly ReplyCandidate[], rules: ReplyRules): Verdict {
  const problems: string[] = [];
  let reported: Verdict | undefined;
  for (const [index, { text }] of likeliestFirst(candidates.slice(0, MAX_CANDIDATES))) {
    const verdict = evaluateText(text, rules);
    if ("output" in verdict) return verdict;
    if ("error" in verdict) reported ??= verdict;
    else
      pushAll(
        problems,
        verdict.problems.map((problem) => (candidates.length === 1 ? problem : `candidate ${index + 1}: ${problem}`)),
      );
  }
  return reported ?? { problems };
}

function likeliestFirst(candidates: readonly ReplyCandidate[]): readonly (readonly [number, ReplyCandidate])[] {
  const rank = ({ logProbability }: ReplyCandidate): number =>
    Number.isFinite(logProbability) ? (logProbability ?? 0) : -Number.MAX_VALUE;
  return [...candidates.entries()].toSorted(([, one], [, other]) => rank(other) - rank(one));
}

function evaluateText(text: string, rules: ReplyRules): Verdict {
  if (text.length > rules.maxChars) return { problems: [`the reply has more than ${rules.maxChars} characters`] };
  const objects = readReply(text).filter((object) => Object.keys(object).length > 0);
  const verdicts: Verdict[] = [];
  for (const object of objects) {
    const verdict = evaluateObject(object, rules);
    if ("output" in verdict) return verdict;
    verdicts.push(verdict);
  }
  const found = verdicts.find((verdict) => "error" in verdict) ?? verdicts[0];
  return found ?? { problems: [findReplyProblem(text) ?? "the reply contains no JSON object that is not empty"] };
}

function evaluateObject(object: JsonObject, { contract, facts }: ReplyRules): Verdict {
  if (!contract.hasSchema) return { output: contract.withFacts(object, facts) };
  let problems: readonly string[] | undefined;
  for (const variant of variantsOf(object, contract)) {
    const output = contract.withFacts(variant, facts);
    const found = contract.findProblems(output);
    if (found.length === 0) return { output };
    problems ??= found;
  }
  const error = getOwn(object, "error");
  if (error !== undefined && isTruthy(error)) return { error: valueText(error) };
  return { problems: problems ?? [`the reply has none of the declared properties, only ${namesOf(object)}`] };
}

/** The possible readings of the object, the most likely first. */
function* variantsOf(object: JsonObject, contract: OutputContract): Generator<JsonValue> {
  const result = getOwn(object, "result");
  if (contract.isWrapped) {
    if (result === undefined) return;
    const cleaned = withoutEmpty(result);
    if (cleaned !== undefined) yield cleaned;
    yield result;
    return;
  }
  yield* objectReadings(object, contract);
  if (result === undefined || contract.declares("result")) return;
  if (isJsonObject(result)) yield* objectReadings(result, contract);
  else yield result; // as instructed, if the schema allows other values besides objects
}

/** The declared properties without empty values, then with them, then the whole object: a schema may require an empty value. */
function* objectReadings(object: JsonObject, contract: OutputContract): Generator<JsonObject> {
  const declared = contract.pickDeclared(object);
  const cleaned = withoutEmpty(declared);
  if (isJsonObject(cleaned)) yield cleaned;
  if (Object.keys(declared).length > 0) yield declared;
  if (Object.keys(declared).length !== Object.keys(object).length && Object.keys(declared).length > 0) yield object;
}

/** Whether the value of `error` reports an error. */
function isTruthy(value: JsonValue): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

function namesOf(object: JsonObject): string {
  const names = Object.keys(object)
    .slice(0, 5)
    .map((name) => JSON.stringify(name.slice(0, 40)));
  return Object.keys(object).length > 5 ? `${names.join(", ")}, …` : names.join(", ");
}
