/** The dashboard in a real browser where the server does the work and its answer is lost: no press of a button may do it twice. */
import { once } from "node:events";
import { createServer as createHttpServer, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAgent, createRuntime, defineTool } from "haft";
import { createServer, staticToken } from "haft/server";
import { scriptedModel } from "haft/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, startBrowser } from "./browser.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";
const KEY = "a-token-of-the-test-that-is-long-enough";

describe.runIf(inCI && CHROMIUM !== undefined)(`answers that are lost, in a browser ${IN_CI}${why}`, { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: ReturnType<typeof createServer>;
  let proxy: Server;
  let scene: { readonly url: string; readonly key: string };
  /** The requests whose answers are lost: the server has done them when the connection is closed. */
  let lost: RegExp | undefined;
  let lostCount = 0;
  let ran = 0;

  const run = () => ({ ran: ++ran });
  const runtime = createRuntime({
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [
      {
        name: "t",
        tools: [
          defineTool({
            name: "pay",
            description: "Pays.",
            inputSchema: { type: "object", properties: { euros: { type: "integer" } } },
            effects: { writes: ["till"] },
            execute: run,
          }),
          defineTool({
            name: "drop",
            description: "Drops a table.",
            inputSchema: { type: "object", properties: { table: { type: "integer" } } },
            effects: { writes: ["tables"], destructive: true },
            execute: run,
          }),
          defineTool({
            name: "ship",
            description: "Ships in the background; there is no ship.",
            inputSchema: { type: "object" },
            effects: { writes: ["harbour"] },
            mode: "background",
            execute: () => {
              ran++;
              throw new Error("There is no ship.");
            },
          }),
        ],
      },
    ],
  });
  const clerk = createAgent({ session: runtime.session("desk"), model: scriptedModel(() => ({ text: "Noted." })) });

  beforeAll(async () => {
    await builtDashboard();
    await runtime.open();
    clerk.start();
    server = createServer(runtime, { auth: staticToken({ token: KEY }), dashboard: true, agents: { clerk }, limits: { graceMs: 50 } });
    const { port } = await server.listen({ port: 0 });
    proxy = createHttpServer((request, response) => {
      const { method, url = "", headers } = request;
      const isLost = method !== "GET" && lost?.test(url) === true;
      const sent = httpRequest({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
        if (!isLost) return void answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers));
        lostCount++;
        answer.resume().once("end", () => response.destroy());
      });
      sent.on("error", () => response.destroy());
      response.on("close", () => sent.destroy());
      request.pipe(sent);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    scene = { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, key: KEY }; // a TCP server has an address of this type
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    proxy?.closeAllConnections();
    proxy?.close();
    await server?.close();
    await clerk.stop();
    await runtime.close();
  });

  beforeEach(() => {
    lost = undefined;
    lostCount = 0;
    ran = 0;
  });

  const press = (page: Page, name: string | RegExp) => page.getByRole("button", { name, exact: true }).click();
  /** Presses a button while answers are lost, until the page says so. */
  const pressInVain = async (page: Page, name: string, requests: RegExp): Promise<void> => {
    lost = requests;
    await press(page, name);
    await page.getByText("It may have taken effect. Press again").waitFor();
    expect(lostCount).toBeGreaterThan(0);
    lost = undefined;
  };
  const sessionIds = async (): Promise<readonly string[]> => {
    const response = await fetch(`${scene.url}/v1/sessions`, { headers: { authorization: `Bearer ${KEY}` } });
    const { sessions } = (await response.json()) as { readonly sessions: readonly { readonly id: string }[] };
    return sessions.map(({ id }) => id);
  };
  const waiting = async (count: number): Promise<void> => {
    const read = async () => (await runtime.approvals.list({ status: ["open"] })).length;
    await expect.poll(read, { timeout: 20_000 }).toBe(count);
  };

  test("a tool that is tried runs once, although the browser repeats the request and the button is pressed again", async () => {
    const { page } = await openPage(browser, scene, "/tools/t%3A%3Apay");
    await pressInVain(page, "Run", /\/execute/u);
    expect(ran).toBe(1);
    await press(page, "Run");
    await page.locator(".tried").waitFor();
    expect(ran).toBe(1);
    await press(page, "Run"); // the first call was answered: this is another
    await expect.poll(() => ran).toBe(2);
    await page.context().close();
  });

  test("a message to an agent that is sent again is received once", async () => {
    const { page } = await openPage(browser, scene, "/agents/clerk");
    await page.getByLabel("Message to the agent").fill("Good morning");
    await pressInVain(page, "Send", /\/messages/u);
    await press(page, "Send");
    await expect.poll(() => page.getByLabel("Message to the agent").inputValue()).toBe("");
    await expect.poll(() => page.getByText("It may have taken effect").count()).toBe(0);
    await expect.poll(() => page.locator(".chat-message.chat-agent").count()).toBe(1);
    expect(await page.locator(".chat-user").count()).toBe(1);
    await page.context().close();
  });

  test("a message that is written again after a lost answer is another message", async () => {
    const { page } = await openPage(browser, scene, "/agents/clerk");
    const box = page.getByLabel("Message to the agent");
    await box.fill("Go on");
    await pressInVain(page, "Send", /\/messages/u);
    await box.fill("");
    await box.fill("Go on");
    await press(page, "Send");
    await expect.poll(() => page.locator(".chat-user", { hasText: "Go on" }).count()).toBe(2);
    await page.context().close();
  });

  test("an answer to a question that the browser had to repeat is not said to have had no effect", async () => {
    void runtime.session("question").execute([{ name: "t::drop", input: { table: 1 } }]);
    await waiting(1);
    const { page } = await openPage(browser, scene, "/approvals");
    await page.locator("a.card").first().click();
    await pressInVain(page, "Allow", /\/approvals/u);
    await expect.poll(() => ran).toBe(1);
    await page.context().close();

    void runtime.session("questions").execute([1, 2, 3].map((table) => ({ name: "t::drop", input: { table } })));
    await waiting(3);
    const several = await openPage(browser, scene, "/approvals");
    await several.page.locator("a.card").first().click();
    lostCount = 0;
    await several.page.route("**/v1/approvals", async (route) => {
      if (route.request().method() === "GET" || lostCount++ > 0) return route.continue();
      await route.fetch(); // the server has done it
      await route.abort("connectionreset");
    });
    await press(several.page, "Deny all 3 of this tool");
    await several.page.getByText("This call is no longer waiting.").waitFor();
    await expect.poll(() => lostCount).toBe(2);
    expect(await several.page.locator("aside .inline-failure").allInnerTexts()).toEqual([]);
    await several.page.context().close();
  });

  test("real calls of a replay whose answer was lost continue in their branch", async () => {
    const session = runtime.session("travel");
    for (const euros of [1, 2, 3]) await session.execute([{ name: "t::pay", input: { euros } }]);
    const { page } = await openPage(browser, scene, "/sessions/travel/replay?through=rest");
    await page.getByLabel("Begin at").selectOption({ index: 1 });
    await press(page, "Run simulated");
    await page.getByText("Compared with the original").waitFor();
    ran = 0;
    await pressInVain(page, "Run for real", /\/execute/u);
    expect(ran).toBe(1);
    const before = await sessionIds();
    await press(page, "Run for real");
    await page.getByText("Compared with the original").waitFor();
    expect(ran).toBe(3);
    expect(await sessionIds()).toEqual(before);
    await pressInVain(page, "Drop the branch", /\/discard/u);
    await press(page, "Drop the branch");
    await expect.poll(() => page.getByRole("button", { name: "Drop the branch" }).count()).toBe(0);
    expect((await sessionIds()).length).toBe(before.length - 1);
    await press(page, "Run simulated");
    await page.getByText("Compared with the original").waitFor();
    await press(page, "Run for real"); // the dropped branch is not used again
    await page.getByRole("button", { name: "Drop the branch" }).waitFor();
    await page.context().close();
  });

  test("calls cannot be made for real after a simulated run that failed", async () => {
    await runtime.session("failed").execute([{ name: "t::pay", input: { euros: 1 } }]);
    const { page } = await openPage(browser, scene, "/sessions/failed/replay");
    await page.getByLabel("Begin at").selectOption({ index: 1 });
    await press(page, "Run simulated");
    await page.getByText("Compared with the original").waitFor();
    const real = page.getByRole("button", { name: "Run for real" });
    expect(await real.isEnabled()).toBe(true);
    await page.getByRole("textbox", { name: "euros" }).fill("7");
    await expect.poll(() => real.isDisabled()).toBe(true);
    lost = /\/execute/u;
    await press(page, "Run simulated");
    await page.locator(".replay-run .inline-failure").waitFor();
    expect(await real.isDisabled()).toBe(true);
    await page.context().close();
  });

  test("a session is forked once, and a failed job runs once more", async () => {
    await runtime.session("forked").execute([{ name: "t::pay", input: { euros: 1 } }]);
    const before = await sessionIds();
    const { page } = await openPage(browser, scene, "/sessions/forked/replay");
    await pressInVain(page, "Fork the session as it is now", /\/fork/u);
    await press(page, "Fork the session as it is now");
    await page.waitForURL((url) => !url.pathname.endsWith("/replay"));
    expect((await sessionIds()).length).toBe(before.length + 1);

    await runtime.session("harbour").execute([{ name: "t::ship", input: {} }]);
    await page.goto(`${scene.url}/jobs?states=error%2Cparked`);
    await page.locator("a.row-link").first().click();
    await press(page, "Run simulated");
    await page.locator(".tried").waitFor();
    ran = 0;
    await pressInVain(page, "Run for real", /\/execute/u);
    await press(page, "Run for real");
    await expect.poll(() => page.getByText("It may have taken effect").count()).toBe(0);
    expect(ran).toBe(1);
    await page.context().close();
  });
});
