/** The routes of a call to the engine that answers it, with the rules that hold there: the one place that decides what is real. */
import type { ResolvedEffects } from "../core/effects.ts";
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { isReal, type AnswerSource } from "../core/answer-source.ts";
import type { SimulationMode } from "../session/simulation-mode.ts";

/** A source and its engine; `cache` has none, as kept results are looked up. */
export interface Answerer {
  readonly source: AnswerSource;
  readonly engine: Engine | undefined;
}

/** The rules that hold for a call, by who answers it. Steps ask these, never who it is. */
export interface RouteRules {
  /** The calls that wait for its locks: all, those of its session, or none; then it needs no slot either. */
  readonly locks: "everybody" | "session" | "nobody";
  /** The call may have an effect that cannot be undone: a person may have to allow it, and it is recorded before it begins. */
  readonly isConsequential: boolean;
  /** The tool itself answers, through its own engine. */
  readonly isTool: boolean;
  /** The tool's own engine is not asked to do it: what it would write is only noted. */
  readonly isPretended: boolean;
  /** Equal calls may share its answer. */
  readonly caches: boolean;
  /** The engine's `simulate` is asked in place of its `call`. */
  readonly asksSimulate: boolean;
  /** No engine is asked: the answer is one that was kept, or there is none. */
  readonly onlyKept: boolean;
  /** The engine of a branch is asked about the session it is a branch of, where it keeps that elsewhere. */
  readonly sharesParent: boolean;
}

type RouteKind = "tool" | "double" | "played" | "simulate" | "standIn" | "cache" | "cacheOfDouble";

const TOOL: RouteRules = {
  locks: "everybody",
  isConsequential: true,
  isTool: true,
  isPretended: false,
  caches: true,
  asksSimulate: false,
  onlyKept: false,
  sharesParent: true,
};

const CACHE: RouteRules = { ...TOOL, isConsequential: false, isTool: false, isPretended: true, onlyKept: true };

/** Each row says how it differs from the tool itself. */
const RULES: Readonly<Record<RouteKind, RouteRules>> = Object.freeze({
  tool: TOOL,
  /** An engine of its toolset that answers in its place, and may touch what others can. */
  double: { ...TOOL, isTool: false, caches: false },
  /** One that touches nothing. */
  played: { ...TOOL, locks: "session", isConsequential: false, isTool: false, caches: false },
  /** Its own engine, asked what it would do. */
  simulate: { ...TOOL, locks: "nobody", isConsequential: false, isTool: false, isPretended: true, caches: false, asksSimulate: true },
  /** An engine with its toolset. */
  standIn: { ...TOOL, locks: "nobody", isConsequential: false, isTool: false, isPretended: true, caches: false, sharesParent: false },
  cache: CACHE,
  /** As `cache`, where the engine of the toolset is not live: equal calls do not share an answer. */
  cacheOfDouble: { ...CACHE, caches: false },
});

/** The engine that answers a call, with its rules. */
export interface Route {
  readonly engine: Engine;
  readonly rules: RouteRules;
  /** The engine is notified when a session begins. */
  readonly opensSessions: boolean;
  /** Set where a rule or the caller named it. */
  readonly source?: AnswerSource;
  /** The route that the call falls through to where this one has no answer. */
  readonly next?: Route;
}

export interface RouteQuestion {
  readonly toolName: string;
  readonly effects: ResolvedEffects;
  /** The way to the tool's own engine. */
  readonly live: Route;
  /** The tool's own engine has nothing to run for it. */
  readonly isOnlyDescribed: boolean;
  /** The fallback chain of the call. */
  readonly answerers: readonly Answerer[];
  /** Set when the call's session is a simulation. */
  readonly simulation: SimulationMode | undefined;
  /** The call's session is a branch of another. */
  readonly isBranch: boolean;
  /** The fallback chain for tools that may not run in a simulation. */
  readonly standIns: readonly Answerer[];
}

/** The way to a tool's own engine: whatever it does is done. */
export function liveRoute(engine: Engine): Route {
  return Object.freeze(routeTo(engine, RULES[isToolItself(engine) ? "tool" : engine.effectFree === true ? "played" : "double"]));
}

