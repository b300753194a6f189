/** Engines whose tools are enriched when they are listed: a server is opened once, and no runtime sees its original tools. */
import { getOrAdd } from "../../core/base/get-or-add.ts";
import type { Engine, EngineContext, EngineSession } from "../../core/engine.ts";
import { describeThrown } from "../../core/error.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Log } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import type { Toolset } from "../../core/toolset.ts";
import { shareServerState } from "../../engine/known-tools.ts";
import { MCP_PEER, mcpPeerOf } from "../../engine/mcp/peer.ts";
import { toPlainTool } from "../../registry/check-tool-fields.ts";

/** As long as a runtime waits for a source, because enrichments may ask a model. */
const OPEN_TIMEOUT_MS = 30_000;

/** The tools that an engine has listed for one of its toolsets. */
export interface ListedTools {
  readonly toolset: string;
  readonly engine: Engine;
  readonly tools: readonly Tool[];
}

/** Enriches the tools of an engine, together with all known ones, and returns them in order. */
export type EnrichListed = (listed: ListedTools, context: { readonly signal: AbortSignal; readonly log: Log }) => Promise<readonly Tool[]>;

/** Wraps each engine that lists tools, always in the same wrapper. */
export class EnrichedEngines {
  readonly #enrich: EnrichListed;
  readonly #engines = new Map<Engine, Engine>();

  constructor(enrich: EnrichListed) {
    this.#enrich = enrich;
  }

  /** Returns the toolset with its engine wrapped. Without an `openTimeoutMs`, it gets enough time for the enrichments. */
  wrap(toolset: Toolset): Toolset {
    const { engine, openTimeoutMs = OPEN_TIMEOUT_MS } = toolset;
    if (engine?.open === undefined) return toolset;
    return { ...toolset, engine: getOrAdd(this.#engines, engine, () => createEnrichedEngine(engine, this.#enrich)), openTimeoutMs };
  }
}

function createEnrichedEngine(inner: Engine, enrich: EnrichListed): Engine {
  const { kind, order, state, effectFree, origin } = inner;
  let opened: EngineContext | undefined;
  /** Returns the enriched tools, or the original ones if that fails: the server is open and must be closed like any other. */
  const enriched = async (tools: readonly Tool[], context: EngineContext, signal: AbortSignal): Promise<readonly Tool[]> => {
    const { toolset, log } = context;
    if (!Array.isArray(tools) || tools.length === 0) return tools;
    try {
      return await enrich({ toolset, engine, tools: tools.map(toPlainTool) }, { signal, log });
    } catch (thrown: unknown) {
      if (!signal.aborted) log.warn(`The tools of ${JSON.stringify(toolset)} are not enriched: ${describeThrown(thrown)}`);
      return tools;
    }
  };
  const peer = mcpPeerOf(inner);
  const engine: Engine = {
    kind,
    ...omitUndefined({ order, state, effectFree, origin }),
    async open(context) {
      opened = context;
      return await enriched((await inner.open?.(context)) ?? [], context, context.signal);
    },
    ...(inner.list !== undefined && {
      async list(signal: AbortSignal) {
        const tools = (await inner.list?.(signal)) ?? [];
        return opened === undefined ? tools : await enriched(tools, opened, signal);
      },
    }),
    call: (request, context) => inner.call(request, context),
    ...wrapOptionalMethods(inner),
    ...(peer !== undefined && { [MCP_PEER]: peer }),
  };
  shareServerState(engine, inner);
  return engine;
}

/** Wraps only the optional methods that the engine has, because a missing one has a meaning. */
function wrapOptionalMethods(inner: Engine): Partial<Engine> {
  return {
    ...(inner.attach !== undefined && {
      attach: (remoteId: string, ...call: Parameters<Engine["call"]>) => inner.attach?.(remoteId, ...call),
    }),
    ...(inner.simulate !== undefined && { simulate: (...call: Parameters<Engine["call"]>) => inner.simulate?.(...call) }),
    ...(inner.openSession !== undefined && { openSession: (session: EngineSession) => inner.openSession?.(session) }),
    ...(inner.closeSession !== undefined && { closeSession: (sessionId: string) => inner.closeSession?.(sessionId) }),
    ...(inner.forkSession !== undefined && {
      forkSession: (sessionId: string, branchId: string) => inner.forkSession?.(sessionId, branchId),
    }),
    ...(inner.snapshotSession !== undefined && { snapshotSession: (sessionId: string) => inner.snapshotSession?.(sessionId) ?? null }),
    ...(inner.close !== undefined && { close: async () => await inner.close?.() }),
  };
}
