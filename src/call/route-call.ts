/** From a call whose input fits to one that may run: what it touches, who answers, and whether its turn has room for it. */
import { ToolError } from "../core/error.ts";
import { OWN_NAMESPACE } from "../registry/read-result-tool.ts";
import { admitted } from "./call-run.ts";
import type { AdmittedCall, FittedCall } from "./call-run.ts";
import type { CallEffects } from "./resolve-effects.ts";
import { route } from "./route.ts";
import type { Answerer, Route } from "./route.ts";
import { enterTurn } from "./turn-rules.ts";

/** Calls of a batch pass here one after another, in call order. */
export function routeCall(run: FittedCall): AdmittedCall | ToolError {
  const { plan, turn, parts, options } = run;
  const { session } = turn;
  const effects = plan.effects ?? plan.effectsOf(run.input);
  const isOrdinary =
    session.parent === undefined && session.simulation === undefined && options.answerers === undefined && !parts.ladder.hasRules;
  const found = isOrdinary ? plan.live : findRoute(run, effects);
  if (found instanceof ToolError) return found;
  const refusal = plan.hasTurnRule ? enterTurn(turn, plan.tool, plan.qualifiedName) : undefined;
  if (refusal !== undefined) return refusal;
  // What is only pretended to be written is remembered for the reads after it.
  if (found.rules.isPretended) session.simulation?.markDirty(effects.writes, effects.lock.writes);
  return admitted(run, effects, found);
}

function findRoute(run: FittedCall, effects: CallEffects): Route | ToolError {
  const { plan, turn, parts } = run;
  const { simulation, parent } = turn.session;
  const found = route({
    toolName: plan.qualifiedName,
    effects,
    live: plan.live,
    isOnlyDescribed: plan.isOnlyDescribed,
    answerers: answerersOf(run) ?? [],
    simulation,
    isBranch: parent !== undefined,
    standIns: parts.ladder.simulation,
  });
  if (found instanceof ToolError || simulation === undefined || parts.undecidedHook === undefined) return found;
  return undecidedHook(plan.qualifiedName, parts.undecidedHook);
}

/** Who is to answer; the runtime's own tools are never stood in for. */
function answerersOf({ plan, parts, options }: FittedCall): readonly Answerer[] | undefined {
  if (plan.registered.toolset.name === OWN_NAMESPACE) return undefined;
  return options.answerers ?? parts.ladder.answerersFor(plan.registered, plan.engine);
}

function undecidedHook(toolName: string, hook: string): ToolError {
  return new ToolError("not_simulatable", `${toolName} was not run: the hook "${hook}" does not say what becomes of it in a simulation.`, {
    operatorHint: 'Give the hook inSimulation: "run" when it leaves no trace, or "skip" to leave it out.',
  });
}
