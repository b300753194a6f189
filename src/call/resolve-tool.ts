/** From a name to the one tool that answers it, through the gates that need no input. */
import { ToolError } from "../core/error.ts";
import type { JsonValue } from "../core/base/json.ts";
import { whyNoHandler } from "../core/missing-handler.ts";
import { localEngine } from "../engine/local.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fitInput } from "../schema/repair-input.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import type { Step } from "./ladder.ts";
import { passReadingGate } from "./manual-reading.ts";
import { chooseOverload } from "../registry/overload.ts";
import { OWN_NAMESPACE } from "../registry/read-result-tool.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { route } from "./route.ts";
import { resolveVisible } from "../registry/visible-tool.ts";

/** Finds the tools of this name and, by the input, the one that is meant. */
export function resolveTool(run: CallRun): StepEnd {
  const candidates = resolveVisible(run.parts.registry, run.call.name, run.options.visibility);
  if (candidates instanceof ToolError) return candidates;
  const [only] = candidates;
  const registered = candidates.length === 1 && only !== undefined ? only : chooseOverload(candidates, readableInput(run));
  run.registered = registered;
  if (registered.settings.deadlineMs > 0) run.deadlineAt = run.startedAt + registered.settings.deadlineMs;
  return undefined;
}

/** What any object fits; text is read as the JSON it spells, as it will be for the tool's own schema. */
export const ANY_OBJECT = compileSchema(true);

function readableInput(run: CallRun): JsonValue {
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  if (typeof sent !== "string") return sent;
  const read = fitInput(sent, ANY_OBJECT, { dropUnknownKeys: false, allowGuesses: true });
  return read.ok ? read.value : sent;
}

/** Refuses tools that cannot or may not run, whatever their input. */
export function passStaticGates(run: CallRun): StepEnd {
  const registered = toolOf(run);
  const { tool, qualifiedName } = registered;
  if (tool.providerExecuted === true) {
    return new ToolError("not_executable", `${qualifiedName} is run by the model's provider, never here.`);
  }
  if (registered.quarantine !== undefined) return registered.quarantine;
  for (const key of tool.requires ?? []) {
    if (!Object.hasOwn(run.options.data, key) || run.options.data[key] === undefined) {
      return new ToolError("unavailable", `${qualifiedName} needs "${key}", which this program did not provide.`, {
        operatorHint: `Give it as data: execute(calls, { data: { ${key}: … } }).`,
      });
    }
  }
  const unread = passReadingGate(run, registered);
  if (unread !== undefined) return unread;
  run.guards = run.parts.guardsOf(registered);
  return undefined;
}

/** Works out what the call touches, from the input that was validated. */
export function workOutEffects(run: CallRun): StepEnd {
  run.effects = guardsOf(run).effectsOf(run.input ?? {});
  return undefined;
}

/** Decides who answers, now that it is known what the call would do. Calls of a batch pass here in call order. */
export function routeCall(run: CallRun): StepEnd {
  const { session } = run.turn;
  const { engine } = guardsOf(run);
  const { effects } = run;
  if (effects === undefined) return undefined;
  const { ladder } = run.parts;
  const steps = run.options.steps === undefined && !ladder.hasRules ? undefined : stepsOf(run);
  if (steps === undefined && session.parent === undefined && session.simulation === undefined) {
    run.route = guardsOf(run).liveRoute;
    return undefined;
  }
  const found = route({
    toolName: run.toolName,
    effects,
    engine,
    isOnlyDescribed: engine === localEngine() && whyNoHandler(toolOf(run).tool) !== undefined,
    steps: steps ?? [],
    simulation: session.simulation,
    isBranch: session.parent !== undefined,
    standIns: ladder.simulation,
  });
  if (found instanceof ToolError) return found;
  if (session.simulation !== undefined && run.parts.undecidedHook !== undefined)
    return undecidedHook(run.toolName, run.parts.undecidedHook);
  run.route = found;
  return undefined;
}

/** Who is to answer; the runtime's own tools are never stood in for. */
function stepsOf(run: CallRun): readonly Step[] | undefined {
  const registered = toolOf(run);
  if (registered.toolset.name === OWN_NAMESPACE) return undefined;
  return run.options.steps ?? run.parts.ladder.stepsFor(registered, guardsOf(run).engine);
}

/** Remembers what a call of a simulation will only pretend to write, for the reads after it in call order. */
export function notePretended({ turn, route, effects }: CallRun): StepEnd {
  if (route !== undefined && route.via !== "live" && effects !== undefined)
    turn.session.simulation?.markDirty(effects.writes, effects.lock.writes);
  return undefined;
}

function undecidedHook(toolName: string, hook: string): ToolError {
  return new ToolError("not_simulatable", `${toolName} was not run: the hook "${hook}" does not say what becomes of it in a simulation.`, {
    operatorHint: 'Give the hook inSimulation: "run" when it leaves no trace, or "skip" to leave it out.',
  });
}

/** The tool of a run that is past `resolveTool`. */
export function toolOf(run: CallRun): RegisteredTool {
  if (run.registered === undefined) throw new ToolError("invalid_argument", "The call has no tool yet.");
  return run.registered;
}

/** The guards of a run that is past `passStaticGates`. */
export function guardsOf(run: CallRun): NonNullable<CallRun["guards"]> {
  if (run.guards === undefined) throw new ToolError("invalid_argument", "The call has not passed its gates yet.");
  return run.guards;
}
