/** The answer of a call as its client gets it, whether at once or as the result of a task. */
import { artifactId, type Artifact, type ArtifactStore } from "../../core/artifact.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ContentPart } from "../../core/content.ts";
import { fileData } from "../../core/data-uri.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { hadBytes } from "../../policy/results/artifact-parts.ts";
import { changeTexts } from "../../policy/results/data-urls.ts";
import { attachContent } from "../../session/attach-artifacts.ts";
import type { CallClient } from "./call-client.ts";
import { toCallAnswer, type CallAnswer } from "./call-result.ts";
import { hasScope } from "../auth/principal.ts";
import type { Caller, CallServing } from "./serving.ts";

export interface AnsweredCall {
  readonly serving: CallServing;
  readonly client: CallClient;
  /** Undefined for a tool that is no longer there. */
  readonly tool: Tool | undefined;
}

/** @throws an error of the protocol where the tool needed what the client of 2026-07-28 does not offer. By rejecting */
export async function answerOf(
  result: ToolResult,
  { serving: { gateway, server, info }, client, tool }: AnsweredCall,
): Promise<JsonObject> {
  if (result.status !== "ok" && client.missing !== undefined && client.era === "modern")
    throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { ...client.missing } });
  const options = { artifacts: gateway.runtime.artifacts, promised: tool?.outputSchema !== undefined, readsAll: mayRead(info.caller) };
  return projected(
    server.projectCallToolResult.bind(server),
    toCallAnswer(await withFiles(result, options), tool, server.getNegotiatedProtocolVersion()),
    tool?.outputSchema,
  );
}

/** Whether it may read every file: an answer can hold an address that its caller has made up, and the id of a file does not say whose it is. */
function mayRead({ principal }: Caller): boolean {
  return principal === undefined || (principal.sessionId === undefined && hasScope(principal, "read"));
}

interface FileOptions {
  readonly artifacts: Runtime["artifacts"];
  /** The tool's schema promises its output. */
  readonly promised: boolean;
  /** Else the client is given the files that a model would be shown, of those that the tool has answered with itself. */
  readonly readsAll: boolean;
}

/** A client cannot read the artifacts of the runtime: it gets the files themselves, and data URLs where the tool's schema promises its output. */
async function withFiles(result: ToolResult, { artifacts, promised, readsAll }: FileOptions): Promise<ToolResult> {
  const { content, output } = result;
  if (artifacts === undefined || result.status !== "ok") return result;
  try {
    const attached = content === undefined ? undefined : await attachContent(content, artifacts, readsAll ? undefined : hadBytes);
    const shown = attached !== undefined && readsAll ? await withBytes(attached, artifacts) : attached;
    const whole = promised && readsAll && output !== undefined ? await withDataUrls(output, artifacts) : output;
    return { ...result, ...omitUndefined({ content: shown, output: whole }) };
  } catch {
    return result; // the address is better than no answer
  }
}

/** Files that no model is shown, as resources with their bytes; an address that its image follows stays. */
async function withBytes(content: readonly ContentPart[], artifacts: ArtifactStore): Promise<readonly ContentPart[]> {
  const parts: ContentPart[] = [];
  for (const [index, part] of content.entries()) {
    const id = part.type === "file" && part.text === undefined && !isShown(content[index + 1]) ? artifactId(part.uri) : undefined;
    const artifact = id === undefined ? undefined : await artifacts.get(id);
    parts.push(artifact === undefined || part.type !== "file" ? part : { ...part, uri: dataUrl(artifact) });
  }
  return parts;
}

function isShown(next: ContentPart | undefined): boolean {
  return next !== undefined && (next.type === "image" || next.type === "audio" || fileData(next) !== undefined);
}

async function withDataUrls(output: JsonValue, artifacts: ArtifactStore): Promise<JsonValue> {
  const urls = new Map<string, string>();
  changeTexts(output, (text) => (artifactId(text) === undefined ? text : (urls.set(text, text), text)));
  for (const uri of urls.keys()) {
    const artifact = await artifacts.get(artifactId(uri) ?? "");
    if (artifact !== undefined) urls.set(uri, dataUrl(artifact));
  }
  return urls.size === 0 ? output : changeTexts(output, (text) => urls.get(text) ?? text);
}

function dataUrl({ mediaType, data }: Artifact): string {
  return `data:${mediaType};base64,${data}`;
}

/** The older revision's clients take objects only as structured content: the SDK wraps the rest, and the schema as well. */
function projected(project: (result: never, schema: never) => object, answer: CallAnswer, outputSchema: unknown): JsonObject {
  const schema = typeof outputSchema === "boolean" ? {} : outputSchema;
  const shown: object = project(answer as never, schema as never); // the SDK's types name every field of both
  return isJsonObject(shown) ? shown : {};
}
