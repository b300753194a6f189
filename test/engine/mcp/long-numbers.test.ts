import { describe, expect, test } from "vitest";
import { ToolOutput } from "../../../src/core/content.ts";
import { readForm } from "../../../src/engine/mcp/elicitation-form.ts";
import { parseMessage } from "../../../src/engine/mcp/message-lines.ts";
import { quoteLongNumbers, quoteLongNumbersInEvents, restoreBounds } from "../../../src/engine/mcp/long-numbers.ts";
import { request, toolContext } from "../engine-contexts.ts";
import { legacy, loopbackMcp, modern, openHttp, type Answers, type Asked } from "./loopback-mcp.ts";

const LONG = "1915883588174806058";

describe("an answer over HTTP keeps the digits of its numbers", () => {
  const body = ({ id }: Asked): string =>
    `{"jsonrpc":"2.0","id":${String(id)},"result":{"resultType":"complete","content":[],"structuredContent":{"id":${LONG},"text":"${LONG}","rate":0.5}}}`;
  const json: Answers[string] = (asked) => {
    asked.response.writeHead(200, { "content-type": "application/json" }).end(body(asked));
    return undefined;
  };
  const events: Answers[string] = (asked) => {
    const text = `id: ${LONG}\r\ndata: ${body(asked)}\r\n\r\n`;
    const middle = text.indexOf(LONG, 30) + 5;
    asked.response.writeHead(200, { "content-type": "text/event-stream" }).write(text.slice(0, middle));
    setImmediate(() => asked.response.end(text.slice(middle)));
    return undefined;
  };

  test.each([
    ["modern", "JSON", modern(), json],
    ["modern", "events", modern(), events],
    ["legacy", "JSON", legacy(), json],
    ["legacy", "events", legacy(), events],
  ])("A04 %s, as %s", async (_era, _kind, answers, call) => {
    const { url } = await loopbackMcp({ ...answers, "tools/call": call });
    const { engine } = await openHttp({ url });

    expect(await engine.call(request("echo"), toolContext())).toEqual(new ToolOutput({ output: { id: LONG, text: LONG, rate: 0.5 } }));
  });
});

describe("schemas with bounds of 64 bits", () => {
  const MAX = "9223372036854775807";
  const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":-9223372036854775808,"maximum":${MAX}},"text":{"type":"string","maxLength":${MAX}},"list":{"type":"array","maxItems":${MAX}},"map":{"type":"object","maxProperties":${MAX}},"default":{"anyOf":[{"maximum":${MAX}}]}}}`;

  test("C02 a tool with such bounds is listed with them as numbers, over stdio and over HTTP", async () => {
    const wanted: unknown = JSON.parse(schema);
    const line = parseMessage(`{"jsonrpc":"2.0","id":1,"result":${schema}}`) as unknown as { readonly result: unknown };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/list": ({ id, response }) => {
        const tool = `{"name":"big","description":"","inputSchema":${schema},"outputSchema":${schema}}`;
        const list = `{"resultType":"complete","tools":[${tool}],"ttlMs":0,"cacheScope":"private"}`;
        response.writeHead(200, { "content-type": "application/json" }).end(`{"jsonrpc":"2.0","id":${String(id)},"result":${list}}`);
        return undefined;
      },
    });
    const { tools } = await openHttp({ url });

    expect(restoreBounds(line.result)).toEqual(wanted);
    expect(tools).toMatchObject([{ inputSchema: wanted, outputSchema: wanted }]);
    expect(readForm({ type: "object", properties: { n: { type: "integer", maximum: MAX } } })).toMatchObject({
      schema: { properties: { n: { maximum: Number(MAX) } } },
    });
  });

  test("strings that are data stay strings, and a schema without such bounds is not copied", () => {
    const data = { enum: [MAX], const: { maximum: MAX }, properties: { maximum: { default: { minimum: MAX } } }, minimum: "12" };
    expect(restoreBounds(data)).toBe(data);
  });
});

describe("numbers in JSON text", () => {
  test.each([
    [`{"a":${LONG},"b":[-${LONG},1]}`, `{"a":"${LONG}","b":["-${LONG}",1]}`],
    [`{"${LONG}":"\\"${LONG}","a":1e400}`, `{"${LONG}":"\\"${LONG}","a":"1e400"}`],
    [`[9007199254740991,0.12345678901234567,1e100]`, `[9007199254740991,0.12345678901234567,1e100]`],
    [`[0${LONG}`, `[0"${LONG}"`],
    [`"${LONG}`, `"${LONG}`],
    [`-`, `-`],
  ])("of %s those that a double cannot hold become strings", (text, quoted) => {
    expect(quoteLongNumbers(text)).toBe(quoted);
  });

  test("a number too large for a double is read as a string over stdio too", () => {
    expect(parseMessage('{"jsonrpc":"2.0","id":1,"result":{"n":1e400}}')).toMatchObject({ result: { n: "1e400" } });
  });

  test("an event stream is the same in pieces of any size, and only its data is changed", async () => {
    const text = `: ${LONG}\ndata: {"ü":${LONG},\ndata:"b":"x"}\r\n\r\nid: ${LONG}\rdata: ${LONG}`;
    const wanted = `: ${LONG}\ndata: {"ü":"${LONG}",\ndata:"b":"x"}\r\n\r\nid: ${LONG}\rdata: "${LONG}"`;
    for (const size of [1, 2, 7, 1000]) {
      const bytes = Buffer.from(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
      expect(await new Response(quoteLongNumbersInEvents(ReadableStream.from(pieces))).text()).toBe(wanted);
    }
  });
});
