/** Finds out of a server whose variables have no values yet whether its engine would refuse it. */
import { describeThrown } from "../../core/error.ts";
import { checkOptions } from "../../engine/mcp/check-options.ts";
import type { McpConfig } from "../toolset/mcp.ts";

/** Why no engine can be made of it, for which a whole configuration would be refused; undefined for one that may work. */
export function unusableServer(server: McpConfig): string | undefined {
  try {
    if (server.url === undefined) {
      const { command, args, env, cwd } = server;
      checkOptions({ command, args, env, ...(cwd === undefined ? {} : { cwd }) });
    } else {
      const headers = Object.entries(server.headers).map(([name, value]) => [name, filled(value)]);
      const url = server.url.startsWith("${") ? "https://localhost" : filled(server.url);
      checkOptions({ url, headers: Object.fromEntries(headers) });
    }
    return undefined;
  } catch (thrown: unknown) {
    return describeThrown(thrown);
  }
}

/** With a digit for each variable, as a port may be one. */
function filled(text: string): string {
  return text.replaceAll(/\$\{\w+\}/gu, "1");
}
