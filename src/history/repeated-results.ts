/** Results that refer to an earlier one ("unchanged, see the earlier result"), where that one is not shown any more. */
import type { ModelMessage, ResultMessage } from "../core/message.ts";
import { firstResults } from "./replace-results.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * Puts the content of an earlier result in the place of a result that refers to it (`sameAs`), wherever the earlier one is neither shown
 * nor shown again already. One that is nowhere in `all` leaves a line that says so. Returns `messages` itself when nothing is to be done.
 *
 * @param messages what is shown: part of `all`, some results replaced by a line
 */
export function restateResults(messages: readonly ModelMessage[], all: readonly ModelMessage[]): readonly ModelMessage[] {
  if (!messages.some(refers)) return messages;
  const shown = shownResults(messages);
  let sources: ReadonlyMap<string, ResultMessage> | undefined;
  let changed = false;
  const restated = messages.map((message) => {
    if (!refers(message) || shown.has(message.result.sameAs)) return message;
    sources ??= new Map(firstResults(all).map((result) => [result.callId, result]));
    changed = true;
    const source = sourceOf(message, sources);
    if (source !== undefined) shown.add(message.result.sameAs);
    return source === undefined ? lost(message) : restate(message, source);
  });
  return changed ? restated : messages;
}

type Reference = ResultMessage & { readonly result: { readonly sameAs: string } };

function refers(message: ModelMessage): message is Reference {
  return message.role === "result" && message.result.sameAs !== undefined;
}

/** The calls whose own answers are there, or were put in the place of others. */
function shownResults(messages: readonly ModelMessage[]): Set<string> {
  const shown = new Set<string>();
  for (const message of messages) {
    if (message.role !== "result") continue;
    shown.add(message.callId);
    if (RESTATED.has(message) && message.result.sameAs !== undefined) shown.add(message.result.sameAs);
  }
  for (const message of messages) if (message.role === "result") for (const older of message.supersedes ?? []) shown.delete(older);
  return shown;
}

/** Messages whose content is that of the result they refer to. */
const RESTATED = new WeakSet<ModelMessage>();

/** The result that says it itself; undefined when it is not there. Each is looked at once, so a circle ends. */
function sourceOf(message: Reference, results: ReadonlyMap<string, ResultMessage>): ResultMessage | undefined {
  const seen = new Set<string>();
  let source: ResultMessage | undefined = message;
  while (source?.result.sameAs !== undefined && !seen.has(source.callId)) {
    seen.add(source.callId);
    source = results.get(source.result.sameAs);
  }
  return source?.result.sameAs === undefined ? source : undefined;
}

function restate(
  { role, at, callId, result, ...rest }: Reference,
  { result: { output, content, truncation } }: ResultMessage,
): ResultMessage {
  const { output: _output, content: _content, truncation: _truncation, ...own } = result;
  const said = omitUndefined({ output, content, truncation });
  const restated: ResultMessage = Object.freeze({ role, at, callId, ...rest, result: Object.freeze({ ...own, ...said }) });
  RESTATED.add(restated);
  return restated;
}

const LOST = Object.freeze([
  Object.freeze({ type: "text", text: "[left out: it refers to an earlier result that is no longer kept; make the call again]" } as const),
]);

function lost({ role, at, callId, result, ...rest }: Reference): ResultMessage {
  const { output: _output, sameAs: _sameAs, ...own } = result;
  return Object.freeze({ role, at, callId, ...rest, result: Object.freeze({ ...own, content: LOST }) });
}
