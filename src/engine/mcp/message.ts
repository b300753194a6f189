/** Reads one line of a server as a JSON-RPC message, after a look at how much it would cost to build. */
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { ToolError } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { LONG_INTEGER, endOfString, keepDigits } from "../../core/base/parse-json.ts";

const MAX_DEPTH = 256;
const MAX_VALUES = 500_000;

/**
 * The message in a line, or undefined when the line is none (a banner, a stray print, a torn message).
 *
 * Of repeated keys the last one counts, and an integer that would lose digits comes as a string of them:
 * refusing a whole answer for one would leave its call without any.
 *
 * @throws ToolError `too_large` for a line that nests too deep or holds too many values
 */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  if (!line.startsWith("{")) return undefined;
  checkCost(line);
  let message: unknown;
  try {
    // oxlint-disable-next-line no-restricted-properties -- read as leniently as the sender means it, see above
    message = JSON.parse(line, LONG_INTEGER.test(line) ? keepDigits : undefined);
  } catch {
    return undefined;
  }
  if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") return undefined;
  return message as unknown as JSONRPCMessage; // the SDK checks every field that it uses
}

function checkCost(line: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < line.length; at++) {
    switch (line.charCodeAt(at)) {
      case 0x22: // a string: on to its closing quote
        at = endOfString(line, at + 1);
        break;
      case 0x2c:
        values++;
        break;
      case 0x5b:
      case 0x7b:
        values++;
        if (++depth > MAX_DEPTH) throw new ToolError("too_large", `it sent a message that nests deeper than ${MAX_DEPTH} levels`);
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  if (values > MAX_VALUES) throw new ToolError("too_large", `it sent a message of more than ${MAX_VALUES} values`);
}
