/** Reads the table that says which engines answer in place of tools, for which tools, and which faults are injected. */
import { formatForOperator } from "../../core/error.ts";
import type { FaultRule } from "../../core/answers/fault.ts";
import { isRealSource, readAnswerSources, type AnswerSource } from "../../core/answers/answer-source.ts";
import type { Problems } from "../../documents/problems.ts";
import type { Stub } from "../../engine/stub.ts";
import { readFaultRules } from "./faults-config.ts";
import { readLmSettings, readModelOf, type LmSettings } from "./lm-config.ts";
import type { ModelConfig } from "./model-config.ts";
import { patternFault } from "./policy-config.ts";
import { readRecording, readSeed, readStubList, type RecordingConfig } from "./stand-in-config.ts";
import type { TableReader } from "../table-reader.ts";
import type { ReadContext } from "../toolset/toolset-type.ts";

export interface SimulationConfig {
  /** The model that plays tools; undefined = examples do, unless a source names `lm`. */
  readonly model: ModelConfig | undefined;
  /** How the model plays tools. */
  readonly lm: LmSettings;
  /** The seed of examples and faults. */
  readonly seed: number | string | undefined;
  readonly recording: RecordingConfig | undefined;
  /** A file, or its content. */
  readonly stubs: string | readonly Stub[] | undefined;
  /** The fallback chains of tools in every session, in the order of the file; the first match applies. */
  readonly sources: readonly SourcesConfig[];
  /** The fallback chain for calls that a simulation may not run. */
  readonly standIn: readonly AnswerSource[] | undefined;
  readonly faults: readonly FaultRule[];
}

export interface SourcesConfig {
  /** A pattern over qualified names. */
  readonly tools: string;
  readonly from: readonly AnswerSource[];
}

/** The keys that only have a meaning with a recording. */
const OF_RECORDING = ["match", "repeatLast"] as const;

export function readSimulation(table: TableReader, context: Pick<ReadContext, "variables" | "problems">): SimulationConfig {
  return {
    model: readModelOf(table),
    lm: readLmSettings(table),
    seed: readSeed(table),
    recording: readOptionalRecording(table, context),
    stubs: readStubList(table, context),
    sources: table.section("sources", (sources) => readSources(sources, context.problems)) ?? [],
    standIn: readStandIn(table),
    faults: readFaultRules(table, "faults") ?? [],
  };
}

function readOptionalRecording(table: TableReader, context: Pick<ReadContext, "variables">): RecordingConfig | undefined {
  if (table.value("recording") !== undefined) return readRecording(table, context);
  for (const key of OF_RECORDING)
    if (table.value(key) !== undefined) table.report(key, "says how a recording is replayed, and there is none.");
  return undefined;
}

function readSources(table: TableReader, problems: Problems): readonly SourcesConfig[] {
  const rules: SourcesConfig[] = [];
  for (const tools of problems.sortKeys(table.path, table.names())) {
    const fault = patternFault(tools, "sources");
    if (fault !== undefined) table.report(tools, fault);
    const from = readSourceList(table, tools);
    if (from !== undefined) rules.push({ tools, from });
  }
  return rules;
}

function readStandIn(table: TableReader): readonly AnswerSource[] | undefined {
  const sources = readSourceList(table, "standIn");
  const real = sources?.find(isRealSource);
  if (real !== undefined) table.report("standIn", `names ${real}, but a simulation does not fall back to real answers.`);
  return sources;
}

/** Reads one source or an array of sources. */
function readSourceList(table: TableReader, key: string): readonly AnswerSource[] | undefined {
  const value = table.value(key);
  if (value === undefined) return undefined;
  try {
    return readAnswerSources(value, "it");
  } catch (error: unknown) {
    table.report(key, formatForOperator(error));
    return undefined;
  }
}
