/** The answer of a call as its client gets it, whether at once or as the result of a task. */
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { Tool } from "../../core/tool.ts";
import type { CallClient } from "./call-client.ts";
import { toCallAnswer, type CallAnswer } from "./call-result.ts";
import type { Serving } from "./serving.ts";

export interface AnsweredCall {
  readonly serving: Serving;
  readonly client: CallClient;
  /** Undefined for a tool that is no longer there. */
  readonly tool: Tool | undefined;
}

/** @throws an error of the protocol where the tool needed what the client of 2026-07-28 does not offer */
export function answerOf(result: ToolResult, { serving: { gateway, server }, client, tool }: AnsweredCall): JsonObject {
  if (result.status !== "ok" && client.missing !== undefined && client.era === "modern")
    throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { ...client.missing } });
  return projected(server.projectCallToolResult.bind(server), toCallAnswer(result, tool), tool?.outputSchema);
}

/** The older revision's clients take objects only as structured content: the SDK wraps the rest, and the schema as well. */
function projected(project: (result: never, schema: never) => object, answer: CallAnswer, outputSchema: unknown): JsonObject {
  const schema = typeof outputSchema === "boolean" ? {} : outputSchema;
  const shown: object = project(answer as never, schema as never); // the SDK's types name every field of both
  return isJsonObject(shown) ? shown : {};
}
