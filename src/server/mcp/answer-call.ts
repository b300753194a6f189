/** The answer of a call as its client gets it, whether at once or as the result of a task. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { attachContent } from "../../session/attach-artifacts.ts";
import type { CallClient } from "./call-client.ts";
import { toCallAnswer, type CallAnswer } from "./call-result.ts";
import type { CallServing } from "./serving.ts";

export interface AnsweredCall {
  readonly serving: CallServing;
  readonly client: CallClient;
  /** Undefined for a tool that is no longer there. */
  readonly tool: Tool | undefined;
}

/** @throws an error of the protocol where the tool needed what the client of 2026-07-28 does not offer. By rejecting */
export async function answerOf(result: ToolResult, { serving: { gateway, server }, client, tool }: AnsweredCall): Promise<JsonObject> {
  if (result.status !== "ok" && client.missing !== undefined && client.era === "modern")
    throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { ...client.missing } });
  return projected(
    server.projectCallToolResult.bind(server),
    toCallAnswer(await withFiles(result, gateway.runtime), tool, server.getNegotiatedProtocolVersion()),
    tool?.outputSchema,
  );
}

/** A client cannot read the artifacts of the runtime: it gets the files themselves, as far as a model can be shown them. */
async function withFiles(result: ToolResult, { artifacts }: Runtime): Promise<ToolResult> {
  const { content } = result;
  if (artifacts === undefined || content === undefined) return result;
  const whole = await attachContent(content, artifacts).catch(() => content); // the address is better than no answer
  return whole === content ? result : { ...result, content: whole };
}

/** The older revision's clients take objects only as structured content: the SDK wraps the rest, and the schema as well. */
function projected(project: (result: never, schema: never) => object, answer: CallAnswer, outputSchema: unknown): JsonObject {
  const schema = typeof outputSchema === "boolean" ? {} : outputSchema;
  const shown: object = project(answer as never, schema as never); // the SDK's types name every field of both
  return isJsonObject(shown) ? shown : {};
}
