/** Determines the role of each mark of a grammar, once per grammar. */
import { MarkerSet } from "./marker-set.ts";
import type { CallMark, TextGrammar, ThinkingMarks } from "./text-grammar.ts";
import { getOrAdd } from "../../core/base/get-or-add.ts";

/** How a section of thinking ends. */
export interface ThinkingEnd {
  /** The marks in `closes`, and the marks that end thinking because they begin something that cannot be thinking. */
  readonly ends: MarkerSet;
  readonly closes: MarkerSet;
  readonly closing: ReadonlySet<string>;
}

export type Role =
  | { readonly kind: "call"; readonly call: CallMark }
  | { readonly kind: "before" | "after" | "unsaid" | "thinking-close" }
  | { readonly kind: "thinking"; readonly end: ThinkingEnd }
  | { readonly kind: "hidden"; readonly close: MarkerSet };

export interface Roles {
  readonly marks: MarkerSet;
  readonly roles: ReadonlyMap<string, Role>;
  readonly thinking: readonly ThinkingMarks[];
  /** How thinking ends that the prompt opened: with a closing mark of any pair. */
  readonly promptThinking: ThinkingEnd;
}

export const DEFAULT_THINKING: readonly ThinkingMarks[] = [["<think>", "</think>"]];

const rolesByGrammar = new WeakMap<TextGrammar, Roles>();

export function rolesOf(grammar: TextGrammar): Roles {
  return getOrAdd(rolesByGrammar, grammar, readRoles);
}

/** Determines the roles. If a mark has several, the last in this order wins: a call over thinking, thinking over marks around calls. */
function readRoles(grammar: TextGrammar): Roles {
  const { thinking = DEFAULT_THINKING, thinkingEnds = [] } = grammar;
  const roles = new Map<string, Role>();
  for (const [, ...closes] of thinking)
    for (const close of closes) if (!close.startsWith("</")) roles.set(close, { kind: "thinking-close" }); // people write tags, too
  for (const mark of grammar.droppedMarks ?? []) roles.set(mark, { kind: "unsaid" });
  for (const mark of grammar.after ?? []) roles.set(mark, { kind: "after" });
  for (const mark of grammar.before ?? []) roles.set(mark, { kind: "before" });
  for (const [open, close] of grammar.hidden ?? []) roles.set(open, { kind: "hidden", close: new MarkerSet([close]) });
  for (const [open, ...closes] of thinking) roles.set(open, { kind: "thinking", end: thinkingEnd(closes, thinkingEnds) });
  for (const call of grammar.calls) roles.set(call.mark, { kind: "call", call });
  const promptThinking = thinkingEnd(
    thinking.flatMap(([, ...closes]) => closes),
    thinkingEnds,
  );
  return { marks: new MarkerSet(roles.keys()), roles, thinking, promptThinking };
}

function thinkingEnd(closes: readonly string[], ends: readonly string[]): ThinkingEnd {
  return { ends: new MarkerSet([...closes, ...ends]), closes: new MarkerSet(closes), closing: new Set(closes) };
}
