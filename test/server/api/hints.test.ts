/** Hints of refusals over HTTP: they name routes, not the methods of programs. */
import { expect, test } from "vitest";
import { startApi } from "./api-server.ts";

test.each(["sqlite", "none"] as const)(
  "a session id in use is rejected with the routes to use, whether or not the session is open (store: %s)",
  async (store) => {
    const { ask, runtime } = await startApi({ store });
    const begin = async (path: string, id: string) => {
      const { status, json } = await ask("POST", path, { body: { id } });
      return { status, code: json.code, hint: json.hint };
    };
    const taken = (id: string) => ({
      status: 409,
      code: "duplicate",
      hint: `Use the routes under /v1/sessions/${encodeURIComponent(id)}, or choose another id.`,
    });
    await ask("POST", "/v1/sessions", { body: { id: "a trip" } });
    expect(await begin("/v1/sessions", "a trip")).toEqual(taken("a trip"));
    expect(await begin("/v1/sessions/a%20trip/fork", "a trip")).toEqual(taken("a trip"));
    if (store === "none") return;
    await runtime.sessions.handOver("a trip");
    expect(await begin("/v1/sessions", "a trip")).toEqual(taken("a trip"));
    await ask("POST", "/v1/sessions", { body: { id: "other" } });
    expect(await begin("/v1/sessions/other/fork", "a trip")).toEqual(taken("a trip"));
  },
);
