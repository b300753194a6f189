/** The demo's trip: bookings that must not be made twice, at an agency that stores each with the idempotency key of its call. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "haft";

const agency = join(process.env["HAFT_DEMO_WORKSPACE"] ?? ".", "bookings.txt");
const bookings = (): readonly string[] =>
  existsSync(agency)
    ? readFileSync(agency, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];

export const book = defineTool({
  name: "book",
  description: "Books something in a city.",
  inputSchema: {
    type: "object",
    properties: { what: { type: "string" }, city: { type: "string" } },
    required: ["what", "city"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { number: { type: "integer" }, what: { type: "string" } }, required: ["number", "what"] },
  effects: {
    writes: ["agency:bookings"],
    external: true,
    // After a crash: does the agency have this booking?
    reconcile({ idempotencyKey }) {
      const line = bookings().find((one) => one.startsWith(idempotencyKey));
      const [, number, what] = line?.split(" ") ?? [];
      return line === undefined ? { happened: false } : { happened: true, output: { number: Number(number), what: what ?? "" } };
    },
  },
  execute({ what, city }, { idempotencyKey }) {
    const number = bookings().length + 1;
    appendFileSync(agency, `${idempotencyKey} ${number} ${what} ${city}\n`);
    // The process is killed after the second booking, before it returns a result.
    if (process.env["HAFT_DEMO_CRASH"] === "1" && number === 2) process.kill(process.pid, "SIGKILL");
    return { number, what };
  },
});
