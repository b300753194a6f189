/** Makes the engines that answer in place of tools: a model, examples, a recording or stubs. */
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Model } from "../../core/model.ts";
import { readRecording, type RecordingSource } from "../../core/recording/recording.ts";
import { readDocument } from "../../documents/read-document.ts";
import { readTextPieces } from "../../documents/read-text-file.ts";
import type { Stub } from "../../engine/stub.ts";
import type { LmConfig } from "../tables/lm-config.ts";
import type { ModelListeners } from "./model-listeners.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { RecordingConfig } from "../tables/stand-in-config.ts";
import type { Environment } from "../variables.ts";

export interface LmContext extends ModelListeners {
  readonly environment: Environment;
  /** The table that names the model; undefined = the top level of the configuration. */
  readonly name: string | undefined;
}

/** @throws ToolError if the model cannot be made, naming the variable of a missing key */
export async function makeLm(
  { model: config, modelKey, native, settings }: LmConfig,
  { environment, name, onModel = (model) => model, onMeter, onRetry }: LmContext,
): Promise<Engine> {
  const { buildModel } = await import("./build-model.ts");
  const { lmEngine } = await import("../../engine/lm.ts");
  const keyName = `${name === undefined ? "" : `${name}.`}${modelKey === "lm_config" ? "lm_config.api_key" : "model.apiKey"}`;
  const { model, meter } = buildModel(config, { environment, keyName, onRetry: (retry) => onRetry?.(retry, config.name) });
  onMeter?.(meter);
  const { maxOutputTokens, temperature, reasoningEffort } = config;
  return lmEngine({
    model: onModel(native === undefined ? model : withNativeFields(model, native)),
    ...omitUndefined({ maxOutputTokens, temperature, reasoningEffort }),
    ...settings,
  });
}

/** Returns the same model with additional provider-specific fields. */
function withNativeFields(model: Model, fields: JsonObject): Model {
  const { name, format, serverUrl } = model;
  return {
    name,
    ...omitUndefined({ format, serverUrl }),
    stream: (request, options) => model.stream({ ...request, native: { ...fields, ...request.native } }, options),
  };
}

export async function makeExample(seed: number | string | undefined): Promise<Engine> {
  const { exampleEngine } = await import("../../engine/example.ts");
  return exampleEngine(omitUndefined({ seed }));
}

/** @throws ToolError for a file that cannot be read, and with file and line for a damaged one */
export async function makeReplay(config: RecordingConfig): Promise<Engine> {
  try {
    return await makeReplayFrom(config, "invalid_config");
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    throw error.code === "corrupt_record" ? withFileName(config.recording, error) : error;
  }
}

/** Like `makeReplay`, also for the text of a recording. Damage is reported without the file. @param code the error code for an unreadable file */
export async function makeReplayFrom(
  { recording, match, repeatLast }: RecordingConfig,
  code: "invalid_config" | "invalid_argument" = "invalid_argument",
): Promise<Engine> {
  const { replayEngine } = await import("../../engine/replay.ts");
  const source: RecordingSource = recording.includes("\n") // every line of a recording ends with one
    ? recording
    : readTextPieces({ path: recording, what: "recording", code, hint: "Name the file itself, such as session.jsonl." });
  const events: SessionEvent[] = [];
  for await (const event of (await readRecording(source)).events) events.push(event);
  return replayEngine(events, omitUndefined({ match, repeatLast }));
}

function withFileName(file: string, error: ToolError): ToolError {
  return new ToolError(error.code, `${file}: ${error.message}`, { ...error.toJSON(), cause: error });
}

const MAX_STUBS_BYTES = 64 * 1024 * 1024;

/** @param stubs the absolute path of a YAML, TOML or JSON file, or its content. @throws ToolError for an invalid list of answers */
export async function makeStub(stubs: string | readonly Stub[]): Promise<Engine> {
  const { readStubs, stubEngine } = await import("../../engine/stub.ts");
  if (typeof stubs !== "string") return stubEngine(stubs);
  const { value } = await readDocument({
    path: stubs,
    what: "list of answers",
    endings: [".yaml", ".yml", ".json", ".toml"],
    maxBytes: MAX_STUBS_BYTES,
    hint: "Name the file itself, such as stubs.yaml.",
  });
  try {
    return stubEngine(readStubs(value));
  } catch (thrown: unknown) {
    throw withFileName(stubs, ToolError.fromUnknown(thrown));
  }
}
