/** Checks a generated conversation for ids that appear nowhere before, unresolved references, and answers with values that are in no result. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ContentPart } from "../../core/content.ts";
import type { ModelMessage } from "../../core/message.ts";
import type { ToolResult } from "../../core/result.ts";
import { isIdName } from "./id-names.ts";
import { Grounds } from "./grounding.ts";

/** Number of problems of each kind in one conversation, or in several. */
export interface ConversationChecks {
  /** Id inputs whose value is in no earlier result and in no text of the user or the system. */
  readonly danglingIds: number;
  /** References of a template that remained unresolved in a text or an input. */
  readonly unresolvedReferences: number;
  /** Answers with a number or an id that is in no result and no message of the user. */
  readonly ungroundedAnswers: number;
  /** Conversations whose last message is not the assistant's. */
  readonly openEnds: number;
  /** Conversations with the same messages as an earlier one in the file. */
  readonly duplicates: number;
}

export const NO_PROBLEMS: ConversationChecks = Object.freeze({
  danglingIds: 0,
  unresolvedReferences: 0,
  ungroundedAnswers: 0,
  openEnds: 0,
  duplicates: 0,
});

/** The names of each count, singular and plural. */
export const CHECK_WORDS = {
  danglingIds: ["dangling id", "dangling ids"],
  unresolvedReferences: ["unresolved reference", "unresolved references"],
  ungroundedAnswers: ["answer with values that are in no result", "answers with values that are in no result"],
  openEnds: ["conversation without a last answer", "conversations without a last answer"],
  duplicates: ["duplicate", "duplicates"],
} as const satisfies Record<keyof ConversationChecks, readonly [string, string]>;

export const CHECK_NAMES = Object.keys(CHECK_WORDS) as readonly (keyof ConversationChecks)[]; // the keys of the literal

export function hasProblems(checks: ConversationChecks): boolean {
  return CHECK_NAMES.some((name) => checks[name] > 0);
}

/** Returns texts such as `2 dangling ids`, for each count above 0. */
export function problemWords(checks: ConversationChecks): readonly string[] {
  if (checks === NO_PROBLEMS) return [];
  return CHECK_NAMES.flatMap((name) => (checks[name] === 0 ? [] : [`${checks[name]} ${CHECK_WORDS[name][checks[name] === 1 ? 0 : 1]}`]));
}

/** Returns a pattern for references to a call by its number, or by one of these ids. */
function referencePattern(ids: readonly string[]): RegExp {
  const named = ids.filter((id) => !/^\d+$/u.test(id)).map((id) => id.replaceAll(/[^\w-]/gu, String.raw`\$&`));
  return new RegExp(String.raw`(?<![\w$])\$(?:\d+${named.map((id) => `|${id}`).join("")})(?:\.[\p{L}_]|\[["'\d])`, "u");
}

const BY_NUMBER = referencePattern([]);

/** A conversation with its calls and results. */
export interface CheckedConversation {
  readonly system: string | undefined;
  readonly messages: readonly ModelMessage[];
}

/** Counts the problems in a conversation. @param callIds the ids of a template's calls, by which it refers to them */
export function checkConversation({ system, messages }: CheckedConversation, callIds: readonly string[] = []): ConversationChecks {
  const check = new Check(callIds.length === 0 ? BY_NUMBER : referencePattern(callIds));
  if (system !== undefined) check.said(system);
  for (const message of messages) {
    if (message.role === "call") check.called((message.call.input ?? {}) as JsonValue); // recorded calls are JSON
    else if (message.role === "result") check.answered(message.result);
    else if (message.role === "assistant") check.spoken(textOf(message.content));
    else check.said(textOf(message.content));
  }
  return check.counts(messages.at(-1)?.role);
}

function textOf(content: string | readonly ContentPart[]): string {
  return typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

const MAX_DEPTH = 32;

class Check {
  readonly #grounds = new Grounds();
  readonly #reference: RegExp;
  #danglingIds = 0;
  #unresolvedReferences = 0;
  #ungroundedAnswers = 0;

  constructor(reference: RegExp) {
    this.#reference = reference;
  }

  said(text: string): void {
    this.#refers(text);
    this.#grounds.addText(text);
  }

  spoken(text: string): void {
    this.#refers(text);
    if (this.#grounds.missing(text).length > 0) this.#ungroundedAnswers++;
  }

  answered(result: ToolResult): void {
    this.#grounds.addResult(result);
  }

  called(input: JsonValue, name = "", depth = 0): void {
    if (depth > MAX_DEPTH) return;
    if (isJsonArray(input)) for (const item of input) this.called(item, name, depth + 1);
    else if (isJsonObject(input)) for (const [key, value] of Object.entries(input)) this.called(value, key, depth + 1);
    else if (typeof input === "string" || typeof input === "number") {
      if (typeof input === "string") this.#refers(input);
      if (isIdName(name) && input !== "" && !this.#grounds.holds(String(input))) this.#danglingIds++;
    }
  }

  counts(lastRole: string | undefined): ConversationChecks {
    if (lastRole === "assistant" && this.#danglingIds + this.#unresolvedReferences + this.#ungroundedAnswers === 0) return NO_PROBLEMS;
    return {
      danglingIds: this.#danglingIds,
      unresolvedReferences: this.#unresolvedReferences,
      ungroundedAnswers: this.#ungroundedAnswers,
      openEnds: lastRole === "assistant" ? 0 : 1,
      duplicates: 0,
    };
  }

  #refers(text: string): void {
    if (text.includes("$") && this.#reference.test(text)) this.#unresolvedReferences++;
  }
}
