/** Issue 20: the dashboard in a real browser, over a real server. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, looksOf, openPage, picture, seriousFindings, startBrowser } from "./browser.ts";
import { HOSTILE, playHostile } from "./hostile-scene.ts";
import { openScene, playAudit, playShop, type Scene } from "./scene.ts";

/** What stands in the head of a screen covers nothing below it, however many lines it takes. */
const HEAD_IS_WHOLE = "[...document.querySelectorAll('.screen-head')].every((head) => head.scrollHeight <= head.clientHeight + 1)";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";

describe.runIf(inCI && CHROMIUM !== undefined)(`issue 20 screens in a browser ${IN_CI}${why}`, { timeout: 300_000 }, () => {
  let scene: Scene;
  let browser: Browser;
  const calls = new Map<string, string>();

  beforeAll(async () => {
    await builtDashboard();
    scene = await openScene();
    await playAudit(scene);
    const session = await playShop(scene.runtime);
    for await (const event of session.events()) if (event.type === "call-start") calls.set(event.call.name, event.callId);
    await session.fork({ id: "orders-what-if" }).execute([{ name: "shop::price", input: { item: "lamp" } }]);
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    await scene?.close();
  });

  const callPath = (name: string) => `/sessions/orders/calls/${encodeURIComponent(calls.get(`shop::${name}`) ?? "")}`;
  const screens: readonly (readonly [name: string, path: () => string, shows: string])[] = [
    ["sessions", () => "/sessions", "orders-what-if"],
    ["timeline", () => "/sessions/orders", "needs approval"],
    ["call", () => callPath("reserve"), "There are only 3 chairs left."],
    ["approvals", () => `/approvals/${encodeURIComponent(calls.get("shop::cancel_order") ?? "")}`, "What it would change"],
    ["tool", () => "/tools/shop%3A%3Asearch", "Fits the schema"],
    ["jobs", () => `/jobs/${encodeURIComponent(calls.get("shop::pack") ?? "")}`, "is packed"],
    ["audit", () => "/audit", "over HTTP"],
    ["health", () => "/health", "Did not succeed"],
  ];

  test.each(screens)(
    "issue 20.2 %s renders completely and without serious accessibility findings, light, dark and narrow",
    async (name, path, shows) => {
      const { page, problems } = await openPage(browser, scene, path());
      for await (const look of looksOf(page)) {
        await page.getByText(shows).first().waitFor({ state: "attached" });
        await picture(page, `${name}-${look}`);
        expect([look, await seriousFindings(page, look)]).toEqual([look, []]);
        expect([look, await page.evaluate("document.documentElement.scrollWidth <= innerWidth")]).toEqual([look, true]);
        expect([look, await page.evaluate(HEAD_IS_WHOLE)]).toEqual([look, true]);
      }
      expect(problems).toEqual([]);
      await page.context().close();
    },
  );

  test("the chosen theme also applies to the screen that asks for a key", async () => {
    const { page } = await openPage(browser, scene, "/sessions", { colorScheme: "light" });
    await page.getByRole("button", { name: "Use dark colours" }).click();
    const asked = await page.context().newPage();
    await asked.goto(`${scene.url}/sessions`);
    await asked.getByRole("heading", { name: "Enter a key of this server" }).waitFor();
    expect(await asked.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.context().close();
  });

  test("an unknown address says so, with a key and without, and links to the dashboard", async () => {
    const { page, problems } = await openPage(browser, scene, "/sesions");
    await page.getByRole("heading", { name: "There is nothing at this address" }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "Go to the dashboard" }).click();
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    expect(problems).toEqual([]);
    const keyless = await (await browser.newContext()).newPage();
    await keyless.goto(`${scene.url}/sesions`);
    await keyless.getByRole("heading", { name: "There is nothing at this address" }).waitFor();
    await keyless.context().close();
    await page.context().close();
  });

  test("a tool is labelled with its strongest effect", async () => {
    const { page } = await openPage(browser, scene, "/tools/haft%3A%3Aread_result");
    await page
      .locator(".badges .badge", { hasText: /^pure$/u })
      .first()
      .waitFor();
    await page.context().close();
  });

  test("issue 20.2 everything can be reached by keyboard alone", async () => {
    const { page, problems } = await openPage(browser, scene, "/sessions");
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("treegrid").waitFor();
    await page.keyboard.press("j");
    for (const key of ["ArrowDown", "ArrowDown", "End", "Home", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("complementary", { name: "Call" }).getByText("shop::search").first().waitFor();
    expect(page.url()).toContain("/calls/");
    await page.keyboard.press("j");
    await page.keyboard.press("Escape");
    await page.getByRole("complementary", { name: "Call" }).waitFor({ state: "detached" });
    for (const [key, title] of [
      ["a", "Approvals"],
      ["t", "Tools"],
      ["j", "Jobs"],
      ["p", "Processes"],
      ["u", "Audit"],
      ["h", "Health"],
      ["s", "Sessions"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("what");
    await page.getByRole("link", { name: "orders", exact: true }).waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("?q=what");
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("issue 20.3 a bar names the call that its call waited for, and links to it", async () => {
    const { page } = await openPage(browser, scene, "/sessions/orders");
    await page.getByRole("link", { name: /^waited .* for shop::reserve$/u }).click();
    await page.getByRole("complementary", { name: "Call" }).getByText('"lamp"').waitFor();
    await page.context().close();
  });

  test("issue 20.3 only the visible rows are in the document", async () => {
    const session = scene.runtime.session("many");
    for (let batch = 0; batch < 10; batch++)
      await session.execute(Array.from({ length: 200 }, (_, index) => ({ name: "shop::nothing", input: { index } })));
    const { page } = await openPage(browser, scene, "/sessions/many");
    await page.getByText("2,000 calls").waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(60);
    await page.getByRole("treegrid").focus();
    await page.keyboard.press("End");
    await page.locator('[aria-rowindex="2000"]').waitFor();
    await page.context().close();
  });

  test("issue 20.4 unreadable input is not sent, and repairs are shown before a call", async () => {
    const { page } = await openPage(browser, scene, "/tools/shop%3A%3Asearch");
    const run = page.getByRole("button", { name: "Run" });
    await page.getByLabel("limit").fill("ten");
    await page.getByText("nothing is sent").waitFor();
    expect(await run.isDisabled()).toBe(true);
    await page.getByLabel("limit").fill("3");
    await page.getByLabel("JSON").fill('{"words": "lamp", ');
    await page.getByText("This is not JSON").waitFor();
    expect(await run.isDisabled()).toBe(true);
    await page.getByLabel("JSON").fill('{"words": "lamp", "limit": "1"}');
    await page.getByText("Fits after repairs").waitFor();
    await run.click();
    await page.getByText('"lamp one"').waitFor();
    await page.context().close();
  });

  test("issue 20.7 a key with only the scope read sees no button that changes something, and read-only mode hides them for other keys", async () => {
    const approval = `/approvals/${encodeURIComponent(calls.get("shop::cancel_order") ?? "")}`;
    const changing = /^(?:Allow|Deny|Run|Simulate|Cancel the (?:call|job))$/u;
    const { page: reader } = await openPage(browser, scene, "/sessions", { as: scene.readerKey });
    for (const [path, shows] of [
      [approval, "You may see this call"],
      ["/tools/shop%3A%3Asearch", "Fits the schema"],
      [callPath("pack"), "shop::pack"],
    ] as const) {
      await reader.goto(scene.url + path);
      await reader.getByText(shows).first().waitFor();
      expect([path, await reader.getByRole("button", { name: changing }).count()]).toEqual([path, 0]);
    }
    await reader.context().close();
    const { page } = await openPage(browser, scene, approval);
    await page.getByRole("button", { name: "Deny" }).waitFor();
    await page.getByRole("switch", { name: "Read-only" }).check({ force: true });
    await page.getByRole("button", { name: "Deny" }).waitFor({ state: "detached" });
    await page.context().close();
  });

  test("DESIGN 14 the audit is filtered by the address, browsed by keyboard and page by page, and links to the calls", async () => {
    const { page, problems } = await openPage(browser, scene, "/audit?tool=shop%3A%3Areserv*&since=all");
    const rows = page.locator("tbody tr");
    await page.getByRole("link", { name: "shop::reserve" }).first().waitFor();
    for (const key of ["j", "j", "Enter"]) await page.keyboard.press(key);
    await page.getByRole("complementary", { name: "Call" }).waitFor();
    await page.goBack();
    await page.getByRole("combobox", { name: "Which outcome" }).selectOption("error");
    await page.getByText("execution failed").first().waitFor();
    await rows.getByText("ok", { exact: true }).first().waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("?tool=shop%3A%3Areserv*&since=all&outcome=error");
    await page.getByRole("searchbox", { name: "Principal, such as key:*" }).fill("key:nobody");
    await page.getByText("Nothing was found.").waitFor();
    await page.goto(`${scene.url}/audit?tool=shop%3A%3Anothing`);
    await page.getByRole("button", { name: "Older entries" }).click();
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBeGreaterThan(100);
    await page.goto(`${scene.url}/audit?outcome=fine`);
    await page.getByText('"fine" is not an outcome of a call.').waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("DESIGN 14 a key without the scope admin sees only its own entries, and a note says so", async () => {
    const { page } = await openPage(browser, scene, "/audit", { as: scene.readerKey });
    await page.getByText("These are the entries of Reader.").waitFor();
    await page.getByText("This needs the scope execute.").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.context().close();
  });

  test("issue 21.2 a session that another process has open is listed as open, and before those that are not open", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    let last = "";
    await page.route("**/v1/sessions?*", async (route) => {
      const response = await route.fetch();
      const { sessions, ...more } = (await response.json()) as { sessions: { id: string; parent?: object }[] };
      const roots = sessions.filter(({ parent }) => parent === undefined);
      last = roots.at(-1)?.id ?? "";
      const others = sessions.map(({ ...session }) => ({
        ...session,
        open: false,
        openedIn: session.id === last ? "process-2" : undefined,
      }));
      await route.fulfill({ response, json: { sessions: others, ...more } });
    });
    await page.reload();
    const first = page.locator("main tbody tr").first();
    await first.getByText(/^(open|live)$/u).waitFor();
    expect(await first.innerText()).toContain(last);
    expect(
      await page
        .locator("main tbody tr")
        .getByText(/^(open|live)$/u)
        .count(),
    ).toBe(1);
    await page.close();
  });

  test("issue 20 a key is asked for once, kept out of the address, and asked for again when it is rejected", async () => {
    const { page } = await openPage(browser, scene, "/sessions", { as: "" });
    await page.getByLabel("Key or token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("The server did not accept this key.").waitFor();
    await page.getByLabel("Key or token").fill(scene.key);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    expect(page.url()).toBe(`${scene.url}/sessions`);
    await page.reload();
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    await page.context().close();
  });

  test("issue 20 a missing item shows a message in its place, with a link to continue", async () => {
    const { page } = await openPage(browser, scene, "/sessions");
    for (const [path, says] of [
      ["/sessions/gone", "There is no such session."],
      ["/sessions/orders/calls/gone", "This session has no such call."],
      ["/approvals/gone", "This call is no longer waiting."],
      ["/tools/gone", "There is no such tool."],
      ["/jobs/gone", "There is no such job."],
    ] as const) {
      await page.goto(scene.url + path);
      await page.getByText(says).waitFor();
    }
    await page.context().close();
  });

  test.each([
    ["a part of the page that is gone", "**/assets/agents-screen*", { status: 404 }, "Agents"],
    ["an answer in the menu that it cannot read", "**/v1/approvals*", { json: {} }, "Approvals"],
  ] as const)("a page of another version than the server's asks for a reload, at %s", async (_what, address, answer, screen) => {
    const { page } = await openPage(browser, scene, "/health");
    await page.route(address, (route) => route.fulfill(answer));
    await page.goto(`${scene.url}/${screen.toLowerCase()}`);
    await page.getByText("If the server was replaced by one of another version, reload the page.").waitFor();
    await page.unroute(address);
    await page.getByRole("button", { name: "Reload the page" }).click();
    await page.getByRole("heading", { name: screen }).first().waitFor();
    await page.context().close();
  });

  test("issue 20 a screen that fails to render says so, and the others remain reachable", async () => {
    const { page } = await openPage(browser, scene, "/health");
    await page.route("**/v1/jobs*", (route) => route.fulfill({ json: { jobs: [null] } }));
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByText("This screen could not be drawn.").waitFor();
    await page.getByRole("link", { name: "Tools", exact: true }).click();
    await page
      .getByRole("link", { name: /search/u })
      .first()
      .waitFor();
    await page.context().close();
  });

  test("issue 20, E10 hostile names, arguments, results and ids are shown and stay inert", async () => {
    const { id, callIds } = await playHostile(scene.runtime);
    const session = `/sessions/${encodeURIComponent(id)}`;
    const paths = [
      "/sessions",
      session,
      ...callIds.map((call) => `${session}/calls/${encodeURIComponent(call)}`),
      "/tools",
      `/tools/${encodeURIComponent(HOSTILE.tool)}`,
      "/approvals",
    ];
    const { page, problems } = await openPage(browser, scene, "/health");
    for (const path of paths) {
      await page.goto(scene.url + path);
      await page.getByText("onerror").first().waitFor({ state: "attached" });
      await page.waitForTimeout(300);
      const harm = await page.evaluate(
        "[window.harmed, document.images.length, document.querySelectorAll('iframe, object, main script, a[href^=javascript]').length]",
      );
      expect([path, harm, problems]).toEqual([path, [undefined, 0, 0], []]);
    }
    await page.context().close();
  });

  test("issue 20 an open page reconnects to a restarted server and continues", async () => {
    const { page } = await openPage(browser, scene, "/sessions/orders-later", {});
    const session = scene.runtime.session("orders-later");
    await session.execute([{ name: "shop::price", input: { item: "lamp" } }]);
    await page.reload();
    await page.getByText("1 call", { exact: true }).waitFor();
    await scene.restart(async () => {
      await page.getByText("The server does not answer.").waitFor();
      await session.execute([{ name: "shop::price", input: { item: "desk" } }]);
    });
    await page.getByText("The server answers again.").waitFor();
    await page.getByText("2 calls", { exact: true }).waitFor();
    await page.context().close();
  });

  test("issue 20 a call is approved with its effect shown", async () => {
    const { page } = await openPage(browser, scene, "/approvals");
    await page
      .getByRole("link", { name: /cancel_order/u })
      .first()
      .click();
    await page.getByText("writes").first().waitFor();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("This call is no longer waiting.").waitFor();
    await page.goto(scene.url + callPath("cancel_order"));
    await page.getByRole("complementary", { name: "Call" }).getByText('"cancelled"').waitFor();
    await page.getByText("allowed by").waitFor();
    await page.context().close();
  });
});
