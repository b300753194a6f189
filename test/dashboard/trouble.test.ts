/** The dashboard in a real browser where something goes wrong: answers that come too late, slow networks, servers that are away, small screens. */
import { createServer as createHttpServer, request as httpRequest } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createAgent, createRuntime, defineTool, pure } from "haft";
import { createServer, staticToken, type Principal } from "haft/server";
import { scriptedModel } from "haft/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, seriousFindings, startBrowser } from "./browser.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";
/** A host of this server that is not the machine itself, so that browsers take the page for no secure context. */
const HOST = "haft.test";
const KEY = "a-token-of-the-test-that-is-long-enough";
const OTHER_KEY = "another-token-of-the-test-that-is-long";

describe.runIf(inCI && CHROMIUM !== undefined)(`the dashboard under faults, in a browser ${IN_CI}${why}`, { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: ReturnType<typeof createServer>;
  let scene: { readonly url: string; readonly key: string };
  let port: number;
  let endBuild = (): void => {};

  const runtime = createRuntime({
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [
      {
        name: "t",
        tools: [
          defineTool({ name: "tick", description: "Ticks.", inputSchema: { type: "object" }, effects: pure, execute: () => null }),
          defineTool({
            name: "smile",
            description: "Says much.",
            inputSchema: { type: "object" },
            effects: pure,
            execute: () => `${"x".repeat(19_999)}${"😀".repeat(9)}`,
          }),
          defineTool({
            name: "drop",
            description: "Drops a table.",
            inputSchema: { type: "object", properties: { limits: { type: "object", properties: { rows: { type: "number" } } } } },
            effects: { writes: ["tables"], destructive: true },
            execute: () => null,
          }),
          defineTool({
            name: "pick",
            description: "Picks a shape.",
            inputSchema: {
              type: "object",
              properties: { shape: { enum: [{ sides: 3 }, { sides: 4 }] }, sure: { type: "boolean" } },
              required: ["shape", "sure"],
            },
            effects: pure,
            execute: () => null,
          }),
          defineTool({
            name: "draw",
            description: "Draws shapes.",
            inputSchema: {
              type: "object",
              properties: {
                shapes: {
                  type: "array",
                  items: {
                    oneOf: [
                      {
                        type: "object",
                        properties: { kind: { const: "circle" }, radius: { type: "number" } },
                        required: ["kind", "radius"],
                      },
                      { type: "object", properties: { kind: { const: "box" }, width: { type: "number" } }, required: ["kind", "width"] },
                      { type: "null" },
                    ],
                  },
                },
              },
              required: ["shapes"],
            },
            effects: pure,
            execute: () => null,
          }),
          defineTool({
            name: "build",
            description: "Builds in the background until the test lets it end.",
            inputSchema: { type: "object" },
            effects: pure,
            mode: "background",
            async execute(_, { output }) {
              output("first line\n");
              await new Promise<void>((resolve) => (endBuild = resolve));
              output("last line: 3 tests failed\n");
              return null;
            },
          }),
        ],
      },
    ],
  });
  const clerk = createAgent({ session: runtime.session("desk"), model: scriptedModel(() => ({ text: "Noted." })) });

  const start = async (on: number): Promise<void> => {
    server = createServer(runtime, {
      auth: staticToken({ token: KEY }),
      allowedHosts: ["127.0.0.1", HOST],
      dashboard: true,
      agents: { clerk },
      limits: { graceMs: 50 },
    });
    ({ port } = await server.listen({ port: on }));
  };

  beforeAll(async () => {
    await builtDashboard();
    await runtime.open();
    await runtime.session("away").execute([{ name: "t::tick", input: {} }]);
    clerk.start();
    await start(0);
    scene = { url: `http://127.0.0.1:${port}`, key: KEY };
    browser = await startBrowser([`--host-resolver-rules=MAP ${HOST} 127.0.0.1`]);
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await clerk.stop();
    await runtime.close();
  });

  const request = async (path: string, body?: object): Promise<unknown> => {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const response = await fetch(scene.url + path, {
      headers,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
    return response.json();
  };
  interface Question {
    readonly callId: string;
    readonly sessionId: string;
    readonly digest: string;
  }
  const questions = async (session: string): Promise<readonly Question[]> => {
    const { approvals } = (await request("/v1/approvals")) as { readonly approvals: readonly Question[] };
    return approvals.filter(({ sessionId }) => sessionId === session);
  };
  /** Makes calls that wait for approval. */
  const ask = async (session: string, calls = 1): Promise<readonly Question[]> => {
    void runtime.session(session).execute(Array.from({ length: calls }, (_, rows) => ({ name: "t::drop", input: { limits: { rows } } })));
    await expect.poll(async () => (await questions(session)).length, { timeout: 20_000 }).toBe(calls);
    return questions(session);
  };
  const decide = ({ callId, digest }: Question, answer: string) =>
    request(`/v1/approvals/${encodeURIComponent(callId)}`, { answer, digest });
  const approvalPath = ({ callId }: Question): string => `/approvals/${encodeURIComponent(callId)}`;
  const panel = (page: Page) => page.locator("aside.panel");
  const focused = (page: Page): Promise<string> =>
    page.evaluate("document.activeElement.pathname ?? document.activeElement.getAttribute('role') ?? document.activeElement.tagName");

  test("a long text is not truncated within a character", async () => {
    const [result] = await runtime.session("smiles").execute([{ name: "t::smile", input: {} }]);
    const { page } = await openPage(browser, scene, `/sessions/smiles/calls/${encodeURIComponent(result?.callId ?? "")}`);
    const output = page.getByRole("group", { name: "Output" });
    await output.getByRole("button", { name: /^Show more/u }).waitFor();
    expect(await output.locator("bdi").textContent()).toBe(`${"x".repeat(19_999)}…`);
    await output.getByRole("button", { name: /^Show more/u }).click();
    await expect.poll(() => output.locator("bdi").textContent()).toBe(`${"x".repeat(19_999)}${"😀".repeat(9)}`);
    await page.context().close();
  });

  test("an answer that came too late for its approval says so, for one call and for several", async () => {
    const [first, second, third] = await ask("late", 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error("There is no question.");
    const { page } = await openPage(browser, scene, approvalPath(first));
    await page.getByRole("button", { name: "Deny all 3 of this tool" }).waitFor();
    let isHeld = true; // the page does not see what others answer
    await page.route("**/v1/approvals", async (route) => {
      while (isHeld && route.request().method() === "GET") await pause(50);
      await route.continue().catch(() => {}); // the page is gone
    });
    await decide(second, "allow");
    await page.getByRole("button", { name: "Deny all 3 of this tool" }).click();
    isHeld = false;
    await page.getByText("This call is no longer waiting.").waitFor();
    await panel(page).getByText("This answer had no effect on 1 call of 3").waitFor();
    const [last] = await ask("too-late");
    if (last === undefined) throw new Error("There is no question.");
    await page.goto(scene.url + approvalPath(last));
    await page.getByRole("button", { name: "Deny", exact: true }).waitFor();
    isHeld = true;
    await decide(last, "allow");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    isHeld = false;
    await page.getByText("This call is no longer waiting.").waitFor();
    await panel(page).getByRole("alert").waitFor();
    await page.context().close();
  });

  test("a waiting call appears on a slow network while the server is busy", async () => {
    const { page } = await openPage(browser, scene, "/approvals");
    await page.route("**/v1/approvals", async (route) => {
      await pause(1_200);
      await route.continue().catch(() => {}); // it was given up
    });
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    const stop = new AbortController();
    const session = runtime.session("busy");
    const busy = (async () => {
      while (!stop.signal.aborted) {
        await session.execute([{ name: "t::tick", input: {} }]);
        await pause(200);
      }
    })();
    try {
      await pause(2_000); // the readings that come with the page are over
      const [waiting] = await ask("slow");
      await page.getByRole("link", { name: /slow/u }).waitFor({ timeout: 15_000 });
      if (waiting !== undefined) await decide(waiting, "deny");
    } finally {
      stop.abort();
      await busy;
      await page.context().close();
    }
  });

  test("the last output of a job is shown after it has ended", async () => {
    const [result] = await runtime.session("ci").execute([{ name: "t::build", input: {} }]);
    const { page } = await openPage(browser, scene, `/jobs/${encodeURIComponent(result?.callId ?? "")}`);
    await page.getByText("first line").waitFor();
    endBuild();
    await panel(page).getByText("done", { exact: true }).waitFor();
    await page.getByText("last line: 3 tests failed").waitFor({ timeout: 10_000 });
    await page.context().close();
  });

  test("a message can be sent from a page that is not a secure context", async () => {
    const { page } = await openPage(browser, { url: `http://${HOST}:${port}`, key: KEY }, "/agents/clerk");
    const box = page.getByLabel("Message to the agent");
    await box.fill("Hello from the next room");
    expect(await page.evaluate("isSecureContext")).toBe(false);
    await box.press("Enter");
    await page.getByRole("log").getByText("Hello from the next room").waitFor();
    await page.context().close();
  });

  test("text typed while a message is sent is retained, and a message that failed to send returns to the input", async () => {
    const { page } = await openPage(browser, scene, "/agents/clerk");
    let isHeld = true;
    await page.route("**/v1/agents/clerk/**", async (route) => {
      while (isHeld) await pause(50);
      await route.continue();
    });
    const box = page.getByLabel("Message to the agent");
    await box.fill("the first");
    await box.press("Enter");
    await box.pressSequentially("the second");
    isHeld = false;
    await page.getByRole("log").getByText("the first").waitFor();
    expect(await box.inputValue()).toBe("the second");
    await page.unroute("**/v1/agents/clerk/**");
    await page.route("**/v1/agents/clerk/**", (route) => route.fulfill({ status: 400, json: { title: "Refused", status: 400 } }));
    await box.press("Enter");
    await page.locator(".say").getByRole("alert").waitFor();
    expect(await box.inputValue()).toBe("the second");
    await page.context().close();
  });

  test("screens opened while the server is down load when it is back", async () => {
    const opened = await Promise.all([1, 2, 3].map(() => openPage(browser, scene, "/sessions")));
    const [timeline, tools, agents] = opened.map(({ page }) => page);
    if (timeline === undefined || tools === undefined || agents === undefined) throw new Error("A page is missing.");
    await Promise.all(opened.map(({ page }) => page.getByRole("link", { name: "away", exact: true }).waitFor()));
    await server.close();
    await Promise.all(opened.map(({ page }) => page.getByText("The server does not answer.").waitFor()));
    await timeline.getByRole("link", { name: "away", exact: true }).click();
    await tools.getByRole("link", { name: "Tools", exact: true }).click();
    await agents.getByRole("link", { name: "Agents", exact: true }).click();
    await tools.getByText("The tools could not be read.").waitFor();
    await agents.getByText("This screen could not be drawn.").waitFor();
    await pause(1_500); // the timeline has given up its first attempts as well
    await start(port);
    await timeline.getByText("1 call", { exact: true }).waitFor();
    await tools.getByRole("link", { name: /drop/u }).waitFor();
    await agents.getByText("The server answers again.").waitFor();
    await agents.getByRole("button", { name: "Reload the page" }).click();
    await agents.getByRole("link", { name: /clerk/u }).waitFor();
    await Promise.all(opened.map(({ page }) => page.context().close()));
  });

  test("more pages than a browser allows connections all load, and a page that becomes visible again continues", async () => {
    const session = runtime.session("pages");
    await session.execute([{ name: "t::tick", input: {} }]);
    const { page: first } = await openPage(browser, scene, "/tools");
    const context = first.context();
    await context.addInitScript(`{
      sessionStorage.setItem("haft-key", ${JSON.stringify(KEY)});
      let state = "visible";
      Object.defineProperty(document, "visibilityState", { get: () => state });
      window.hide = (isHidden) => {
        state = isHidden ? "hidden" : "visible";
        document.dispatchEvent(new Event("visibilitychange"));
      };
    }`);
    const pages: Page[] = [];
    for (let index = 0; index < 8; index++) {
      const page = await context.newPage();
      pages.push(page);
      await page.goto(`${scene.url}/sessions/pages`);
      await page.getByText("1 call", { exact: true }).waitFor();
      await page.evaluate("hide(true)");
    }
    await session.execute([{ name: "t::tick", input: {} }]);
    await pages[0]?.evaluate("hide(false)");
    await pages[0]?.getByText("2 calls", { exact: true }).waitFor();
    await context.close();
  });

  test("a late rejection of an earlier key does not remove the current key", async () => {
    const { page } = await openPage(browser, scene, "/tools/t%3A%3Atick");
    // The server takes any key for its own one here.
    const headers = { authorization: `Bearer ${KEY}` };
    await page.route("**/v1/**", (route) => route.continue({ headers: { ...route.request().headers(), ...headers } }));
    let isHeld = true;
    await page.route("**/v1/execute", async (route) => {
      while (isHeld) await pause(50);
      await route.fulfill({ status: 401, json: { title: "Unauthorized", status: 401 } }).catch(() => {}); // it was given up
    });
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Forget the key and leave" }).click();
    await page.getByLabel("Key or token").fill(OTHER_KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /tick/u }).waitFor();
    isHeld = false;
    await pause(1_000);
    expect(await page.getByLabel("Key or token").count()).toBe(0);
    await page.context().close();
  });

  test("when a key ends, the page says so, and typed text is retained only for the next key of the same principal", async () => {
    const names = new Map([
      ["first-key-of-the-test", "ada"],
      ["second-key-of-the-test", "ada"],
      ["third-key-of-the-test", "grace"],
    ]);
    const scopes = new Set(["read", "execute", "simulate"] as const);
    const authenticate = (request: Request): Promise<Principal | undefined> => {
      const id = names.get(request.headers.get("authorization")?.slice("Bearer ".length) ?? "");
      return Promise.resolve(id === undefined ? undefined : { id, name: id, scopes });
    };
    const keyed = createServer(runtime, { auth: { authenticate, isValid: () => Promise.resolve(true) }, dashboard: true });
    const { url } = await keyed.listen({ port: 0 });
    const { page, problems } = await openPage(browser, { url, key: "first-key-of-the-test" }, "/tools/t%3A%3Adrop");
    const json = page.getByLabel("JSON");
    const signIn = async (key: string) => {
      await page.getByLabel("Key or token").fill(key);
      await page.keyboard.press("Enter");
    };
    await json.fill('{"limits": {"rows": 17}}');
    names.delete("first-key-of-the-test");
    await page.getByText("The server did not accept this key. It may have expired").waitFor();
    await page.getByText("Your input is kept").waitFor();
    expect(await json.isVisible()).toBe(false);
    await signIn("no-key-of-the-test");
    await page.getByText("The server did not accept this key.").waitFor();
    await signIn("second-key-of-the-test");
    await json.waitFor();
    expect(JSON.parse(await json.inputValue())).toEqual({ limits: { rows: 17 } });
    await page.getByRole("button", { name: "Simulate" }).click();
    await panel(page).getByText("simulated").first().waitFor();
    await json.fill('{"limits": {"rows": 17}'); // not at its end yet
    names.delete("second-key-of-the-test");
    names.set("fourth-key-of-the-test", "ada");
    await page.getByText("Your input is kept").waitFor();
    await signIn("fourth-key-of-the-test");
    await json.waitFor();
    expect(await json.inputValue()).toBe('{"limits": {"rows": 17}');
    expect(await page.getByRole("button", { name: "Simulate" }).isDisabled()).toBe(true);
    names.delete("fourth-key-of-the-test");
    await page.getByText("Your input is kept").waitFor();
    await signIn("third-key-of-the-test");
    await json.waitFor();
    expect(await json.inputValue()).not.toContain("17");
    await json.fill('{"limits": {"rows": 18}}');
    names.delete("third-key-of-the-test");
    names.set("fifth-key-of-the-test", "grace");
    await page.getByText("Your input is kept").waitFor();
    if (process.env["SHOT"] !== undefined) await page.screenshot({ path: process.env["SHOT"] });
    await page.getByRole("button", { name: "Discard your input" }).click();
    expect(await json.count()).toBe(0);
    await signIn("fifth-key-of-the-test");
    await json.waitFor();
    expect(await json.inputValue()).not.toContain("18");
    expect(problems).toEqual([]);
    await page.context().close();
    await keyed.close();
  });

  test("the form shows the value that is sent, or no choice", async () => {
    const { page } = await openPage(browser, scene, "/tools/t%3A%3Apick");
    await page.getByLabel("JSON").fill('{"shape": {"sides": 4}, "sure": "perhaps"}');
    const shown = (name: RegExp) => page.getByLabel(name).locator("option:checked").textContent();
    expect([await shown(/^shape/u), await shown(/^sure/u)]).toEqual(['{"sides":4}', "–"]);
    await page.context().close();
  });

  test("the form shows the value that is sent after an item was removed, and after the JSON was edited", async () => {
    const { page } = await openPage(browser, scene, "/tools/t%3A%3Adraw");
    const json = async (): Promise<unknown> => JSON.parse(await page.getByLabel("JSON").inputValue());
    const forms = () => page.locator(".try-form label.field select");
    const chosen = () => page.evaluate("[...document.querySelectorAll('.try-form select')].map((one) => one.selectedOptions[0].text)");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page
      .getByRole("textbox", { name: /^radius/u })
      .first()
      .fill("wide");
    await forms().last().selectOption("box");
    expect(await json()).toEqual({ shapes: [{ kind: "circle" }, { kind: "box" }] });
    await page.getByRole("button", { name: "Remove" }).first().click();
    expect([await json(), await chosen()]).toEqual([{ shapes: [{ kind: "box" }] }, ["box", "box"]]);
    await page.getByText("Does not fit").waitFor(); // the text that could not be read is gone
    await forms().selectOption("null");
    expect(await json()).toEqual({ shapes: [null] });
    await page.getByLabel("JSON").fill('{"shapes": [{"kind": "circle", "radius": 2}]}');
    expect(await chosen()).toEqual(["circle", "circle"]);
    const many = JSON.stringify({ shapes: Array.from({ length: 101 }, () => null) });
    await page.getByLabel("JSON").fill(many);
    await page.getByText("The first 100 are shown. The JSON has all 101.").waitFor();
    expect(await page.getByRole("button", { name: "Add", exact: true }).count()).toBe(0);
    await page.context().close();
  });

  test("all nested branches are shown, and names that cannot be in an address do no harm", async () => {
    let session = runtime.session("deep-0");
    for (let depth = 1; depth <= 30; depth++) session = session.fork({ id: `deep-${depth}` });
    await runtime.session("halves").execute([{ name: "x\ud800", input: {} }]);
    const { page } = await openPage(browser, scene, "/sessions?q=deep-");
    await page.getByRole("link", { name: "deep-30", exact: false }).waitFor();
    expect(await page.locator("a[data-row]").count()).toBe(31);
    await page.goto(`${scene.url}/sessions/halves`);
    await page.getByRole("row").first().click();
    await panel(page).getByText("not found", { exact: true }).waitFor();
    await page.context().close();
  });

  test("a filter that no loaded session matches says that older ones may, and they are read although others change", async () => {
    const { page } = await openPage(browser, scene, "/tools");
    const sessions = Array.from({ length: 200 }, (_, index) => ({ id: `s-${index}`, length: 1, open: false }));
    await page.route("**/v1/sessions?*", async (route) => {
      const isOlder = route.request().url().includes("cursor=200");
      if (isOlder) await pause(1_500); // longer than the lists wait between two reads
      await route.fulfill({ json: isOlder ? { sessions: [] } : { sessions, next: "200" } }).catch(() => {});
    });
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("link", { name: "s-199" }).waitFor();
    await page.getByLabel("Which sessions").selectOption("damaged");
    await page.getByText("None of the latest 200 sessions match.").waitFor();
    // Changes that are reported meanwhile do not cancel the read of older sessions.
    const busy = runtime.session();
    const changes = setInterval(() => void busy.execute([{ name: "t::tick", input: {} }]), 200);
    await page.getByRole("button", { name: "Older sessions" }).click();
    await page
      .getByText("No sessions match.")
      .waitFor({ timeout: 10_000 })
      .finally(() => clearInterval(changes));
    await page.context().close();
  });

  test("a page below a path that the server was not started with says so", async () => {
    const proxy = createHttpServer((incoming, outgoing) => {
      const { url = "", method, headers } = incoming;
      if (!url.startsWith("/haft/")) return void outgoing.writeHead(404).end();
      const path = url.slice("/haft".length);
      incoming.pipe(
        httpRequest({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
          answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers));
        }),
      );
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const address = proxy.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    try {
      for (const path of ["/haft/", "/haft/sessions"]) {
        const { page } = await openPage(browser, { ...scene, url }, path);
        await page.getByText("the server must be started with it").waitFor();
        await page.context().close();
      }
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("navigation").first().waitFor();
    expect(await page.getByText("the server must be started with it").count()).toBe(0);
    await page.context().close();
  });

  test("a gateway's answer for an unreachable server counts as no answer", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "away", exact: true }).waitFor();
    await page.route("**/v1/**", (route) => route.fulfill({ status: 502, body: "Bad gateway" }));
    await page.getByRole("link", { name: "away", exact: true }).click();
    await page.getByText("The server does not answer.").waitFor();
    await pause(1_500); // the timeline has given up its first attempts
    await page.unroute("**/v1/**");
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.context().close();
  });

  test("without a network the page says so, and sends neither an answer nor a message later", async () => {
    const [question] = await ask("unplugged");
    if (question === undefined) throw new Error("There is no question.");
    const approving = await openPage(browser, scene, approvalPath(question));
    const writing = await openPage(browser, scene, "/agents/clerk");
    const text = writing.page.getByRole("textbox", { name: "Message to the agent" });
    const pages = [approving.page, writing.page];
    await approving.page.getByRole("button", { name: "Allow", exact: true }).waitFor();
    await text.fill("Sent without a network.");
    const sent: string[] = [];
    for (const page of pages) {
      page.on("request", (one) => one.method() === "POST" && !one.url().endsWith("/preview") && sent.push(one.url()));
      await page.context().setOffline(true);
    }
    await approving.page.getByRole("button", { name: "Allow", exact: true }).click();
    await text.press("Enter");
    for (const page of pages) {
      await page.getByText("The server does not answer.").waitFor();
      await page.getByText("It may have taken effect. Press again to repeat the same request").waitFor();
    }
    expect(await text.inputValue()).toBe("Sent without a network.");
    sent.length = 0;
    for (const page of pages) {
      await page.context().setOffline(false);
      await page.getByText("The server answers again.").waitFor();
    }
    await pause(1_000);
    expect([sent, (await questions("unplugged")).length]).toEqual([[], 1]);
    await decide(question, "deny");
    for (const page of pages) await page.context().close();
  });

  test("a list that cannot be reloaded is marked as outdated until it loads", async () => {
    const { page } = await openPage(browser, scene, "/agents");
    await page.getByRole("link", { name: /clerk/u }).waitFor();
    await page.route("**/v1/agents", (route) => route.fulfill({ status: 500, json: { title: "The disk is full", status: 500 } }));
    await page.getByText("The data shown is older.").waitFor();
    expect(await page.getByRole("link", { name: /clerk/u }).isVisible()).toBe(true);
    await page.unroute("**/v1/agents");
    await page.getByText("The data shown is older.").waitFor({ state: "detached" });
    await page.context().close();
  });

  test("the palette reports that its search failed on the server", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    await page.route("**/v1/tools?*", (route) => route.fulfill({ status: 500, json: { title: "The disk is full", status: 500 } }));
    await page.getByRole("link", { name: "away" }).waitFor();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Go to" });
    await palette.getByRole("combobox").fill("zzz");
    await palette.getByRole("alert").waitFor();
    expect(await palette.getByText("Nothing with this name").count()).toBe(0);
    await page.context().close();
  });

  test("focus returns to its row when a panel is closed, even on a phone, and stays in the panel after an answer", async () => {
    const [question] = await ask("focus");
    if (question === undefined) throw new Error("There is no question.");
    const { page } = await openPage(browser, scene, "/tools");
    for (const [screen, name, width] of [
      ["/tools", /t::drop/u, 375],
      ["/jobs", /t::build/u, 1_360],
      ["/agents", /clerk/u, 375],
      ["/approvals", /focus/u, 1_360],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(scene.url + screen);
      await page.locator("a[data-row]", { hasText: name }).focus();
      const row = await focused(page);
      await page.keyboard.press("Enter");
      await panel(page)
        .getByRole("button", { name: /^Close the/u })
        .focus();
      await page.keyboard.press("Escape");
      await panel(page).waitFor({ state: "detached" });
      expect([screen, await focused(page)]).toEqual([screen, row]);
    }
    await page.getByRole("link", { name: /focus/u }).click();
    await page.getByRole("button", { name: "Allow", exact: true }).press("Enter");
    await page.getByText("This call is no longer waiting.").waitFor();
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    await page.goto(`${scene.url}/sessions/away`);
    await page.getByRole("treegrid").focus();
    for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("button", { name: "Close the call" }).press("Enter");
    await panel(page).waitFor({ state: "detached" });
    expect(await focused(page)).toBe("treegrid");
    await page.context().close();
  });

  test("the whole menu is visible at any width, without overlaps and including read-only", async () => {
    const { page } = await openPage(browser, scene, "/sessions", { viewport: { width: 375, height: 720 } });
    await page.getByRole("link", { name: "away", exact: true }).waitFor();
    await page.locator("label.switch").click();
    expect(await page.getByRole("switch", { name: "Read-only" }).isChecked()).toBe(true);
    for (const width of [320, 375, 700, 890, 1_360]) {
      await page.setViewportSize({ width, height: 720 });
      const boxes = await Promise.all(
        (await page.locator(".menu-item, .menu button, .menu .switch").all()).map((one) => one.boundingBox()),
      );
      const all = boxes.flatMap((box) => (box === null ? [] : [box]));
      expect([width, all.length, boxes.length]).toEqual([width, 15, 15]);
      const outside = all.filter(({ x, width: wide }) => x < 0 || x + wide > width);
      const over = all.filter((one, index) =>
        all
          .slice(index + 1)
          .some(
            (other) =>
              Math.abs(one.x + one.width / 2 - other.x - other.width / 2) < (one.width + other.width) / 2 - 1 &&
              Math.abs(one.y + one.height / 2 - other.y - other.height / 2) < (one.height + other.height) / 2 - 1,
          ),
      );
      expect([width, outside, over]).toEqual([width, [], []]);
    }
    await page.context().close();
  });

  test("the replay and the comparison of a session can be reached on a phone and at a zoom of 200 %", async () => {
    const { page } = await openPage(browser, scene, "/sessions/away");
    for (const [width, height] of [
      [360, 720],
      [680, 400],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const name of ["Replay", "Compare"]) {
        const link = page.getByRole("link", { name, exact: true });
        await link.waitFor();
        await link.click({ trial: true });
      }
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
    await page.context().close();
  });

  test("a key with an invalid character is rejected as such, and is not stored", async () => {
    const { page } = await openPage(browser, scene, "/sessions", { as: "" });
    await page.getByLabel("Key or token").fill(`${KEY}\u200b`);
    await page.keyboard.press("Enter");
    await page.getByText("This is not a key").waitFor();
    expect(await page.evaluate("sessionStorage.getItem('haft-key')")).toBe(null);
    expect(await seriousFindings(page)).toEqual([]);
    await page.context().close();
  });

  test("an unreadable number does not block the form once its field is left out", async () => {
    const { page } = await openPage(browser, scene, "/tools/t%3A%3Adrop");
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByLabel("rows").fill("many");
    await page.getByText("nothing is sent").waitFor();
    await page.getByRole("button", { name: "Leave out" }).click();
    await page.getByText("Fits the schema").waitFor();
    await page.context().close();
  });

  test("the link back to the sessions retains the search, an id of spaces is a link, and keys do not reach behind a dialog", async () => {
    await runtime.session("  ").execute([{ name: "t::tick", input: {} }]);
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "␣␣" }).click();
    await page.getByText("1 call", { exact: true }).waitFor();
    await page.getByRole("link", { name: "All sessions" }).click();
    await page.getByRole("searchbox").fill("away");
    await page.waitForURL("**/sessions?q=away");
    await page.getByRole("link", { name: "away", exact: true }).click();
    await page.getByRole("link", { name: "All sessions" }).click();
    await page.waitForURL("**/sessions?q=away");
    await page.locator("a[data-row]").first().focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    for (const key of ["g", "t", "Escape"]) await page.keyboard.press(key);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(new URL(page.url()).pathname).toBe("/sessions");
    await page.context().close();
  });
});
