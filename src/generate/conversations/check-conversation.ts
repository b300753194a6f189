/** Checks a generated conversation for ids that appear nowhere before, unresolved references, and answers with values that are in no result. */
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { ContentPart } from "../../core/content.ts";
import type { ModelMessage } from "../../core/message.ts";
import type { ToolResult } from "../../core/result.ts";
import { isIdName } from "./id-names.ts";
import { GroundedValues } from "./grounded-values.ts";

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
export const CHECK_LABELS = {
  danglingIds: ["dangling id", "dangling ids"],
  unresolvedReferences: ["unresolved reference", "unresolved references"],
  ungroundedAnswers: ["answer with values that are in no result", "answers with values that are in no result"],
  openEnds: ["conversation without a last answer", "conversations without a last answer"],
  duplicates: ["duplicate", "duplicates"],
} as const satisfies Record<keyof ConversationChecks, readonly [string, string]>;

export const CHECK_NAMES = Object.keys(CHECK_LABELS) as readonly (keyof ConversationChecks)[]; // the keys of the literal

export function hasProblems(checks: ConversationChecks): boolean {
  return CHECK_NAMES.some((name) => checks[name] > 0);
}

/** Returns texts such as `2 dangling ids`, for each count above 0. */
export function formatProblems(checks: ConversationChecks): readonly string[] {
  if (checks === NO_PROBLEMS) return [];
  return CHECK_NAMES.flatMap((name) => (checks[name] === 0 ? [] : [`${checks[name]} ${CHECK_LABELS[name][checks[name] === 1 ? 0 : 1]}`]));
}

/** Returns a pattern for references to a call by its number, or by one of these ids. */
function createReferencePattern(ids: readonly string[]): RegExp {
  const named = ids.filter((id) => !/^\d+$/u.test(id)).map((id) => id.replaceAll(/[^\w-]/gu, String.raw`\$&`));
  return new RegExp(String.raw`(?<![\w$])\$(?:\d+${named.map((id) => `|${id}`).join("")})(?:\.[\p{L}_]|\[["'\d])`, "u");
}

const NUMBER_REFERENCE = createReferencePattern([]);

/** A conversation with its calls and results. */
export interface CheckedConversation {
  readonly system: string | undefined;
  readonly messages: readonly ModelMessage[];
}

/** Counts the problems in a conversation. @param callIds the ids of a template's calls, by which it refers to them */
export function checkConversation({ system, messages }: CheckedConversation, callIds: readonly string[] = []): ConversationChecks {
  const check = new ConversationChecker(callIds.length === 0 ? NUMBER_REFERENCE : createReferencePattern(callIds));
  if (system !== undefined) check.addText(system);
  for (const message of messages) {
    if (message.role === "call") check.checkInput((message.call.input ?? {}) as JsonValue); // recorded calls are JSON
    else if (message.role === "result") check.addResult(message.result);
    else if (message.role === "assistant") check.checkAnswer(contentText(message.content));
    else check.addText(contentText(message.content));
  }
  return check.toCounts(messages.at(-1)?.role);
}

function contentText(content: string | readonly ContentPart[]): string {
  return typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

const MAX_DEPTH = 32;

class ConversationChecker {
  readonly #grounds = new GroundedValues();
  readonly #reference: RegExp;
  #danglingIds = 0;
  #unresolvedReferences = 0;
  #ungroundedAnswers = 0;

  constructor(reference: RegExp) {
    this.#reference = reference;
  }

  addText(text: string): void {
    this.#checkReferences(text);
    this.#grounds.addText(text);
  }

  checkAnswer(text: string): void {
    this.#checkReferences(text);
    if (this.#grounds.findUngrounded(text).length > 0) this.#ungroundedAnswers++;
  }

  addResult(result: ToolResult): void {
    this.#grounds.addResult(result);
  }

  checkInput(input: JsonValue, name = "", depth = 0): void {
    if (depth > MAX_DEPTH) return;
    if (isJsonArray(input)) for (const item of input) this.checkInput(item, name, depth + 1);
    else if (isJsonObject(input)) for (const [key, value] of Object.entries(input)) this.checkInput(value, key, depth + 1);
    else if (typeof input === "string" || typeof input === "number") {
      if (typeof input === "string") this.#checkReferences(input);
      if (isIdName(name) && input !== "" && !this.#grounds.contains(String(input))) this.#danglingIds++;
    }
  }

  toCounts(lastRole: string | undefined): ConversationChecks {
    if (lastRole === "assistant" && this.#danglingIds + this.#unresolvedReferences + this.#ungroundedAnswers === 0) return NO_PROBLEMS;
    return {
      danglingIds: this.#danglingIds,
      unresolvedReferences: this.#unresolvedReferences,
      ungroundedAnswers: this.#ungroundedAnswers,
      openEnds: lastRole === "assistant" ? 0 : 1,
      duplicates: 0,
    };
  }

  #checkReferences(text: string): void {
    if (text.includes("$") && this.#reference.test(text)) this.#unresolvedReferences++;
  }
}
