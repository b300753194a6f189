/** A second model judges every payment before it is made. If it gives no verdict, the payment is refused. */
import { createRuntime, defineTool, resultText, type Hook } from "haft";
import { collectReply, scriptedModel } from "haft/model";

const pay = defineTool({
  name: "pay",
  description: "Pays an amount in euros.",
  inputSchema: {
    type: "object",
    properties: { to: { type: "string" }, amount: { type: "number" } },
    required: ["to", "amount"],
  },
  execute: ({ to, amount }) => `paid ${amount} to ${to}`,
});

// In a real program: modelFrom("anthropic/claude-sonnet-5")
const judge = scriptedModel([{ text: '{"verdict": "allow"}' }, { text: '{"verdict": "deny", "why": "ten times the usual rent"}' }]);

const judging: Hook = {
  name: "judge",
  onFailure: "stop",
  timeoutMs: 30_000,
  inSimulation: "run",
  async beforeCall({ name, input }) {
    const content = JSON.stringify({ name, input });
    const system = 'You judge payments. Answer {"verdict": "allow"} or {"verdict": "deny", "why": "…"}.';
    const reply = await collectReply(judge.stream({ system, messages: [{ role: "user", at: 0, content }], responseFormat: {} }));
    const { verdict, why } = JSON.parse(reply?.text ?? "{}") as { readonly verdict?: string; readonly why?: string };
    return verdict === "allow" ? undefined : { veto: `The judge says no: ${why ?? "nothing"}.` };
  },
};

const runtime = createRuntime({ tools: [pay], hooks: [judging], ports: { log: { debug() {}, warn() {} } } });
const results = [];
for (const amount of [700, 7_000, 70]) results.push(await runtime.execute({ name: "pay", input: { to: "landlord", amount } }));
for (const result of results) console.log(resultText(result).split("\n")[0]);
await runtime.close();

/* Prints:
paid 700 to landlord
Error (vetoed): The judge says no: ten times the usual rent.
Error (vetoed): The hook "judge", which must agree to pay, threw: The model scripted has no reply left: its script holds 2, and this is request 3.
*/
