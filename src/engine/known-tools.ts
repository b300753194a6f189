/** Makes a server lazy: its tools are stored, and it is started when one of them is called. */
import type { Engine, EngineSession } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { LazyServer, type ServerState } from "./lazy-server.ts";
import { MCP_PEER, mcpPeerOf, type McpPeer, type PeerOptions } from "./mcp/peer.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** Stores the tools that servers listed, beyond the process. */
export interface ToolMemory {
  /** Returns the tools last written under the key, or undefined. A rejection is logged and counts as undefined. */
  read(key: string): Promise<readonly Tool[] | undefined>;
  /** Stores the tools under the key. A rejection is logged. */
  write(key: string, tools: readonly Tool[]): Promise<void>;
}

export interface KnownToolsOptions {
  readonly memory: ToolMemory;
  /**
   * Everything that decides which tools the server lists: command, arguments, folder, variables, address, headers, how far its hints are trusted.
   * Tools stored for one identity are never used for another, so secrets belong in it: only the memory sees it. Do not wrap a server whose tools
   * depend on something that cannot be named here, such as the signed-in user.
   */
  readonly identity: JsonObject;
  /** Longest time that a start for a call may take, in milliseconds; 0 = no limit. @default 10_000 */
  readonly openTimeoutMs?: number;
  /** How long a server may be idle before it is stopped, in milliseconds; 0 = it is never stopped. @default 600_000 */
  readonly idleMs?: number;
}

const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
const DEFAULT_IDLE_MS = 600_000;

const LAZY_SERVERS = new WeakMap<Engine, LazyServer>();

/** The state of an engine that `knownTools` made; undefined for any other engine. */
export function serverStateOf(engine: Engine): ServerState | undefined {
  return LAZY_SERVERS.get(engine)?.state;
}

/** Gives `engine` the state of `inner`, which it wraps, if `knownTools` made that. */
export function shareServerState(engine: Engine, inner: Engine): void {
  const server = LAZY_SERVERS.get(inner);
  if (server !== undefined) LAZY_SERVERS.set(engine, server);
}

/**
 * Makes an engine lazy. It must bring its own tools, and it must be possible to open it again after `close`.
 *
 * `open` returns the stored tools, and starts the server only if there are none. Otherwise the first call, session, `list` or request of its peer
 * starts it; concurrent callers share the start. If the start fails, their calls end with `unavailable` or `network_error`, outcome `not_started`,
 * and the next call tries again. If the server then lists other tools than the stored ones, the runtime is notified, and a call of a tool that
 * changed ends with `definition_changed`. A server that was idle for `idleMs`, has no session and whose peer is not in use is stopped; its tools stay
 * known.
 *
 * @throws ToolError `invalid_argument` for an engine that brings no tools
 */
export function knownTools(inner: Engine, options: KnownToolsOptions): Engine {
  if (inner.open === undefined) {
    throw new ToolError("invalid_argument", `An engine of kind ${JSON.stringify(inner.kind)} provides no tools to remember.`);
  }
  const { memory, identity } = options;
  const key = canonicalJson(identity);
  const server = new LazyServer(inner, {
    loadTools: () => memory.read(key),
    storeTools: (tools) => memory.write(key, tools),
    openTimeoutMs: options.openTimeoutMs ?? DEFAULT_OPEN_TIMEOUT_MS,
    idleMs: options.idleMs ?? DEFAULT_IDLE_MS,
  });
  const peer = mcpPeerOf(inner);
  const { order, state, effectFree, origin } = inner;
  const engine: Engine = {
    kind: inner.kind,
    ...omitUndefined({ order, state, effectFree, origin }),
    open: (context) => server.open(context),
    list: (signal) => server.list(signal),
    call: (request, context) => server.run(request, context, (...call) => inner.call(...call)),
    ...(inner.attach === undefined
      ? {}
      : { attach: (id, request, context) => server.run(request, context, (...call) => inner.attach?.(id, ...call)) }),
    ...(inner.simulate === undefined
      ? {}
      : { simulate: (request, context) => server.run(request, context, (...call) => inner.simulate?.(...call)) }),
    ...sessionMethods(inner, server),
    close: () => server.close(),
    ...(peer === undefined ? {} : { [MCP_PEER]: lazyPeer(peer, (signal) => server.startForPeer(signal)) }),
  };
  LAZY_SERVERS.set(engine, server);
  return engine;
}

/** Only the methods that the engine has, as a missing method has a meaning. */
function sessionMethods(inner: Engine, server: LazyServer): Partial<Engine> {
  return {
    ...(inner.openSession === undefined
      ? {}
      : { openSession: (session: EngineSession) => server.openSession(session, async () => inner.openSession?.(session)) }),
    ...(inner.openSession === undefined && inner.forkSession === undefined && inner.closeSession === undefined
      ? {}
      : { closeSession: (sessionId: string) => server.closeSession(sessionId, async () => inner.closeSession?.(sessionId)) }),
    ...(inner.forkSession === undefined
      ? {}
      : {
          forkSession: (sessionId: string, branchId: string) =>
            server.forkSession(branchId, async () => inner.forkSession?.(sessionId, branchId)),
        }),
    ...(inner.snapshotSession === undefined ? {} : { snapshotSession: (sessionId: string) => inner.snapshotSession?.(sessionId) ?? null }),
  };
}

type PeerRequest = (params: JsonObject, options: PeerOptions) => Promise<JsonObject>;

/** Makes every request wait for `start` first, and reject with its error. `onNotification`, `name` and `identity` do not start the server. */
function lazyPeer(peer: McpPeer, start: (signal: AbortSignal) => Promise<void>): McpPeer {
  const afterStart =
    (ask: PeerRequest): PeerRequest =>
    async (params, options) => {
      await start(options.signal);
      return await ask(params, options);
    };
  return {
    get name() {
      return peer.name;
    },
    get identity() {
      return peer.identity;
    },
    listResources: afterStart((params, options) => peer.listResources(params, options)),
    listResourceTemplates: afterStart((params, options) => peer.listResourceTemplates(params, options)),
    readResource: afterStart((params, options) => peer.readResource(params, options)),
    subscribe: afterStart((params, options) => peer.subscribe(params, options)),
    unsubscribe: async (params, options) => {
      await start(options.signal).catch(() => undefined); // also before unsubscribing: after a later start the server would be subscribed to again
      return await peer.unsubscribe(params, options);
    },
    listPrompts: afterStart((params, options) => peer.listPrompts(params, options)),
    getPrompt: afterStart((params, options) => peer.getPrompt(params, options)),
    complete: afterStart((params, options) => peer.complete(params, options)),
    setLogLevel: afterStart((params, options) => peer.setLogLevel(params, options)),
    onNotification: (listener) => peer.onNotification(listener),
  };
}
