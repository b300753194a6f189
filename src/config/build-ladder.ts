/** Makes of a configuration who answers in place of tools, and what goes wrong on purpose. */
import type { Engine } from "../core/engine.ts";
import { ToolError, hintsOf, operatorText } from "../core/error.ts";
import type { FaultPlan } from "../core/fault.ts";
import type { SessionEvent } from "../core/event.ts";
import { rungList } from "../core/rung.ts";
import type { Rung, Rungs } from "../core/rung.ts";
import type { KeyPath } from "../documents/key-positions.ts";
import type { ReplayOptions } from "../engine/replay.ts";
import { ENGINE_RUNGS } from "../call/ladder.ts";
import type { EngineRung, LadderOptions } from "../call/ladder.ts";
import { filePath } from "./file-path.ts";
import type { LoadedConfig } from "./load-config.ts";
import type { LmConfig } from "./lm-config.ts";
import { makeExample, makeGivenReplay, makeLm, makeReplay, makeStub } from "./make-stand-in.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { SimulationConfig } from "./simulation-config.ts";
import type { RecordingConfig } from "./stand-in-config.ts";
import type { Environment } from "./variables.ts";

export interface LadderBuildOptions {
  /** Where the keys of models are looked up. @default that of `loadConfig` */
  readonly environment?: Environment;
  /** Answers every tool, whatever the file says. */
  readonly override?: Rungs;
  /** Answers the tools that the file says nothing of, but for those that an engine stands in for already. @default they are live */
  readonly otherwise?: Rungs;
  /** A file, or the text of a recording, in place of that of the configuration. It is the first to stand in, too. */
  readonly recording?: string;
  readonly match?: ReplayOptions["match"];
  /** Of examples and faults, in place of that of the file. */
  readonly seed?: number | string;
  readonly onRecord?: (events: readonly SessionEvent[]) => void;
}

export interface BuiltLadder {
  readonly ladder: LadderOptions;
  readonly faults: FaultPlan | undefined;
}

/**
 * The ladder and the faults of `[simulation]`, for `createRuntime`.
 *
 * Makes the engines of the rungs that are named, and those that stand in where a simulation may not run a call: `standIn`, else replay
 * where there is a recording, stub where there are answers, lm where `[simulation]` names a model, and example where it names none. A rung
 * `lm` without a model of its own is played by that of `[model]`. A model that only stands in and cannot be made fails the calls that
 * it would have answered.
 *
 * @throws ToolError `invalid_config` with every problem and its place; `invalid_argument` for options that name no rung; what is wrong
 * with a recording that is given, as `readRecording` says it
 */
export async function buildLadder(loaded: LoadedConfig, options: LadderBuildOptions = {}): Promise<BuiltLadder> {
  return await new LadderBuilder(loaded, options).build();
}

/** Who stands in for tools as `[simulation]` says it, in order: see `buildLadder`. */
export function standInsOf({ config: { simulation = NOTHING } }: LoadedConfig): readonly Rung[] {
  const { standIn, recording, stubs, model } = simulation;
  if (standIn !== undefined) return standIn;
  const has: Readonly<Record<EngineRung, boolean>> = {
    replay: recording !== undefined,
    stub: stubs !== undefined,
    lm: model !== undefined,
    example: model === undefined,
  };
  return ENGINE_RUNGS.filter((rung) => has[rung]);
}

const NOTHING: SimulationConfig = {
  model: undefined,
  lm: {},
  seed: undefined,
  recording: undefined,
  stubs: undefined,
  rungs: [],
  standIn: undefined,
  faults: [],
};

/** A rung that somebody named, and where. */
interface Named {
  readonly rung: Rung;
  readonly path: KeyPath;
}

class LadderBuilder {
  readonly #loaded: LoadedConfig;
  readonly #options: LadderBuildOptions;
  readonly #simulation: SimulationConfig;
  readonly #seed: number | string | undefined;
  readonly #recording: RecordingConfig | undefined;

  constructor(loaded: LoadedConfig, options: LadderBuildOptions) {
    const simulation = loaded.config.simulation ?? NOTHING;
    this.#loaded = loaded;
    this.#options = options;
    this.#simulation = simulation;
    this.#seed = options.seed ?? simulation.seed;
    this.#recording = this.#recordingOf(simulation.recording);
  }

