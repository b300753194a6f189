/** From the options --replay, --record, --simulate and --seed, and the configuration, to who answers which tool. */
import { buildAnswers } from "../../config/build/build-answers.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { ModelListeners } from "../../config/build/model-listeners.ts";
import { isReal, sourceList, type AnswerSources } from "../../core/answer-source.ts";
import type { AnswerOptions } from "../../call/fallback-chains.ts";
import type { RuntimeOptions } from "../../runtime/runtime.ts";
import type { CallRecorder } from "../input/call-recorder.ts";
import type { CommandContext } from "../command.ts";
import { inFile } from "../input/read-recorded-events.ts";

export interface AnswerChoice extends ModelListeners {
  /** The sources of tools that no rule of the configuration fits. @default they are live */
  readonly otherwise?: ((config: LoadedConfig) => AnswerSources) | undefined;
  /** Takes the calls that are live. */
  readonly recorder?: CallRecorder | undefined;
  /** Its clients simulate calls: where the configuration names no stand-in, examples answer, as with --simulate. @default false */
  readonly serves?: boolean;
}

/** @throws ToolError `invalid_config` with every problem, `invalid_argument` for options that contradict each other, before anything runs */
export async function commandAnswers(
  { options, environment }: CommandContext,
  config: LoadedConfig,
  { otherwise, recorder, serves = false, onModel, onMeter, onRetry }: AnswerChoice,
): Promise<Pick<RuntimeOptions, "answers" | "faults">> {
  const { replay, record, simulate, nearest } = options;
  if (replay !== undefined && record !== undefined)
    throw new ToolError("invalid_argument", "--replay runs nothing, so there is nothing for --record to record.", {
      hint: "Leave out one of the two.",
    });
  if (nearest && replay === undefined)
    throw new ToolError("invalid_argument", "--nearest says how --replay answers, and there is no --replay.", {
      hint: "For example: --replay travel.jsonl --nearest",
    });
  const isWanted = serves || simulate || replay !== undefined || recorder !== undefined || otherwise !== undefined;
  if (!isWanted && config.config.simulation === undefined) return {}; // there is no stand-in, and no engine is loaded for it
  const built = await buildAnswers(config, {
    environment,
    ...omitUndefined({
      otherwise: otherwise?.(config),
      recording: replay,
      seed: seedOf(options.seed),
      onRecord: recorder?.add,
      onModel,
      onMeter,
      onRetry,
    }),
    ...(nearest ? { match: "nearest" } : {}),
    ...(replay === undefined || simulate ? {} : { override: "replay" }),
  }).catch((thrown: unknown) => {
    throw replay === undefined ? thrown : inFile(ToolError.fromUnknown(thrown), replay);
  });
  const { answers } = built;
  const rules = recorder === undefined ? simulatedRules(answers, simulate && replay !== undefined) : recordedRules(answers.rules ?? []);
  return { answers: { ...answers, ...omitUndefined({ rules }) }, ...omitUndefined({ faults: built.faults }) };
}

/** With a recording and --simulate nothing runs for real: calls that were not recorded are simulated. */
function simulatedRules({ rules, simulation }: AnswerOptions, runsNothing: boolean): AnswerOptions["rules"] {
  return runsNothing && simulation !== undefined ? [{ tools: "*", from: simulation }] : rules;
}

/** Live calls are recorded as well. */
function recordedRules(rules: NonNullable<AnswerOptions["rules"]>): AnswerOptions["rules"] {
  const known = rules.map((rule) => (sourceList(rule.from, "from").some(isReal) ? { ...rule, from: "record" as const } : rule));
  return [...known, { tools: "*", from: "record", realOnly: true }];
}

/** A number where it is one: as in a configuration, 7 and "7" are two seeds. */
function seedOf(seed: string | undefined): number | string | undefined {
  const number = Number(seed);
  return seed === undefined || seed.trim() === "" || !Number.isSafeInteger(number) ? seed : number;
}
