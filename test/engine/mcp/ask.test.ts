import { describe, expect, test } from "vitest";
import type { QuestionAnswer, Question } from "../../../src/core/approvals/ask.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import { ToolOutput } from "../../../src/core/content.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { Clock } from "../../../src/core/ports.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { mcpEngine } from "../../../src/engine/mcp.ts";
import { engineContext, request, toolContext } from "../engine-contexts.ts";
import { openReference, openStrange, rejection } from "../mcp-engine.ts";
import { legacy, loopbackMcp, modern, openHttp, reply, text, toolList, type Answers } from "./loopback-mcp.ts";
import { testInCI } from "../../test-in-ci.ts";

const NAME_FORM = { type: "object", properties: { name: { type: "string" }, times: { type: "integer", default: 2 } }, required: ["name"] };
const form = (requestedSchema: JsonObject): JsonObject => ({ method: "elicitation/create", params: { message: "Who?", requestedSchema } });

/** A server that wants to know `requests` before it answers with what it was told. */
function curious(requests: JsonObject, requestState: string | null = "state-1"): Answers {
  return {
    ...modern(),
    "tools/list": () => toolList(["greet"]),
    "tools/call": ({ params }) =>
      params["inputResponses"] === undefined
        ? { resultType: "input_required", inputRequests: requests, ...(requestState === null ? {} : { requestState }) }
        : text(JSON.stringify({ responses: params["inputResponses"], state: params["requestState"] ?? null })),
  };
}

interface Person extends ToolContext {
  readonly asked: readonly unknown[];
}

function person(...answers: readonly QuestionAnswer[]): Person {
  const asked: unknown[] = [];
  const left = [...answers];
  const ask = (question: Question, asker?: string): Promise<QuestionAnswer> => {
    asked.push({ ...question, asker });
    return Promise.resolve(left.shift() ?? { action: "cancel" });
  };
  return Object.assign(toolContext({ ask }), { asked });
}

/** A server that answers its first calls with an error that asks to visit a page, with a new id each time. */
async function loginServer(refusals: number): Promise<{ readonly url: string; readonly visited: () => number }> {
  let calls = 0;
  const { url } = await loopbackMcp({
    ...legacy(),
    "tools/call": ({ response, id }) => {
      if (++calls > refusals) return text("okay");
      const page = { mode: "url", message: "Log in", url: `https://example.com/login/${calls}`, elicitationId: String(calls) };
      reply(response, { id: id as number, error: { code: -32042, message: "log in first", data: { elicitations: [page] } } });
      return undefined;
    },
  });
  return { url, visited: () => calls };
}

/** The clock of the system, in which a wait of a second ends at once. */
const clockWithoutSeconds: Clock = {
  now: () => systemPorts.clock.now(),
  wallTime: () => systemPorts.clock.wallTime(),
  timer: (fire, delayMs) => systemPorts.clock.timer(fire, delayMs === 1_000 ? 0 : delayMs),
};

const said = (value: unknown): ToolOutput => new ToolOutput({ content: [{ type: "text", text: JSON.stringify(value) }] });

