/** The demo's office: a mail that cannot be undone, and a payment that must not be made twice. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "haft";

const bank = join(process.env["HAFT_DEMO_WORKSPACE"] ?? ".", "bank.txt");

export const sendMail = defineTool({
  name: "send_mail",
  description: "Sends a mail.",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, subject: { type: "string" } },
    required: ["to", "subject"],
    additionalProperties: false,
  },
  effects: { writes: "mailbox:{to}", external: true },
  execute: ({ to }) => `Sent to ${to}.`,
});

export const pay = defineTool({
  name: "pay",
  description: "Pays an invoice.",
  inputSchema: {
    type: "object",
    properties: { invoice: { type: "integer" }, euros: { type: "number" } },
    required: ["invoice", "euros"],
    additionalProperties: false,
  },
  effects: {
    writes: ["bank:account"],
    external: true,
    // After a crash: does the bank have this payment?
    reconcile({ idempotencyKey }) {
      const happened = existsSync(bank) && readFileSync(bank, "utf8").includes(idempotencyKey);
      return happened ? { happened, output: "Paid; the bank has it once." } : { happened };
    },
  },
  execute({ invoice, euros }, { idempotencyKey }) {
    appendFileSync(bank, `${idempotencyKey} invoice ${invoice}: ${euros} EUR\n`);
    if (process.env["HAFT_DEMO_CRASH"] === "1") process.kill(process.pid, "SIGKILL"); // killed after the payment, before it returns a result
    return "Paid.";
  },
});
