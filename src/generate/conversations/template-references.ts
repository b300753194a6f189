/** Resolves references of a template to the output of earlier calls: `$1.id`, `$order.items[0].id`. */
import { ReferenceReader, referenceId, quoteReference, valueAt, type Reference } from "../../compose/sequence/reference.ts";
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

  /** Remembers the result of the call with this id. */
  addResult(id: string, result: ToolResult): void {
    this.#results.set(referenceId(id), result);
  }

  /** Returns the input of a call with its references resolved. @throws ToolError `invalid_input` for a reference without a value */
  resolveInput({ input }: ToolCall): JsonValue {
    return resolveReferences(input as JsonValue, this.#reader, (reference) => this.#valueOf(reference)); // a template is JSON
  }

  /** Resolves references in a text; a possible amount, such as `$5`, is kept. @throws ToolError `invalid_input` for a reference without a value */
  fillText(text: string): string {
    if (!text.includes("$")) return text;
    let filled = "";
    let from = 0;
    for (const { start, end, reference } of [...this.#findWholeReference(text), ...this.#reader.findParts(text)]) {
      if (reference === undefined || isPossiblyMoney(reference) || start < from) continue;
      filled += text.slice(from, start) + valueText(this.#valueOf(reference));
      from = end;
    }
    return filled + text.slice(from);
  }

  #findWholeReference(text: string): readonly { readonly start: number; readonly end: number; readonly reference: Reference }[] {
    const reference = this.#reader.readWholeText(text);
    return reference === undefined ? [] : [{ start: 0, end: text.length, reference }];
  }

  #valueOf(reference: Reference): JsonValue {
    const result = this.#results.get(reference.id);
    if (result?.output !== undefined && (result.status === "ok" || result.status === "partial")) return valueAt(result.output, reference);
    const why = result === undefined ? "the call it names has not run" : `${result.name} ended with ${result.error?.code ?? "no output"}`;
    throw new ToolError("invalid_input", `The reference ${quoteReference(reference.text)} has no value: ${why}.`);
  }
}

/** Returns the ids of each message's calls, without the dollar: their own, or else their number among all calls of the template, from 1. */
export function callIds(messages: readonly TemplateMessage[]): readonly (readonly string[])[] {
  let count = 0;
  return messages.map((message) =>
    message.role === "assistant"
      ? (message.calls ?? []).map(({ id }) => (++count, id === undefined ? String(count) : referenceId(id)))
      : [],
  );
}

/** Whether a reference may be an amount of money: in a text, `$5` is the amount, not the whole output of a call. */
function isPossiblyMoney({ id, steps }: Reference): boolean {
  return steps.length === 0 && /^\d+$/u.test(id);
}

/** Returns every problem of a template's references, and of the ids they use, in order. */
export function findReferenceProblems(messages: readonly TemplateMessage[]): readonly string[] {
  const ids = callIds(messages);
  const all = ids.flat();
  const twice = [...new Set(all.filter((id, index) => all.indexOf(id) !== index))];
  const problems = twice.map((id) => `two calls have the id ${JSON.stringify(id)}.`);
  const reader = new ReferenceReader(all);
  const earlier = new Set<string>();
  const check = (references: readonly Reference[], where: string): void => {
    for (const { id, text } of references) {
      if (!earlier.has(id)) problems.push(`${where} refers to ${quoteReference(text)}, but no call of an earlier message has that id.`);
    }
  };
  for (const [index, message] of messages.entries()) {
    if (all.length > 0) check(extractReferences(message.content ?? "", reader), `messages[${index}].content`);
    for (const [place, { input = {} }] of (message.role === "assistant" ? (message.calls ?? []) : []).entries()) {
      const found = findReferences(input as JsonValue, reader).map(({ reference }) => reference); // a template is JSON
      check(found, `messages[${index}].calls[${place}]`);
    }
    for (const id of ids[index] ?? []) earlier.add(id);
  }
  return problems;
}

const REFERENCE_FORM = /(?<!\$)\$[\p{L}\p{N}_-]+(?:\.[\p{L}_][\p{L}\p{N}_-]*|\[[^\]\s]{0,128}\])+/gu;

/** Returns the references to known calls, and texts that have the form of a reference to another call. */
function extractReferences(text: string, reader: ReferenceReader): readonly Reference[] {
  if (!text.includes("$")) return [];
  const known = reader
    .findParts(text)
    .flatMap(({ reference }) => (reference === undefined || isPossiblyMoney(reference) ? [] : [reference]));
  const others = Array.from(text.matchAll(REFERENCE_FORM), ([form]) => form).filter(
    (form) => !known.some((one) => form.startsWith(one.text) || one.text.startsWith(form)),
  );
  return [...known, ...others.map((form) => ({ text: form, id: /^[\p{L}\p{N}_-]+/u.exec(form.slice(1))?.[0] ?? "", steps: [] }))];
}
