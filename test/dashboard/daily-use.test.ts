/** The dashboard as people use it, in a real browser: by keyboard, with a wrong clock, without storage, on paper. */
import { setTimeout as pause } from "node:timers/promises";
import { createAgent, createRuntime, defineTool, pure } from "haft";
import { createServer, staticToken, type Principal, type Scope } from "haft/server";
import { memoryStore } from "haft/store";
import { scriptedModel } from "haft/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, startBrowser } from "./browser.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";
const KEY = "a-secret-of-16-characters-or-more";
const HOUR_MS = 3_600_000;
/** Characters that are invisible, or that change the order of the text around them. */
const HIDDEN = { "pay\u200bpal": "a\u202egpj.exe \u007f \u{e0041} \u2028", last: 1 };
const TOOL = "/tools/desk%3A%3Alook";

describe.runIf(inCI && CHROMIUM !== undefined)(`the dashboard in daily use, in a browser ${IN_CI}${why}`, { timeout: 120_000 }, () => {
  let browser: Browser;
  let scene: Awaited<ReturnType<typeof openDesk>>;

  beforeAll(async () => {
    await builtDashboard();
    scene = await openDesk();
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  const panel = (page: Page) => page.locator("aside.panel");
  const focused = (page: Page): Promise<string> =>
    page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim().slice(0, 40)");

  test("Escape closes an open panel wherever the focus is, once, and not while a dialog is open", async () => {
    const { page } = await openPage(browser, scene, "/tools");
    await page.getByRole("link", { name: /look/u }).click(); // the focus stays on the row
    await panel(page).getByRole("button", { name: "Run" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await panel(page).count()).toBe(1);
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    await page.goto(scene.url + TOOL); // nothing has the focus
    await panel(page).getByRole("button", { name: "Run" }).waitFor();
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    await page.goto(`${scene.url}/sessions/work`);
    await page.getByRole("treegrid").focus();
    for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
    await panel(page).waitFor();
    const entries = await page.evaluate<number>("history.length");
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    expect(await page.evaluate("history.length")).toBe(entries + 1);
    await page.context().close();
  });

  test("Escape in a field of a panel leaves the field and keeps its text, and closes the panel when it is pressed again", async () => {
    const { page } = await openPage(browser, scene, "/agents/clerk");
    const message = page.getByLabel("Message to the agent");
    await message.fill("A long message");
    await page.keyboard.press("Escape");
    expect(await focused(page)).toBe("Agent");
    expect(await message.inputValue()).toBe("A long message");
    await page.keyboard.press("Escape");
    await panel(page).waitFor({ state: "detached" });
    await page.goto(`${scene.url}/tools`);
    await page.getByRole("link", { name: /look/u }).click();
    await panel(page).getByRole("button", { name: "Run" }).waitFor();
    await page.getByRole("searchbox").press("Escape"); // of the list
    expect(await panel(page).count()).toBe(1);
    await page.context().close();
  });

  test("a button keeps the focus while its action runs and after it, and does nothing when it is pressed meanwhile", async () => {
    const { page } = await openPage(browser, scene, TOOL);
    const run = panel(page).getByRole("button", { name: "Run" });
    let requests = 0;
    await page.route("**/v1/execute", async (route) => {
      requests++;
      await pause(500);
      await route.continue();
    });
    await run.press("Enter");
    await page.getByText("Running…").waitFor();
    expect([await focused(page), await run.isDisabled()]).toEqual(["Run", true]);
    await page.keyboard.press("Enter");
    await page.getByText("seen", { exact: true }).waitFor();
    expect([await focused(page), requests]).toEqual(["Run", 1]);
    await page.goto(`${scene.url}/audit`);
    await page.getByRole("button", { name: "Refresh" }).press("Enter");
    await page.getByRole("button", { name: "Refresh", disabled: false }).waitFor();
    expect(await focused(page)).toBe("Refresh");
    await page.goto(`${scene.url}/agents/clerk`);
    await page.getByLabel("Message to the agent").fill("Hello");
    await page.getByRole("button", { name: "Send" }).press("Enter");
    await page.getByRole("log").getByText("Hello").waitFor();
    expect(await focused(page)).toBe("Send");
    await page.context().close();
  });

  test("the focus stays in a panel when the button that has it is no longer offered", async () => {
    const { page } = await openPage(browser, scene, `/jobs/${encodeURIComponent(scene.jobId)}`);
    await page.getByRole("button", { name: "Cancel the job" }).press("Enter");
    await page.getByRole("button", { name: "Cancel the job" }).waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("Job");
    await page.context().close();
  });

  test("the focus moves to a screen that was opened by keyboard, where keys reach its list", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "work", exact: true }).press("Enter");
    await page.getByRole("treegrid").waitFor();
    await expect.poll(() => focused(page)).toBe("Screen");
    await page.keyboard.press("j");
    expect(await focused(page)).toBe("Calls");
    for (const key of ["g", "t"]) await page.keyboard.press(key);
    await page.getByRole("link", { name: /look/u }).waitFor();
    await expect.poll(() => focused(page)).toBe("Screen");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.hasAttribute('data-row')")).toBe(true);
    await page.context().close();
  });

  test("the menu to save a session is visible in any width, returns the focus, and closes when the focus leaves it", async () => {
    const { page } = await openPage(browser, scene, "/sessions/work");
    const button = page.getByText("Save as");
    await button.waitFor();
    for (const width of [1_360, 1_000, 780, 640, 360]) {
      await page.setViewportSize({ width, height: 700 });
      await button.press("Enter");
      const box = await page.locator(".dropdown-list").boundingBox();
      const screen = await page.locator("main").boundingBox();
      expect([width, (box?.x ?? -1) >= (screen?.x ?? 0), (box?.x ?? 0) + (box?.width ?? 0) <= width]).toEqual([width, true, true]);
      await page.keyboard.press("Escape");
    }
    await button.press("Enter");
    await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Markdown" }).press("Enter")]);
    await expect.poll(() => focused(page)).toBe("Save as");
    await button.press("Enter");
    await page.locator(".dropdown[open]").waitFor();
    await page.getByRole("heading", { level: 1 }).click();
    await page.locator(".dropdown:not([open])").waitFor();
    await page.context().close();
  });

  test("other scopes of a key show and hide its buttons while the page is open, and those of a new key at once", async () => {
    const scopes = new Map<string, readonly Scope[]>([["first-key-of-the-test", ["read", "execute"]]]);
    const authenticate = (request: Request): Promise<Principal | undefined> => {
      const granted = scopes.get(request.headers.get("authorization")?.slice("Bearer ".length) ?? "");
      return Promise.resolve(granted === undefined ? undefined : { id: "ada", name: "Ada", scopes: new Set(granted) });
    };
    const keyed = createServer(scene.runtime, { auth: { authenticate, isValid: () => Promise.resolve(true) }, dashboard: true });
    const { url } = await keyed.listen({ port: 0 });
    const { page } = await openPage(browser, { url, key: "first-key-of-the-test" }, "/health");
    await page.clock.install();
    await page.goto(url + TOOL);
    const run = page.getByRole("button", { name: "Run" });
    await run.waitFor();
    scopes.set("first-key-of-the-test", ["read"]);
    await page.clock.fastForward(61_000);
    await run.waitFor({ state: "detached" });
    scopes.clear();
    scopes.set("second-key-of-the-test", ["read", "execute"]);
    await page.clock.fastForward(21_000); // the scopes are not read again by themselves yet
    await page.getByText("Your input is kept").waitFor();
    await page.getByLabel("Key or token").fill("second-key-of-the-test");
    await page.keyboard.press("Enter");
    await run.waitFor({ timeout: 5_000 });
    await page.context().close();
    await keyed.close();
  });

  test("JSON that is copied from the page is the same JSON, also with characters that are invisible", async () => {
    const { page } = await openPage(browser, scene, `/sessions/work/calls/${encodeURIComponent(scene.hiddenCallId)}`);
    const input = page.getByRole("group", { name: "Input as it was sent" });
    await input.getByText("u200b").waitFor();
    const copied = await page.evaluate<string>(`{
      getSelection().selectAllChildren(document.querySelector("[aria-label='Input as it was sent']"));
      getSelection().toString();
    }`);
    expect(JSON.parse(copied)).toEqual(HIDDEN);
    await page.context().close();
  });

  test.each([-2, 2])("times are by the clock of the server if that of the browser is off by %d hours", async (hours) => {
    const { page } = await openPage(browser, scene, "/health");
    await page.addInitScript(`{
      const { now } = Date;
      Date.now = () => now() + ${hours * HOUR_MS};
    }`);
    await page.goto(`${scene.url}/audit?since=1h`);
    const { page: right } = await openPage(browser, scene, "/audit?since=1h");
    await right.getByRole("link", { name: "desk::look" }).first().waitFor();
    await page.getByRole("link", { name: "desk::look" }).first().waitFor();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.reload();
    await page.getByRole("link", { name: "desk::look" }).first().waitFor();
    const since = Number(new URL(requests.find((url) => url.includes("/v1/audit")) ?? "").searchParams.get("since"));
    expect(Math.abs(since + HOUR_MS - Date.now())).toBeLessThan(60_000);
    await page.goto(`${scene.url}/sessions`);
    await page.getByRole("link", { name: "waits", exact: true }).waitFor();
    expect(await page.locator("tbody").innerText()).not.toMatch(/\bh ago/u);
    await page.goto(`${scene.url}/sessions/waits`);
    await page.getByText("needs approval").waitFor();
    const running = page.getByRole("row").last();
    await expect.poll(() => running.innerText()).toMatch(/\d (?:s|min \d+ s)$/u);
    await Promise.all([page.context().close(), right.context().close()]);
  });

  test("a browser that keeps nothing for sites shows the dashboard, and asks for the key again after a reload", async () => {
    const { page, problems } = await openPage(browser, scene, "/health");
    await page.addInitScript(`
      for (const name of ["localStorage", "sessionStorage"])
        Object.defineProperty(window, name, { get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } });
    `);
    await page.goto(`${scene.url}/sessions`);
    problems.length = 0; // of the script that gives the page its key
    await page.getByLabel("Key or token").fill(KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "work", exact: true }).waitFor();
    await page.getByRole("button", { name: "Use dark colours" }).click();
    await page.getByRole("button", { name: "Use light colours" }).waitFor();
    await page.locator("label.switch").click();
    expect(await page.getByRole("switch", { name: "Read-only" }).isChecked()).toBe(true);
    await page.reload();
    await page.getByLabel("Key or token").waitFor();
    expect(problems.filter((one) => !one.includes("Access is denied"))).toEqual([]);
    await page.context().close();
  });

  test("a key may be pasted with spaces and line breaks, after many that are wrong", async () => {
    const { page } = await openPage(browser, scene, "/sessions?q=work", { as: "" });
    const field = page.getByLabel("Key or token");
    for (let attempt = 0; attempt < 10; attempt++) {
      await field.fill(`wrong-${attempt}`);
      await page.keyboard.press("Enter");
      await page.getByText("The server did not accept this key.").waitFor();
    }
    await field.fill("");
    await page.keyboard.insertText(`  ${KEY.slice(0, 9)}\n${KEY.slice(9)} \n`);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "work", exact: true }).waitFor();
    expect(page.url()).toBe(`${scene.url}/sessions?q=work`);
    await page.context().close();
  });

  test("bars and switches are visible, and the current screen is marked, where the system replaces all colours", async () => {
    const { page } = await openPage(browser, scene, "/sessions/work", { forcedColors: "active" });
    await page.locator(".bar-attempt").first().waitFor();
    const colours = await page.evaluate(`[".bar-attempt", ".legend-bar", ".switch-track"].map((one) =>
      getComputedStyle(document.querySelector(one)).backgroundColor !== getComputedStyle(document.body).backgroundColor)`);
    expect(colours).toEqual([true, true, true]);
    expect(await page.evaluate("getComputedStyle(document.querySelector('[aria-current=page]')).outlineStyle")).toBe("solid");
    await page.context().close();
  });

  test("on paper a whole value is shown, in the light theme and without the menu", async () => {
    const { page } = await openPage(browser, scene, `/sessions/work/calls/${encodeURIComponent(scene.longCallId)}`);
    await panel(page).getByText('"line 199"').waitFor();
    await page.getByRole("button", { name: "Use dark colours" }).click();
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 718, height: 1_000 });
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("light");
    const cut = await page.evaluate(
      "[...document.querySelectorAll('html, body, main, .panel, .block')].filter((one) => one.scrollHeight > one.clientHeight + 2 && getComputedStyle(one).overflowY !== 'visible').length",
    );
    expect([cut, await page.locator("nav.menu").isVisible()]).toEqual([0, false]);
    expect(await page.evaluate<number>("document.documentElement.scrollHeight")).toBeGreaterThan(199 * 18);
    await page.evaluate("window.dispatchEvent(new Event('afterprint'))");
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.context().close();
  });
});

