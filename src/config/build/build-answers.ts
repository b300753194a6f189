/** Builds the engines that answer in place of tools, and the faults, from a configuration. */
import type { Engine } from "../../core/engine.ts";
import { ToolError, pickHints, formatForOperator } from "../../core/error.ts";
import type { FaultPlan } from "../../core/answers/fault.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { ModelListeners } from "./model-listeners.ts";
import { readAnswerSources, type AnswerSource, type AnswerSources } from "../../core/answers/answer-source.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import type { ReplayOptions } from "../../engine/replay.ts";
import { ENGINE_SOURCES, type EngineSource, type AnswerOptions } from "../../call/fallback-chains.ts";
import { filePath } from "../file-path.ts";
import type { LoadedConfig } from "../load-config.ts";
import type { LmConfig } from "../tables/lm-config.ts";
import { makeExample, makeReplayFrom, makeLm, makeReplay, makeStub } from "./make-stand-in.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { SimulationConfig } from "../tables/simulation-config.ts";
import type { RecordingConfig } from "../tables/stand-in-config.ts";
import type { Environment } from "../variables.ts";

export interface AnswerBuildOptions extends ModelListeners {
  /** The variables for the keys of models. @default the environment given to `loadConfig` */
  readonly environment?: Environment;
  /** Answers every tool, whatever the file says. */
  readonly override?: AnswerSources;
  /** Answers the tools that the file does not mention, except those whose own engine is a stand-in. @default they are live */
  readonly otherwise?: AnswerSources;
  /** A file, or the text of a recording, that replaces the one of the configuration. It is also the first stand-in. */
  readonly recording?: string;
  readonly match?: ReplayOptions["match"];
  /** The seed of examples and faults, which replaces the one of the file. */
  readonly seed?: number | string;
  readonly onRecord?: (events: readonly SessionEvent[]) => void;
}

export interface BuiltAnswers {
  readonly answers: AnswerOptions;
  readonly faults: FaultPlan | undefined;
}

/**
 * Returns the options `answers` and `faults` of `createRuntime`, from `[simulation]`.
 *
 * Makes the engines of the named sources, and the stand-ins for calls that a simulation may not run: those of `standIn`, else replay if there is a
 * recording, stub if there are answers, lm if `[simulation]` names a model, and example if it does not. A source `lm` without a model uses that of
 * `[model]`. If a model is only a stand-in and cannot be made, the calls that it would answer fail.
 *
 * @throws ToolError `invalid_config` with every problem and its place; `invalid_argument` for options that name no source; the error of
 * `readRecording` for an invalid `recording`
 */
export async function buildAnswers(loaded: LoadedConfig, options: AnswerBuildOptions = {}): Promise<BuiltAnswers> {
  return await new AnswerBuilder(loaded, options).build();
}

/** Returns the fallback chain of `[simulation]` for simulations: see `buildAnswers`. */
export function listStandIns({ config: { simulation = NO_SIMULATION } }: LoadedConfig): readonly AnswerSource[] {
  const { standIn, recording, stubs, model } = simulation;
  if (standIn !== undefined) return standIn;
  const has: Readonly<Record<EngineSource, boolean>> = {
    replay: recording !== undefined,
    stub: stubs !== undefined,
    lm: model !== undefined,
    example: model === undefined,
  };
  return ENGINE_SOURCES.filter((source) => has[source]);
}

const NO_SIMULATION: SimulationConfig = {
  model: undefined,
  lm: {},
  seed: undefined,
  recording: undefined,
  stubs: undefined,
  sources: [],
  standIn: undefined,
  faults: [],
};

/** A named source, and the place of its name. */
interface NamedSource {
  readonly source: AnswerSource;
  readonly path: KeyPath;
}

class AnswerBuilder {
  readonly #loaded: LoadedConfig;
  readonly #options: AnswerBuildOptions;
  readonly #simulation: SimulationConfig;
  readonly #seed: number | string | undefined;
  readonly #recording: RecordingConfig | undefined;

  constructor(loaded: LoadedConfig, options: AnswerBuildOptions) {
    const simulation = loaded.config.simulation ?? NO_SIMULATION;
    this.#loaded = loaded;
    this.#options = options;
    this.#simulation = simulation;
    this.#seed = options.seed ?? simulation.seed;
    this.#recording = this.#recordingOf(simulation.recording);
  }

