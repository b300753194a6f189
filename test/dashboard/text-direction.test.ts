/** The dashboard in a real browser with names and values that are written from right to left. */
import { createRuntime, defineTool, pure } from "haft";
import { createServer, staticToken } from "haft/server";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, startBrowser } from "./browser.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";
const KEY = "a-token-of-the-test-that-is-long-enough";
const [FROM, TO] = ["אבגדהוז", "חטיכלמנ"];

describe.runIf(inCI && CHROMIUM !== undefined)(`text from right to left, in a browser ${IN_CI}${why}`, { timeout: 120_000 }, () => {
  let browser: Browser;
  let server: ReturnType<typeof createServer>;
  let scene: { readonly url: string; readonly key: string };

  const runtime = createRuntime({
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [
      {
        name: "t",
        tools: [
          defineTool({
            name: "move",
            description: "Moves money.",
            inputSchema: { type: "object" },
            effects: { writes: ["accounts"], destructive: true },
            execute: () => null,
          }),
          defineTool({ name: "say", description: "Says it.", inputSchema: { type: "object" }, effects: pure, execute: () => null }),
        ],
      },
    ],
  });

  beforeAll(async () => {
    await builtDashboard();
    await runtime.open();
    void runtime.session("money").execute([{ name: "t::move", input: { [FROM]: TO, [TO]: FROM, amount: 5 } }]);
    server = createServer(runtime, { auth: staticToken({ token: KEY }), dashboard: true, limits: { graceMs: 50 } });
    const { port } = await server.listen({ port: 0 });
    scene = { url: `http://127.0.0.1:${port}`, key: KEY };
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await runtime.close();
  });

  /** The parts of the JSON in an element, from top to bottom and from left to right. */
  const read = async (page: Page, selector: string): Promise<string> => {
    await page.locator(selector).first().waitFor();
    return page.evaluate<string>(`(() => {
      const walk = document.createTreeWalker(document.querySelector(${JSON.stringify(selector)}), NodeFilter.SHOW_TEXT);
      const parts = [];
      while (walk.nextNode()) {
        const { data } = walk.currentNode;
        for (const { 0: text, index } of data.matchAll(/"[^"]*"|[{}:,]|\\d+/g)) {
          const range = document.createRange();
          range.setStart(walk.currentNode, index);
          range.setEnd(walk.currentNode, index + text.length);
          const { left, top, height } = range.getBoundingClientRect();
          parts.push({ text, left, line: Math.round((top + height / 2) / 6) });
        }
      }
      return parts.sort((a, b) => a.line - b.line || a.left - b.left).map(({ text }) => text).join("");
    })()`);
  };
  const AS_WRITTEN = `{"${FROM}":"${TO}","${TO}":"${FROM}","amount":5}`;

  test("the input of a call that waits for approval keeps the order of its names and values", async () => {
    const { page } = await openPage(browser, scene, "/approvals");
    expect(await read(page, ".card-text.mono")).toBe(AS_WRITTEN);
    await page.locator("a.card").click();
    expect(await read(page, "aside pre.block")).toBe(AS_WRITTEN);
    await page.goto(`${scene.url}/sessions/money`);
    await page.getByRole("row").first().click();
    expect(await read(page, "aside pre.block")).toBe(AS_WRITTEN);
    await page.context().close();
  });

  test("differences keep the order of names and values", async () => {
    for (const amount of [1, 2])
      await runtime.session(`say-${amount}`).execute([{ name: "t::say", input: { [FROM]: TO, [TO]: FROM, amount } }]);
    const { page } = await openPage(browser, scene, "/sessions/say-1/diff?with=say-2");
    expect(await read(page, ".diff-row:nth-child(2) .diff-cell")).toBe(`"${FROM}":"${TO}",`);
    await page.context().close();
  });
});
