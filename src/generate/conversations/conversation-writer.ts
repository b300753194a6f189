/** The seam for the words of generated conversations: the user's requests and the assistant's answers. */
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { Random } from "../../core/ports.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";

/** Writes what is said in a sampled conversation. Keeps nothing from one turn to the next. */
export interface ConversationWriter {
  /** Names the writer and what its texts depend on: a file that another writer began is not continued. */
  readonly name: string;
  /** The user's request for all calls of the turn. Must hold every value of `given`, and every id literally. */
  request(turn: PlannedTurn, options: WriterOptions): string | Promise<string>;
  /** The assistant's answer. Every number, id and name in it must be found in the results. */
  answer(turn: AnsweredTurn, options: WriterOptions): string | Promise<string>;
  /** Counts of the texts so far, for a writer that may fall back on another. */
  readonly report?: () => WritingReport;
}

/** How writing went. */
export interface WritingReport {
  /** Texts that were asked of a model. */
  readonly written: number;
  /** Texts that were asked for again, since a value was missing or invented. */
  readonly retried: number;
  /** Texts that were written by code in the end. */
  readonly byCode: number;
}

/** The circumstances of one text. */
export interface WriterOptions {
  /** Decides the wording: equal numbers, equal text. */
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** A turn before its calls are made. */
export interface PlannedTurn {
  /** Counts from 0. */
  readonly index: number;
  readonly calls: readonly PlannedCall[];
}

/** A call and where its values come from. */
export interface PlannedCall {
  readonly tool: Tool;
  readonly qualifiedName: string;
  /** Values that the user says, by property. */
  readonly given: JsonObject;
  /** Values that results give, by property: the user refers to them. */
  readonly taken: Readonly<Record<string, TakenValue>>;
  /** Made in the same message as the call before it. */
  readonly parallel: boolean;
}

/** A value that a result gives. */
export interface TakenValue {
  /** Such as `booking`. */
  readonly noun: string;
  /** It is one of several in a list. */
  readonly ofList: boolean;
  /** It is an id, which a person refers to by its noun. */
  readonly isId: boolean;
  /** Known already; undefined where a call of the same turn gives it. */
  readonly value?: string | number | boolean;
}

/** A turn whose calls have ended. */
export interface AnsweredTurn {
  readonly index: number;
  /** The user's message. */
  readonly request: string;
  readonly calls: readonly AnsweredCall[];
  /** The tools of calls that were asked for, and not made since an earlier result gave nothing to continue with. */
  readonly unmade: readonly Tool[];
}

/** A call with its result, for the answer that a user is given. */
export interface AnsweredCall {
  readonly tool: Tool | undefined;
  readonly input: JsonValue;
  readonly result: ToolResult;
}
