/** Puts what earlier calls of a template answered where a later message refers to it: `$1.id`, `$order.items[0].id`. */
import { ReferenceReader, referenceId, spellReference, valueAt, type Reference } from "../../compose/sequence/reference.ts";
import { findReferences, resolveReferences } from "../../compose/sequence/resolve-input.ts";
import type { ToolCall } from "../../core/call.ts";
import { valueText } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonValue } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { TemplateMessage } from "./conversation-template.ts";

export class TemplateReferences {
  readonly #reader: ReferenceReader;
  readonly #results = new Map<string, ToolResult>();

  constructor(messages: readonly TemplateMessage[]) {
    this.#reader = new ReferenceReader(callIds(messages).flat());
  }

  /** Remembers what the call of this id answered. */
  learn(id: string, result: ToolResult): void {
    this.#results.set(referenceId(id), result);
  }

  /** @throws ToolError `invalid_input` where a reference has no value */
  resolve({ input }: ToolCall): JsonValue {
    return resolveReferences(input as JsonValue, this.#reader, (reference) => this.#valueOf(reference)); // a template is JSON
  }

  /** A text with the values in it; what has none, and what may be an amount of money, stays as it is. */
  fill(text: string): string {
    let filled = "";
    let from = 0;
    for (const { start, end, reference } of [...this.#wholly(text), ...this.#reader.inside(text)]) {
      const value = reference === undefined || reference.steps.length === 0 ? undefined : this.#valueOrNone(reference);
      if (value === undefined || start < from) continue;
      filled += text.slice(from, start) + valueText(value);
      from = end;
    }
    return filled + text.slice(from);
  }

  #wholly(text: string): readonly { readonly start: number; readonly end: number; readonly reference: Reference }[] {
    const reference = this.#reader.whole(text);
    return reference === undefined ? [] : [{ start: 0, end: text.length, reference }];
  }

  #valueOrNone(reference: Reference): JsonValue | undefined {
    try {
      return this.#valueOf(reference);
    } catch {
      return undefined;
    }
  }

  #valueOf(reference: Reference): JsonValue {
    const result = this.#results.get(reference.id);
    if (result?.output !== undefined && (result.status === "ok" || result.status === "partial")) return valueAt(result.output, reference);
    const why = result === undefined ? "the call it names has not run" : `${result.name} ended with ${result.error?.code ?? "no output"}`;
    throw new ToolError("invalid_input", `The reference ${spellReference(reference.text)} has no value: ${why}.`);
  }
}

/** By message, the ids of its calls without their dollar: their own, or else their number among all calls of the template, from 1. */
export function callIds(messages: readonly TemplateMessage[]): readonly (readonly string[])[] {
  let count = 0;
  return messages.map((message) =>
    message.role === "assistant"
      ? (message.calls ?? []).map(({ id }) => (++count, id === undefined ? String(count) : referenceId(id)))
      : [],
  );
}

/** What is wrong with the references of a template, and with the ids that they go by; undefined when nothing is. */
export function wrongReference(messages: readonly TemplateMessage[]): string | undefined {
  const ids = callIds(messages);
  const all = ids.flat();
  const seen = new Set<string>();
  const twice = all.find((id) => seen.size === seen.add(id).size);
  if (twice !== undefined) return `two calls have the id ${JSON.stringify(twice)}.`;
  const reader = new ReferenceReader(all);
  const earlier = new Set<string>();
  for (const [index, message] of messages.entries()) {
    for (const [place, { input = {} }] of (message.role === "assistant" ? (message.calls ?? []) : []).entries()) {
      const stray = findReferences(input as JsonValue, reader).find(({ reference }) => !earlier.has(reference.id));
      if (stray !== undefined)
        return `messages[${index}].calls[${place}] refers to ${spellReference(stray.reference.text)}, and no call of an earlier message has that id.`;
    }
    for (const id of ids[index] ?? []) earlier.add(id);
  }
  return undefined;
}
