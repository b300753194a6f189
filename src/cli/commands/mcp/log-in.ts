/** `haft mcp login` and `haft mcp logout`: the person at this terminal logs in to or out of an MCP server. */
import type { LoadedConfig } from "../../../config/load-config.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { LOCAL_USER } from "../../../engine/mcp/login/login-store.ts";
import { findDistrust } from "../../../server/http/guard.ts";
import { listenOn, type PortListener } from "../../../server/http/listen.ts";
import { LOCAL_HOST_NAMES } from "../../../server/mcp/http-options.ts";
import type { Command, CommandContext } from "../../command.ts";
import { stderrPorts, withRuntime, type OpenRuntime } from "../../open/open-runtime.ts";
import { readPort } from "../../input/read-port.ts";
import { safeText } from "../../terminal/terminal-text.ts";
import { checkLoginServer } from "./server-logins.ts";

export const logIn: Command = {
  name: "mcp login",
  usage: "<toolset>",
  summary: "Log in to an MCP server of the configuration.",
  details: [
    'For a toolset whose auth has the type "user-login". The address of a page on',
    "this machine is printed: open it in a browser, log in, and the command ends.",
    "Commands with the same configuration then call the server with your account, and",
    "so do servers of one person: haft mcp, and haft serve for the holder of its",
    "token.",
    "",
    "An authorization server that knows the exact address of the page needs --port.",
  ],
  args: [1, 1],
  options: ["config", "port"],
  examples: ["haft mcp login tickets"],
  async run(context) {
    const [name = ""] = context.args;
    const port = readPort(context.options.port ?? "0", "--port");
    const onConfig = (config: LoadedConfig): void => checkLoginServer(config, name);
    return await withRuntime(context, { only: name, onConfig }, async ({ logins }) => {
      const before = (await logins.list(LOCAL_USER)).some(({ server, loggedIn }) => server === name && loggedIn);
      if (!before) await logInHere(context, logins, { name, port });
      if (context.options.json) context.out.writeJson({ server: name, loggedIn: true, before });
      else context.out.print(before ? alreadyText(name) : `logged in to ${safeText(name)}`);
      return 0;
    });
  },
};

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

function alreadyText(name: string): string {
  return `logged in to ${safeText(name)} already; haft mcp logout ${safeText(name)} ends that`;
}

/** Serves the pages for one login until the person has logged in. @throws, as a rejection, the reason if the login fails */
async function logInHere(
  { err, signal, ...context }: CommandContext,
  logins: OpenRuntime["logins"],
  { name, port }: { readonly name: string; readonly port: number },
): Promise<void> {
  const listener = await servePages({ err, signal, ...context }, logins, port);
  try {
    logins.setOrigin(listener.origin);
    const address = await logins.begin(name, LOCAL_USER);
    err.write(`haft: log in at ${address}\n`);
    await logins.whenLoggedIn(name, LOCAL_USER, signal);
  } finally {
    await listener.close(async () => {});
  }
}

function servePages(context: CommandContext, logins: OpenRuntime["logins"], port: number): Promise<PortListener> {
  const { clock, log } = { ...systemPorts, ...stderrPorts(context) };
  const trusted = { allowedHosts: LOCAL_HOST_NAMES, allowedOrigins: undefined };
  const answer = async (request: Request): Promise<Response> =>
    (findDistrust(request, trusted) === undefined ? await logins.response(request) : undefined) ?? new Response(null, { status: 404 });
  return listenOn(answer, { port, host: "127.0.0.1", clock, log });
}
