/** The failures between here and a server, before they are put in the words of a call. */
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

/** The `error` of an answer, whatever it is. */
export function toFailure(error: unknown, options?: ErrorOptions): RpcFailure {
  const { code, message, data } = isJsonObject(error) ? error : ({} as { readonly [key: string]: JsonValue | undefined }); // nothing to read
  return new RpcFailure(
    typeof code === "number" ? code : INTERNAL_ERROR,
    typeof message === "string" && message !== "" ? message : "an error without a message",
    data,
    options,
  );
}

/** The connection, or the stream of one answer, ended before the answer came. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** The server has forgotten the session, so that it did nothing with the request. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

/** A failure, in `cause`, after the server had begun the work: the work may have had its effect. */
export class WorkBegun extends Error {
  override readonly name = "WorkBegun";
}

/** Something that a server did wrong, described without its name: `it …`. */
export class ServerFault extends ToolError {}
