/** Debian's Chromium, where there is one. */
import { existsSync } from "node:fs";
import axe from "axe-core";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Scene } from "./scene.ts";

const PLACES = [process.env["HAFT_CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The program; undefined where none is installed. */
export const CHROMIUM = PLACES.find((place) => place !== undefined && existsSync(place));

export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox", "--disable-gpu"] });
}

export interface OpenedPage {
  readonly page: Page;
  /** Refusals of the browser by the policy of the page, and errors of scripts. */
  readonly problems: string[];
}

/** Opens a page that has its key. */
export async function openPage(
  browser: Browser,
  scene: Pick<Scene, "url" | "key">,
  path: string,
  options: BrowserContextOptions & { readonly as?: string } = {},
): Promise<OpenedPage> {
  const { as = scene.key, ...context } = options;
  const opened = await browser.newContext({
    viewport: { width: 1360, height: 800 },
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    ...context,
  });
  const page = await opened.newPage();
  page.setDefaultTimeout(30_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML|TrustedScript/iu.test(message.text())) problems.push(`policy: ${message.text()}`);
  });
  await page.addInitScript(`
    if (${JSON.stringify(as)} !== "" && sessionStorage.getItem("haft-key") === null) sessionStorage.setItem("haft-key", ${JSON.stringify(as)});
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error("Content Security Policy: " + violatedDirective + " " + blockedURI),
    );
  `);
  await page.goto(scene.url + path);
  return { page, problems };
}

/** Those that a rule of WCAG A or AA names serious or critical. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] })`,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary ?? ""}`)
          .slice(0, 3)
          .join(" | ")}`,
    );
}
