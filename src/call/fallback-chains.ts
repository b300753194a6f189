/** The fallback chain of each tool: the tool itself, or the sources that answer in its place, in order. */
import { isObject } from "../core/base/is-object.ts";
import { OWN_NAMESPACE } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Engine } from "../core/engine.ts";
import type { SessionEvent } from "../core/event.ts";
import { isRealSource, readAnswerSources, type AnswerSource, type AnswerSources } from "../core/answers/answer-source.ts";
import { createNameMatcher, type NameMatcher } from "../policy/permission.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { Answerer } from "./route.ts";

/** The fallback chain of some tools, in every session. */
export interface AnswerRule {
  /** Patterns over qualified names: `shop::*`. */
  readonly tools: string | readonly string[];
  readonly from: AnswerSources;
  /** Skip tools whose own engine is a stand-in already, such as `lm`. @default false */
  readonly realOnly?: boolean;
}

/** The sources that need an engine, most reliable first: recorded, written, generated. */
export const ENGINE_SOURCES = ["replay", "stub", "lm", "example"] as const satisfies readonly AnswerSource[];
/** A source that needs an engine. */
export type EngineSource = (typeof ENGINE_SOURCES)[number];

/** Which sources answer which tool. */
export interface AnswerOptions {
  /** The first rule that matches a tool applies. @default every tool is live */
  readonly rules?: readonly AnswerRule[];
  /** The engine of each source. The runtime neither opens nor closes them. */
  readonly engines?: Readonly<Partial<Record<EngineSource, Engine>>>;
  /**
   * The fallback chain of calls that a simulation may not run, if the runtime has no `standIn`.
   * @default replay, stub, lm and example, as far as they have an engine, in this order
   */
  readonly simulation?: AnswerSources;
  /**
   * Called with the start and the end of each call that the source `record` answered, when it has ended. The events of a call that met a fault are
   * passed unchanged, and its result names the fault. Calls of a simulation are passed only if they may run for real. If it throws, this is logged.
   */
  readonly onRecord?: (events: readonly SessionEvent[]) => void;
}

/** The choices of a caller that decide which source answers. */
export interface ChosenAnswers {
  readonly isSimulation: boolean;
  readonly answerFrom: AnswerSources | undefined;
  readonly replay: Engine | undefined;
}

interface CheckedRule {
  readonly fits: NameMatcher;
  readonly answerers: readonly Answerer[];
  readonly realOnly: boolean;
}

export class FallbackChains {
  readonly onRecord: AnswerOptions["onRecord"];
  /** The fallback chain of calls that a simulation may not run. */
  readonly simulation: readonly Answerer[];
  /** Whether some engine answers sequentially. */
  readonly hasSequentialEngine: boolean;
  /** Whether some engine must be notified when a session begins and ends. */
  readonly opensSessions: boolean;
  /** Whether there are rules. */
  readonly hasRules: boolean;
  /** Whether some rule names an engine that answers sequentially. */
  readonly #hasSequentialRule: boolean;
  readonly #engines: ReadonlyMap<AnswerSource, Engine>;
  readonly #rules: readonly CheckedRule[];

  /** @throws ToolError `invalid_argument` for invalid rules */
  constructor(options: AnswerOptions = {}, standIn?: Engine) {
    checkOptions(options);
    this.onRecord = options.onRecord;
    this.#engines = checkEngines(options.engines ?? {});
    this.#rules = (options.rules ?? []).map(({ tools, from, realOnly = false }, index) => {
      const where = `answers.rules[${index}]`;
      const patterns = typeof tools === "string" ? [tools] : tools;
      return { fits: createNameMatcher(patterns, `${where}.tools`), answerers: this.#checkAnswerers(from, `${where}.from`), realOnly };
    });
    this.hasRules = this.#rules.length > 0;
    if (standIn !== undefined) this.simulation = [{ source: "stub", engine: standIn }];
    else if (options.simulation !== undefined) this.simulation = this.#standIns(options.simulation);
    else this.simulation = this.#answerers(ENGINE_SOURCES.filter((source) => this.#engines.has(source)));
    const all = [...this.#engines.values(), ...(standIn === undefined ? [] : [standIn])];
    this.hasSequentialEngine = all.some(isSequentialEngine);
    this.#hasSequentialRule = this.#rules.some(({ answerers }) => answerers.some(({ engine }) => isSequentialEngine(engine)));
    this.opensSessions = all.some((engine) => engine.openSession !== undefined);
  }

