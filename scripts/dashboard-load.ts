/**
 * Figures of the dashboard under load, in Debian's Chromium: `node --conditions=haft-source scripts/dashboard-load.ts [options]`.
 *
 * `--seconds <n>` of a live session (10), `--rate <n>` events a second (1000), `--calls <n>` of the recording and the stored session
 * that are opened (100000);
 * `--hour` lets a call report progress afterwards, as often as an hour of that rate has seconds and events, twenty times as fast.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createRuntime, defineTool, pure } from "haft";
import { writeRecording } from "haft/recording";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { chromium, type Browser, type Page } from "playwright-core";
import type { SessionEvent } from "../src/core/event.ts";
import { importRecording } from "../src/runtime/import-recording.ts";
import { buildDashboard } from "./dashboard.ts";

const TOKEN = "dashboard-load-token";
/** Of one call in a session: its start and its end. */
const EVENTS_OF_CALL = 2;
/** How many times as fast as the clock an hour goes by. */
const HOUR_SPEED = 20;

/** Two seconds, through all of it. */
const SCROLL = `new Promise((done) => {
  const grid = document.querySelector("[role=treegrid]");
  const startedAt = performance.now();
  const step = (now) => {
    const share = Math.min(1, (now - startedAt) / 2000);
    grid.scrollTop = share * (grid.scrollHeight - grid.clientHeight);
    if (share < 1) requestAnimationFrame(step); else done();
  };
  requestAnimationFrame(step);
})`;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "1000" },
    calls: { type: "string", default: "100000" },
    hour: { type: "boolean", default: false },
  },
});

await buildDashboard(fileURLToPath(new URL("../dist/dashboard", import.meta.url)));
const nothing = defineTool({
  name: "nothing",
  description: "Does nothing.",
  inputSchema: { type: "object", properties: { index: { type: "integer" } } },
  effects: pure,
  execute: () => null,
});
const reports = defineTool({
  name: "reports",
  description: "Reports its progress again and again.",
  inputSchema: {
    type: "object",
    properties: { updates: { type: "integer" }, perSecond: { type: "integer" } },
    required: ["updates", "perSecond"],
  },
  effects: pure,
  timeoutMs: 3_600_000,
  execute: async ({ updates, perSecond }, { progress, signal }) => {
    const startedAt = performance.now();
    for (let made = 0; made < updates && !signal.aborted; await pause(10)) {
      const due = Math.min(updates, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond));
      for (; made < due; made++) progress({ done: made, total: updates, message: `update ${made}` });
    }
    return null;
  },
});
const folder = mkdtempSync(join(tmpdir(), "haft-load-"));
const store = sqliteStore({ path: join(folder, "sessions.db") });
const runtime = createRuntime({ toolsets: [{ name: "load", tools: [nothing, reports] }], store });
const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), dashboard: true });
const { url } = await server.listen({ port: 0 });
const browser = await chromium.launch({
  executablePath: process.env["HAFT_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info", "--js-flags=--expose-gc"],
});
try {
  if (Number(values.seconds) > 0) await live(browser, { seconds: Number(values.seconds), rate: Number(values.rate), isHour: values.hour });
  await plainRows(browser, Number(values.calls));
  await largeFile(browser, Number(values.calls));
  await storedSession(browser, Number(values.calls));
} finally {
  await browser.close();
  await server.close();
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
}

interface Live {
  readonly seconds: number;
  readonly rate: number;
  readonly isHour: boolean;
}

