/** Which engine answers a call: the one place that decides what is real. */
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { isReal } from "../core/rung.ts";
import type { Rung } from "../core/rung.ts";
import type { Step } from "./ladder.ts";
import type { CallEffects } from "./resolve-effects.ts";
import type { SimulationMode } from "../session/simulation-mode.ts";

/** Who answers a call; `live` means that whatever it does is done, `cache` that nothing is asked but what is kept of the tool's answers. */
export interface Route {
  readonly engine: Engine;
  readonly via: "live" | "simulate" | "stand-in" | "cache";
  /** Set where a rule or the caller named it. */
  readonly rung?: Rung;
  /** Who is asked where this one has no answer. */
  readonly next?: Route;
}

export interface RouteQuestion {
  readonly toolName: string;
  readonly effects: CallEffects;
  /** The tool's own engine. */
  readonly engine: Engine;
  /** The tool's own engine has nothing to run for it. */
  readonly isOnlyDescribed: boolean;
  /** Who is to answer, in order. */
  readonly steps: readonly Step[];
  /** Set when the call's session is a simulation. */
  readonly simulation: SimulationMode | undefined;
  /** The call's session is a branch of another. */
  readonly isBranch: boolean;
  /** Who answers for tools that may not run in a simulation. */
  readonly standIns: readonly Step[];
}

/**
 * Decides who answers, or why nobody may.
 *
 * A tool that something stands in for is answered by that, everywhere. Of the others a live session asks the tool's engine. A simulation
 * asks it only for calls that change nothing but the session's state, and for reads of what nobody has pretended to write; every other
 * call goes to the engine's own `simulate`, else to the stand-ins, else it is refused. Nothing ever falls back to live. A tool without a
 * handler goes to the stand-ins, too, whatever it declares.
 */
export function route(question: RouteQuestion): Route | ToolError {
  const { engine, effects, simulation, toolName } = question;
  const [first] = question.steps;
  const isStoodInFor = first !== undefined && !isReal(first.rung);
  if (simulation === undefined) return (isStoodInFor ? chain(question.steps, engine) : undefined) ?? liveRoute(question);
  const isDirty = simulation.isDirty([...effects.lock.reads, ...effects.lock.writes]);
  // What is kept is what the world has, not what was pretended since.
  const answering = (steps: readonly Step[]): Route | undefined =>
    chain(isDirty ? steps.filter(({ rung }) => rung !== "cache") : steps, engine);
  if (isStoodInFor) return answering(question.steps) ?? answering(question.standIns) ?? notSimulatable(question, isDirty);
  if (question.isOnlyDescribed) return answering(question.standIns) ?? liveRoute(question); // which says what is missing
  const writes = writesWorld(question);
  // A read has no side effects to allow: the world has not what was only pretended.
  if (simulation.allowsSideEffects(toolName) && (writes || !isDirty)) return liveRoute(question);
  if (!isDirty && (engine.effectFree === true || !writes)) return liveRoute(question);
  if (engine.simulate !== undefined) return { engine, via: "simulate" };
  return answering(question.standIns) ?? notSimulatable(question, isDirty);
}

/** Whether it is answered only when every earlier call of its batch has settled. */
export function isSequential(route: Route | undefined): boolean {
  for (let step = route; step !== undefined; step = step.next) if (step.via !== "cache" && step.engine.order === "sequential") return true;
  return false;
}

/** The steps as a route, from the last to the first. */
function chain(steps: readonly Step[], own: Engine): Route | undefined {
  let next: Route | undefined;
  for (const { rung, engine } of steps.toReversed()) {
    const via = rung === "cache" ? "cache" : "stand-in";
    next = { engine: engine ?? own, via, rung, ...(next === undefined ? {} : { next }) };
  }
  return next;
}

/** Whether more is written than the branch's own: what a remote engine keeps of a session is shared, unless it can copy it. */
function writesWorld({ engine, effects }: RouteQuestion): boolean {
  return effects.writesWorld || (isShared(engine) && effects.writes.length > 0);
}

function isShared(engine: Engine): boolean {
  return engine.state === "remote" && engine.forkSession === undefined;
}

function liveRoute(question: RouteQuestion): Route | ToolError {
  const { engine, isBranch, toolName } = question;
  if (isBranch && isShared(engine) && writesWorld(question)) {
    return new ToolError(
      "not_forkable",
      `${toolName} would change what its engine "${engine.kind}" shares with the session this one is a branch of.`,
      {
        operatorHint: "Call it in the session itself, or give the engine forkSession().",
      },
    );
  }
  const [first] = question.steps;
  return { engine, via: "live", ...(first?.rung === "record" ? { rung: first.rung } : {}) };
}

function notSimulatable(question: RouteQuestion, isDirty: boolean): ToolError {
  const { toolName, effects } = question;
  if (isDirty && !writesWorld(question)) {
    return new ToolError(
      "not_simulatable",
      `${toolName} reads what this simulation has only pretended to write, and nothing stands in for it.`,
      {
        operatorHint: "Give the runtime a standIn engine.",
      },
    );
  }
  const reason = effects.undeclared
    ? "declares no effects, so it may do anything"
    : `would write ${effects.writes.slice(0, 5).join(", ") || "something"}`;
  return new ToolError("not_simulatable", `${toolName} was not run: it ${reason}, and this is a simulation.`, {
    operatorHint: "Declare what the tool reads and writes, give the runtime a standIn engine, or allow it by allowSideEffects.",
  });
}
