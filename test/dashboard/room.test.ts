/** Screens with long names, waiting agents and failed models in a real browser: everything is in its place, and the reason is said. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAgent, createRuntime, defineTool, pure, ToolError } from "haft";
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { memoryStore } from "haft/store";
import { scriptedModel } from "haft/testing";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, startBrowser } from "./browser.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";
const KEY = "a-secret-of-16-characters-or-more";
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
/** As long as a job took, in milliseconds. */
const HALF_AN_HOUR = 1_837_000;
const LONG_TOOL = `a_tool_whose_name_is_as_long_${"x".repeat(30)}`;
const LONG_SESSION = "שיחה: a session whose id is long and has many words in it";
const LONG_FIELD = `a_field_whose_name_never_breaks_${"y".repeat(40)}`;

describe.runIf(inCI && CHROMIUM !== undefined)(`the layout of long texts, in a browser ${IN_CI}${why}`, { timeout: 300_000 }, () => {
  let scene: Awaited<ReturnType<typeof openLongScene>>;
  let browser: Browser;

  beforeAll(async () => {
    await builtDashboard();
    scene = await openLongScene();
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  test("the name of an agent that waits for approval stays on one line, and all of its buttons are visible", async () => {
    const { page } = await openPage(browser, scene, "/agents/clerk", { viewport: NARROW });
    await page.getByText("A call waits for approval.").waitFor();
    const boxes = await Promise.all(
      [
        page.getByRole("heading", { name: "clerk" }),
        page.getByRole("button", { name: "Cancel the run" }),
        page.getByRole("button", { name: "Close" }),
      ].map((one) => one.boundingBox()),
    );
    expect(boxes.map((box) => box !== null && box.x >= 0 && box.x + box.width <= NARROW.width && box.height <= 40)).toEqual([
      true,
      true,
      true,
    ]);
    await page.context().close();
  });

  test.each([WIDE, NARROW])("the form of a tool wraps long names and texts within its column, at $width px", async (viewport) => {
    const { page } = await openPage(browser, scene, `/tools/${encodeURIComponent(`desk::${LONG_TOOL}`)}`, { viewport });
    await page.getByLabel(LONG_FIELD).waitFor();
    expect(await beyondTheirBox(page, ".try-form")).toEqual([]);
    await page.context().close();
  });

  test.each([
    ["/jobs", NARROW],
    ["/jobs", WIDE],
    ["a job", WIDE],
  ] as const)("the table of %s shows all of its columns completely, at %o", async (path, viewport) => {
    const { page } = await openPage(browser, scene, "/health", { viewport });
    await page.route(/\/v1\/jobs/u, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({
        response: answer,
        body: (await answer.text()).replaceAll(/(?<="startedAt":)\d+/gu, (at) => String(Number(at) - HALF_AN_HOUR)),
      });
    });
    await page.goto(scene.url + (path === "/jobs" ? path : `/jobs/${encodeURIComponent(scene.jobId)}`));
    await page.getByRole("link", { name: "desk::fail" }).first().waitFor();
    expect(await page.evaluate("[...document.querySelectorAll('.table-frame')].map((one) => one.scrollWidth <= one.clientWidth)")).toEqual([
      true,
    ]);
    await page.unrouteAll({ behavior: "ignoreErrors" }); // the page asks again and again
    await page.context().close();
  });

  test("a long session id is truncated within its line, with a mark", async () => {
    const { page } = await openPage(browser, scene, `/sessions/${encodeURIComponent(LONG_SESSION)}`, { viewport: NARROW });
    await page.getByRole("heading", { level: 1, name: "Say what there is." }).waitFor();
    const [title, id] = await page.evaluate<readonly (readonly [number, boolean])[]>(`["h1", "h1 > bdi"].map((place) => {
      const one = document.querySelector(place);
      return [one.getBoundingClientRect().right, getComputedStyle(one).textOverflow === "ellipsis" && one.scrollWidth > one.clientWidth];
    })`);
    expect([id?.[1], (id?.[0] ?? 0) <= (title?.[0] ?? 0)]).toEqual([true, true]);
    await page.context().close();
  });

  test("a message that a model failed to produce shows the reason, in the conversation and in the timeline", async () => {
    const { page } = await openPage(browser, scene, "/agents/broken", { viewport: WIDE });
    await page.getByRole("log").getByText("The model is out of order.").waitFor();
    await page.goto(`${scene.url}/sessions/broken`);
    await page.getByRole("treegrid").getByText("The model is out of order.").waitFor();
    await page.setViewportSize(NARROW);
    const widths = "[...document.querySelectorAll('.cell-message > .state')].map((one) => one.scrollWidth <= one.clientWidth)";
    expect(await page.evaluate(widths)).toEqual([true]);
    await page.context().close();
  });

  test("a tool that is tried out shows that its call waits for approval, and links to the decision", async () => {
    const { page } = await openPage(browser, scene, "/tools/desk%3A%3Aremove", { viewport: WIDE });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("complementary", { name: "Tool" }).getByRole("link", { name: "Decide" }).click();
    await page.getByRole("button", { name: "Allow" }).waitFor();
    await page.context().close();
  });
});

/** Texts that reach beyond the right end of the box they are in. */
async function beyondTheirBox(page: Page, selector: string): Promise<unknown> {
  return page.evaluate(`(() => {
    const box = document.querySelector(${JSON.stringify(selector)});
    const end = box.getBoundingClientRect().right + 1;
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const beyond = [];
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(text);
      if (Math.min(range.getBoundingClientRect().right) > Math.min(end, innerWidth)) beyond.push(text.textContent.slice(0, 40));
    }
    return beyond;
  })()`);
}

async function openLongScene() {
  const runtime = createRuntime({
    store: memoryStore(),
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [{ name: "desk", tools: deskTools() }],
  });
  await runtime.open();
  await runtime.session(LONG_SESSION).addMessage({ role: "user", content: "Say what there is." });
  const session = runtime.session("work");
  await session.execute([{ name: "desk::fail", input: {} }], { background: true });
  const agents = {
    clerk: createAgent({ session: runtime.session("clerk"), model: scriptedModel([{ calls: [{ name: "desk::remove", input: {} }] }]) }),
    broken: createAgent({
      session: runtime.session("broken"),
      model: scriptedModel([{ error: new ToolError("model_failed", "The model is out of order.") }]),
    }),
  };
  for (const agent of Object.values(agents)) agent.start();
  const server = createServer(runtime, { auth: staticToken({ token: KEY }), dashboard: true, agents, limits: { graceMs: 50 } });
  const { url } = await server.listen({ port: 0 });
  for (const agent of Object.values(agents)) await agent.send("Go on.");
  const { jobs } = await createClient({ url, token: KEY }).call("listJobs");
  return {
    url,
    key: KEY,
    jobId: jobs[0]?.id ?? "",
    async close() {
      await server.close();
      await Promise.all(Object.values(agents).map((agent) => agent.stop()));
      await runtime.close();
    },
  };
}

function deskTools() {
  return [
    defineTool({
      name: LONG_TOOL,
      description: "Has long names.",
      inputSchema: { type: "object", properties: { [LONG_FIELD]: { type: "string", description: "z".repeat(300) } } },
      effects: pure,
      execute: () => "done",
    }),
    defineTool({
      name: "remove",
      description: "Removes a customer.",
      inputSchema: { type: "object" },
      effects: { writes: ["customers"], destructive: true },
      execute: () => "removed",
    }),
    defineTool({
      name: "fail",
      description: "Fails.",
      inputSchema: { type: "object" },
      effects: pure,
      execute: () => {
        throw new ToolError("execution_failed", "It broke.");
      },
    }),
  ];
}
