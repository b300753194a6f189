/** Aligns the calls of two sessions: first those with the same tool and input, then between them those with the same tool. */
import { pushAll } from "../../core/collections/push-all.ts";
import { canonicalJson, findCommonPairs, isSameJson } from "./json-diff.ts";

/** The parts of a call that are compared. */
export interface ComparedCall {
  readonly callId: string;
  readonly sessionId: string;
  readonly name: string;
  readonly input: unknown;
  readonly result: ComparedResult | undefined;
}

export interface ComparedResult {
  readonly status: string;
  readonly origin: string;
  readonly durationMs: number;
  readonly output?: unknown;
  readonly content?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
  readonly truncation?: { readonly handle?: unknown };
}

export interface CallPair {
  readonly before: ComparedCall | undefined;
  readonly after: ComparedCall | undefined;
}

export type CallComparison = "same" | "changed" | "not made" | "new" | "no result";

/** Maximum length of lists that are aligned; longer lists are compared index by index. */
const MAX_ALIGNED = 1_500;

export function alignCalls(before: readonly ComparedCall[], after: readonly ComparedCall[]): readonly CallPair[] {
  const isLong = before.length > MAX_ALIGNED || after.length > MAX_ALIGNED;
  const exact = isLong ? [] : findCommonPairs(before.map(callKey), after.map(callKey));
  const pairs: CallPair[] = [];
  let [left, right] = [0, 0];
  for (const [toLeft, toRight] of [...exact, [before.length, after.length] as const]) {
    pushAll(pairs, alignByTool(before.slice(left, toLeft), after.slice(right, toRight)));
    if (toLeft < before.length) pairs.push({ before: before[toLeft], after: after[toRight] });
    [left, right] = [toLeft + 1, toRight + 1];
  }
  return pairs;
}

function alignByTool(before: readonly ComparedCall[], after: readonly ComparedCall[]): readonly CallPair[] {
  const isLong = before.length > MAX_ALIGNED || after.length > MAX_ALIGNED;
  const alike = isLong
    ? before.map((_, index) => [index, index] as const).filter(([index]) => before[index]?.name === after[index]?.name)
    : findCommonPairs(
        before.map(({ name }) => name),
        after.map(({ name }) => name),
      );
  const pairs: CallPair[] = [];
  let [left, right] = [0, 0];
  for (const [toLeft, toRight] of [...alike, [before.length, after.length] as const]) {
    for (const call of before.slice(left, toLeft)) pairs.push({ before: call, after: undefined });
    for (const call of after.slice(right, toRight)) pairs.push({ before: undefined, after: call });
    if (toLeft < before.length) pairs.push({ before: before[toLeft], after: after[toRight] });
    [left, right] = [toLeft + 1, toRight + 1];
  }
  return pairs;
}

/** Whether a call had the same result, apart from its time and origin. */
export function compareCalls({ before, after }: CallPair): CallComparison {
  if (after === undefined) return "not made";
  if (before === undefined) return "new";
  if (before.result === undefined || after.result === undefined) return "no result";
  return isSameJson(toComparable(before.result), toComparable(after.result)) ? "same" : "changed";
}

/** Returns the part of a result that is compared. */
export function toComparable({ status, output, content, error, truncation }: ComparedResult): object {
  const handle = String(truncation?.handle ?? "");
  // A truncated text contains the handle of its own call.
  const shown = typeof output === "string" && handle !== "" ? output.replaceAll(handle, "…") : output;
  return { status, output: shown, content, ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }) };
}

function callKey({ name, input }: ComparedCall): string {
  return `${name} ${canonicalJson(input, 0)}`;
}
