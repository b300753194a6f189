import { expect, test } from "vitest";
import { confirmPage } from "../../../../src/engine/mcp/login/login-pages.ts";

test("D11 the page of a login shows invisible characters in the name of its user, and markup as text", async () => {
  const user = "alice\u200b\u202e<b>";
  const text = await confirmPage({ server: "tickets", user, host: "login.example", action: "/upstreams/login?id=1&x=2" }).text();
  expect(text).toContain(String.raw`Continue only if you are alice\u200b\u202e&lt;b&gt;, and asked for this yourself`);
  expect(text).toContain('action="/upstreams/login?id=1&amp;x=2"');
});
