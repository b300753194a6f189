/** An approval request in a store: another reader of the store, such as a page or another process, sees what the call would change and answers it. */
import { createRuntime, defineTool, resultText } from "haft";
import { memoryStore, StoredApprovals } from "haft/store";

const emptyCart = defineTool({
  name: "empty_cart",
  description: "Takes everything out of the cart.",
  effects: { writes: ["session:cart"] },
  execute: (_input, { state }) => {
    state.update("cart", () => []);
    return "the cart is empty";
  },
});

const store = memoryStore(); // use sqliteStore({ path }) from haft/sqlite to share it with other processes
const asked = Promise.withResolvers<string>();
const runtime = createRuntime({
  tools: [emptyCart],
  store,
  approval: { approve: "inbox", always: ["empty_cart"] },
  onEvent: (event) => {
    if (event.type === "approval-ask") asked.resolve(event.approvalId);
  },
});
const made = runtime.session("shop").execute({ name: "empty_cart" });
await asked.promise;

const inbox = new StoredApprovals({ store: store.approvals });
for (const { id, digest, toolName, reason } of await inbox.list({ status: "open" })) {
  console.log(`? ${toolName}: ${reason}`);
  const preview = await runtime.approvals.preview(id);
  if (preview.available) for (const { key, after } of preview.state) console.log(`  ${key} would be ${JSON.stringify(after)}`);
  await inbox.answer({ id, digest, answer: "allow", scope: "tool", by: "anna" });
}
console.log(resultText(await made));

for (const { pattern, scope, sessionId, createdBy } of await inbox.rules())
  console.log(`${scope} ${pattern} in ${sessionId}, by ${createdBy}`);
await runtime.close();

/* Prints:
? default::empty_cart: The approval rules ask before default::empty_cart runs.
  cart would be []
the cart is empty
tool default::empty_cart in shop, by anna
*/