/** A session that grows while its timeline is open. */
async function live(browser: Browser, { seconds, rate, isHour }: Live): Promise<void> {
  const session = runtime.session("live");
  const page = await openPage(browser, "/sessions/live?follow=yes");
  await session.execute([{ name: "load::nothing", input: { index: 0 } }]);
  await page.getByRole("treegrid").waitFor();
  await pause(500);
  await watchFrames(page);
  const heaps: string[] = [];
  const startedAt = performance.now();
  const heapEveryMs = Math.max(2_000, (seconds * 1_000) / 6);
  let calls = 1;
  let heapAt = 0;
  for (;;) {
    const ms = performance.now() - startedAt;
    if (ms > seconds * 1_000) break;
    if (ms >= heapAt) {
      heaps.push(`${(ms / 1_000).toFixed(0)} s ${await heapOf(page)} MB`);
      heapAt = ms + heapEveryMs;
    }
    const wanted = (ms / 1_000) * (rate / EVENTS_OF_CALL);
    const batch = Array.from({ length: Math.min(200, Math.max(0, Math.floor(wanted - calls))) }, (_, index) => ({
      name: "load::nothing",
      input: { index: calls + index },
    }));
    if (batch.length > 0) await session.execute(batch);
    calls += batch.length;
    await pause(20);
  }
  const gone = (performance.now() - startedAt) / 1_000;
  heaps.push(`${gone.toFixed(0)} s ${await heapOf(page)} MB`);
  console.log(`live: ${calls} calls, ${Math.round((calls * EVENTS_OF_CALL) / gone)} events/s`);
  console.log(`  frames: ${await frames(page)}`);
  console.log(`  heap: ${heaps.join(", ")}`);
  if (isHour) await hour(page, session, rate);
  await page.context().close();
}

