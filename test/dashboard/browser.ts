/** Debian's Chromium, where there is one. */
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Scene } from "./scene.ts";

/** The headless shell has no window around each page, which would take as much of the processor as the pages themselves. */
const PLACES = [
  process.env["HAFT_CHROMIUM"],
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The program; undefined where none is installed. */
export const CHROMIUM = PLACES.find((place) => place !== undefined && existsSync(place));

export async function startBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox", "--disable-gpu", ...args] });
}

/** Where pictures of all screens are put, for people to look at: only where `HAFT_PICTURES` is set, as each takes time. */
const PICTURES =
  process.env["HAFT_PICTURES"] === undefined ? undefined : fileURLToPath(new URL("../../coverage/dashboard/", import.meta.url));

export async function picture(page: Page, name: string, options: { readonly fullPage?: boolean } = {}): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ ...options, path: `${PICTURES}${name}.png` });
}

/** How people look at a page; by the names of its pictures. */
const LOOKS = {
  light: { colorScheme: "light", viewport: { width: 1360, height: 800 } },
  dark: { colorScheme: "dark", viewport: { width: 1360, height: 800 } },
  narrow: { colorScheme: "light", viewport: { width: 360, height: 780 } },
} as const;

/** Gives an open page one look after the other; the narrow one is loaded anew, as on a phone. */
export async function* looksOf(page: Page): AsyncGenerator<keyof typeof LOOKS> {
  for (const look of ["light", "dark", "narrow"] as const) {
    const { colorScheme, viewport } = LOOKS[look];
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    if (look === "narrow") await page.reload();
    yield look;
  }
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
    viewport: LOOKS.light.viewport,
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
  const go = () => page.goto(scene.url + path);
  // Chromium ends what it loads when an interface of the machine comes or goes.
  await go().catch((thrown: unknown) => (String(thrown).includes("ERR_NETWORK_CHANGED") ? go() : Promise.reject(thrown)));
  return { page, problems };
}

/** The rules of WCAG that depend on colours; by all others, dark screens are as light ones. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];
const ALL = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** Those that a rule of WCAG A or AA names serious or critical. Nothing is preloaded, which takes most of the time and is for audio. */
export async function seriousFindings(page: Page, look?: keyof typeof LOOKS): Promise<readonly string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { preload: false, resultTypes: ["violations"], runOnly: ${JSON.stringify(look === "dark" ? OF_COLOURS : ALL)} })`,
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