describe("revision 2026-07-28: input_required", () => {
  test("a question is passed to the call's ask with the server's name; its answer is sent with the same state under a new request id", async () => {
    const { url, asked } = await loopbackMcp(curious({ who: form(NAME_FORM) }));
    const { engine } = await openHttp({ url });
    const somebody = person({ action: "accept", content: { name: "Ann", extra: "not asked for" } });

    const answer = await engine.call(request("greet"), somebody);

    expect(answer).toEqual(said({ responses: { who: { action: "accept", content: { name: "Ann", times: 2 } } }, state: "state-1" }));
    expect(somebody.asked).toEqual([{ message: "Who?", schema: NAME_FORM, asker: "far" }]);
    const calls = asked.filter(({ method }) => method === "tools/call");
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  });

  test("a question is answered under its key, even if that is __proto__", async () => {
    const { url } = await loopbackMcp(curious(Object.fromEntries([["__proto__", form(NAME_FORM)]])));
    const { engine } = await openHttp({ url });

    const answer = await engine.call(request("greet"), person({ action: "decline" }));

    expect(answer).toMatchObject({ content: [{ text: '{"responses":{"__proto__":{"action":"decline"}},"state":"state-1"}' }] });
  });

  test("no requestState is sent if the server sent none", async () => {
    const { url } = await loopbackMcp(curious({ who: form(NAME_FORM) }, null));
    const { engine } = await openHttp({ url });

    expect(await engine.call(request("greet"), person({ action: "decline" }))).toEqual(
      said({ responses: { who: { action: "decline" } }, state: null }),
    );
  });

  test("an answer that does not fit the form is not sent; the question is cancelled", async () => {
    const { url } = await loopbackMcp(curious({ who: form(NAME_FORM) }));
    const { engine, warnings } = await openHttp({ url });

    expect(await engine.call(request("greet"), person({ action: "accept", content: { name: 7 } }))).toEqual(
      said({ responses: { who: { action: "cancel" } }, state: "state-1" }),
    );
    expect(warnings()).toEqual([
      expect.stringMatching(/^The answer to a question of MCP server "far" does not fit and was not sent: \$\.name/u),
    ]);
  });

  test.each(["password", "apiKey", "api_key", "accessToken", "PIN"])(
    "D13 a form that asks for %s is declined without asking the person",
    async (name) => {
      const { url } = await loopbackMcp(curious({ who: form({ type: "object", properties: { [name]: { type: "string" } } }) }));
      const { engine, warnings } = await openHttp({ url });
      const somebody = person({ action: "accept", content: { [name]: "hunter2" } });

      expect(await engine.call(request("greet"), somebody)).toEqual(said({ responses: { who: { action: "decline" } }, state: "state-1" }));
      expect(somebody.asked).toEqual([]);
      expect(warnings()).toEqual([
        `MCP server "far" asks for "${name}": secrets are not asked for in forms, so the question was declined.`,
      ]);
    },
  );

  test.each([
    ["https://example.com/pay", [{ message: "Pay", url: "https://example.com/pay", asker: "far" }], "accept"],
    ["javascript:alert(1)", [], "decline"],
    ["file:///etc/passwd", [], "decline"],
  ])("a question with the page %s is shown only if it is a web page", async (page, asked, action) => {
    const { url } = await loopbackMcp(
      curious({ pay: { method: "elicitation/create", params: { mode: "url", message: "Pay", url: page } } }),
    );
    const { engine } = await openHttp({ url });
    const somebody = person({ action: "accept" });

    expect(await engine.call(request("greet"), somebody)).toEqual(said({ responses: { pay: { action } }, state: "state-1" }));
    expect(somebody.asked).toEqual(asked);
  });

  test("D13 a server that never stops asking fails the call after ten questions", async () => {
    const { url, asked } = await loopbackMcp({
      ...modern(),
      "tools/call": () => ({ resultType: "input_required", inputRequests: { who: form(NAME_FORM) } }),
    });
    const { engine } = await openHttp({ url });

    expect(await rejection(engine.call(request("echo"), person()))).toMatchObject({
      code: "execution_failed",
      message: 'MCP server "far": it asked 10 times and still requires more input',
    });
    expect(asked.filter(({ method }) => method === "tools/call")).toHaveLength(11);
  });

  test("D13 a sampling request fails the call unless sampling was offered", async () => {
    const { url } = await loopbackMcp(curious({ model: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } }));
    const { engine } = await openHttp({ url });

    expect(await rejection(engine.call(request("greet"), person()))).toMatchObject({
      code: "execution_failed",
      message:
        'MCP server "far": it asked for something that was not offered to it: sampling/createMessage was not offered to this server.',
    });
  });

  test("D13 one call may make at most sixteen sampling requests", async () => {
    let samples = 0;
    const sampling = (): JsonObject => ({ role: "assistant", model: "m", content: { type: "text", text: String(++samples) } });
    const more = { method: "sampling/createMessage", params: { maxTokens: 1 } };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": () => ({ resultType: "input_required", inputRequests: { one: more, two: more, three: more } }),
    });
    const { engine } = await openHttp({ url, sampling });

    expect(await rejection(engine.call(request("echo"), person()))).toMatchObject({
      code: "execution_failed",
      message: 'MCP server "far": it asked for something that was not offered to it: One call may ask a model at most 16 times.',
    });
    expect(samples).toBe(16);
  });

  test("sampling and roots requests are answered if they were offered", async () => {
    const requests = { model: { method: "sampling/createMessage", params: { maxTokens: 1 } }, roots: { method: "roots/list" } };
    const { url } = await loopbackMcp(curious(requests));
    const { engine } = await openHttp({
      url,
      roots: [{ uri: "file:///work", name: "work" }],
      sampling: (params, { asker }) => ({ role: "assistant", model: asker, content: { type: "text", text: JSON.stringify(params) } }),
    });

    expect(await engine.call(request("greet"), person())).toEqual(
      said({
        responses: {
          model: { role: "assistant", model: "far", content: { type: "text", text: '{"maxTokens":1}' } },
          roots: { roots: [{ uri: "file:///work", name: "work" }] },
        },
        state: "state-1",
      }),
    );
  });
});