function routeTo(engine: Engine, rules: RouteRules): Route {
  const opensSessions = !rules.onlyKept && (engine.openSession !== undefined || engine.forkSession !== undefined);
  return { engine, rules, opensSessions };
}

function isToolItself({ origin = "live" }: Engine): boolean {
  return origin === "live";
}

/**
 * Decides which source answers, or why none may.
 *
 * A tool with a stand-in is answered by it, everywhere. Of the others a live session asks the tool's engine. A simulation
 * asks it only for calls that change nothing but the session's state, and for reads of resources without simulated writes; every other
 * call goes to the engine's own `simulate`, else to the stand-ins, else it is refused. Nothing ever falls back to live. A tool without a
 * handler goes to the stand-ins, too, whatever it declares.
 */
export function route(question: RouteQuestion): Route | ToolError {
  const { effects, simulation, toolName, answerers, standIns } = question;
  const { engine } = question.live;
  const [first] = answerers;
  const isStoodInFor = first !== undefined && !isReal(first.source);
  if (simulation === undefined) return (isStoodInFor ? chain(answerers, engine) : undefined) ?? live(question);
  const isDirty = simulation.isDirty([...effects.lock.reads, ...effects.lock.writes]);
  // The cache holds the state of the world, not what was pretended since.
  const answering = (list: readonly Answerer[]): Route | undefined =>
    chain(isDirty ? list.filter(({ source }) => source !== "cache") : list, engine);
  if (isStoodInFor) return answering(answerers) ?? answering(standIns) ?? notSimulatable(question, isDirty);
  if (question.isOnlyDescribed) return answering(standIns) ?? live(question); // which says what is missing
  const writes = writesWorld(question);
  // A read has no side effects to allow: the world has not what was only pretended.
  if (simulation.allowsSideEffects(toolName) && (writes || !isDirty)) return live(question);
  if (!isDirty && (engine.effectFree === true || !writes)) return live(question);
  if (engine.simulate !== undefined) return routeTo(engine, RULES.simulate);
  return answering(standIns) ?? notSimulatable(question, isDirty);
}

/** Whether it is answered only when every earlier call of its batch has settled. */
export function isSequential(first: Route | undefined): boolean {
  for (let one = first; one !== undefined; one = one.next) if (!one.rules.onlyKept && one.engine.order === "sequential") return true;
  return false;
}

/** The answerers as a route, from the last to the first. */
function chain(answerers: readonly Answerer[], own: Engine): Route | undefined {
  let next: Route | undefined;
  for (const { source, engine } of answerers.toReversed()) {
    const kind = source !== "cache" ? "standIn" : isToolItself(own) ? "cache" : "cacheOfDouble";
    next = { ...routeTo(engine ?? own, RULES[kind]), source, ...(next === undefined ? {} : { next }) };
  }
  return next;
}

/** Whether more is written than the branch's own: what a remote engine keeps of a session is shared, unless it can copy it. */
function writesWorld({ live: { engine }, effects }: RouteQuestion): boolean {
  return effects.writesWorld || (isShared(engine) && effects.writes.length > 0);
}

function isShared(engine: Engine): boolean {
  return engine.state === "remote" && engine.forkSession === undefined;
}

function live(question: RouteQuestion): Route | ToolError {
  const { isBranch, toolName, answerers } = question;
  const { engine } = question.live;
  if (isBranch && isShared(engine) && writesWorld(question)) {
    return new ToolError(
      "not_forkable",
      `${toolName} would change what its engine "${engine.kind}" shares with the session this one is a branch of.`,
      {
        operatorHint: "Call it in the session itself, or give the engine forkSession().",
      },
    );
  }
  const [first] = answerers;
  return first?.source === "record" ? { ...question.live, source: first.source } : question.live;
}

function notSimulatable(question: RouteQuestion, isDirty: boolean): ToolError {
  const { toolName, effects } = question;
  if (isDirty && !writesWorld(question)) {
    return new ToolError(
      "not_simulatable",
      `${toolName} reads what this simulation has only pretended to write, and there is no stand-in for it.`,
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
