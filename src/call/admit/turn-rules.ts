/** The rules that hold for a turn as a whole: what may run once, and what ends it. */
import { ToolError } from "../../core/error.ts";
import type { Tool } from "../../core/tool.ts";
import type { Turn } from "../../session/turn.ts";

export function runsOnce({ oncePerTurn, category }: Tool): boolean {
  return oncePerTurn ?? category === "DANGEROUS";
}

export function endsTurn({ endsTurn: ends, category }: Tool): boolean {
  return ends ?? category === "TERMINAL";
}

/** Notes a call that may run; an error when its turn has no room for it. */
export function enterTurn(turn: Turn, tool: Tool, qualifiedName: string): ToolError | undefined {
  const used = runsOnce(tool) ? turn.useOnce(qualifiedName) : undefined;
  if (used === undefined && endsTurn(tool)) turn.endedBy = qualifiedName;
  return used;
}

/** The error of a call that comes after its turn has ended; undefined during the turn. */
export function turnEnded({ endedBy }: Turn, name: string): ToolError | undefined {
  if (endedBy === undefined) return undefined;
  return new ToolError("limit_exceeded", `${name} was skipped: ${endedBy} had ended the turn.`, {
    hint: "Call it again in the next turn.",
  });
}
