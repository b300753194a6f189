/** Converts the result of a call for its client, whether returned at once or as the result of a task. */
import { artifactId, type Artifact, type ArtifactStore } from "../../core/artifact.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ContentPart } from "../../core/content.ts";
import { readFileData } from "../../core/formats/data-uri.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { hasReplacedBytes } from "../../policy/results/artifact-parts.ts";
import { mapTexts } from "../../policy/results/data-urls.ts";
import { ASK_FOR_LESS, READ_RESULT_NAME, formatReadHint } from "../../registry/read-result-tool.ts";
import { attachContent } from "../../session/attach-artifacts.ts";
import type { CallClient } from "./call-client.ts";
import { toCallAnswer, type CallAnswer } from "./call-result.ts";
import { hasScope } from "../auth/principal.ts";
import { withoutStorePlace } from "../store-failures.ts";
import type { Caller, CallHandlerContext } from "./handler-context.ts";

export interface ResultContext {
  readonly serving: CallHandlerContext;
  readonly client: CallClient;
  /** undefined if the tool no longer exists. */
  readonly tool: Tool | undefined;
  /** Whether the client has the session of the call, in which the rest of a truncated result is kept. @default false */
  readonly hasCallSession?: boolean;
}

/** Converts a result. @throws a protocol error if the tool needed a capability that a client of 2026-07-28 does not offer, as a rejection */
export async function toClientResult(
  result: ToolResult,
  { serving: { gateway, server, info }, client, tool, hasCallSession = false }: ResultContext,
): Promise<JsonObject> {
  if (result.status !== "ok" && client.missingCapabilities !== undefined && client.era === "modern")
    throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { ...client.missingCapabilities } });
  const options = {
    artifacts: gateway.runtime.artifacts,
    promised: tool?.outputSchema !== undefined,
    readsAll: canReadArtifacts(info.caller),
  };
  const canReadRest = hasCallSession && gateway.tools.find(READ_RESULT_NAME) !== undefined;
  const own = withoutStorePlace(result);
  const shown = canReadRest ? own : withoutReadHint(own);
  return projectAnswer(
    server.projectCallToolResult.bind(server),
    toCallAnswer(await withFiles(shown, options), tool, server.getNegotiatedProtocolVersion()),
    tool?.outputSchema,
  );
}

/** The result with a note that names no tool to read the rest of it, for a client that does not have the tool or the session. */
function withoutReadHint(result: ToolResult): ToolResult {
  const { truncation, content, output } = result;
  if (truncation?.handle === undefined) return result;
  const hint = formatReadHint(truncation.handle);
  const change = (text: string): string => text.replaceAll(hint, ASK_FOR_LESS);
  const parts = content?.map((part) => (part.type === "text" ? { ...part, text: change(part.text) } : part));
  return { ...result, ...omitUndefined({ content: parts, output: output === undefined ? undefined : mapTexts(output, change) }) };
}

/** Whether the caller may read every artifact: an answer can contain an address made up by the caller, and the id does not say who owns the file. */
function canReadArtifacts({ principal }: Caller): boolean {
  return principal === undefined || (principal.sessionId === undefined && hasScope(principal, "read"));
}

interface FileOptions {
  readonly artifacts: Runtime["artifacts"];
  /** Whether the tool has an output schema. */
  readonly promised: boolean;
  /** Whether all artifacts are attached; otherwise only files that a model would be shown, out of those in the tool's own answer. */
  readonly readsAll: boolean;
}

/** Replaces artifacts, which a client cannot read, by the files themselves, or by data URLs in the output if the tool has an output schema. */
async function withFiles(result: ToolResult, { artifacts, promised, readsAll }: FileOptions): Promise<ToolResult> {
  const { content, output } = result;
  if (artifacts === undefined || result.status !== "ok") return result;
  try {
    const attached = content === undefined ? undefined : await attachContent(content, artifacts, readsAll ? undefined : hasReplacedBytes);
    const shown = attached !== undefined && readsAll ? await withBytes(attached, artifacts) : attached;
    const whole = promised && readsAll && output !== undefined ? await withDataUrls(output, artifacts) : output;
    return { ...result, ...omitUndefined({ content: shown, output: whole }) };
  } catch {
    return result; // an answer with addresses is better than none
  }
}

/** Attaches files that no model is shown, as resources with their bytes; an address followed by its image is kept. */
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
  return next !== undefined && (next.type === "image" || next.type === "audio" || readFileData(next) !== undefined);
}

async function withDataUrls(output: JsonValue, artifacts: ArtifactStore): Promise<JsonValue> {
  const urls = new Map<string, string>();
  mapTexts(output, (text) => (artifactId(text) === undefined ? text : (urls.set(text, text), text)));
  for (const uri of urls.keys()) {
    const artifact = await artifacts.get(artifactId(uri) ?? "");
    if (artifact !== undefined) urls.set(uri, dataUrl(artifact));
  }
  return urls.size === 0 ? output : mapTexts(output, (text) => urls.get(text) ?? text);
}

function dataUrl({ mediaType, data }: Artifact): string {
  return `data:${mediaType};base64,${data}`;
}

/** Lets the SDK adapt an answer: clients of older revisions accept only objects as structured content, so it wraps other values and their schema. */
function projectAnswer(project: (result: never, schema: never) => object, answer: CallAnswer, outputSchema: unknown): JsonObject {
  const schema = typeof outputSchema === "boolean" ? {} : outputSchema;
  const shown: object = project(answer as never, schema as never); // the SDK's types name every field of both
  return isJsonObject(shown) ? shown : {};
}