async function openDesk() {
  const runtime = createRuntime({
    store: memoryStore(),
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [
      {
        name: "desk",
        tools: [
          defineTool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, effects: pure, execute: () => "seen" }),
          defineTool({
            name: "long",
            description: "Has many lines.",
            inputSchema: { type: "object" },
            effects: pure,
            execute: () => Array.from({ length: 200 }, (_, index) => `line ${index}`),
          }),
          defineTool({
            name: "drop",
            description: "Drops a table.",
            inputSchema: { type: "object" },
            effects: { writes: ["tables"], destructive: true },
            execute: () => null,
          }),
          defineTool({
            name: "build",
            description: "Builds until it is cancelled.",
            inputSchema: { type: "object" },
            effects: pure,
            mode: "background",
            execute: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))),
          }),
        ],
      },
    ],
  });
  await runtime.open();
  const work = runtime.session("work");
  const results = await work.execute([
    { name: "desk::look", input: {} },
    { name: "desk::long", input: {} },
    { name: "desk::build", input: {} },
    { name: "desk::look", input: HIDDEN },
  ]);
  void runtime.session("waits").execute([{ name: "desk::drop", input: {} }]);
  const clerk = createAgent({ session: runtime.session("desk"), model: scriptedModel(() => ({ text: "Noted." })) });
  clerk.start();
  const server = createServer(runtime, {
    auth: staticToken({ token: KEY }),
    dashboard: true,
    agents: { clerk },
    limits: { graceMs: 50 },
  });
  const { url } = await server.listen({ port: 0 });
  return {
    url,
    runtime,
    key: KEY,
    longCallId: results[1]?.callId ?? "",
    jobId: results[2]?.callId ?? "",
    hiddenCallId: results[3]?.callId ?? "",
    async close() {
      await server.close();
      await clerk.stop();
      await runtime.close();
    },
  };
}
