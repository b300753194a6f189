/**
 * The SDK's transport of a session, which also ends the response streams of cancelled requests. These get no answer, but the SDK leaves their stream
 * open for one, and clients wait for the end of the stream.
 */
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import type { RequestId } from "./handler-context.ts";

type TransportClass = typeof WebStandardStreamableHTTPServerTransport;
type Options = ConstructorParameters<TransportClass>[0];

export interface SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** Marks a request as one that gets no answer. */
  markUnanswered(id: RequestId): void;
  /** Resolves when the accepted requests of a body have ended, also if their client has disconnected. */
  whenEnded(body: JsonValue | undefined): Promise<void>;
}

/** The JSON-RPC requests of one HTTP request, whose answers share a stream. */
interface RequestGroup {
  readonly open: Set<RequestId>;
  readonly unanswered: RequestId[];
  readonly ended: PromiseWithResolvers<void>;
}

/** Groups of requests that have not ended. */
class RequestGroups {
  readonly #groups = new Map<RequestId, RequestGroup>();

  add(ids: readonly RequestId[]): void {
    const group: RequestGroup = { open: new Set(ids), unanswered: [], ended: Promise.withResolvers<void>() };
    for (const id of ids) this.#groups.set(id, group);
  }

  /** Ends a request. Returns the unanswered requests of its group if it was the last to end. */
  end(id: RequestId, isAnswered: boolean): readonly RequestId[] {
    const group = this.#groups.get(id);
    if (group === undefined) return [];
    this.#groups.delete(id);
    group.open.delete(id);
    if (!isAnswered) group.unanswered.push(id);
    if (group.open.size > 0) return [];
    group.ended.resolve();
    return group.unanswered;
  }

  endAll(ids: Iterable<RequestId> = [...this.#groups.keys()]): void {
    for (const id of ids) this.end(id, true);
  }

  /** @param ids the ids of one group */
  whenEnded([id]: readonly RequestId[]): Promise<void> {
    return (id === undefined ? undefined : this.#groups.get(id)?.ended.promise) ?? Promise.resolve();
  }
}

export function createSessionTransport(Base: TransportClass, options: Options): SessionTransport {
  return new (class extends Base implements SessionTransport {
    readonly #groups = new RequestGroups();

    override async handleRequest(...given: Parameters<WebStandardStreamableHTTPServerTransport["handleRequest"]>): Promise<Response> {
      const ids = requestIds(given[1]?.parsedBody as JsonValue | undefined); // Haft has parsed the body
      this.#groups.add(ids);
      const response = await super.handleRequest(...given);
      if (response.status !== 200) this.#groups.endAll(ids);
      return response;
    }

    override async send(...given: Parameters<WebStandardStreamableHTTPServerTransport["send"]>): Promise<void> {
      try {
        await super.send(...given);
      } finally {
        const [message] = given;
        if (!("method" in message) && message.id !== undefined) this.#end(message.id, true);
      }
    }

    override async close(): Promise<void> {
      await super.close();
      this.#groups.endAll(); // what runs is cancelled
    }

    whenEnded(body: JsonValue | undefined): Promise<void> {
      return this.#groups.whenEnded(requestIds(body));
    }

    markUnanswered(id: RequestId): void {
      this.#end(id, false);
    }

    /** Ends a request, and the stream with the last one. An empty answer sent after that reaches no client, and makes the SDK forget the request. */
    #end(id: RequestId, isAnswered: boolean): void {
      const unanswered = this.#groups.end(id, isAnswered);
      for (const id of unanswered) this.closeSSEStream(id);
      for (const id of unanswered) super.send({ jsonrpc: "2.0", id, result: {} }).catch(() => undefined); // the session has ended
    }
  })(options);
}

export function requestIds(body: JsonValue | undefined): readonly RequestId[] {
  return messagesOf(body).flatMap((message) => {
    const id = isJsonObject(message) && message["method"] !== undefined ? message["id"] : undefined;
    return typeof id === "string" || typeof id === "number" ? [id] : [];
  });
}

export function messagesOf(body: JsonValue | undefined): readonly unknown[] {
  return Array.isArray(body) ? body : [body];
}
