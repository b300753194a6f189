/** Issue 20 points 2, 3 and 6: files, the palette, the brush and the lists, in a real browser. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { SOURCE, folderWith, haft } from "../cli/run-haft.ts";
import { CHROMIUM, looksOf, openPage, picture, seriousFindings, startBrowser } from "./browser.ts";
import { builtDashboard } from "./built.ts";
import { HOSTILE } from "./hostile-scene.ts";
import { openScene, playShop, type Scene } from "./scene.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";

const CONVERSATION = JSON.stringify([
  { role: "user", content: "Weather in Paris and Rome?" },
  {
    role: "assistant",
    content: [
      { type: "tool_use", id: "1", name: "weather", input: { city: "Paris" } },
      { type: "tool_use", id: "2", name: HOSTILE.tool, input: { text: HOSTILE.text } },
    ],
  },
  {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "1", content: '{"celsius": 21}' },
      { type: "tool_result", tool_use_id: "2", content: HOSTILE.text, is_error: true },
    ],
  },
  { role: "assistant", content: "It is mild." },
]);

describe.runIf(inCI && CHROMIUM !== undefined)(`issue 20 files in a browser ${IN_CI}${why}`, { timeout: 300_000 }, () => {
  let scene: Scene;
  let browser: Browser;
  let recording: string;
  let folder: string;

  beforeAll(async () => {
    await builtDashboard();
    scene = await openScene();
    await playShop(scene.runtime);
    const headers = { authorization: `Bearer ${scene.key}` };
    recording = await (await fetch(`${scene.url}/v1/sessions/orders/recording`, { headers })).text();
    folder = folderWith({ "orders.jsonl": recording, "conversation.json": CONVERSATION });
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  const choose = (page: Page, name: string, text: string) =>
    page.locator("input[type=file]").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });

  test("issue 20.6 a recording is shown like its session, without a server, light, dark and narrow", async () => {
    const { page, problems } = await openPage(browser, scene, "/file", { as: "" });
    for await (const look of looksOf(page)) {
      await page.goto(`${scene.url}/file`);
      await page.getByText("Drop a file here").waitFor();
      await picture(page, `file-choose-${look}`);
      expect([look, await seriousFindings(page, look)]).toEqual([look, []]);
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      await choose(page, "orders.jsonl", recording);
      await page.getByText("recording", { exact: true }).waitFor();
      await page
        .getByRole("row", { name: /reserve/u })
        .first()
        .click();
      await page.getByRole("complementary", { name: "Call" }).getByText("Input").first().waitFor();
      await picture(page, `file-recording-${look}`);
      expect([look, await seriousFindings(page, look)]).toEqual([look, []]);
      expect([look, await page.evaluate("document.documentElement.scrollWidth <= innerWidth")]).toEqual([look, true]);
      expect([look, requests.filter((url) => !url.includes("/assets/"))]).toEqual([look, []]);
      page.removeAllListeners("request");
    }
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("issue 20.6, E10 a conversation of another system is shown, hostile text stays inert, and no request is sent", async () => {
    const { page, problems } = await openPage(browser, scene, "/file", { as: "" });
    await choose(page, "conversation.json", CONVERSATION);
    await page.getByText("The file has no times").waitFor();
    await page.getByRole("row", { name: /weather/u }).click();
    await page.getByRole("complementary", { name: "Call" }).getByText("21").waitFor();
    await picture(page, "file-conversation");
    await page.keyboard.press("Escape");
    await page.getByRole("row", { name: /evil/u }).click();
    await page.getByRole("complementary", { name: "Call" }).getByText("execution failed").waitFor();
    expect(await page.evaluate("[window.harmed, document.images.length]")).toEqual([undefined, 0]);
    expect([await seriousFindings(page), problems]).toEqual([[], []]);
    await page.context().close();
  });

  test("issue 20.6 for a damaged file, the place is reported, the rest is shown, and another file can be opened", async () => {
    const { page } = await openPage(browser, scene, "/file");
    const lines = recording.split("\n");
    await choose(page, "cut.jsonl", lines.slice(0, Math.floor(lines.length / 2)).join("\n"));
    await page.getByText("A part of this file could not be read.").waitFor();
    await page.getByText("the recording was cut short").waitFor();
    await page.getByRole("treegrid").waitFor();
    await picture(page, "file-damaged");
    await choose(page, "text.txt", '{"messages": [\n {"role": oops}');
    await page.getByText("line 2, column 11").waitFor();
    await choose(page, "bytes.bin", "\u0000");
    await page.getByText("This file could not be read.").waitFor();
    await choose(page, "conversation.json", CONVERSATION);
    await page.getByRole("row", { name: /weather/u }).waitFor();
    await page.context().close();
  });

  test("issue 20.6 a file that is dropped on any screen is opened", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    await page.evaluate(`{
      const data = new DataTransfer();
      data.items.add(new File([${JSON.stringify(CONVERSATION)}], "dropped.json"));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }`);
    await page.getByRole("heading", { name: "dropped.json" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/file");
    await page.context().close();
  });

  test("issue 20.6 haft open serves a file to this machine only, with a secret that is removed from the address", async () => {
    let url = "";
    const { promise: ready, resolve } = Promise.withResolvers<() => void>();
    const done = haft(["open", "orders.jsonl"], {
      folder,
      ownProcess: true,
      program: SOURCE, // the bundle of the tests has no dashboard
      onOutput({ stdout }, control) {
        url = /^http\S+/u.exec(stdout)?.[0] ?? "";
        if (url !== "") resolve(() => control.signal("SIGINT"));
      },
    });
    const stop = await Promise.race([
      ready,
      done.then(({ stderr }) => {
        throw new Error(stderr);
      }),
    ]);
    const { origin, hash } = new URL(url);
    expect((await fetch(`${origin}/opened-file`)).status).toBe(401);
    expect((await fetch(`${origin}/v1/sessions`)).status).toBe(404);
    const { page, problems } = await openPage(browser, { url: "", key: "" }, url);
    await page
      .getByRole("row", { name: /reserve/u })
      .first()
      .waitFor();
    expect(page.url()).not.toContain(hash.slice(1));
    await page.reload();
    await page
      .getByRole("row", { name: /reserve/u })
      .first()
      .waitFor();
    expect(problems).toEqual([]);
    stop();
    expect((await done).exitCode).toBe(0);
    await page.reload().catch(() => {});
    await page.context().close();
  });

  test("issue 20.6 a session can be saved as a recording, as Markdown and as a trace", async () => {
    const { page } = await openPage(browser, scene, "/sessions/orders");
    await page.getByText("needs approval").first().waitFor();
    for (const [name, starts] of [
      ["Recording", '{"haft":"recording"'],
      ["Markdown", "# orders"],
      ["Chrome trace", '{"traceEvents":['],
    ] as const) {
      await page.getByText("Save as").click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
      const path = join(folder, download.suggestedFilename());
      await download.saveAs(path);
      expect(readFileSync(path, "utf8").slice(0, starts.length)).toBe(starts);
    }
    await page.context().close();
  });

  test("issue 20.2 Ctrl-K finds screens, sessions, tools and the actions of a screen, by keyboard alone", async () => {
    const { page, problems } = await openPage(browser, scene, "/health");
    await page.getByText("p99").waitFor();
    await page.keyboard.press("Control+k");
    const found = page.getByRole("combobox", { name: "Screen, session, tool or action" });
    await found.waitFor();
    await page
      .getByRole("option", { name: /orders/u })
      .first()
      .waitFor();
    await picture(page, "palette-light");
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.type("catalogue");
    await page.getByRole("option", { name: /shop::catalogue/u }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "Tool" }).waitFor();
    await page.keyboard.press("Meta+k");
    await page.keyboard.type("orders");
    await page
      .getByRole("option", { name: /^orders/u })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("treegrid").waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("follow");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Follow", pressed: true }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Escape");
    await found.waitFor({ state: "detached" });
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("issue 20.3 the brush can be used by keyboard alone", async () => {
    const { page } = await openPage(browser, scene, "/sessions/orders");
    const brush = page.getByRole("slider", { name: "Shown part of the time" });
    await brush.focus();
    for (const key of ["w", "w", "ArrowRight"]) await page.keyboard.press(key);
    expect(await brush.getAttribute("aria-valuetext")).toBe("From 39 to 75 percent");
    await picture(page, "brush");
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("0");
    expect(await brush.getAttribute("aria-valuetext")).toBe("From 0 to 100 percent");
    await page.context().close();
  });

  test("issue 20.2 all sessions of the server are searched, and new ones appear without a reload", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.waitForTimeout(4_000);
    expect(asked.filter((url) => url.includes("/v1/sessions")).length).toBeLessThanOrEqual(1);
    await scene.runtime.session("appears-live").execute([{ name: "shop::price", input: { item: "lamp" } }]);
    await page.getByRole("link", { name: "appears-live" }).waitFor({ timeout: 3_000 });
    const searched = page.waitForRequest((request) => new URL(request.url()).searchParams.get("q") === "live app");
    await page.getByLabel("Find by id or title").fill("live app");
    await searched;
    await page.getByRole("link", { name: "orders", exact: true }).waitFor({ state: "detached" });
    await page.getByLabel("Find by id or title").fill("appears PRICE"); // of the id, and of its title
    await page.getByRole("link", { name: "appears-live" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Screen, session" }).fill("PRICE appears");
    await page.getByRole("option", { name: /appears-live/u }).waitFor();
    await page.context().close();
  });
});
