/** Decides which engine answers a call, and with which rules. The only place that decides whether a call is real. */
import type { ResolvedEffects } from "../core/resources/effects.ts";
import type { Engine } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { isRealSource, type AnswerSource } from "../core/answers/answer-source.ts";
import type { SimulationMode } from "../session/simulation-mode.ts";

/** An answer source and its engine. `cache` has no engine: its answers come from the result cache. */
export interface Answerer {
  readonly source: AnswerSource;
  readonly engine: Engine | undefined;
}

/** The rules of a call, which depend on what answers it. Steps read these rules instead of looking at the source. */
export interface RouteRules {
  /** Which calls conflict with its locks: all, those of its session, or none. With "none", the call needs no slot either. */
  readonly locks: "all" | "session" | "none";
  /** The call may have an effect that cannot be undone: it may need approval, and its intent is recorded before it begins. */
  readonly isConsequential: boolean;
  /** The tool's own engine answers, and it is live. */
  readonly isLiveTool: boolean;
  /** The tool is not run for real; its writes are only noted as pretended. */
  readonly isPretended: boolean;
  /** Equal calls may share the answer. */
  readonly caches: boolean;
  /** The engine's `simulate` is called instead of its `call`. */
  readonly usesSimulate: boolean;
  /** No engine is called: only a cached answer can be used. */
  readonly onlyCached: boolean;
  /** On a branch, the engine is called with the parent session if it keeps session state remotely. */
  readonly sharesParentSession: boolean;
}

type RouteKind = "tool" | "ownStandIn" | "ownEffectFree" | "simulate" | "standIn" | "cache" | "cacheOfStandIn";

const TOOL: RouteRules = {
  locks: "all",
  isConsequential: true,
  isLiveTool: true,
  isPretended: false,
  caches: true,
  usesSimulate: false,
  onlyCached: false,
  sharesParentSession: true,
};

const CACHE = exceptFor({ isConsequential: false, isLiveTool: false, isPretended: true, onlyCached: true });

/** Each row lists only the differences from the live tool. */
const RULES: Readonly<Record<RouteKind, RouteRules>> = Object.freeze({
  tool: TOOL,
  /** The toolset's own engine is a stand-in, which may touch shared resources. */
  ownStandIn: exceptFor({ isLiveTool: false, caches: false }),
  /** The toolset's own engine is a stand-in without effects. */
  ownEffectFree: exceptFor({ locks: "session", isConsequential: false, isLiveTool: false, caches: false }),
  /** The tool's own engine, through its `simulate`. */
  simulate: exceptFor({ locks: "none", isConsequential: false, isLiveTool: false, isPretended: true, caches: false, usesSimulate: true }),
  /** An engine of the fallback chain that answers in place of the tool. */
  standIn: exceptFor({
    locks: "none",
    isConsequential: false,
    isLiveTool: false,
    isPretended: true,
    caches: false,
    sharesParentSession: false,
  }),
  cache: CACHE,
  /** As `cache`, for a toolset whose engine is not live: equal calls do not share an answer. */
  cacheOfStandIn: { ...CACHE, caches: false },
});

// A function with a typed parameter, because TypeScript accepts any property in a literal with a spread.
function exceptFor(differences: Partial<RouteRules>): RouteRules {
  return { ...TOOL, ...differences };
}

/** The engine that answers a call, and its rules. */
export interface Route {
  readonly engine: Engine;
  readonly rules: RouteRules;
  /** The engine has `openSession` or `forkSession`, so it must know about new sessions. */
  readonly opensSessions: boolean;
  /** Set if a rule or the caller named the source. */
  readonly source?: AnswerSource;
  /** The route that the call falls through to if this one has no answer. */
  readonly next?: Route;
}

export interface RouteQuestion {
  readonly toolName: string;
  readonly effects: ResolvedEffects;
  /** The route to the tool's own engine. */
  readonly liveRoute: Route;
  /** The tool has no handler, so that its own engine has nothing to run. */
  readonly hasNoHandler: boolean;
  /** The fallback chain of the call. */
  readonly answerers: readonly Answerer[];
  /** Set when the call's session is a simulation. */
  readonly simulation: SimulationMode | undefined;
  /** The call's session is a branch. */
  readonly isBranch: boolean;
  /** The fallback chain for tools that may not run in a simulation. */
  readonly standIns: readonly Answerer[];
}

