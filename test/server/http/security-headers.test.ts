/** Issue 19.5: headers of every response, and CORS by an explicit list. */
import { expect, test } from "vitest";
import { securityHeaders } from "../../../src/server/http/security-headers.ts";

const APP = "https://app.example";

async function answered(
  {
    corsOrigins = [],
    headers = {},
    method = "GET",
  }: { corsOrigins?: readonly string[]; headers?: Record<string, string>; method?: string },
  response: () => Response = () => Response.json({}),
): Promise<Response> {
  return securityHeaders({ corsOrigins })(new Request("http://localhost/v1/tools", { method, headers }), async () => response());
}

test("E10 a response may load, run and be framed by nothing by default; a policy of its own is kept", async () => {
  const { headers } = await answered({});
  expect(headers.get("content-security-policy")).toBe("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect([...headers].filter(([name]) => name.startsWith("access-control"))).toEqual([]);
  const page = await answered({}, () => new Response("", { headers: { "content-security-policy": "default-src 'self'" } }));
  expect(page.headers.get("content-security-policy")).toBe("default-src 'self'");
  expect((await answered({}, () => Response.redirect("http://localhost/"))).headers.get("x-frame-options")).toBe("DENY");
});

test("E18 no origin is allowed by default: not one like an allowed one, not null, and never with credentials", async () => {
  const origins = ["https://evil.example", "null", `${APP}.evil.example`, "http://app.example", `${APP}:444`, APP.toUpperCase()];
  for (const origin of origins)
    for (const corsOrigins of [[], [APP]]) {
      const { headers, status } = await answered({ corsOrigins, headers: { origin } });
      expect([status, headers.get("access-control-allow-origin"), headers.get("access-control-allow-credentials")]).toEqual([
        200,
        null,
        null,
      ]);
      const asked = { origin, "access-control-request-method": "POST" };
      const preflight = await answered({ corsOrigins, headers: asked, method: "OPTIONS" }, () => new Response(null, { status: 404 }));
      expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([404, null]);
    }
});

test("issue 19.5 pages of an allowed origin may read responses and send preflight requests", async () => {
  const { headers } = await answered({ corsOrigins: [APP], headers: { origin: APP } });
  expect([headers.get("access-control-allow-origin"), headers.get("vary"), headers.get("access-control-allow-credentials")]).toEqual([
    APP,
    "origin",
    null,
  ]);
  let isAnswered = false;
  const asked = { origin: APP, "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
  const preflight = await answered({ corsOrigins: [APP], headers: asked, method: "OPTIONS" }, () => ((isAnswered = true), new Response()));
  expect([preflight.status, isAnswered, preflight.headers.get("access-control-allow-headers")]).toEqual([
    204,
    false,
    expect.stringContaining("authorization"),
  ]);
});

test("a page may send every header that a client of MCP sends, and no others", async () => {
  const names = ["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "traceparent", "tracestate", "mcp-param-city"];
  const asked = {
    origin: APP,
    "access-control-request-method": "POST",
    "access-control-request-headers": [...names, "x-forwarded-for", "mcp-param-a b"].join(", "),
  };
  const { headers } = await answered({ corsOrigins: [APP], headers: asked, method: "OPTIONS" });
  const allowed = headers.get("access-control-allow-headers")?.split(", ") ?? [];
  expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
  expect(allowed.filter((name) => name.startsWith("x-") || name.includes(" "))).toEqual([]);
  const answer = await answered({ corsOrigins: [APP], headers: { origin: APP } });
  expect(answer.headers.get("access-control-expose-headers")).toContain("idempotency-replayed");
});

test.each(["*", "app.example", "https://app.example/", "https://*.example", "null", "javascript:alert(1)"])(
  "E18 %s is rejected as an allowed origin",
  (origin) => {
    expect(() => securityHeaders({ corsOrigins: [origin] })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  },
);
