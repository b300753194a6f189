/** A port as the command line has it. */
import { ToolError } from "../core/error.ts";

/** 0 is any that is free. @param option for the message: `--port` @throws ToolError `invalid_argument` */
export function readPort(text: string, option: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/u.test(text) && port <= 65_535) return port;
  throw new ToolError("invalid_argument", `${option} takes a port from 0 to 65535, not ${JSON.stringify(text)}.`);
}
