/** Who answers which tool: the tool itself, or something that stands in for it. */
import { OWN_NAMESPACE } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { Engine } from "../core/engine.ts";
import type { SessionEvent } from "../core/event.ts";
import { isReal, rungList } from "../core/rung.ts";
import type { Rung, Rungs } from "../core/rung.ts";
import { nameMatcher } from "../policy/permission.ts";
import type { NameMatcher } from "../policy/permission.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { Answerer } from "./route.ts";

/** Who answers some of the tools, in every session. */
export interface LadderRule {
  /** Patterns over qualified names: `shop::*`. */
  readonly tools: string | readonly string[];
  readonly from: Rungs;
  /** Pass over tools whose own engine answers in place of one already, such as `lm`. @default false */
  readonly realOnly?: boolean;
}

/** The rungs that an engine answers on, the surest first: what was recorded, what somebody wrote, what is made up. */
export const ENGINE_RUNGS = ["replay", "stub", "lm", "example"] as const satisfies readonly Rung[];
/** The name of a rung that an engine stands in on. */
export type EngineRung = (typeof ENGINE_RUNGS)[number];

/** Who answers which tool. */
export interface LadderOptions {
  /** The first rule that fits a tool says who answers it. @default every tool is live */
  readonly rules?: readonly LadderRule[];
  /** Who answers on a rung. They are not opened and not closed. */
  readonly engines?: Readonly<Partial<Record<EngineRung, Engine>>>;
  /**
   * Who answers calls of a simulation that may not run, where the runtime has no `standIn`.
   * @default those of replay, stub, lm and example that have an engine, in this order
   */
  readonly simulation?: Rungs;
  /**
   * Told of each call that was answered on the rung `record`, when it has ended: its start and its end. A call that met a fault is told
   * as it went, and its result names the fault. Of a simulation, only calls that may happen for real are. Throwing is logged.
   */
  readonly onRecord?: (events: readonly SessionEvent[]) => void;
}

interface CheckedRule {
  readonly fits: NameMatcher;
  readonly answerers: readonly Answerer[];
  readonly realOnly: boolean;
}

export class Ladder {
  readonly onRecord: LadderOptions["onRecord"];
  /** Who answers calls of a simulation that may not run. */
  readonly simulation: readonly Answerer[];
  /** Some engine answers one call after the other. */
  readonly hasSequence: boolean;
  /** Some engine must be told when a session begins and ends. */
  readonly remembersSessions: boolean;
  /** Some rule may be about a tool. */
  readonly hasRules: boolean;
  readonly #engines: ReadonlyMap<Rung, Engine>;
  readonly #rules: readonly CheckedRule[];

  /** @throws ToolError `invalid_argument` for rules that cannot be kept */
  constructor(options: LadderOptions = {}, standIn?: Engine) {
    checkOptions(options);
    this.onRecord = options.onRecord;
    this.#engines = enginesOf(options.engines ?? {});
    this.#rules = (options.rules ?? []).map(({ tools, from, realOnly = false }, index) => {
      const where = `ladder.rules[${index}]`;
      const patterns = typeof tools === "string" ? [tools] : tools;
      return { fits: nameMatcher(patterns, `${where}.tools`), answerers: this.#known(from, `${where}.from`), realOnly };
    });
    this.hasRules = this.#rules.length > 0;
    if (standIn !== undefined) this.simulation = [{ rung: "stub", engine: standIn }];
    else if (options.simulation !== undefined) this.simulation = this.#standIns(options.simulation);
    else this.simulation = this.#answerers(ENGINE_RUNGS.filter((rung) => this.#engines.has(rung)));
    const all = [...this.#engines.values(), ...(standIn === undefined ? [] : [standIn])];
    this.hasSequence = all.some(({ order }) => order === "sequential");
    this.remembersSessions = all.some((engine) => engine.openSession !== undefined);
  }

  /** Who is asked for a tool of an engine, in order; undefined where no rule says it, and for the runtime's own: the tool itself. */
  answerersFor({ qualifiedName, toolset }: RegisteredTool, { origin = "live" }: Engine): readonly Answerer[] | undefined {
    if (toolset.name === OWN_NAMESPACE) return undefined;
    return this.#rules.find(({ fits, realOnly }) => (!realOnly || origin === "live") && fits(qualifiedName) !== undefined)?.answerers;
  }

  /** The same for what a caller says. @throws ToolError `invalid_argument` */
  answerersOf(rungs: Rungs): readonly Answerer[] {
    return this.#known(rungs, 'The option "answerFrom" of execute()');
  }

  #standIns(rungs: Rungs): readonly Answerer[] {
    const answerers = this.#known(rungs, "ladder.simulation");
    const real = answerers.find(({ rung }) => isReal(rung));
    if (real === undefined) return answerers;
    throw new ToolError(
      "invalid_argument",
      `ladder.simulation names ${real.rung}, but nothing of a simulation falls back to what is real.`,
      {
        hint: "Let single tools run with allowSideEffects.",
      },
    );
  }

  #known(rungs: Rungs, whose: string): readonly Answerer[] {
    const answerers = this.#answerers(rungList(rungs, whose));
    const missing = answerers.find(({ rung, engine }) => engine === undefined && !isReal(rung) && rung !== "cache");
    if (missing === undefined) return answerers;
    throw new ToolError("invalid_argument", `${whose} names ${missing.rung}, and the ladder has no engine for it.`, {
      hint: `Give createRuntime({ ladder: { engines: { ${missing.rung}: … } } }).`,
    });
  }

  #answerers(rungs: readonly Rung[]): readonly Answerer[] {
    return Object.freeze(rungs.map((rung) => Object.freeze({ rung, engine: this.#engines.get(rung) })));
  }
}

function checkOptions(options: LadderOptions): void {
  if (!isObject(options)) throw new ToolError("invalid_argument", "The ladder of the runtime is an object.");
  const { rules = [], engines = {}, onRecord } = options;
  if (!Array.isArray(rules) || !rules.every(isObject))
    throw new ToolError("invalid_argument", "ladder.rules is an array of { tools, from }.");
  if (!isObject(engines)) throw new ToolError("invalid_argument", "ladder.engines is an object with an engine for each rung.");
  if (onRecord !== undefined && typeof onRecord !== "function") throw new ToolError("invalid_argument", "ladder.onRecord is a function.");
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function enginesOf(engines: NonNullable<LadderOptions["engines"]>): ReadonlyMap<Rung, Engine> {
  const known = new Map<Rung, Engine>();
  for (const [name, engine] of Object.entries(engines)) {
    const rung = ENGINE_RUNGS.find((one) => one === name);
    if (rung === undefined)
      throw new ToolError("invalid_argument", `ladder.engines has ${JSON.stringify(name)}, which is no rung that an engine answers on.`, {
        hint: `There are: ${ENGINE_RUNGS.join(", ")}.`,
      });
    if (typeof engine?.call !== "function")
      throw new ToolError("invalid_argument", `ladder.engines.${name} is no engine: it has no call().`);
    known.set(rung, engine);
  }
  return known;
}
