/** `haft mcp`: serves the tools of the configuration over MCP. */
import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { ERROR_CODES } from "../../core/error-codes.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import type { Store } from "../../core/store/store.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { redirectStdout } from "../../processes/redirect-stdout.ts";
import { listenMcp, serveMcpStdio, type McpListenOptions } from "../../server/mcp.ts";
import { mcpApprover } from "../../server/mcp/approver.ts";
import type { McpServerOptions } from "../../server/mcp/options.ts";
import { pinnedTools } from "./chat/chat-tools.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { logIn, logOut } from "./mcp/log-in.ts";
import { checkLoginPages, serveLoginPages } from "./mcp/server-logins.ts";
import { stderrPorts, withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { findStore } from "../open/open-store.ts";
import { packageVersion } from "../own-package.ts";
import { type Screen } from "../terminal/terminal-text.ts";
import { readPort, throwPortError } from "../input/read-port.ts";
import { throwIfBroken } from "../throw-if-broken.ts";

/** The variable with the token that HTTP clients must send. */
const TOKEN_VARIABLE = "HAFT_MCP_TOKEN";

export const mcpCommand: CommandBody = {
  details: [
    "Speaks the Model Context Protocol, revisions up to 2025-11-25 and 2026-07-28,",
    "over standard input and output until the input ends; all else goes to standard",
    "error. Calls that need approval are put to the client's user; --yes approves",
    "them all.",
    "",
    "With [findTools] in the configuration it lists the pinned tools, find_tools and",
    "call_tool, with which the client's model finds and calls the others.",
    "",
    `With --http it listens on 127.0.0.1, until Ctrl-C; set ${TOKEN_VARIABLE} to a`,
    "secret of 16 characters or more that clients must send as their bearer token,",
    "or name a file that has it with --token-file. --host takes another address, and",
    "needs a token and --allowed-host. GET /health says whether it runs.",
    "Users log in to servers behind it on its pages, at [serve.logins] origin.",
    "To serve it below a path of a host, use haft serve --base-path.",
    "With [store] in the configuration, calls and tasks are kept there.",
  ],
  args: [0, 0],
  options: ["config", "http", "host", "allowed-host", "token-file", "watch", "validate", "yes"],
  examples: [
    "haft mcp",
    "haft mcp --http 3000",
    "haft mcp --http 3000 --allowed-host tools.example --token-file token",
    "haft mcp --validate --config ./haft.toml",
  ],
  subcommands: [logIn, logOut],
  async run(context) {
    const { http } = context.options;
    const port = http === undefined ? undefined : readPort(http, "--http");
    if (port === undefined) refuseHttpOptions(context);
    const approve = context.options.yes ? () => "allow-once" as const : mcpApprover;
    const { host = "127.0.0.1" } = context.options;
    const onConfig = (config: OpenRuntime["config"]): void => {
      if (port !== undefined) checkLoginPages(config, host);
    };
    const store = (config: OpenRuntime["config"]): Store | undefined => findStore(context, config);
    return withRuntime(context, { approve, manual: true, callTool: true, onConfig, store }, async (open) => {
      const { runtime, config } = open;
      const pinned = pinnedTools(config.config);
      const { log } = stderrPorts(context);
      const options: McpServerOptions = {
        version: packageVersion(),
        tools: { validate: context.options.validate },
        ...(pinned === undefined ? {} : { only: pinned }),
        ...(log === undefined ? {} : { ports: { log } }),
      };
      const exit = await (port === undefined
        ? serveOverStdio(context, runtime, options)
        : serveOverHttp(context, open, { ...options, ...(await httpOptions(context)), port }));
      throwIfBroken(context.signal);
      return exit;
    });
  },
};

/** Serves over standard input and output. Resolves to the exit code. */
async function serveOverStdio(context: CommandContext, runtime: Runtime, options: McpServerOptions): Promise<number> {
  const input = context.stdin instanceof Readable ? context.stdin : Readable.from(context.stdin);
  const { output, release } = protocolOutput(context);
  try {
    const server = await serveMcpStdio(runtime, { ...options, input, output });
    const stop = (): void => void server.close();
    context.signal.addEventListener("abort", stop, { once: true });
    if (context.signal.aborted) stop();
    const problem = await server.closed;
    output.end();
    await waitUntilRead([output, process.stdout, process.stderr]);
    return problem === undefined ? 0 : ERROR_CODES[problem.code].exit; // the problem was reported already
  } finally {
    release();
  }
}

/** Waits while the client reads the remaining output. Unread output must not keep the program running. */
async function waitUntilRead(streams: readonly Writable[]): Promise<void> {
  const countUnread = (): number => streams.reduce((sum, { writableLength }) => sum + writableLength, 0);
  let before = Infinity;
  for (let waited = 0; countUnread() > 0 && waited < DRAIN_MS; waited += READ_STEP_MS) {
    if (countUnread() < before) waited = 0;
    before = countUnread();
    await pause();
  }
  if (countUnread() === 0) return;
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) stream.destroy(Object.assign(new Error("The client does not read its input."), { code: "EPIPE" }));
  await pause(); // lets listeners run
}

