import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { rejection } from "../mcp-engine.ts";
import { openHttp } from "./loopback-mcp.ts";

test.each(["its metadata", "its token endpoint"])(
  "D11 D12 an authorization server at a private address is not called for %s, and the client secret is not sent",
  async (place) => {
    const inside: string[] = [];
    const listen = async (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
      const server = createServer(answer);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => (server.closeAllConnections(), void server.close()));
      const address = server.address();
      return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    };
    const other = await listen((request, response) => (inside.push(String(request.url)), void response.end("{}")));
    const own = await listen(({ url = "", headers }, response) => {
      const self = `http://${headers.host}`;
      const json = (value: unknown): unknown => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
      if (url.startsWith("/.well-known/oauth-protected-resource"))
        return void json({ resource: `${self}/mcp`, authorization_servers: [place === "its metadata" ? other : self] });
      if (url.startsWith("/.well-known/"))
        return void json({
          issuer: self,
          authorization_endpoint: `${self}/authorize`,
          token_endpoint: `${other}/token`,
          response_types_supported: ["code"],
        });
      const metadata = `${self}/.well-known/oauth-protected-resource`;
      response.writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` }).end();
    });

    const auth = {
      type: "client-credentials",
      clientId: "me",
      clientSecret: "swordfish",
      issuer: place === "its metadata" ? other : own,
    } as const;
    const error = await rejection(openHttp({ url: `${own}/mcp`, auth }));

    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("is not a public address") });
    expect([inside, JSON.stringify(error).includes("swordfish")]).toEqual([[], false]);
  },
);
