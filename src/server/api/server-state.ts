/** The handlers of the server itself: information, health, metrics and the document. */
import { ToolError, describeThrown } from "../../core/error.ts";
import { jsonResponse } from "./answers.ts";
import { openApiDocument } from "./openapi.ts";
import type { Handlers } from "./services.ts";

const API_VERSION = "1";

/** @param about the server's name, and the version of the package */
export function serverHandlers(about: {
  readonly name: string;
  readonly version: string;
}): Handlers<"getInfo" | "getHealth" | "getReadiness" | "getMetrics" | "getOpenApi"> {
  return {
    getInfo: ({ principal, runtime }, { store, settings }) => ({
      ...about,
      api: API_VERSION,
      tools: runtime.registry.list().length,
      ...(store === undefined ? {} : { store: store.kind }),
      limits: { ...settings },
      principal: { id: principal.id, name: principal.name, scopes: [...principal.scopes] },
    }),

    getHealth: () => ({ status: "ok" }),

    async getReadiness(_request, { store, stopping, log }) {
      if (stopping()) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
      try {
        await store?.list({ limit: 1 });
      } catch (thrown: unknown) {
        log.warn(`The server is not ready: ${describeThrown(thrown)}`);
        throw new ToolError("unavailable", "The store cannot be used.", { retryable: true });
      }
      return { ready: true };
    },

    getMetrics: (_request, services) =>
      new Response(services.metrics.text(services), {
        headers: { "content-type": "text/plain; version=0.0.4", "cache-control": "no-store" },
      }),

    getOpenApi: () => jsonResponse(openApiDocument(about)),
  };
}