/** As many reports as an hour has events. */
async function hour(page: Page, session: ReturnType<typeof runtime.session>, rate: number): Promise<void> {
  const updates = 3_600 * rate;
  await watchFrames(page);
  const heaps: string[] = [];
  const startedAt = performance.now();
  const work = session.execute([{ name: "load::reports", input: { updates, perSecond: HOUR_SPEED * rate } }]);
  let isOver = false;
  const over = work.then(() => (isOver = true));
  while (!isOver) {
    heaps.push(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s ${await heapOf(page)} MB`);
    await Promise.race([over, pause(30_000)]);
  }
  const gone = (performance.now() - startedAt) / 1_000;
  heaps.push(`${gone.toFixed(0)} s ${await heapOf(page)} MB`);
  console.log(`an hour of ${rate} events/s in ${gone.toFixed(0)} s: ${updates} reports of one call`);
  console.log(`  frames: ${await frames(page)}`);
  console.log(`  heap: ${heaps.join(", ")}`);
}

/** A recording with so many calls, opened from a file. */
async function largeFile(browser: Browser, calls: number): Promise<void> {
  const path = join(folder, "large.jsonl");
  await writeFile(path, writeRecording(manyEvents(calls), { sessionId: "large", exportedAt: 0 }));
  const page = await openPage(browser, "/file");
  await page.getByText("Drop a file here").waitFor();
  const opened = timesOfOpening(page, calls);
  await watchFrames(page);
  await page.locator("input[type=file]").setInputFiles(path);
  console.log(`recording: ${calls} calls, ${await opened}`);
  await scrolled(page);
}

/** The same as a session of the server's store, opened by its address. */
async function storedSession(browser: Browser, calls: number): Promise<void> {
  await importRecording(store, writeRecording(manyEvents(calls), { sessionId: "large", exportedAt: 0 }));
  const page = await openPage(browser, "/sessions");
  await page.getByRole("link", { name: "large" }).waitFor();
  const opened = timesOfOpening(page, calls);
  await watchFrames(page);
  await page.getByRole("link", { name: "large" }).click();
  console.log(`stored session: ${calls} calls, ${await opened}`);
  await scrolled(page);
}

/** The least that a scroll costs here: as many rows of one text each, in place of those that went out of view. */
async function plainRows(browser: Browser, calls: number): Promise<void> {
  const page = await (await browser.newContext({ viewport: { width: 1360, height: 800 } })).newPage();
  await page.evaluate(`{
    const grid = document.body.appendChild(document.createElement("div"));
    grid.setAttribute("role", "treegrid");
    grid.style = "height: 640px; overflow: auto; contain: strict";
    const all = grid.appendChild(document.createElement("div"));
    all.style = "position: relative; height: ${calls * 32}px";
    const rows = Array.from({ length: 30 }, () => all.appendChild(document.createElement("div")));
    for (const row of rows) row.style = "position: absolute; inset-inline: 0; top: 0; height: 32px; contain: strict";
    const place = () => {
      const first = Math.floor(grid.scrollTop / 32);
      for (let index = first; index < first + 30; index++) {
        const row = rows[index % 30];
        row.textContent = "load::tool_" + (index % 7) + " " + index;
        row.style.transform = "translateY(" + index * 32 + "px)";
      }
    };
    grid.addEventListener("scroll", place);
    place();
  }`);
  console.log(`plain rows: ${calls}`);
  await scrolled(page);
}

/** From now on: until rows are seen, and until all calls are counted in the head of the page. */
async function timesOfOpening(page: Page, calls: number): Promise<string> {
  const startedAt = performance.now();
  await page.getByRole("treegrid").getByRole("row").first().waitFor();
  const paintedMs = performance.now() - startedAt;
  await page.getByText(`${calls.toLocaleString("en-US")} calls`).waitFor({ timeout: 300_000 });
  await page.getByText("reading", { exact: true }).waitFor({ state: "detached", timeout: 300_000 });
  const wholeMs = performance.now() - startedAt;
  return `first rows after ${paintedMs.toFixed(0)} ms, whole after ${wholeMs.toFixed(0)} ms\n  frames until then: ${await frames(page)}`;
}

async function scrolled(page: Page): Promise<void> {
  await pause(1_000);
  await watchFrames(page);
  await page.evaluate(SCROLL);
  console.log(`  frames of a scroll: ${await frames(page)}`);
  console.log(`  heap: ${await heapOf(page)} MB`);
  await page.context().close();
}

/** In the order of their times, as a log has them: a call begins every 3 ms and takes 20. */
function* manyEvents(calls: number): Generator<SessionEvent, void, undefined> {
  const [everyMs, durationMs] = [3, 20];
  let ended = 0;
  for (let begun = 0; ended < calls;) {
    if (begun < calls && begun * everyMs < ended * everyMs + durationMs) {
      const name = `load::tool_${begun % 7}`;
      yield { type: "call-start", ...placeOf(begun), at: begun * everyMs, call: { name, input: { index: begun } } };
      begun++;
      continue;
    }
    const { callId, ...place } = placeOf(ended);
    yield {
      type: "call-end",
      ...place,
      callId,
      at: ended * everyMs + durationMs,
      result: {
        callId,
        name: `load::tool_${ended % 7}`,
        status: "ok",
        output: { index: ended },
        origin: "live",
        attempts: 1,
        durationMs,
        repairs: [],
        warnings: [],
      },
    };
    ended++;
  }
}

function placeOf(index: number): { readonly sessionId: string; readonly turnId: string; readonly callId: string } {
  return { sessionId: "large", turnId: `turn_${index >> 4}`, callId: `call_${index}` };
}

async function openPage(browser: Browser, path: string): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1360, height: 800 } })).newPage();
  await page.addInitScript(`sessionStorage.setItem("haft-key", ${JSON.stringify(TOKEN)})`);
  await page.goto(url + path);
  return page;
}

/** Notes from now on how long each frame takes, and each task over 50 ms. */
async function watchFrames(page: Page): Promise<void> {
  await page.evaluate(`{
    const seen = (window.seenFrames = { frames: [], tasks: [] });
    let last = performance.now();
    const next = (now) => {
      if (window.seenFrames !== seen) return;
      seen.frames.push(now - last);
      last = now;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
    window.taskObserver?.disconnect();
    window.taskObserver = new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map(({ duration }) => duration)));
    window.taskObserver.observe({ type: "longtask" });
  }`);
}

async function frames(page: Page): Promise<string> {
  const { frames, tasks } = await page.evaluate<{ readonly frames: number[]; readonly tasks: number[] }>("window.seenFrames");
  const sorted = frames.slice(1).sort((one, other) => one - other);
  const at = (share: number): string => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0);
  const long = tasks.filter((ms) => ms > 100);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms; tasks over 100 ms: ${long.length}, longest ${Math.max(0, ...tasks).toFixed(0)} ms`;
}

async function heapOf(page: Page): Promise<string> {
  const bytes = await page.evaluate<number>("window.gc?.(), performance.memory.usedJSHeapSize");
  return (bytes / 1_000_000).toFixed(1);
}
