/** `haft keys revoke`: revokes a key for good. */
import { systemPorts } from "../../../core/system/system-ports.ts";
import { Keys } from "../../../server/auth/keys.ts";
import type { Command } from "../../command.ts";
import { withStore } from "../../open/open-store.ts";
import { safeText } from "../../terminal/terminal-text.ts";

export const revokeKey: Command = {
  name: "keys revoke",
  usage: "<id>",
  summary: "Revoke a key for good.",
  details: [
    "A running server accepts requests with it for at most one more second. Calls",
    "that were begun with it continue. Its id stays in the list, in events and in",
    "the audit.",
  ],
  args: [1, 1],
  options: ["store", "config"],
  examples: ["haft keys revoke 3f2a9c41d07be655"],
  async run(context) {
    const { args, options, out } = context;
    const [id = ""] = args;
    const isRevoked = await withStore(context, { readOnly: false }, (store) => new Keys(store.access, systemPorts).revoke(id));
    if (options.json) out.writeJson({ id, revoked: isRevoked });
    else out.print(isRevoked ? `revoked the key ${safeText(id)}` : `the key ${safeText(id)} was revoked already`);
    return 0;
  },
};
