/** Schedules over HTTP: the times at which agents are woken. */
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";

test("issue 19.2 a schedule is added, listed over all sessions with its next time, and removed", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  await client.call("createSession", { body: { id: "trip" } });
  const body = { name: "morning", dailyAt: "07:30", zone: "UTC", prompt: "Look at the notes." };
  const added = await client.call("addSchedule", { body: { sessionId: "desk", ...body } });
  const day = 86_400_000;
  const before = Date.now();
  expect(added).toMatchObject({ id: "morning", sessionId: "desk", settings: { dailyAt: "07:30", zone: "UTC" }, sent: 0, running: false });
  expect(Number(added.nextAt) % day).toBe(7.5 * 3_600_000);
  expect(Number(added.nextAt)).toBeGreaterThan(before - 60_000);
  expect(Number(added.nextAt)).toBeLessThanOrEqual(before + day);
  await client.call("addTrigger", {
    params: { sessionId: "desk" },
    body: { type: "timer", name: "t", settings: { interval: 60, prompt: "x" } },
  });
  await client.call("addSchedule", { body: { sessionId: "trip", ...body, dailyAt: "09:00" } });
  const { schedules } = await client.call("listSchedules");
  expect(schedules.map(({ id, sessionId }) => [sessionId, id])).toEqual([
    ["desk", "morning"],
    ["trip", "morning"],
  ]);
  await expect(client.call("removeSchedule", { params: { scheduleId: "morning" } })).rejects.toMatchObject({ status: 409 });
  await client.call("removeSchedule", { params: { scheduleId: "morning" }, query: { sessionId: "trip" } });
  expect((await client.call("listSchedules", { query: { sessionId: "trip" } })).schedules).toEqual([]);
  await client.call("removeSchedule", { params: { scheduleId: "morning" } });
  await expect(client.call("removeSchedule", { params: { scheduleId: "t" }, query: { sessionId: "desk" } })).rejects.toMatchObject({
    status: 404,
  });
  expect((await client.call("listTriggers", { params: { sessionId: "desk" } })).triggers.map(({ id }) => id)).toEqual(["t"]);
});

test("issue 20.2 a schedule can be paused and resumed, and the response shows it", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  await client.call("addSchedule", { body: { sessionId: "desk", name: "morning", dailyAt: "07:30", zone: "UTC", prompt: "Look." } });
  const params = { scheduleId: "morning" };
  const paused = await client.call("pauseSchedule", { params });
  expect(paused).toMatchObject({ id: "morning", sessionId: "desk", paused: true });
  expect(paused).not.toHaveProperty("nextAt");
  expect((await client.call("listSchedules")).schedules).toEqual([paused]);
  expect(await client.call("pauseSchedule", { params })).toEqual(paused);
  const resumed = await client.call("resumeSchedule", { params, query: { sessionId: "desk" } });
  expect(resumed).not.toHaveProperty("paused");
  expect(resumed.nextAt).toBeGreaterThan(Date.now());
  for (const route of ["pauseSchedule", "resumeSchedule"] as const)
    await expect(client.call(route, { params: { scheduleId: "none" } })).rejects.toMatchObject({ status: 404 });
});

test.each([
  ["two rules", { dailyAt: "07:30", hourlyAt: 5 }, "exactly one of"],
  ["no rule", {}, "exactly one of"],
  ["a time that is none", { dailyAt: "25:00" }, "25:00"],
  ["a zone that is none", { hourlyAt: 5, zone: "Mars" }, "Mars"],
])("issue 19.2 a schedule with %s is rejected", async (_what, rule, message) => {
  const api = await startApi({ store: "none" });
  const { status, json } = await api.ask("POST", "/v1/schedules", { body: { sessionId: "desk", prompt: "Go.", ...rule } });
  expect({ status, detail: json.detail }).toEqual({ status: 400, detail: expect.stringContaining(message) });
  expect((await api.ask("GET", "/v1/schedules")).json).toEqual({ schedules: [] });
});
