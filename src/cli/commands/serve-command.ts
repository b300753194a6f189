/** `haft serve`: serves the tools of the configuration over HTTP, and over MCP on the same port. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { findAllowedOriginProblem } from "../../core/base/page-origin.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkBasePath } from "../../server/base-path.ts";
import { createServer, type HaftServer } from "../../server/create-server.ts";
import { isLocalAddress } from "../../server/mcp/http-options.ts";
import { pinnedTools } from "./chat/chat-tools.ts";
import { chooseModel, type ChosenModel } from "./chat/choose-model.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { checkLoginPages, serveLoginPages } from "./mcp/server-logins.ts";
import { stderrPorts, withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { findStore } from "../open/open-store.ts";
import { packageVersion } from "../own-package.ts";
import { readPort, throwPortError } from "../input/read-port.ts";
import { agentNames, startAgents, type ServedAgents } from "../open/serve-agents.ts";
import { settingsDigest } from "../open/announce-worker.ts";
import { TOKEN_VARIABLE, createServerAccess, checkReachable, readOrCreateToken, type Token } from "../open/server-access-options.ts";
import { listenForStop } from "../open/graceful-stop.ts";
import { startWebhooks } from "../open/start-webhooks.ts";
import { leavesJobs, startWorker } from "../open/start-worker.ts";
import { throwIfBroken } from "../throw-if-broken.ts";

const DEFAULT_PORT = "7420";
const DEFAULT_HOST = "127.0.0.1";

export const serveCommand: CommandBody = {
  details: [
    "The dashboard is at /, the API under /v1, its description at /openapi.json, MCP",
    "at /mcp. Sessions are kept in the store that --store or the configuration names;",
    "without one they end with the server. Calls that need approval wait in",
    "GET /v1/approvals; --yes approves them all. The port is 7420 by default.",
    "",
    `Clients send the secret in ${TOKEN_VARIABLE} as their bearer token: 16 characters or`,
    "more. Where it is not set, one is generated and printed once. An address that",
    `others can reach needs ${TOKEN_VARIABLE}, and --allowed-host for each of its host`,
    "names. Behind a proxy that forwards only what is below a path, it needs",
    "--base-path. Keys of the store (haft keys) and tokens of serve.auth.issuers are",
    "accepted, too. --agent runs an agent of that name, with the model of --model or",
    "the configuration: it answers messages that are sent to it, and the triggers of",
    "its session, whose id is the name. When several servers of a PostgreSQL store",
    "name it, one of them runs it; another continues it when that one is gone.",
    "",
    "Any number of servers may use one store. A request for a session that another",
    "of them has open is passed on to that one: with a SQLite file automatically,",
    `with PostgreSQL where each gets its --address. They need the same ${TOKEN_VARIABLE},`,
    "or keys of the store. haft fleet lists them. A process with --place runs the",
    "calls of toolsets that are at that place, such as a disk or a browser.",
    "",
    "With a store in a file, or in PostgreSQL with the package pg-boss, a server also",
    "runs the jobs of processes that are gone. With PostgreSQL, --no-worker leaves",
    "all jobs to haft worker.",
    "",
    "The receivers under [[webhooks]] are notified when a call waits for approval,",
    "and when a job has ended.",
    "",
    "Ctrl-C and SIGTERM stop it: calls under way may finish, and no new ones are",
    "accepted.",
  ],
  args: [0, 0],
  options: [
    "config",
    "port",
    "host",
    "allowed-host",
    "allowed-origin",
    "base-path",
    "address",
    "name",
    "place",
    "store",
    "agent",
    "model",
    "watch",
    "yes",
    "no-worker",
  ],
  examples: [
    "haft serve",
    "haft serve --port 8080 --store haft.db",
    "haft serve --store haft.db --agent clerk",
    "haft serve --host 0.0.0.0 --allowed-host tools.example",
    "haft serve --allowed-host app.example --base-path /haft",
  ],
  async run(context) {
    const address = readListenAddress(context);
    const token = readOrCreateToken(context, address.host);
    // Never resolves: the approval stays open until it is answered in the inbox.
    const approve = context.options.yes ? () => "allow-once" as const : () => new Promise<never>(() => {});
    let chosen: ChosenModel | undefined;
    const options = {
      approve,
      serves: true,
      manual: true,
      callTool: true,
      onConfig(config: OpenRuntime["config"]) {
        checkLoginPages(config, address.host);
        checkBasePathAndOrigins(context, config);
        // fails before anything is started if a name is wrong or a key is missing
        if (agentNames(context).length > 0) chosen = chooseModel(context, config);
      },
      model: () => chosen,
      store: (config: OpenRuntime["config"]) => findStore(context, config),
      leavesJobs: (config: OpenRuntime["config"]) => leavesJobs(context, config),
    };
    return withRuntime(context, options, async (open) => {
      await serveAll(context, { open, chosen, address, token });
      throwIfBroken(context.signal);
      return 0;
    });
  },
};

interface Address {
  readonly port: number;
  readonly host: string;
  readonly address: string | undefined;
}

interface Serving {
  readonly open: OpenRuntime;
  readonly chosen: ChosenModel | undefined;
  readonly address: Address;
  readonly token: Token;
}

/** Serves, and resolves when the server, its agents and its webhooks have stopped. */
async function serveAll(context: CommandContext, { open, chosen, address, token }: Serving): Promise<void> {
  const auth = await createServerAccess(context, open, token);
  const stopWebhooks = await startWebhooks(context, open);
  try {
    const served = await startAgents(context, { open, chosen });
    try {
      const server = createServer(open.runtime, {
        ...serverOptions(context, open),
        agents: served.agents,
        expectedAgents: agentNames(context),
        auth,
        logins: open.logins,
        ports: stderrPorts(context),
      });
      await serveUntilStopped(context, server, { open, served, address: toListenOptions(address, open), token });
    } finally {
      await served.stop();
    }
  } finally {
    await stopWebhooks();
  }
}

