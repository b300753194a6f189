/** The dashboard of a server below a path of its host, behind proxies that pass the path on and that remove it. */
import { once } from "node:events";
import { createServer, request as sendRequest, type Server } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IN_CI, inCI } from "../ci.ts";
import { builtDashboard } from "./built.ts";
import { CHROMIUM, openPage, picture, startBrowser } from "./browser.ts";
import { openScene, playShop, type Scene } from "./scene.ts";

const why = CHROMIUM === undefined ? ", skipped: there is no Chromium" : "";

const PROXIES = {
  "passes the path on": (path: string) => path,
  "removes the path": (path: string) => path.replace(/^\/haft/u, ""),
} as const;

describe.runIf(inCI && CHROMIUM !== undefined)(`the dashboard below a base path, in a browser ${IN_CI}${why}`, { timeout: 300_000 }, () => {
  let scene: Scene;
  let browser: Browser;
  const proxies: Server[] = [];

  beforeAll(async () => {
    await builtDashboard();
    scene = await openScene({ basePath: "/haft" });
    await playShop(scene.runtime);
    browser = await startBrowser();
  }, 300_000);

  afterAll(async () => {
    await browser?.close();
    for (const proxy of proxies) proxy.closeAllConnections();
    await scene?.close();
  });

  /** The address of the server at a proxy, which has other programs below other paths. */
  async function proxied(pathOf: (path: string) => string): Promise<string> {
    const to = new URL(scene.url);
    const proxy = createServer((incoming, outgoing) => {
      const { method = "GET", url = "/", headers } = incoming;
      if (!/^\/haft(?:[/?]|$)/u.test(url)) return outgoing.writeHead(404).end();
      const sent = sendRequest({ host: to.hostname, port: to.port, method, path: pathOf(url) || "/", headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      outgoing.on("close", () => sent.destroy());
      return incoming.pipe(sent.on("error", () => outgoing.destroy()));
    }).listen(0, "127.0.0.1");
    proxies.push(proxy);
    await once(proxy, "listening");
    const address = proxy.address();
    return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/haft`;
  }

  const enterKey = async (page: Page): Promise<void> => {
    await page.getByLabel("Key or token").fill(scene.key);
    await page.keyboard.press("Enter");
  };
  const addressOf = (page: Page): string => new URL(page.url()).pathname;

  test.each(Object.entries(PROXIES))(
    "the page, its files, its links and its requests stay below the path behind a proxy that %s",
    async (_how, pathOf) => {
      const url = await proxied(pathOf);
      const { page, problems } = await openPage(browser, { url, key: scene.key }, "/sessions/orders", { as: "" });
      const outside: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(`${url}/`)) outside.push(request.url());
      });
      page.on("requestfailed", (request) => {
        if (request.failure()?.errorText !== "net::ERR_ABORTED") outside.push(`failed: ${request.url()}`);
      });
      await enterKey(page);
      await page.getByRole("treegrid").getByText("needs approval").first().waitFor();
      await page.reload();
      await page.getByRole("treegrid").getByText("needs approval").first().waitFor();
      await picture(page, "below-a-path");

      // Screens whose code is loaded when they are gone to, by their links
      for (const name of ["Agents", "Schedules", "Processes", "Audit", "Health", "Jobs", "Approvals", "Tools", "Sessions"]) {
        await page.locator(".menu-item", { hasText: name }).click();
        await page.waitForURL(`${url}/${name.toLowerCase()}*`);
        await page.getByRole("heading", { name, exact: true }).first().waitFor();
        const links = await page.evaluate<string[]>("[...document.links].map(({ pathname }) => pathname)");
        expect([name, links.filter((path) => !path.startsWith("/haft/"))]).toEqual([name, []]);
      }
      await page.getByRole("searchbox").first().fill("orders");
      await page.waitForURL(`${url}/sessions?q=orders`);
      expect(outside).toEqual([]);
      expect(problems).toEqual([]);
      await page.context().close();
    },
  );

  test("calls can be run, approved and copied, and the key can be forgotten", async () => {
    const url = await proxied(PROXIES["removes the path"]);
    const { page, problems } = await openPage(browser, { url, key: scene.key }, "/tools/shop%3A%3Aprice", { as: "" });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await enterKey(page);
    await page.getByLabel("item").fill("lamp");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("49.9").first().waitFor();

    await page.locator(".menu-item", { hasText: "Approvals" }).click();
    await page
      .getByRole("link", { name: /cancel_order/u })
      .first()
      .click();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("This call is no longer waiting.").waitFor();
    await page.goBack();
    expect(addressOf(page)).toBe("/haft/approvals");

    await page.goto(`${url}/sessions/orders`);
    await page
      .getByRole("row", { name: /reserve/u })
      .first()
      .click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toContain(`'${url}/v1/sessions/orders/execute'`);
    await page.keyboard.press("Escape");
    await page.waitForURL(`${url}/sessions/orders`);

    await page.getByRole("button", { name: "Forget the key and leave" }).click();
    await page.getByLabel("Key or token").waitFor();
    await page.reload();
    await page.getByLabel("Key or token").waitFor();
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("a file can be opened, and its calls have addresses", async () => {
    const recording = await (
      await fetch(`${scene.url}/v1/sessions/orders/recording`, { headers: { authorization: `Bearer ${scene.key}` } })
    ).text();
    const url = await proxied(PROXIES["removes the path"]);
    const { page, problems } = await openPage(browser, { url, key: scene.key }, "/", { as: "" });
    await page.getByRole("link", { name: "open a file" }).click();
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "orders.jsonl", mimeType: "application/json", buffer: Buffer.from(recording) });
    await page.getByText("recording", { exact: true }).waitFor();
    await page
      .getByRole("row", { name: /reserve/u })
      .first()
      .click();
    await page.getByRole("complementary", { name: "Call" }).getByText("Input").first().waitFor();
    expect(addressOf(page)).toMatch(/^\/haft\/file\/calls\/./u);
    expect(problems).toEqual([]);
    await page.context().close();
  });

  test("servers below two paths of one host have separate keys, and the path is added to an address without it", async () => {
    const { port } = new URL(scene.url);
    const { page } = await openPage(browser, scene, "/sessions", { as: "" });
    await enterKey(page);
    await page.getByRole("link", { name: "orders", exact: true }).waitFor();
    expect(await page.evaluate("Object.keys(sessionStorage).filter((name) => name.startsWith('haft-key'))")).toEqual(["haft-key/haft"]);
    await page.goto(`http://127.0.0.1:${port}/sessions/orders?x=1`);
    await page
      .getByRole("treegrid")
      .getByText("needs approval")
      .or(page.getByText("allowed by"))
      .or(page.getByRole("treegrid"))
      .first()
      .waitFor();
    expect(page.url()).toBe(`${scene.url}/sessions/orders?x=1`);
    await page.goto(`${scene.url}/sesions`);
    await page.getByText("There is nothing at this address").waitFor();
    expect(await page.getByRole("link", { name: "openapi.json" }).getAttribute("href")).toBe("/haft/openapi.json");
    await page.context().close();
  });
});