  async build(): Promise<BuiltAnswers> {
    const rules = this.#rules();
    const simulation = this.#standIns();
    const named = this.#named(rules);
    const problems = this.#loaded.problems();
    const engines: Partial<Record<EngineSource, Engine>> = {};
    for (const source of ENGINE_SOURCES) {
      const namedSource = named.find((one) => one.source === source);
      if (namedSource === undefined && !simulation.includes(source)) continue;
      try {
        engines[source] = await this.#make(source, namedSource !== undefined);
      } catch (thrown: unknown) {
        if (source === "replay" && this.#options.recording !== undefined) throw thrown; // the configuration is not at fault
        const path = namedSource !== undefined && thrown instanceof SourceNotConfigured ? namedSource.path : this.#placeOf(source);
        problems.add(path, this.#loaded.redact(formatForOperator(thrown)));
      }
    }
    problems.throwIfAny();
    const { faults } = this.#simulation;
    return {
      answers: { rules, engines, simulation, ...omitUndefined({ onRecord: this.#options.onRecord }) },
      faults: faults.length === 0 ? undefined : { rules: faults, ...omitUndefined({ seed: this.#seed }) },
    };
  }

  /** With an override for every tool, later rules would never be used. */
  #rules(): NonNullable<AnswerOptions["rules"]> {
    const { override, otherwise } = this.#options;
    if (override !== undefined) return [{ tools: "*", from: readAnswerSources(override, "override") }];
    const last = otherwise === undefined ? [] : [{ tools: "*", from: readAnswerSources(otherwise, "otherwise"), realOnly: true }];
    return [...this.#simulation.sources, ...last];
  }

  #named(rules: NonNullable<AnswerOptions["rules"]>): readonly NamedSource[] {
    const { sources, standIn = [] } = this.#simulation;
    const named = rules.flatMap(({ tools, from }) => {
      const isOfFile = sources.some((rule) => rule.tools === tools && rule.from === from);
      const path = isOfFile ? ["simulation", "sources", String(tools)] : ["simulation"];
      return readAnswerSources(from, "from").map((source) => ({ source, path }));
    });
    return [...named, ...standIn.map((source) => ({ source, path: ["simulation", "standIn"] }))];
  }

  /** Returns the stand-ins. A recording given as an option is asked first, whatever the file says. */
  #standIns(): readonly AnswerSource[] {
    const own = listStandIns(this.#loaded);
    return this.#options.recording === undefined ? own : [...new Set<AnswerSource>(["replay", ...own])];
  }

  #recordingOf(written: RecordingConfig | undefined): RecordingConfig | undefined {
    const { recording = written?.recording, match = written?.match } = this.#options;
    if (recording === undefined) return undefined;
    const isOfFile = this.#options.recording === undefined;
    return { recording, ...omitUndefined({ match, repeatLast: isOfFile ? written?.repeatLast : undefined }) };
  }

  async #make(source: EngineSource, isNamed: boolean): Promise<Engine> {
    switch (source) {
      case "replay":
        return await this.#makeReplay();
      case "lm":
        return await this.#makeLm(isNamed);
      case "example":
        return await makeExample(this.#seed);
      case "stub": {
        const { stubs } = this.#simulation;
        if (stubs === undefined) throw new SourceNotConfigured("stub", "stubs, an array of answers or the file that holds it");
        return await makeStub(typeof stubs === "string" ? filePath(stubs, this.#loaded.folder) : stubs);
      }
    }
  }

  async #makeReplay(): Promise<Engine> {
    if (this.#recording === undefined) throw new SourceNotConfigured("replay", "recording, the file with the recorded calls");
    if (this.#options.recording !== undefined) return await makeReplayFrom(this.#recording);
    return await makeReplay({ ...this.#recording, recording: filePath(this.#recording.recording, this.#loaded.folder) });
  }

  async #makeLm(isNamed: boolean): Promise<Engine> {
    const { model: own, lm } = this.#simulation;
    const model = own ?? this.#loaded.config.model;
    if (model === undefined) throw new SourceNotConfigured("lm", 'model, such as "ollama/qwen3"');
    const config: LmConfig = { model, modelKey: "model", settings: lm };
    try {
      const { environment = this.#loaded.environment, onModel, onMeter, onRetry } = this.#options;
      return await makeLm(config, { environment, name: own === undefined ? undefined : "simulation", onModel, onMeter, onRetry });
    } catch (thrown: unknown) {
      if (isNamed) throw thrown;
      return createFailingStandIn(ToolError.fromUnknown(thrown));
    }
  }

  /** Returns the key at fault if an engine cannot be made. */
  #placeOf(source: EngineSource): KeyPath {
    const key = { replay: "recording", lm: "model", example: "seed", stub: "stubs" }[source];
    return source === "lm" && this.#simulation.model === undefined ? ["model"] : ["simulation", key];
  }
}

/** A source is named, but its engine is not configured. */
class SourceNotConfigured extends ToolError {
  constructor(source: EngineSource, missing: string) {
    super("invalid_config", `the source ${source} is named, but nothing is configured to answer for it.`, {
      hint: `Set simulation.${missing}.`,
    });
  }
}

/** Returns a stand-in whose calls fail because it could not be made. */
function createFailingStandIn(error: ToolError): Engine {
  return {
    kind: "lm",
    effectFree: true,
    origin: "simulated",
    call: () => {
      throw new ToolError("unavailable", `No model can answer: ${error.message}`, {
        retryable: false,
        outcome: "not_started",
        ...pickHints(error),
      });
    },
  };
}
