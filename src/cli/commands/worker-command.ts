/** `haft worker`: runs the background jobs of a store that several processes share. */
import { createServer, type HaftServer } from "../../server/create-server.ts";
import { createWorker } from "../../server/worker/create-worker.ts";
import { plural } from "../../core/base/wording.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { chooseModel, type ChosenModel } from "./chat/choose-model.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { createCallerRules } from "../open/caller-rules.ts";
import { withRuntime, type OpenRuntime } from "../open/open-runtime.ts";
import { findStore } from "../open/open-store.ts";
import { packageVersion } from "../own-package.ts";
import { readPort, throwPortError } from "../input/read-port.ts";
import { agentNames, startAgents, type ServedAgents } from "../open/serve-agents.ts";
import { createServerAccess, checkReachable, readOrCreateToken } from "../open/server-access-options.ts";
import { announceWorker, settingsDigest } from "../open/announce-worker.ts";
import { noQueueError, workerOptions } from "../open/start-worker.ts";
import { listenForStop, type GracefulStop } from "../open/graceful-stop.ts";
import { isBroken, throwIfBroken } from "../throw-if-broken.ts";

const DEFAULT_HOST = "127.0.0.1";

export const workerCommand: CommandBody = {
  details: [
    "Takes sessions that have jobs and that no process has open: those that servers",
    "with --no-worker leave to workers, and those of a process that is gone. A",
    "session is closed when its jobs have ended. The store must be in PostgreSQL,",
    "and needs the packages pg and pg-boss. Any number of workers and servers may",
    "use it.",
    "",
    "--health-port answers GET /healthz and /readyz on that port, and /metrics to",
    "clients that send HAFT_TOKEN or a key of the store. With --address, servers",
    "pass requests for a session that the worker has on to it; it then needs the",
    "same token or keys.",
    "",
    "--agent runs an agent of that name, with its triggers, in one of the processes",
    "that name it; another one continues it when that is gone.",
    "",
    "Ctrl-C and SIGTERM stop it: it takes no more sessions, waits for jobs under way,",
    "10 seconds by default, and hands over those that still run. A second Ctrl-C",
    "hands them over at once.",
  ],
  args: [0, 0],
  options: [
    "config",
    "store",
    "concurrency",
    "health-port",
    "host",
    "allowed-host",
    "address",
    "name",
    "place",
    "agent",
    "model",
    "yes",
    "watch",
  ],
  examples: [
    "haft worker",
    "haft worker --store postgres://haft@localhost/haft --concurrency 20",
    "haft worker --health-port 7421 --address http://10.0.0.4:7421",
  ],
  async run(context) {
    const { healthPort, host = DEFAULT_HOST } = context.options;
    const port = healthPort === undefined ? undefined : readPort(healthPort, "--health-port");
    if (port !== undefined) checkReachable(context, host);
    // Never resolves: the approval stays open until it is answered in the inbox.
    const approve = context.options.yes ? () => "allow-once" as const : () => new Promise<never>(() => {});
    let chosen: ChosenModel | undefined;
    const options = {
      approve,
      serves: true,
      manual: true,
      callTool: true,
      onConfig(config: OpenRuntime["config"]) {
        // fails before anything is started if a name is wrong or a key is missing
        if (agentNames(context).length > 0) chosen = chooseModel(context, config);
      },
      model: () => chosen,
      store: (config: OpenRuntime["config"]) => findStore(context, config),
    };
    return withRuntime(context, options, async (open) => {
      if (open.runtime.store?.queue === undefined) throw noQueueError();
      const served = await startAgents(context, { open, chosen });
      try {
        await (port === undefined ? runWithoutServer(context, open, served) : runWithServer(context, open, { port, host, served }));
      } finally {
        await served.stop();
      }
      throwIfBroken(context.signal);
      return 0;
    });
  },
};

async function runWithoutServer(context: CommandContext, open: OpenRuntime, served: ServedAgents): Promise<void> {
  const worker = createWorker(open.runtime, { ...workerOptions(context, open.config), allow: createCallerRules(open) });
  let gracefulStop: GracefulStop | undefined;
  try {
    await worker.start();
    await announceWorker(context, open);
    gracefulStop = await waitUntilStopped(context, open);
  } finally {
    served.drain();
    await worker.stop(omitUndefined({ signal: gracefulStop?.forceStop.signal }));
    gracefulStop?.releaseInterrupt();
    const { finished, left } = worker.counts;
    context.err.write(`haft: finished the jobs of ${plural(finished, "session")}, handed over ${left}\n`);
  }
}

interface HealthAddress {
  readonly port: number;
  readonly host: string;
  readonly served: ServedAgents;
}

/** Runs jobs behind a server. The server owns the sessions, so that requests which other servers forward use the same ones as the jobs. */
async function runWithServer(context: CommandContext, open: OpenRuntime, { served, port, host }: HealthAddress): Promise<void> {
  const server = await createWorkerServer(context, open, { host, served });
  const { address } = context.options;
  let gracefulStop: GracefulStop | undefined;
  try {
    const { url } = await server
      .listen({ port, host, ...omitUndefined({ address }) })
      .catch((thrown: unknown) => throwPortError(thrown, "--health-port"));
    await server.work(workerOptions(context, open.config));
    context.err.write(`haft: health at ${url}/readyz\n`);
    gracefulStop = await waitUntilStopped(context, open);
  } finally {
    served.drain();
    await server.close(omitUndefined({ signal: gracefulStop?.forceStop.signal }));
    gracefulStop?.releaseInterrupt();
  }
}

/** Closes a session as soon as it has nothing to do, so that other processes may open it. */
const IDLE_MS = 1;

async function createWorkerServer(
  context: CommandContext,
  open: OpenRuntime,
  { host, served }: Pick<HealthAddress, "host" | "served">,
): Promise<HaftServer> {
  const { allowedHost, name } = context.options;
  return createServer(open.runtime, {
    process: { role: "worker", ...omitUndefined({ name }), definitions: settingsDigest(open.config) },
    auth: await createServerAccess(context, open, readOrCreateToken(context, host)),
    version: packageVersion(),
    mcp: false,
    agents: served.agents,
    expectedAgents: agentNames(context),
    triggers: open.triggers,
    limits: { ...open.config.config.serve?.limits, sessionIdleMs: IDLE_MS },
    ...(allowedHost.length === 0 ? {} : { allowedHosts: [...allowedHost, "localhost", "127.0.0.1", "[::1]"] }),
  });
}

/** Resolves when the worker is to stop. */
async function waitUntilStopped(context: CommandContext, { config }: OpenRuntime): Promise<GracefulStop> {
  const { signal, err } = context;
  const { concurrency = 10 } = workerOptions(context, config);
  const gracefulStop = listenForStop(context);
  const stopIfBroken = (): void => {
    if (isBroken(signal)) gracefulStop.forceStop.abort(); // the state of its tools is unknown
  };
  signal.addEventListener("abort", stopIfBroken, { once: true });
  stopIfBroken();
  err.write(`haft: working, ${concurrency} sessions at a time\n`);
  await gracefulStop.stopped;
  err.write("haft: stopping\n");
  return gracefulStop;
}
