/** A question of a model's provider: whether it may call a tool of a server that the provider itself connects to. */
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";

/** The input of such a call; the call is of the tool that describes the server to the provider. */
export interface ProviderApproval {
  /** The server's name, as the provider knows it. */
  readonly server: string;
  readonly tool: string;
  readonly arguments: JsonValue;
}

/** Reads such an input; undefined for any other: then the model called a tool that only its provider runs. */
export function readProviderApproval(input: unknown): ProviderApproval | undefined {
  if (!isJsonObject(input) || Object.keys(input).length !== 3) return undefined;
  const { server, tool, arguments: given } = input;
  return typeof server === "string" && typeof tool === "string" && given !== undefined ? { server, tool, arguments: given } : undefined;
}

export function toApprovalInput({ server, tool, arguments: given }: ProviderApproval): JsonObject {
  return { server, tool, arguments: given };
}
