/** Restores results that refer to an earlier one ("unchanged, see the earlier result") if that one is no longer shown. */
import type { ModelMessage, ResultMessage } from "../core/message.ts";
import { firstResults } from "./replace-results.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * Replaces a result that refers to an earlier one (`sameAs`) with the content of the earlier one, unless that is shown, or was restated before. If
 * the earlier result is not in `all`, a line says so. Returns `messages` itself if nothing changes.
 *
 * @param messages what is shown: part of `all`, with some results replaced by a line
 */
export function restateResults(messages: readonly ModelMessage[], all: readonly ModelMessage[]): readonly ModelMessage[] {
  if (!messages.some(isReference)) return messages;
  const shown = findShownResults(messages);
  let sources: ReadonlyMap<string, ResultMessage> | undefined;
  let changed = false;
  const restated = messages.map((message) => {
    if (!isReference(message) || shown.has(message.result.sameAs)) return message;
    sources ??= firstResults(all);
    changed = true;
    const source = findSource(message, sources);
    if (source !== undefined) shown.add(message.result.sameAs);
    return source === undefined ? toLostResult(message) : restateResult(message, source);
  });
  return changed ? restated : messages;
}

type Reference = ResultMessage & { readonly result: { readonly sameAs: string } };

export function isReference(message: ModelMessage): message is Reference {
  return message.role === "result" && message.result.sameAs !== undefined;
}

/** The calls whose own results are shown, directly or restated in place of others. */
function findShownResults(messages: readonly ModelMessage[]): Set<string> {
  const shown = new Set<string>();
  for (const message of messages) if (message.role === "result") shown.add(message.callId);
  for (const message of messages) if (message.role === "result") for (const older of message.supersedes ?? []) shown.delete(older);
  for (const message of messages) if (isReference(message) && RESTATED.has(message)) shown.add(message.result.sameAs); // even if superseded
  return shown;
}

/** Messages that have the content of the result that they refer to. */
const RESTATED = new WeakSet<ModelMessage>();

/** Follows references to the result with the content; undefined if it is missing. Each result is visited once, so that a cycle ends. */
function findSource(message: Reference, results: ReadonlyMap<string, ResultMessage>): ResultMessage | undefined {
  const seen = new Set<string>();
  let source: ResultMessage | undefined = message;
  while (source?.result.sameAs !== undefined && !seen.has(source.callId)) {
    seen.add(source.callId);
    source = results.get(source.result.sameAs);
  }
  return source?.result.sameAs === undefined ? source : undefined;
}

function restateResult(
  { role, at, callId, result, ...rest }: Reference,
  { result: { output, content, truncation } }: ResultMessage,
): ResultMessage {
  const { output: _output, content: _content, truncation: _truncation, ...own } = result;
  const restored = omitUndefined({ output, content, truncation });
  const restated: ResultMessage = Object.freeze({ role, at, callId, ...rest, result: Object.freeze({ ...own, ...restored }) });
  RESTATED.add(restated);
  return restated;
}

const LOST_CONTENT = Object.freeze([
  Object.freeze({ type: "text", text: "[left out: it refers to an earlier result that is no longer kept; make the call again]" } as const),
]);

function toLostResult({ role, at, callId, result, ...rest }: Reference): ResultMessage {
  const { output: _output, sameAs: _sameAs, ...own } = result;
  return Object.freeze({ role, at, callId, ...rest, result: Object.freeze({ ...own, content: LOST_CONTENT }) });
}
