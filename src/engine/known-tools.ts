/** Lets a server be known before it is started: its tools are remembered, and it is started when it is needed. */
import type { Engine, EngineSession } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { canonicalJson } from "../core/base/canonical-json.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Tool } from "../core/tool.ts";
import { LazyServer, type ServerState } from "./lazy-server.ts";
import { MCP_PEER, mcpPeerOf, type McpPeer, type PeerOptions } from "./mcp/peer.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** Where it is kept what servers listed, beyond the process. */
export interface ToolMemory {
  /** Returns the tools last written under the key; undefined when there are none. Rejecting, which is logged, counts as none. */
  read(key: string): Promise<readonly Tool[] | undefined>;
  /** Rejecting is logged. */
  write(key: string, tools: readonly Tool[]): Promise<void>;
}

export interface KnownToolsOptions {
  readonly memory: ToolMemory;
  /**
   * Everything that decides what the server lists: command, arguments, folder, variables, address, headers, how far its hints are
   * trusted. Tools remembered for one identity are never given to another, so secrets belong in it: the memory sees it, and no one
   * else. A server whose list depends on something that cannot be named here, such as who signed in, must not be wrapped.
   */
  readonly identity: JsonObject;
  /** Longest time that a start in the middle of the work may take, in milliseconds; 0 = no limit. @default 10_000 */
  readonly openTimeoutMs?: number;
  /** A server that was not called for so long is ended until it is needed again, in milliseconds; 0 = never. @default 600_000 */
  readonly idleMs?: number;
}

const DEFAULT_OPEN_TIMEOUT_MS = 10_000;
const DEFAULT_IDLE_MS = 600_000;

const STATES = new WeakMap<Engine, LazyServer>();

/** How far an engine that `knownTools` made has come; undefined for any other. */
export function stateOf(engine: Engine): ServerState | undefined {
  return STATES.get(engine)?.state;
}

/** Lets an engine around another one that may be of `knownTools` have its state. */
export function sharesState(engine: Engine, inner: Engine): void {
  const server = STATES.get(inner);
  if (server !== undefined) STATES.set(engine, server);
}

/**
 * An engine around one that brings its own tools and can be opened again after `close`.
 *
 * `open` returns what is remembered, and starts the server only when that is nothing. It is started by the first call, session, `list`
 * or use of its peer; callers that come meanwhile share the start, and one that fails ends their calls `unavailable` or
 * `network_error`, of outcome `not_started`; the next call tries again. When the server then lists something else than was
 * remembered, the runtime is notified, and a call whose own tool is not the same ends `definition_changed`. A server that was not used for
 * `idleMs`, has no session and whose peer is not in use is ended, and is known again.
 *
 * @throws ToolError `invalid_argument` for an engine that brings no tools
 */
export function knownTools(inner: Engine, options: KnownToolsOptions): Engine {
  if (inner.open === undefined) {
    throw new ToolError("invalid_argument", `An engine of kind ${JSON.stringify(inner.kind)} brings no tools that could be remembered.`);
  }
  const { memory, identity } = options;
  const key = canonicalJson(identity);
  const server = new LazyServer(inner, {
    recall: () => memory.read(key),
    remember: (tools) => memory.write(key, tools),
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
    ...(peer === undefined ? {} : { [MCP_PEER]: startingPeer(peer, (signal) => server.startForPeer(signal)) }),
  };
  STATES.set(engine, server);
  return engine;
}

/** Only those that the engine has: what is missing means something. */
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

type Ask = (params: JsonObject, options: PeerOptions) => Promise<JsonObject>;

/** Every request waits for `start` first; its rejections are the request's. Listening and looking start nothing. */
function startingPeer(peer: McpPeer, start: (signal: AbortSignal) => Promise<void>): McpPeer {
  const started =
    (ask: Ask): Ask =>
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
    listResources: started((params, options) => peer.listResources(params, options)),
    listResourceTemplates: started((params, options) => peer.listResourceTemplates(params, options)),
    readResource: started((params, options) => peer.readResource(params, options)),
    subscribe: started((params, options) => peer.subscribe(params, options)),
    unsubscribe: async (params, options) => {
      await start(options.signal).catch(() => undefined); // one that is closed is not to subscribe again when it is opened
      return await peer.unsubscribe(params, options);
    },
    listPrompts: started((params, options) => peer.listPrompts(params, options)),
    getPrompt: started((params, options) => peer.getPrompt(params, options)),
    complete: started((params, options) => peer.complete(params, options)),
    setLogLevel: started((params, options) => peer.setLogLevel(params, options)),
    onNotification: (listener) => peer.onNotification(listener),
  };
}