function pause(): Promise<void> {
  return new Promise((resolve) => void systemPorts.clock.timer(resolve, READ_STEP_MS));
}

/** How long the client may take to read some of the remaining output, in milliseconds. */
const DRAIN_MS = 1_000;
const READ_STEP_MS = 20;

/** Refuses options of an HTTP server without `--http`. @throws ToolError `invalid_argument` */
function refuseHttpOptions({ options }: CommandContext): void {
  const { host, allowedHost, tokenFile } = options;
  const given = host !== undefined ? "host" : allowedHost.length > 0 ? "allowed-host" : tokenFile === undefined ? undefined : "token-file";
  if (given !== undefined)
    throw new ToolError("invalid_argument", `--${given} is for a server over HTTP.`, { hint: "Add --http <port>, or leave it out." });
}

async function httpOptions({
  options,
  environment,
  signal,
}: CommandContext): Promise<Pick<McpListenOptions, "host" | "allowedHosts" | "token">> {
  const { host, allowedHost, tokenFile: file } = options;
  const token = file === undefined ? environment[TOKEN_VARIABLE] : await readTokenFile(file, signal);
  return omitUndefined({ host, allowedHosts: allowedHost.length === 0 ? undefined : allowedHost, token: token === "" ? undefined : token });
}

/** Reads a file that may be a pipe. Opening a pipe must not wait for a writer, in a thread that would keep the process running. */
async function readFileOrPipe(file: string): Promise<string> {
  const fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  return await text(fstatSync(fd).isFIFO() ? new Socket({ fd }) : createReadStream(file, { fd }));
}

/** Reads the token. @throws ToolError `invalid_argument`, as a rejection, if the file cannot be read or has no token */
async function readTokenFile(file: string, signal: AbortSignal): Promise<string> {
  let given: string;
  try {
    given = await rejectOnAbort(readFileOrPipe(file), signal);
  } catch (error: unknown) {
    signal.throwIfAborted();
    throw new ToolError("invalid_argument", `--token-file ${file} cannot be read: ${describeThrown(error)}`, { cause: error });
  }
  const token = given.trim();
  if (/^\S+$/u.test(token)) return token;
  throw new ToolError("invalid_argument", `--token-file ${file} must hold one token: a line without spaces.`);
}

async function serveOverHttp(
  context: CommandContext,
  { runtime, config, logins }: OpenRuntime,
  options: McpListenOptions,
): Promise<number> {
  const { signal, err } = context;
  const listener = await listenMcp(runtime, { ...options, logins }).catch((thrown: unknown) => throwPortError(thrown, "--http"));
  serveLoginPages(logins, config, listener.url);
  if (context.options.json) context.out.writeJson({ url: listener.url });
  err.write(`haft: MCP at ${listener.url}\n`);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await listener.close();
  return 0;
}

function callWhenDrained(out: Screen, go: () => void): void {
  const drained = out.whenDrained();
  if (drained === undefined) return go();
  void (async () => {
    await drained;
    go();
  })();
}

/** Reserves standard output for the protocol: output of tools there goes to standard error until it is released. */
function protocolOutput({ out }: CommandContext): { readonly output: Writable; readonly release: () => void } {
  const { writeThrough, restore } = redirectStdout();
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: unknown, _encoding, done) => {
      writeThrough(() => out.write(String(chunk)));
      callWhenDrained(out, done);
    },
  });
  return { output, release: restore };
}
