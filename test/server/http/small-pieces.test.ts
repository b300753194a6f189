/** Bodies whose client sends a byte at a time: what is kept of them is their bytes, and not an object for each. */
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { readBody } from "../../../src/server/http/body.ts";
import { readBytes } from "../../../src/server/http/node-request.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Reading {
  send(piece: Uint8Array): void;
  end(): void;
  /** The whole body. */
  readonly read: Promise<string | undefined>;
}

const READERS: Readonly<Record<string, () => Reading>> = {
  "of the platform": () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const request = new Request("http://localhost", { method: "POST", body: readable, duplex: "half" });
    return { send: (piece) => void writer.write(piece), end: () => void writer.close(), read: readBody(request, 1_000_000) };
  },
  "of Node's": () => {
    const incoming = new IncomingMessage(new Socket());
    const read = readBytes(incoming, new FakeClock()).then((bytes) => (bytes === undefined ? undefined : Buffer.from(bytes).toString()));
    return { send: (piece) => void incoming.push(piece), end: () => void incoming.push(null), read };
  },
};

test.each(Object.entries(READERS))("a request %s does not retain the small chunks of its body", async (_which, begin) => {
  const { send, end, read } = begin();
  const text = Array.from({ length: 20_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join("");
  const sent: WeakRef<Uint8Array>[] = [];
  for (const letter of text) {
    const piece = Buffer.from(letter);
    sent.push(new WeakRef(piece));
    send(piece);
    if (sent.length % 100 === 0) await turn();
  }
  for (let round = 0; round < 5; round++) {
    await turn();
    collect();
  }
  expect(sent.filter((piece) => piece.deref() !== undefined).length).toBeLessThan(2_000);
  end();
  expect(await read).toBe(text);
});