  /** Whether calls of a session with these choices may be answered by a sequential engine. For live calls, only rules can cause that. */
  mayAnswerSequentially({ isSimulation, answerFrom, replay }: ChosenAnswers): boolean {
    if (this.#hasSequentialRule || isSequentialEngine(replay)) return true;
    return this.hasSequentialEngine && (isSimulation || answerFrom !== undefined);
  }

  /** The fallback chain of a tool; undefined for the tool itself: if no rule matches, and for the runtime's own tools. */
  answerersFor({ qualifiedName, toolset }: RegisteredTool, { origin = "live" }: Engine): readonly Answerer[] | undefined {
    if (toolset.name === OWN_NAMESPACE) return undefined;
    return this.#rules.find(({ fits, realOnly }) => (!realOnly || origin === "live") && fits(qualifiedName) !== undefined)?.answerers;
  }

  /** The fallback chain of the sources that a caller gave. @throws ToolError `invalid_argument` */
  answerersOf(sources: AnswerSources, replay?: Engine): readonly Answerer[] {
    return this.#checkAnswerers(sources, 'The option "answerFrom" of execute()', replay);
  }

  #standIns(sources: AnswerSources): readonly Answerer[] {
    const answerers = this.#checkAnswerers(sources, "answers.simulation");
    const real = answerers.find(({ source }) => isRealSource(source));
    if (real === undefined) return answerers;
    throw new ToolError(
      "invalid_argument",
      `answers.simulation names ${real.source}, but a simulation does not fall back to real answers.`,
      {
        hint: "Let single tools run with allowSideEffects.",
      },
    );
  }

  #checkAnswerers(sources: AnswerSources, whose: string, replay?: Engine): readonly Answerer[] {
    const answerers = this.#answerers(readAnswerSources(sources, whose), replay);
    const missing = answerers.find(({ source, engine }) => engine === undefined && !isRealSource(source) && source !== "cache");
    if (missing === undefined) return answerers;
    throw new ToolError("invalid_argument", `${whose} names ${missing.source}, and answers.engines has no engine for it.`, {
      hint: `Give createRuntime({ answers: { engines: { ${missing.source}: … } } }).`,
    });
  }

  #answerers(sources: readonly AnswerSource[], replay?: Engine): readonly Answerer[] {
    const engineOf = (source: AnswerSource): Engine | undefined =>
      source === "replay" && replay !== undefined ? replay : this.#engines.get(source);
    return Object.freeze(sources.map((source) => Object.freeze({ source, engine: engineOf(source) })));
  }
}

function isSequentialEngine(engine: Engine | undefined): boolean {
  return engine?.order === "sequential";
}

function checkOptions(options: AnswerOptions): void {
  if (!isObject(options)) throw new ToolError("invalid_argument", 'The option "answers" of createRuntime() must be an object.');
  checkKnownKeys(options, { rules: true, engines: true, simulation: true, onRecord: true }, "createRuntime({ answers })");
  const { rules = [], engines = {}, onRecord } = options;
  if (!Array.isArray(rules) || !rules.every(isObject))
    throw new ToolError("invalid_argument", "answers.rules must be an array of { tools, from }.");
  for (const [index, rule] of rules.entries())
    checkKnownKeys<Partial<Record<keyof AnswerRule, unknown>>>(
      rule,
      { tools: true, from: true, realOnly: true },
      `answers.rules[${index}]`,
    );
  if (!isObject(engines)) throw new ToolError("invalid_argument", "answers.engines must be an object with an engine for each source.");
  if (onRecord !== undefined && typeof onRecord !== "function")
    throw new ToolError("invalid_argument", "answers.onRecord must be a function.");
}

function checkEngines(engines: NonNullable<AnswerOptions["engines"]>): ReadonlyMap<AnswerSource, Engine> {
  const known = new Map<AnswerSource, Engine>();
  for (const [name, engine] of Object.entries(engines)) {
    const source = ENGINE_SOURCES.find((one) => one === name);
    if (source === undefined)
      throw new ToolError(
        "invalid_argument",
        `answers.engines has ${JSON.stringify(name)}, which is not a source that an engine can answer for.`,
        {
          hint: `Known sources: ${ENGINE_SOURCES.join(", ")}.`,
        },
      );
    if (typeof engine?.call !== "function")
      throw new ToolError("invalid_argument", `answers.engines.${name} is not an engine: it has no call().`);
    known.set(source, engine);
  }
  return known;
}
