/** The stream by which the page knows that lists have changed. */
import { expect, test } from "vitest";
import { detectEvents } from "../../src/dashboard/server/detect-events.ts";

const STREAM = ': ready\n\nid: 1\nevent: call-end\ndata: {"text":"data: x"}\n\n: ping\n\n';

async function noticed(pieces: readonly Uint8Array[]): Promise<number> {
  let count = 0;
  await detectEvents(ReadableStream.from(pieces), () => count++);
  return count;
}

test("an event is noticed once, wherever a proxy cuts the stream", async () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let at = 1; at < bytes.length; at++) expect([at, await noticed([bytes.slice(0, at), bytes.slice(at)])]).toEqual([at, 1]);
  expect(await noticed(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe(1);
});
