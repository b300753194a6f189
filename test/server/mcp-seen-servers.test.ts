import { expect, test, vi } from "vitest";
import type { Principal } from "../../src/server/auth/principal.ts";
import { FakePeer } from "./fake-peer.ts";
import { ERAS, listening, openRuntime, overHttp, type Era } from "./mcp-clients.ts";

const principal = (name: string): Principal => ({ id: `key:${name}`, name, scopes: new Set(["execute"] as const) });
const KNOWN: ReadonlyMap<string, Principal> = new Map([
  ["Bearer ann", principal("ann")],
  ["Bearer bob", { ...principal("bob"), tools: { deny: ["secret::*", "bare::*"] } }],
]);
const authenticator = { authenticate: async ({ headers }: Request) => KNOWN.get(headers.get("authorization") ?? "") };

/** Bob may use no tool of `secret`, and could use none of `bare`, which has no tools; both come before `open`. */
async function serving() {
  const secret = new FakePeer("secret", ["secret:a", "shared:x"]);
  const bare = new FakePeer("bare", ["bare:a"]);
  const open = new FakePeer("open", ["shared:x", "open:a"]);
  const toolsets = [secret.toolset(["read", "wipe"]), bare.toolset(), open.toolset(["read"])];
  const { runtime } = await openRuntime({ toolsets });
  const { url } = await listening(runtime, { authenticator, tools: { validate: true } });
  const as = (name: string, era: Era) => overHttp(url, { era, headers: { authorization: `Bearer ${name}` } });
  return { secret, bare, open, as };
}

test.each(ERAS)("a caller without any tool of a server does not see its resources, templates and prompts (%s)", async (era) => {
  const { as } = await serving();
  const shown = async (name: string): Promise<unknown> => {
    const client = await as(name, era);
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    const { prompts } = await client.listPrompts();
    return [resources.map((one) => [one.uri, one.name]), resourceTemplates.map((one) => one.uriTemplate), prompts.map((one) => one.name)];
  };
  expect(await shown("ann")).toEqual([
    [
      ["secret:a", "secret 0"],
      ["shared:x", "secret 1"],
      ["bare:a", "bare 0"],
      ["open:a", "open 1"],
    ],
    ["secret:///{id}", "bare:///{id}", "open:///{id}"],
    ["secret__greet", "bare__greet", "open__greet"],
  ]);
  expect(await shown("bob")).toEqual([
    [
      ["shared:x", "open 0"],
      ["open:a", "open 1"],
    ],
    ["open:///{id}"],
    ["open__greet"],
  ]);
});

test.each(ERAS)(
  "a caller without any tool of a server cannot read, get or complete anything of it, and the server is not called (%s)",
  async (era) => {
    const { as, secret, bare } = await serving();
    const bob = await as("bob", era);
    for (const uri of ["secret:a", "secret:///7", "bare:a", "bare:///7"])
      await expect(bob.readResource({ uri })).rejects.toMatchObject({ code: -32_602, data: { uri } });
    const argument = { name: "whom", value: "A" };
    for (const name of ["secret__greet", "bare__greet"]) {
      await expect(bob.getPrompt({ name, arguments: { whom: "x" } })).rejects.toMatchObject({ code: -32_602 });
      await expect(bob.complete({ ref: { type: "ref/prompt", name }, argument })).rejects.toMatchObject({ code: -32_602 });
    }
    for (const uri of ["secret:///{id}", "secret:a"])
      await expect(bob.complete({ ref: { type: "ref/resource", uri }, argument })).rejects.toMatchObject({ code: -32_602 });
    expect([secret.asked, bare.asked]).toEqual([[], []]);
    const textOf = async (name: string): Promise<unknown> =>
      Reflect.get(Object((await (await as(name, era)).readResource({ uri: "shared:x" })).contents[0]), "text");
    expect([await textOf("ann"), await textOf("bob")]).toEqual(["from secret", "from open"]);
  },
);

test.each(ERAS)(
  "a caller without any tool of a server gets no resource updates of it, even while another caller listens to them (%s)",
  async (era) => {
    const { as, secret, open } = await serving();
    const listened = ["secret:a", "shared:x", "open:a"];
    const heard: string[] = [];
    for (const name of ["ann", "bob"]) {
      const client = await as(name, era);
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(`${name} ${params.uri}`));
      if (era === "modern") await client.listen({ resourceSubscriptions: listened });
      else for (const uri of listened) await client.subscribeResource({ uri });
    }
    await vi.waitFor(() =>
      expect([secret.asked, open.asked]).toEqual([
        [{ subscribe: "secret:a" }, { subscribe: "shared:x" }],
        [{ subscribe: "open:a" }, { subscribe: "shared:x" }],
      ]),
    );
    secret.tell("notifications/resources/updated", { uri: "secret:a" });
    open.tell("notifications/resources/updated", { uri: "open:a" });
    await vi.waitFor(() => expect([...heard].sort()).toEqual(["ann open:a", "ann secret:a", "bob open:a"]));
  },
);

test.each(ERAS)("updates of an unlisted resource, as behind a template, reach a caller with rules too (%s)", async (era) => {
  const { as, open } = await serving();
  const heard: string[] = [];
  const uri = "open:///7";
  for (const name of ["ann", "bob"]) {
    const client = await as(name, era);
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(`${name} ${params.uri}`));
    if (era === "modern") await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
  }
  await vi.waitFor(() => {
    open.tell("notifications/resources/updated", { uri });
    expect([...new Set(heard)].sort()).toEqual([`ann ${uri}`, `bob ${uri}`]);
  });
});

test("a caller without any tool of a server does not get its log, and cannot set its log level (2025-11-25)", async () => {
  const { as, secret, bare, open } = await serving();
  const heard: string[] = [];
  for (const name of ["ann", "bob"]) {
    const client = await as(name, "legacy");
    client.setNotificationHandler("notifications/message", ({ params }) => void heard.push(`${name} ${String(params.data)}`));
    if (name === "bob") await client.setLoggingLevel("debug");
  }
  secret.tell("notifications/message", { level: "error", data: "from secret" });
  open.tell("notifications/message", { level: "error", data: "from open" });
  await vi.waitFor(() => expect([...heard].sort()).toEqual(["ann from open", "ann from secret", "bob from open"]));
  expect([secret.asked, bare.asked, open.asked]).toEqual([[], [], [{ level: "debug" }]]);
});

test("haft_validate_input accepts only the tools that the caller may see", async () => {
  const { as } = await serving();
  const checked = async (name: string): Promise<unknown> =>
    (await (await as(name, "modern")).callTool({ name: "haft_validate_input", arguments: { name: "secret__wipe", input: {} } })).content;
  expect(await checked("ann")).toEqual([{ type: "text", text: expect.stringContaining("valid") }]);
  expect(await checked("bob")).toEqual([{ type: "text", text: 'No tool "secret__wipe".' }]);
});
