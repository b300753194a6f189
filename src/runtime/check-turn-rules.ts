/** The rules that hold for a turn as a whole: what may run once, and what ends it. */
import { ToolError } from "../core/error.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

export function checkTurnRules(run: CallRun): StepEnd {
  const { turn } = run;
  const { tool, qualifiedName } = toolOf(run);
  if (tool.oncePerTurn ?? tool.category === "DANGEROUS") {
    const used = turn.useOnce(qualifiedName);
    if (used !== undefined) return used;
  }
  if (tool.endsTurn ?? tool.category === "TERMINAL") turn.endedBy = qualifiedName;
  return undefined;
}

/** The error of a call that comes after its turn has ended; undefined while the turn goes on. */
export function turnEnded(run: CallRun): ToolError | undefined {
  const { endedBy } = run.turn;
  if (endedBy === undefined) return undefined;
  return new ToolError("limit_exceeded", `${run.call.name} was skipped: ${endedBy} had ended the turn.`, {
    hint: "Call it again in the next turn.",
  });
}
