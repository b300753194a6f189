/** Issue 20.5: fork, replay, compare, agents and schedules in a real browser, over a real server. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "haft/client";
import { IN_CI, inCI } from "../ci.ts";
import { CHROMIUM, looksOf, openPage, picture, seriousFindings, startBrowser } from "./browser.ts";
import { builtDashboard } from "./built.ts";
import { openScene, playShop, type Scene } from "./scene.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";

describe.runIf(inCI && CHROMIUM !== undefined)(
  `issue 20.5 replay and live screens, in a browser ${IN_CI}${why}`,
  { timeout: 300_000 },
  () => {
    let scene: Scene;
    let browser: Browser;
    const calls = new Map<string, string>();
    let processId = "";

    beforeAll(async () => {
      await builtDashboard();
      scene = await openScene();
      const session = await playShop(scene.runtime);
      for await (const event of session.events()) {
        if (event.type === "call-start" && !calls.has(event.call.name)) calls.set(event.call.name, event.callId);
      }
      const branch = session.fork({ id: "orders-what-if" });
      await branch.execute([
        { name: "shop::reserve", input: { item: "chair", count: 3 } },
        { name: "shop::reserve", input: { item: "lamp", count: 1 } },
      ]);
      const client = createClient({ url: scene.url, token: scene.key });
      processId = (await client.call("getFleet")).processes[0]?.id ?? "";
      await client.call("addSchedule", {
        body: { sessionId: "desk", name: "morning", dailyAt: "07:30", zone: "America/New_York", prompt: "What does a lamp cost?" },
      });
      await client.call("addSchedule", {
        body: { sessionId: "desk", name: "often", everyMinutes: 30, zone: "UTC", prompt: "Look around." },
      });
      await client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "What does a lamp cost?" } });
      browser = await startBrowser();
    }, 300_000);

    afterAll(async () => {
      await browser?.close();
      await scene?.close();
    });

    const replayPath = (name: string, query = "") =>
      `/sessions/orders/replay?call=${encodeURIComponent(calls.get(`shop::${name}`) ?? "")}${query}`;
    const screens: readonly (readonly [name: string, path: () => string, shows: string])[] = [
      ["replay", () => replayPath("search", "&through=rest"), "Fits"],
      ["diff", () => "/sessions/orders-what-if/diff", "new$"],
      ["agents", () => "/agents/clerk", "A lamp is 49.90 euros."],
      ["processes", () => `/processes/${encodeURIComponent(processId)}`, "Sessions open"],
      ["schedules", () => "/schedules/morning?session=desk", "daily at 07:30, America/New_York"],
    ];

    test.each(screens)(
      "issue 20.2 %s renders completely and without serious accessibility findings, light, dark and narrow",
      async (name, path, shows) => {
        const { page, problems } = await openPage(browser, scene, path());
        for await (const look of looksOf(page)) {
          await page.getByText(new RegExp(shows, "u")).first().waitFor({ state: "attached" });
          await picture(page, `${name}-${look}`);
          expect([look, await seriousFindings(page, look)]).toEqual([look, []]);
          expect([look, await page.evaluate("document.documentElement.scrollWidth <= innerWidth")]).toEqual([look, true]);
        }
        expect(problems).toEqual([]);
        await page.context().close();
      },
    );

    /** Edits the number of chairs of the first call. */
    async function reserveThree(page: Page): Promise<void> {
      await page.getByRole("textbox", { name: /^item/u }).fill("chair");
      await page.getByRole("textbox", { name: /^count/u }).fill("three");
      await page.getByText("nothing is sent").waitFor();
      expect(await page.getByRole("button", { name: "Run simulated" }).isDisabled()).toBe(true);
      await page.getByRole("textbox", { name: /^count/u }).fill("3");
      await page.locator(".badge", { hasText: "edited" }).first().waitFor();
    }

    test("issue 20.5 a call is edited, simulated, compared, then run for real in a branch, and the branch is discarded", async () => {
      const { page, problems } = await openPage(
        browser,
        scene,
        `/sessions/orders/calls/${encodeURIComponent(calls.get("shop::reserve") ?? "")}`,
      );
      const before = await reservations(scene);
      await page.getByRole("link", { name: "Fork and replay" }).click();
      await reserveThree(page);
      const real = page.getByRole("button", { name: "Run for real" });
      expect(await real.isDisabled()).toBe(true);
      await page.getByRole("button", { name: "Run simulated" }).click();
      await page.getByText("None of this is kept.").waitFor();
      await page.getByText("1 changed").waitFor();
      await picture(page, "replay-simulated");
      expect(await seriousFindings(page)).toEqual([]);
      await page.getByRole("textbox", { name: /^count/u }).fill("4");
      expect(await real.isDisabled()).toBe(true); // these were not tried
      await page.getByRole("textbox", { name: /^count/u }).fill("3");
      await page.getByRole("textbox", { name: /^item/u }).fill("lamp");
      await page.getByRole("button", { name: "Run simulated" }).click();
      await page.getByRole("button", { name: "Run for real", disabled: false }).waitFor();
      await real.click();
      await page.getByRole("button", { name: "Drop the branch" }).waitFor();
      expect(page.url()).toContain("branch=");
      await page.reload(); // the address has all of it
      await page.getByRole("heading", { name: "Compared with the original" }).waitFor();
      await page.getByText("1 changed").waitFor();
      await picture(page, "replay-live");
      await page.getByText("It cannot be committed").waitFor(); // it began before what the session has now
      expect(await page.getByRole("button", { name: "Commit the branch" }).count()).toBe(0);
      await page.getByRole("button", { name: "Drop the branch" }).click();
      await page.getByRole("button", { name: "Drop the branch" }).waitFor({ state: "detached" });
      expect(await reservations(scene)).toBe(before);
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("issue 20.5 a branch of the current session can be committed to it", async () => {
      const session = scene.runtime.session("short");
      await session.execute([{ name: "shop::reserve", input: { item: "lamp", count: 1 } }]);
      const { page } = await openPage(browser, scene, "/sessions/short/replay");
      await page.getByRole("combobox", { name: /^Begin at/u }).selectOption({ index: 1 });
      await page.getByRole("combobox", { name: /^Branch/u }).selectOption("now");
      await page.getByRole("textbox", { name: /^count/u }).fill("2");
      await page.getByRole("button", { name: "Run simulated" }).click();
      const real = page.getByRole("button", { name: "Run for real" });
      await page.getByRole("button", { name: "Run for real", disabled: false }).waitFor();
      await real.click();
      await page.getByRole("button", { name: "Commit the branch" }).click();
      await page.getByText("2 calls", { exact: true }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/sessions/short");
      await page.context().close();
    });

    test("issue 20.5 calls answered from the recording have the same result, and only the edited call runs", async () => {
      const { page } = await openPage(browser, scene, replayPath("search", "&through=rest&answers=recorded"));
      await page.getByRole("button", { name: "Replay recorded" }).click();
      await page.getByText("None of this is kept.").waitFor();
      await picture(page, "replay-recorded");
      const origins = await page.locator(".compare-head:nth-child(2) .muted").allTextContents();
      expect(origins.filter((origin) => origin === "replay").length).toBeGreaterThan(5);
      await page.context().close();
    });

    test("issue 20.5 a call can be replayed by keyboard alone", async () => {
      const { page } = await openPage(browser, scene, replayPath("price"));
      await page.getByRole("textbox", { name: /^item/u }).focus();
      await page.keyboard.press("Control+A");
      await page.keyboard.type("desk");
      await page.getByRole("button", { name: "Run simulated" }).focus();
      await page.keyboard.press("Enter");
      await page.locator(".badge", { hasText: "edited" }).first().waitFor();
      await page.getByText("1 same").waitFor();
      await page.locator(".compare summary").first().focus();
      await page.keyboard.press("Enter");
      await page.keyboard.press("Enter");
      await page.context().close();
    });

    test("issue 20.7 neither a key with only the scope read nor a read-only page has buttons that change something", async () => {
      const changing = /^(?:Run simulated|Run for real|Replay recorded|Edit arguments|Fork .*|Send.*|Remove.*|Cancel the run)$/u;
      const { page: reader } = await openPage(browser, scene, "/sessions", { as: scene.readerKey });
      for (const [path, shows] of [
        [replayPath("reserve"), "You may see these calls"],
        ["/agents/clerk", "You may read the conversation"],
        ["/schedules/morning?session=desk", "What does a lamp cost?"],
      ] as const) {
        await reader.goto(scene.url + path);
        await reader.getByText(shows).first().waitFor();
        expect([path, await reader.getByRole("button", { name: changing }).count()]).toEqual([path, 0]);
      }
      await reader.context().close();
      const { page } = await openPage(browser, scene, replayPath("reserve"));
      await page.getByRole("button", { name: "Run simulated" }).waitFor();
      await page.getByRole("switch", { name: "Read-only" }).check({ force: true });
      await page.getByRole("button", { name: "Run simulated" }).waitFor({ state: "detached" });
      await page.context().close();
    });

    test("issue 20.2 two points of one session can be compared, and an invalid point is reported at its field", async () => {
      const { page } = await openPage(browser, scene, "/sessions/orders/diff?with=orders&withAt=1");
      await page.getByText("shop · reserved").waitFor();
      await picture(page, "diff-points");
      await page.getByLabel("Its first events").fill("x");
      expect(await page.getByRole("button", { name: "Compare" }).isDisabled()).toBe(true);
      await page.context().close();
    });

    test("issue 20.2 messages to an agent, its calls and its answer appear as they arrive", async () => {
      const { page } = await openPage(browser, scene, "/agents");
      await page.getByRole("link", { name: /clerk/u }).click();
      const log = page.getByRole("log", { name: "Conversation" });
      await log.getByText("A lamp is 49.90 euros.").first().waitFor();
      const said = await log.getByText("A lamp is 49.90 euros.").count();
      await page.getByLabel("Message to the agent").fill("And today?");
      await page.keyboard.press("Enter");
      await log.getByText("And today?").waitFor();
      await log.getByText("A lamp is 49.90 euros.").nth(said).waitFor();
      await log.getByText("The agent is working…").waitFor({ state: "detached" });
      const order = (await log.locator("> *").allTextContents()).join(" | ");
      expect(order).toMatch(/And today\?.*I am looking it up\..*shop::price.*A lamp is 49\.90 euros\.$/su);
      await page.context().close();
    });

    test("issue 20.2 a schedule shows its next time in the viewer's time zone, and is removed after a second press", async () => {
      const { page } = await openPage(browser, scene, "/schedules");
      await page.getByText("Times are in Europe/Berlin.").waitFor();
      await page.getByRole("link", { name: "often" }).click();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
      await page.getByRole("button", { name: "Remove it for good" }).click();
      await page.getByRole("link", { name: "often" }).waitFor({ state: "detached" });
      await page.context().close();
    });

    test("issue 20 a missing item shows a message in its place, with a link to continue", async () => {
      const { page } = await openPage(browser, scene, "/sessions");
      for (const [path, says] of [
        ["/sessions/gone/replay", "There is no such session."],
        ["/sessions/orders/replay?call=gone", "This call of the session cannot be made again."],
        [replayPath("price", "&branch=gone"), "The branch no longer exists."],
        ["/sessions/gone/diff", "There is no such session."],
        ["/sessions/orders/diff?with=gone", "There is no such session to compare with."],
        ["/agents/gone", "There is no such agent."],
        ["/schedules/gone", "There is no such schedule."],
      ] as const) {
        await page.goto(scene.url + path);
        await page.getByText(says).waitFor();
      }
      await page.context().close();
    });

    test("issue 20.2 a schedule can be paused and resumed on its screen", async () => {
      const { page, problems } = await openPage(browser, scene, "/schedules/morning?session=desk");
      const panel = page.getByRole("complementary", { name: "Schedule" });
      await panel.getByRole("button", { name: "Pause" }).click();
      await panel.getByText("paused").waitFor();
      await panel.getByText("when it is resumed").waitFor();
      await picture(page, "schedule-paused");
      expect(await seriousFindings(page)).toEqual([]);
      await panel.getByRole("button", { name: "Resume" }).click();
      await panel.getByText("active").waitFor();
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("issue 20.2 an agent's answer is shown while its model streams it, and appears once", async () => {
      const { page, problems } = await openPage(browser, scene, "/agents/writer");
      await page.getByRole("textbox", { name: "Message to the agent" }).fill("Write to Ann.");
      await page.keyboard.press("Enter");
      await page.getByText("word5 ").waitFor();
      expect(await page.getByText("word60").count()).toBe(0);
      await picture(page, "agent-writing");
      await page.getByText("word60").waitFor();
      await page.getByText("The agent is working…").waitFor({ state: "detached" });
      expect(await page.getByText("word60").count()).toBe(1);
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("issue 20.2 a failed job can be run again, simulated first", async () => {
      const [job] = await scene.runtime.session("shipping").execute([{ name: "shop::ship", input: { order: "A-17" } }]);
      const { page, problems } = await openPage(browser, scene, `/jobs/${encodeURIComponent(job?.callId ?? "")}`);
      const real = page.getByRole("button", { name: "Run for real" });
      await real.waitFor();
      expect(await real.isDisabled()).toBe(true);
      await page.getByRole("button", { name: "Run simulated" }).click();
      await page.locator(".tried", { hasText: "simulated" }).waitFor();
      await picture(page, "job-again");
      expect(await seriousFindings(page)).toEqual([]);
      const before = page.url();
      await page.getByRole("button", { name: "Run for real", disabled: false }).click();
      await page.waitForURL((url) => url.href !== before);
      await page.getByText("There is no ship in the harbour.").first().waitFor();
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("issue 20.2 session titles appear in the list, in the palette, and in the page title", async () => {
      const { page, problems } = await openPage(browser, scene, "/sessions");
      const title = "Order two lamps and a desk, and tell me when they come.";
      await page.getByText(title).first().waitFor();
      await picture(page, "sessions-titles");
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Go to" });
      await page.keyboard.type("orders");
      await palette.getByText(title).first().waitFor();
      await picture(page, "palette-titles");
      await palette.getByRole("option", { name: "orders" }).first().click();
      await page.getByRole("treegrid").waitFor();
      expect(await page.title()).toContain("Order two lamps");
      expect(await page.title()).toContain("orders");
      expect(problems).toEqual([]);
      await page.context().close();
    });

    test("issue 20.2 the health screen shows how many sessions each process has", async () => {
      const { page } = await openPage(browser, scene, "/health");
      await page.getByRole("heading", { name: "Sessions by process" }).waitFor();
      await picture(page, "health-claims", { fullPage: true });
      expect(await seriousFindings(page)).toEqual([]);
      await page.context().close();
    });
  },
);

/** How often the session itself has tried to reserve three lamps; its other work goes on beside the test. */
async function reservations({ url, key }: Scene): Promise<number> {
  const { events } = await createClient({ url, token: key }).call("listSessionEvents", {
    params: { sessionId: "orders" },
    query: { limit: 1_000 },
  });
  return events.filter(({ event }) => event.type === "call-start" && JSON.stringify(event).includes('"item":"lamp","count":3')).length;
}
