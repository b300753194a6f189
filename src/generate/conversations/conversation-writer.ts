import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { Random } from "../../core/ports.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";

/** Writes the texts of a generated conversation: the user's requests and the assistant's answers. Stateless between turns. */
export interface ConversationWriter {
  /** Identifies the writer and everything that its texts depend on: a file begun with another name is not continued. */
  readonly name: string;
  /** Writes the user's request for all calls of the turn. Must contain every value of `given`, ids literally. */
  request(turn: PlannedTurn, options: WriterOptions): string | Promise<string>;
  /** Writes the assistant's answer. Every number, id and name in it must be in the results. */
  answer(turn: AnsweredTurn, options: WriterOptions): string | Promise<string>;
  /** Returns counts of the texts so far, for a writer with a fallback. */
  readonly report?: () => WritingReport;
}

/** Counts of the texts that a writer wrote. */
export interface WritingReport {
  /** Number of texts requested from a model. */
  readonly written: number;
  /** Number of texts requested again because a value was missing or invented. */
  readonly retried: number;
  /** Number of texts that were finally written by code. */
  readonly byCode: number;
}

/** Options for writing one text. */
export interface WriterOptions {
  /** Decides the wording: equal numbers give equal text. */
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** A turn before its calls are made. */
export interface PlannedTurn {
  /** The index of the turn, from 0. */
  readonly index: number;
  readonly calls: readonly PlannedCall[];
}

/** A call, and the sources of its input values. */
export interface PlannedCall {
  readonly tool: Tool;
  readonly qualifiedName: string;
  /** The values that the user states, by property. */
  readonly given: JsonObject;
  /** The values from results, which the user refers to, by property. */
  readonly taken: Readonly<Record<string, TakenValue>>;
  /** Whether the call is made in the same message as the one before it. */
  readonly parallel: boolean;
}

/** A value from a result. */
export interface TakenValue {
  /** The noun for the thing that the value belongs to, such as `booking`. */
  readonly noun: string;
  /** Whether it is one of several values in an array. */
  readonly ofList: boolean;
  /** Whether it is an id, which a person refers to by the noun. */
  readonly isId: boolean;
  /** The value, if it is known already; undefined if a call of the same turn returns it. */
  readonly value?: string | number | boolean;
}

/** A turn whose calls have ended. */
export interface AnsweredTurn {
  readonly index: number;
  /** The user's message. */
  readonly request: string;
  readonly calls: readonly AnsweredCall[];
  /** The tools of requested calls that were not made, because an earlier result had no value to continue with. */
  readonly unmade: readonly Tool[];
}

/** A call with its result, from which the answer is written. */
export interface AnsweredCall {
  readonly tool: Tool | undefined;
  readonly input: JsonValue;
  readonly result: ToolResult;
}