/** Returns where to listen, and the announced address. Processes that share a SQLite file are on one machine, so a local address reaches this one. */
function toListenOptions({ port, host, address }: Address, { runtime }: OpenRuntime): Parameters<HaftServer["listen"]>[0] {
  return { port, host, address: address ?? (runtime.store?.kind === "sqlite" && isLocalAddress(host)) };
}

function serverOptions(context: CommandContext, { config, triggers }: OpenRuntime): Omit<Parameters<typeof createServer>[1], "auth"> {
  const { allowedHost, allowedOrigin, name } = context.options;
  const pinned = pinnedTools(config.config);
  const { allowedOrigins = [], corsOrigins, limits } = config.config.serve ?? {};
  return {
    version: packageVersion(),
    process: { ...omitUndefined({ name }), definitions: settingsDigest(config) },
    dashboard: true,
    triggers,
    mcp: pinned === undefined ? {} : { only: pinned },
    allowedOrigins: [...allowedOrigins, ...allowedOrigin],
    ...omitUndefined({ basePath: basePathOf(context, config), corsOrigins, limits }),
    ...(allowedHost.length === 0 ? {} : { allowedHosts: [...allowedHost, "localhost", "127.0.0.1", "[::1]"] }),
  };
}

/** Returns the base path of the command line, else that of the configuration. */
function basePathOf({ options: { basePath } }: CommandContext, { config }: OpenRuntime["config"]): string | undefined {
  return basePath ?? config.serve?.basePath;
}

/** Checks the base path and the origins. @throws ToolError `invalid_argument` for one that cannot be valid */
function checkBasePathAndOrigins(context: CommandContext, config: OpenRuntime["config"]): void {
  checkBasePath(basePathOf(context, config));
  for (const origin of context.options.allowedOrigin) {
    const fault = findAllowedOriginProblem(origin);
    if (fault !== undefined) throw new ToolError("invalid_argument", `The --allowed-origin ${quoteValue(origin)} ${fault}`);
  }
}

interface UntilStopped {
  readonly served: ServedAgents;
  readonly address: Parameters<HaftServer["listen"]>[0];
}

/** Listens until the command is stopped. Resolves when the server has closed. */
async function serveUntilStopped(
  context: CommandContext,
  server: HaftServer,
  { open, served, address, token }: Omit<Serving, "chosen" | "address"> & UntilStopped,
): Promise<void> {
  const { options, out, err } = context;
  const { stopped, forceStop, releaseInterrupt } = listenForStop(context);
  try {
    const { url } = await server.listen(address).catch((thrown: unknown) => throwPortError(thrown, "--port"));
    serveLoginPages(open.logins, open.config, url);
    await startWorker(context, open, server);
    if (options.json) out.writeJson({ url, ...(token.isNew ? { token: token.text } : {}) });
    if (token.isNew) err.write(`haft: token ${token.text} (set ${TOKEN_VARIABLE} to keep one)\n`);
    err.write(`haft: serving at ${url}\n`);
    await stopped;
    err.write("haft: stopping\n");
  } finally {
    served.drain();
    await server.close({ signal: forceStop.signal });
    releaseInterrupt();
  }
}

/** Returns the address of the options. @throws ToolError `invalid_argument` */
function readListenAddress(context: CommandContext): Address {
  const { options } = context;
  const { port = DEFAULT_PORT, host = DEFAULT_HOST } = options;
  checkReachable(context, host);
  return { port: readPort(port, "--port"), host, address: options.address };
}