  async build(): Promise<BuiltLadder> {
    const rules = this.#rules();
    const simulation = this.#standIns();
    const named = this.#named(rules);
    const problems = this.#loaded.problems();
    const engines: Partial<Record<EngineRung, Engine>> = {};
    for (const rung of ENGINE_RUNGS) {
      const whose = named.find((one) => one.rung === rung);
      if (whose === undefined && !simulation.includes(rung)) continue;
      try {
        engines[rung] = await this.#make(rung, whose !== undefined);
      } catch (thrown: unknown) {
        if (rung === "replay" && this.#options.recording !== undefined) throw thrown; // the configuration is not to blame
        const path = whose !== undefined && thrown instanceof NothingToAnswer ? whose.path : this.#placeOf(rung);
        problems.add(path, this.#loaded.redact(operatorText(thrown)));
      }
    }
    problems.throwIfAny();
    const { faults } = this.#simulation;
    return {
      ladder: { rules, engines, simulation, ...omitUndefined({ onRecord: this.#options.onRecord }) },
      faults: faults.length === 0 ? undefined : { rules: faults, ...omitUndefined({ seed: this.#seed }) },
    };
  }

  /** The rules after one for every tool would never be asked. */
  #rules(): NonNullable<LadderOptions["rules"]> {
    const { override, otherwise } = this.#options;
    if (override !== undefined) return [{ tools: "*", from: rungList(override, "override") }];
    const last = otherwise === undefined ? [] : [{ tools: "*", from: rungList(otherwise, "otherwise"), realOnly: true }];
    return [...this.#simulation.rungs, ...last];
  }

  #named(rules: NonNullable<LadderOptions["rules"]>): readonly Named[] {
    const { rungs, standIn = [] } = this.#simulation;
    const named = rules.flatMap(({ tools, from }) => {
      const isOfFile = rungs.some((rule) => rule.tools === tools && rule.from === from);
      const path = isOfFile ? ["simulation", "rungs", String(tools)] : ["simulation"];
      return rungList(from, "from").map((rung) => ({ rung, path }));
    });
    return [...named, ...standIn.map((rung) => ({ rung, path: ["simulation", "standIn"] }))];
  }

  /** A recording that is given is asked first, whatever the file says. */
  #standIns(): readonly Rung[] {
    const own = standInsOf(this.#loaded);
    return this.#options.recording === undefined ? own : [...new Set<Rung>(["replay", ...own])];
  }

  #recordingOf(written: RecordingConfig | undefined): RecordingConfig | undefined {
    const { recording = written?.recording, match = written?.match } = this.#options;
    if (recording === undefined) return undefined;
    const isOfFile = this.#options.recording === undefined;
    return { recording, ...omitUndefined({ match, repeatLast: isOfFile ? written?.repeatLast : undefined }) };
  }

  async #make(rung: EngineRung, isNamed: boolean): Promise<Engine> {
    switch (rung) {
      case "replay":
        return await this.#makeReplay();
      case "lm":
        return await this.#makeLm(isNamed);
      case "example":
        return await makeExample(this.#seed);
      case "stub": {
        const { stubs } = this.#simulation;
        if (stubs === undefined) throw new NothingToAnswer("stub", "stubs, an array of answers or the file that holds it");
        return await makeStub(typeof stubs === "string" ? filePath(stubs, this.#loaded.folder) : stubs);
      }
    }
  }

  async #makeReplay(): Promise<Engine> {
    if (this.#recording === undefined) throw new NothingToAnswer("replay", "recording, the file with the recorded calls");
    if (this.#options.recording !== undefined) return await makeGivenReplay(this.#recording);
    return await makeReplay({ ...this.#recording, recording: filePath(this.#recording.recording, this.#loaded.folder) });
  }

  async #makeLm(isNamed: boolean): Promise<Engine> {
    const { model: own, lm } = this.#simulation;
    const model = own ?? this.#loaded.config.model;
    if (model === undefined) throw new NothingToAnswer("lm", 'model, such as "ollama/qwen3"');
    const config: LmConfig = { model, modelKey: "model", settings: lm };
    try {
      const { environment = this.#loaded.environment } = this.#options;
      return await makeLm(config, { environment, name: own === undefined ? undefined : "simulation" });
    } catch (thrown: unknown) {
      if (isNamed) throw thrown;
      return unanswering(ToolError.fromUnknown(thrown));
    }
  }

  /** What is to blame where an engine cannot be made. */
  #placeOf(rung: EngineRung): KeyPath {
    const key = { replay: "recording", lm: "model", example: "seed", stub: "stubs" }[rung];
    return rung === "lm" && this.#simulation.model === undefined ? ["model"] : ["simulation", key];
  }
}

/** A rung is named, and nothing says what answers on it. */
class NothingToAnswer extends ToolError {
  constructor(rung: EngineRung, missing: string) {
    super("invalid_config", `the rung ${rung} is named, and nothing answers on it.`, { hint: `Set simulation.${missing}.` });
  }
}

/** Stands in for tools and cannot. */
function unanswering(error: ToolError): Engine {
  return {
    kind: "lm",
    effectFree: true,
    origin: "simulated",
    call: () => {
      throw new ToolError("unavailable", `No model can stand in: ${error.message}`, {
        retryable: false,
        outcome: "not_started",
        ...hintsOf(error),
      });
    },
  };
}
