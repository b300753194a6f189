/** The rules that hold for a turn as a whole: what may run once, and what ends it. */
import { ToolError } from "../core/error.ts";
import type { Tool } from "../core/tool.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

export function checkTurnRules(run: CallRun): StepEnd {
  const { turn } = run;
  const { tool, qualifiedName } = toolOf(run);
  if (runsOnce(tool)) {
    const used = turn.useOnce(qualifiedName);
    if (used !== undefined) return used;
  }
  if (endsTurn(tool)) turn.endedBy = qualifiedName;
  return undefined;
}

/** Whether admitting a call of this tool changes what its turn admits after it. */
export function hasTurnRule(tool: Tool): boolean {
  return runsOnce(tool) || endsTurn(tool);
}

export function runsOnce({ oncePerTurn, category }: Tool): boolean {
  return oncePerTurn ?? category === "DANGEROUS";
}

export function endsTurn({ endsTurn: ends, category }: Tool): boolean {
  return ends ?? category === "TERMINAL";
}

/** The error of a call that comes after its turn has ended; undefined while the turn goes on. */
export function turnEnded(run: CallRun): ToolError | undefined {
  const { endedBy } = run.turn;
  if (endedBy === undefined) return undefined;
  return new ToolError("limit_exceeded", `${run.call.name} was skipped: ${endedBy} had ended the turn.`, {
    hint: "Call it again in the next turn.",
  });
}
