/** `haft mcp logout`: ends the login of the person at this terminal. */
import type { LoadedConfig } from "../../../config/load-config.ts";
import { LOCAL_USER } from "../../../engine/mcp/login/login-store.ts";
import type { Command } from "../../command.ts";
import { withRuntime } from "../../open/open-runtime.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { checkLoginServer } from "./server-logins.ts";

export const logOut: Command = {
  name: "mcp logout",
  usage: "<toolset>",
  summary: "Log out of an MCP server of the configuration.",
  details: ["Revokes the token where the authorization server can, and removes it from this", "machine."],
  args: [1, 1],
  options: ["config"],
  examples: ["haft mcp logout tickets"],
  async run(context) {
    const [name = ""] = context.args;
    const onConfig = (config: LoadedConfig): void => checkLoginServer(config, name);
    const wasLoggedIn = await withRuntime(context, { only: name, onConfig }, ({ logins }) => logins.logout(name, LOCAL_USER));
    if (context.options.json) context.out.writeJson({ server: name, loggedOut: wasLoggedIn });
    else context.out.print(wasLoggedIn ? `logged out of ${safeText(name)}` : `you were not logged in to ${safeText(name)}`);
    return 0;
  },
};
