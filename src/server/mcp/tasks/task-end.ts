/** Converts the result of a call to the end of its task: failures of the tool are results, violations of the protocol errors. */
import { copyJson, isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import type { ToolResult } from "../../../core/result.ts";
import { toClientResult, type ResultContext } from "../answer-call.ts";
import { INTERNAL_ERROR } from "../../../engine/mcp/rpc-codes.ts";
import type { TaskEnd } from "./served-task.ts";

export async function toTaskEnd(result: ToolResult, call: ResultContext): Promise<TaskEnd> {
  try {
    return { status: result.status === "cancelled" ? "cancelled" : "completed", result: await toClientResult(result, call) };
  } catch (thrown: unknown) {
    const { ProtocolError } = call.serving.gateway.sdk;
    if (!(thrown instanceof ProtocolError))
      return { status: "failed", error: { code: INTERNAL_ERROR, message: "The result cannot be sent over MCP." } };
    const data = dataOf(thrown.data);
    return { status: "failed", error: { code: thrown.code, message: thrown.message, ...(data === undefined ? {} : { data }) } };
  }
}

function dataOf(data: unknown): JsonObject | undefined {
  const copy = data === undefined ? undefined : copyJson(data).value;
  return isJsonObject(copy) ? copy : undefined;
}
