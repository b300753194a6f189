import { describe, expect, test } from "vitest";
import { request, toolContext } from "../engine-contexts.ts";
import { rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, modern, openHttp, type Answers, type Asked } from "./loopback-mcp.ts";

const ERAS: readonly (readonly [string, () => Answers])[] = [
  ["newer", modern],
  ["older", legacy],
];
const BODIES: readonly (readonly [string, string, string])[] = [
  ["nothing", "text/plain", ""],
  ["a page", "text/html", "<h1>Forbidden</h1>"],
  ["an OAuth error", "application/json", '{"error":"invalid_token"}'],
  ["a JSON-RPC error", "application/json", '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Unauthorized"}}'],
];

describe.each(ERAS)("F4.24 a call that a server of the %s era denies", (_era, answers) => {
  test.each([401, 403].flatMap((status) => BODIES.map((body) => [status, ...body] as const)))(
    "with HTTP %i and %s is permission_denied with outcome not_started",
    async (status, _what, type, body) => {
      const deny = ({ response }: Asked): undefined => {
        response.writeHead(status, { "content-type": type, "www-authenticate": "Bearer" }).end(body);
      };
      const { url } = await loopbackMcp({ ...answers(), "tools/call": deny });
      const { engine } = await openHttp({ url });
      expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
        code: "permission_denied",
        retryable: false,
        outcome: "not_started",
      });
    },
  );
});

test("a refused token of a provider that cannot open a page is reported without an address to log in at", async () => {
  const deny = ({ response }: Asked): undefined => void response.writeHead(401, { "www-authenticate": "Bearer" }).end();
  const { url } = await loopbackMcp({ ...modern(), "tools/call": deny });
  const provider = { token: () => Promise.resolve("canary-token-1") };
  const { engine } = await openHttp({ url, auth: { type: "oauth", provider } });
  expect(await rejection(engine.call(request("echo"), toolContext()))).toMatchObject({
    code: "permission_denied",
    operatorHint: "The server refused the token, or there was none: look at how `auth` of this server gets its tokens.",
  });
});
