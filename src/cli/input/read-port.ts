import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { ToolError } from "../../core/error.ts";

/** Reads a port; 0 means any free port. @param option for the message: `--port` @throws ToolError `invalid_argument` */
export function readPort(text: string, option: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/u.test(text) && port <= 65_535) return port;
  throw new ToolError("invalid_argument", `${option} takes a port from 0 to 65535, not ${JSON.stringify(text)}.`);
}

/** Rethrows an error of listening, with a hint if the port is in use. @param option for the hint: `--port` @throws ToolError in any case */
export function throwPortError(thrown: unknown, option: string): never {
  const error = ToolError.fromUnknown(thrown);
  if (systemErrorCode(error.cause) !== "EADDRINUSE") throw thrown;
  throw new ToolError(error.code, error.message, {
    cause: thrown,
    hint: `Choose another with ${option} <port>, or ${option} 0 for any free one.`,
  });
}
