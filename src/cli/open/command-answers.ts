/** Decides how each tool is answered, from the options --replay, --record, --simulate and --seed and the configuration. */
import { buildAnswers } from "../../config/build/build-answers.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { ModelListeners } from "../../config/build/model-listeners.ts";
import { isRealSource, readAnswerSources, type AnswerSources } from "../../core/answers/answer-source.ts";
import type { AnswerOptions } from "../../call/fallback-chains.ts";
import type { RuntimeOptions } from "../../runtime/runtime.ts";
import type { CallRecorder } from "../input/call-recorder.ts";
import type { CommandContext } from "../command.ts";
import { withFileName } from "../input/read-recorded-events.ts";

export interface AnswerChoice extends ModelListeners {
  /** Returns the answer sources of tools that no rule of the configuration matches. @default such tools are live */
  readonly otherwise?: ((config: LoadedConfig) => AnswerSources) | undefined;
  /** Records the calls that are live. */
  readonly recorder?: CallRecorder | undefined;
  /** Whether clients may simulate calls: tools without a configured stand-in are then answered by examples, as with --simulate. @default false */
  readonly serves?: boolean;
}

/** Returns how tools are answered, and faults. @throws ToolError `invalid_config` with every problem, `invalid_argument` for contradictory options */
export async function buildCommandAnswers(
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
  if (!isWanted && config.config.simulation === undefined) return {}; // no stand-in is needed, so no engine is loaded for one
  const built = await buildAnswers(config, {
    environment,
    ...omitUndefined({
      otherwise: otherwise?.(config),
      recording: replay,
      seed: parseSeed(options.seed),
      onRecord: recorder?.add,
      onModel,
      onMeter,
      onRetry,
    }),
    ...(nearest ? { match: "nearest" } : {}),
    ...(replay === undefined || simulate ? {} : { override: "replay" }),
  }).catch((thrown: unknown) => {
    throw replay === undefined ? thrown : withFileName(ToolError.fromUnknown(thrown), replay);
  });
  const { answers } = built;
  const rules =
    recorder === undefined ? withSimulatedRules(answers, simulate && replay !== undefined) : withRecordedRules(answers.rules ?? []);
  return { answers: { ...answers, ...omitUndefined({ rules }) }, ...omitUndefined({ faults: built.faults }) };
}

/** Returns the rules. With a recording and --simulate nothing is live: calls that were not recorded are simulated. */
function withSimulatedRules({ rules, simulation }: AnswerOptions, runsNothing: boolean): AnswerOptions["rules"] {
  return runsNothing && simulation !== undefined ? [{ tools: "*", from: simulation }] : rules;
}

/** Returns the rules with live calls recorded. */
function withRecordedRules(rules: NonNullable<AnswerOptions["rules"]>): AnswerOptions["rules"] {
  const known = rules.map((rule) =>
    readAnswerSources(rule.from, "from").some(isRealSource) ? { ...rule, from: "record" as const } : rule,
  );
  return [...known, { tools: "*", from: "record", realOnly: true }];
}

/** Returns the seed as a number if it is an integer: as in a configuration, 7 and "7" are different seeds. */
function parseSeed(seed: string | undefined): number | string | undefined {
  const number = Number(seed);
  return seed === undefined || seed.trim() === "" || !Number.isSafeInteger(number) ? seed : number;
}
