/**
 * Takes the pictures of the dashboard's walk-through, docs/dashboard/*.png: `node --conditions=haft-source scripts/dashboard-pictures.ts`.
 *
 * They are of a real server, whose sessions the tests of the dashboard use as well. Times in them differ from run to run.
 */
import { mkdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openPage, startBrowser } from "../test/dashboard/browser.ts";
import { openScene, playShop } from "../test/dashboard/scene.ts";
import { buildDashboard } from "./dashboard.ts";

const FOLDER = fileURLToPath(new URL("../docs/dashboard/", import.meta.url));
/** Of all pictures: they are in every clone. */
const MOST_BYTES = 600_000;

mkdirSync(FOLDER, { recursive: true });
await buildDashboard(fileURLToPath(new URL("../dist/dashboard", import.meta.url)));
const scene = await openScene();
const browser = await startBrowser();
let bytes = 0;
try {
  const session = await playShop(scene.runtime);
  const calls = new Map<string, string>();
  for await (const event of session.events()) if (event.type === "call-start") calls.set(event.call.name, event.callId);
  const call = (name: string): string => encodeURIComponent(calls.get(`shop::${name}`) ?? "");
  for (const [name, path, shows] of [
    ["timeline", "/sessions/orders", "needs approval"],
    ["call", `/sessions/orders/calls/${call("reserve")}`, "There are only 3 chairs left."],
    ["approval", `/approvals/${call("cancel_order")}`, "What it would change"],
    ["tool", "/tools/shop%3A%3Asearch", "Fits the schema"],
  ] as const) {
    const { page } = await openPage(browser, scene, path, { viewport: { width: 1120, height: 640 } });
    await page.getByText(shows).first().waitFor();
    if (name === "tool") await page.getByRole("searchbox").fill("shop::"); // without the tools of an attacker, which the tests need
    await page.waitForTimeout(500);
    const file = `${FOLDER}${name}.png`;
    await page.screenshot({ path: file });
    bytes += statSync(file).size;
    await page.context().close();
  }
} finally {
  await browser.close();
  await scene.close();
}
console.log(`${(bytes / 1_000).toFixed(0)} kB of pictures in docs/dashboard`);
if (bytes > MOST_BYTES) throw new Error(`The pictures have more than ${MOST_BYTES / 1_000} kB in all.`);
