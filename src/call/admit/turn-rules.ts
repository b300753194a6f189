/** The rules of a turn as a whole: which tools run only once, and which end it. */
import { ToolError } from "../../core/error.ts";
import type { Tool } from "../../core/tool.ts";
import type { Turn } from "../../session/turn.ts";

export function runsOncePerTurn({ oncePerTurn, category }: Tool): boolean {
  return oncePerTurn ?? category === "DANGEROUS";
}

export function endsTurn({ endsTurn: ends, category }: Tool): boolean {
  return ends ?? category === "TERMINAL";
}

/** Notes a call that may run in its turn. Returns an error if the tool may run only once and has run. */
export function applyTurnRules(turn: Turn, tool: Tool, qualifiedName: string): ToolError | undefined {
  const usedError = runsOncePerTurn(tool) ? turn.useOnce(qualifiedName) : undefined;
  if (usedError === undefined && endsTurn(tool)) turn.endedBy = qualifiedName;
  return usedError;
}

/** The error of a call that follows the end of its turn; undefined if the turn has not ended. */
export function turnEndedError({ endedBy }: Turn, name: string): ToolError | undefined {
  if (endedBy === undefined) return undefined;
  return new ToolError("limit_exceeded", `${name} was skipped: ${endedBy} had ended the turn.`, {
    hint: "Call it again in the next turn.",
  });
}