/** The route to a tool's own engine, which runs the tool for real. */
export function liveRoute(engine: Engine): Route {
  return Object.freeze(routeTo(engine, RULES[isToolItself(engine) ? "tool" : engine.effectFree === true ? "ownEffectFree" : "ownStandIn"]));
}

function routeTo(engine: Engine, rules: RouteRules): Route {
  const opensSessions = !rules.onlyCached && (engine.openSession !== undefined || engine.forkSession !== undefined);
  return { engine, rules, opensSessions };
}

function isToolItself({ origin = "live" }: Engine): boolean {
  return origin === "live";
}

/**
 * Decides which source answers the call, or returns the error that says why none may.
 *
 * A tool with a stand-in is always answered by the stand-in. For other tools, a live session calls the tool's engine. A simulation calls it only for
 * calls that change nothing but the session's state, and for reads of resources without simulated writes; every other call goes to the engine's own
 * `simulate`, else to the stand-ins, else it is refused. Nothing ever falls back to live. A tool without a handler goes to the stand-ins too,
 * whatever effects it declares.
 */
export function route(question: RouteQuestion): Route | ToolError {
  const { effects, simulation, toolName, answerers, standIns } = question;
  const { engine } = question.liveRoute;
  const [first] = answerers;
  const hasStandIn = first !== undefined && !isRealSource(first.source);
  if (simulation === undefined) return (hasStandIn ? linkAnswerers(answerers, engine) : undefined) ?? resolveLive(question);
  const isDirty = simulation.isDirty([...effects.lock.reads, ...effects.lock.writes]);
  // The cache holds the real state, without what this simulation pretended to write.
  const linkUsable = (list: readonly Answerer[]): Route | undefined =>
    linkAnswerers(isDirty ? list.filter(({ source }) => source !== "cache") : list, engine);
  if (hasStandIn) return linkUsable(answerers) ?? linkUsable(standIns) ?? notSimulatableError(question, isDirty);
  if (question.hasNoHandler) return linkUsable(standIns) ?? resolveLive(question); // the live engine's error says what is missing
  const writes = writesWorld(question);
  // Allowing side effects does not matter for a read. A read of a dirty key stays simulated, as the real resource lacks the pretended writes.
  if (simulation.allowsSideEffects(toolName) && (writes || !isDirty)) return resolveLive(question);
  if (!isDirty && (engine.effectFree === true || !writes)) return resolveLive(question);
  if (engine.simulate !== undefined) return routeTo(engine, RULES.simulate);
  return linkUsable(standIns) ?? notSimulatableError(question, isDirty);
}

/** Whether the call must wait until every earlier call of its batch has settled. */
export function isSequential(first: Route | undefined): boolean {
  for (let one = first; one !== undefined; one = one.next) if (!one.rules.onlyCached && one.engine.order === "sequential") return true;
  return false;
}

/** Links the answerers to a route, built from the last to the first. */
function linkAnswerers(answerers: readonly Answerer[], own: Engine): Route | undefined {
  let next: Route | undefined;
  for (const { source, engine } of answerers.toReversed()) {
    const kind = source !== "cache" ? "standIn" : isToolItself(own) ? "cache" : "cacheOfStandIn";
    next = { ...routeTo(engine ?? own, RULES[kind]), source, ...(next === undefined ? {} : { next }) };
  }
  return next;
}

/** Whether the call writes more than the branch's own state. The session state of a remote engine is shared, unless the engine can fork it. */
function writesWorld({ liveRoute: { engine }, effects }: RouteQuestion): boolean {
  return effects.writesWorld || (sharesSessionState(engine) && effects.writes.length > 0);
}

function sharesSessionState(engine: Engine): boolean {
  return engine.state === "remote" && engine.forkSession === undefined;
}

function resolveLive(question: RouteQuestion): Route | ToolError {
  const { isBranch, toolName, answerers } = question;
  const { engine } = question.liveRoute;
  if (isBranch && sharesSessionState(engine) && writesWorld(question)) {
    return new ToolError(
      "not_forkable",
      `${toolName} would change what its engine "${engine.kind}" shares with the session that this one branches from.`,
      {
        operatorHint: "Call it in the session itself, or give the engine forkSession().",
      },
    );
  }
  const [first] = answerers;
  return first?.source === "record" ? { ...question.liveRoute, source: first.source } : question.liveRoute;
}

function notSimulatableError(question: RouteQuestion, isDirty: boolean): ToolError {
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
    operatorHint: "Declare what the tool reads and writes, give the runtime a standIn engine, or allow it with allowSideEffects.",
  });
}
