/** Failures of a connection or a server, before `callError` turns them into errors of a call. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { INTERNAL_ERROR } from "./rpc-codes.ts";

/** A JSON-RPC error that the server answered. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly code: number;
  readonly data: JsonValue | undefined;

  constructor(code: number, message: string, data?: JsonValue, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** Reads the `error` of an answer, whatever its form. */
export function toRpcFailure(error: unknown, options?: ErrorOptions): RpcFailure {
  const { code, message, data } = isJsonObject(error) ? error : ({} as { readonly [key: string]: JsonValue | undefined }); // nothing to read
  return new RpcFailure(
    typeof code === "number" ? code : INTERNAL_ERROR,
    typeof message === "string" && message !== "" ? message : "an error without a message",
    data,
    options,
  );
}

/** The connection, or the stream of one answer, ended before the answer arrived. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The server has forgotten the session, so the request had no effect. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

/** A failure (in `cause`) after the server had begun the work, which may have taken effect. */
export class WorkStarted extends Error {
  override readonly name = "WorkStarted";
}

/** A mistake of a server. The message describes it without the server's name: `it …`. */
export class ServerFault extends ToolError {}