describe("revision 2025-11-25: requests of the server", () => {
  test("the everything server's form is passed to the call's ask, and the answer to the server", async () => {
    const { engine } = await openReference("everything");
    const somebody = person({ action: "accept", content: { name: "Ann" } });

    const answer = await engine.call(request("trigger-elicitation-request"), somebody);

    expect(somebody.asked).toEqual([expect.objectContaining({ asker: "everything", schema: expect.objectContaining({ type: "object" }) })]);
    expect(JSON.stringify(answer)).toContain("Ann");
  });

  testInCI("the everything server is given the roots, and may request sampling if it is offered", async () => {
    const { engine } = await openReference("everything", {
      roots: [{ uri: "file:///tmp/here", name: "here" }],
      sampling: () => ({ role: "assistant", model: "none", content: { type: "text", text: "a model speaks" } }),
    });

    const sampled = await engine.call(request("trigger-sampling-request", { prompt: "hello", maxTokens: 5 }), person());
    const roots = await engine.call(request("get-roots-list"), person());

    expect(JSON.stringify(sampled)).toContain("a model speaks");
    expect(JSON.stringify(roots)).toContain("file:///tmp/here");
  });

  testInCI("D13 the everything server has no sampling tool if sampling is not offered", async () => {
    const { tools } = await openReference("everything");

    expect(tools.map((tool) => tool.name)).not.toContain("trigger-sampling-request");
  });

  test("a question during calls of several sessions is cancelled without asking a person", async () => {
    const { engine, log } = await openStrange("asks");
    const one = person({ action: "accept" });
    const other = Object.assign(person({ action: "accept" }), { sessionId: "session_2" });

    const answers = await Promise.all([engine.call(request("wait-for-two"), one), engine.call(request("wait-for-two"), other)]);

    expect(answers).toEqual([said({ action: "cancel" }), said({ action: "cancel" })]);
    expect([...one.asked, ...other.asked]).toEqual([]);
    expect(log.lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      'MCP server "strange" asked a question while calls of several sessions were in progress, or had just ended; the question was cancelled, because it might reach the wrong person.',
    ]);
  });

  test("D13 a question that may belong to a just cancelled call of another session is cancelled without asking a person", async () => {
    const { engine } = await openStrange("asks");
    const [one, other] = [person({ action: "accept" }), person({ action: "accept" })];
    const controller = new AbortController();
    const first = rejection(engine.call(request("wait-for-two"), Object.assign(one, { signal: controller.signal })));
    await engine.call(request("echo"), toolContext()); // the server has the first one by now
    controller.abort();
    await first;

    const answer = await engine.call(request("wait-for-two"), Object.assign(other, { sessionId: "session_2" }));

    expect([answer, one.asked, other.asked]).toEqual([said({ action: "cancel" }), [], []]);
  });

  test("a call that requires a visit to a page is repeated once the person has accepted", async () => {
    let calls = 0;
    const pages = [{ mode: "url", message: "Log in", url: "https://example.com/login", elicitationId: "1" }];
    const { url } = await loopbackMcp({
      ...legacy(),
      "tools/call": ({ response, id }) => {
        if (++calls > 1) return text("okay");
        reply(response, { id: id as number, error: { code: -32042, message: "log in first", data: { elicitations: pages } } });
        return undefined;
      },
    });
    const { engine } = await openHttp({ url, protocol: "legacy" });
    const somebody = person({ action: "accept" });

    expect(await engine.call(request("echo"), somebody)).toEqual(new ToolOutput({ content: [{ type: "text", text: "okay" }] }));
    expect(somebody.asked).toEqual([{ message: "Log in", url: "https://example.com/login", asker: "far" }]);
  });

  test("a person who has agreed to open a page is not asked again while they are still there, also if the server makes a new address each time", async () => {
    const { url, visited } = await loginServer(4);
    const { engine } = await openHttp({ url, protocol: "legacy" }, { clock: clockWithoutSeconds });
    const somebody = person({ action: "accept" });

    expect(await engine.call(request("echo"), somebody)).toEqual(new ToolOutput({ content: [{ type: "text", text: "okay" }] }));
    expect([somebody.asked.length, visited()]).toEqual([1, 5]);
  });

  test("a call whose page is not finished after 20 seconds ends with the server's error and the address", async () => {
    const { url, visited } = await loginServer(Infinity);
    const { engine } = await openHttp({ url, protocol: "legacy" }, { clock: clockWithoutSeconds });
    const somebody = person({ action: "accept" });

    expect(await rejection(engine.call(request("echo"), somebody))).toMatchObject({
      code: "execution_failed",
      outcome: "failed",
      message: 'MCP server "far": log in first',
      hint: "The user must finish on https://example.com/login/22 first; then call again.",
    });
    expect([somebody.asked.length, visited()]).toEqual([1, 22]);
  });

  test("a question while no call is running is declined", async () => {
    const { engine } = await openStrange("asks-alone");

    expect(await engine.call(request("what-was-said"), person())).toEqual(said({ action: "decline" }));
  });

  test("a call to an engine that failed to open is unavailable", async () => {
    const engine = mcpEngine({ command: "no-such-program" });

    await rejection(engine.open?.(engineContext()));

    expect(await rejection(engine.call(request("x"), person()))).toMatchObject({ code: "unavailable" });
  });
});
